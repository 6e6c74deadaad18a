import Glibc
import IMWire

extension IdentityHash {
  /// Hashes by the bytes of a file: `--hash-key-file`.
  init(keyFile path: String) throws(UsageError) {
    guard let file = fopen(path, "re") else {
      throw UsageError(message: "--hash-key-file \(path): \(systemText(errno))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4_097)
    let count = fread(&bytes, 1, bytes.count, file)
    guard (16...4_096).contains(count) else {
      throw UsageError(message: "--hash-key-file \(path): a key has 16 to 4,096 bytes")
    }
    self.init(key: [UInt8](bytes[..<count]))
  }
}
