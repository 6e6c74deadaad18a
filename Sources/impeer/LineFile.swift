import Glibc
import IMOutput

/// A file of lines, written a block at a time; a path of `-` is standard output.
final class LineFile {
  private let path: String
  private let file: Int32
  private var waiting = ByteWriter()
  /// Why lines are missing, once they are.
  private(set) var problem: String?

  /// Makes the file anew. Throws its reason in words.
  init(_ path: String) throws(Complaint) {
    self.path = path
    file = path == "-" ? 1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw Complaint("open \(path): \(String(cString: strerror(errno)))", .cannotCreate) }
  }

  deinit {
    flush()
    if file > 1 { close(file) }
  }

  /// Appends one JSON object as a line, whose members `body` writes.
  func object(_ body: (inout JSONLines) -> Void) {
    JSONLines.line(to: &waiting, body)
    if waiting.count >= 1 << 16 { flush() }
  }

  /// Appends whole lines.
  func append(_ lines: UnsafeRawBufferPointer) {
    waiting.raw(lines)
    if waiting.count >= 1 << 16 { flush() }
  }

  /// Hands what waits to the system.
  func flush() {
    waiting.withBytes { bytes in
      var written = 0
      while written < bytes.count, problem == nil {
        let count = write(file, bytes.baseAddress.map { $0 + written }, bytes.count - written)
        if count > 0 {
          written += count
        } else if errno != EINTR {
          problem = "write \(path): \(String(cString: strerror(errno)))"
        }
      }
    }
    waiting.removeAll()
  }
}
