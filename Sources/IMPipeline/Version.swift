/// The version that `--version` prints and documents carry.
package let imdumpVersion = "0.1.0"
