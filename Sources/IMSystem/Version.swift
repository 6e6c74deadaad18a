/// The version of `imdump`, `impeer` and their package: what `--version` prints, documents carry and `make deb` puts into the package's
/// name. No other file has it.
package let imdumpVersion = "0.1.0"
