package import Glibc

/// Writes a file in the place of another one: a reader finds the old or the new one, never a part, also after the machine went down.
package enum WholeFile {
  /// Replaces the file `name` of the folder that is open as `folder`; with `AT_FDCWD`, `name` is a path. The error number, or `nil`.
  ///
  /// The bytes are first written to `name` with `suffix`, a file of the mode `mode`. One that an earlier process left there is deleted.
  package static func replace(
    _ name: String, in folder: Int32 = AT_FDCWD, with bytes: RawSpan, suffix: String, mode: mode_t
  ) -> Int32? {
    let temporary = name + suffix
    _ = unlinkat(folder, temporary, 0)
    let descriptor = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard descriptor >= 0 else { return errno }
    let output = Output(descriptor: descriptor, name: name)
    bytes.withUnsafeBytes { output.write($0) }
    var number = output.error?.errno
    if number == nil, fsync(descriptor) != 0 { number = errno }
    if close(descriptor) != 0, number == nil { number = errno }
    if number == nil, renameat(folder, temporary, folder, name) != 0 { number = errno }
    if number != nil { _ = unlinkat(folder, temporary, 0) }
    return number
  }
}
