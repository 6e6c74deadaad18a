import Glibc

/// Bytes of a file; `nil` for what is no file.
package func fileByteCount(_ path: String) -> UInt64? {
  var status = stat()
  guard path != "-", stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
  return UInt64(clamping: status.st_size)
}
