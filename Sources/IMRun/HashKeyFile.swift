import Glibc
import IMDescriptors
package import IMSystem
package import IMWire

/// Reads the key of hashes of names: the bytes of a regular file, before anything is given up.
///
/// A key that others may read is told, and used: whoever has it can find out which name a hash stands for.
package func readHashKey(_ path: String) throws(UsageError) -> IdentityHash {
  func failure(_ reason: String) -> UsageError { UsageError(message: "--hash-key-file \(path): \(reason)") }
  // A pipe without a writer is not waited for.
  let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
  guard file >= 0 else { throw failure(systemText(errno)) }
  defer { close(file) }
  var status = stat()
  guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a regular file") }
  if status.st_mode & (S_IRGRP | S_IROTH) != 0 {
    let others = status.st_mode & S_IROTH != 0 ? "everybody" : "its group"
    logError("--hash-key-file \(path): \(others) may read it; use chmod 600")
  }
  var bytes = [UInt8](repeating: 0, count: 4_097)
  var count = 0
  while count < bytes.count {
    let n = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress.map { $0 + count }, $0.count - count) }
    if n < 0, errno == EINTR { continue }
    guard n >= 0 else { throw failure(systemText(errno)) }
    if n == 0 { break }
    count += n
  }
  guard (16...4_096).contains(count) else { throw failure("expected a key of 16 to 4,096 bytes") }
  return IdentityHash(key: [UInt8](bytes[..<count]))
}
