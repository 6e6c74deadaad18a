import Glibc
import IMDescriptors
package import IMOutput
import IMTerminal

/// Why output could not be written.
package struct OutputError: Error, Equatable, CustomStringConvertible {
  /// The file's name; `standard output` for that.
  package var name: String
  /// The system's error number.
  package var errno: Int32

  /// The file `name` could not be written, with the system's error number `errno`.
  package init(name: String, errno: Int32) { (self.name, self.errno) = (name, errno) }

  /// One line.
  package var description: String { "\(name): \(systemText(errno))" }
  /// Whether the reader has gone away, which is its own decision and no error.
  package var isBrokenPipe: Bool { errno == EPIPE }
}

/// A descriptor that is written to in whole pieces; the first failure is kept, and nothing is written after it.
package final class Output {
  private let descriptor: Int32
  private let name: String
  /// The first failure.
  package private(set) var error: OutputError?
  /// Bytes written.
  package private(set) var byteCount: UInt64 = 0

  /// Writes to `descriptor`, which `name` names in errors.
  package init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  /// Standard output.
  package static func standard() -> Output { Output(descriptor: STDOUT_FILENO, name: "standard output") }

  /// Whether it is a terminal.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// The columns of the terminal that it is; `nil` where it is none or does not tell.
  package var terminalWidth: Int? { terminalSize.flatMap { $0.columns > 0 ? $0.columns : nil } }

  /// The rows of the terminal that it is; `nil` where it is none or does not tell.
  package var terminalHeight: Int? { terminalSize.flatMap { $0.rows > 0 ? $0.rows : nil } }

  private var terminalSize: (rows: Int, columns: Int)? {
    // The kernel's winsize: rows, columns, and both in pixels.
    var size: [UInt16] = [0, 0, 0, 0]
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return (Int(size[0]), Int(size[1]))
  }

  /// Writes all of `bytes`, or keeps the error.
  package func write(_ bytes: UnsafeRawBufferPointer) {
    guard error == nil else { return }
    var done = 0
    while done < bytes.count {
      let n = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
      if n > 0 {
        done += n
        byteCount += UInt64(n)
      } else if n < 0, errno == EINTR {
        continue
      } else if n < 0, errno == EAGAIN, waitForReader(of: descriptor) {
        continue
      } else {
        error = OutputError(name: name, errno: errno)
        return
      }
    }
  }

  /// Writes what `writer` holds and empties it.
  package func drain(_ writer: inout ByteWriter) {
    writer.withBytes { write($0) }
    writer.removeAll()
  }

  /// Writes the bytes in `writer`, and returns the exit status of a command that prints nothing else. Reports an error.
  package func finish(_ writer: inout ByteWriter) -> ExitStatus {
    drain(&writer)
    guard let error else { return .success }
    if error.isBrokenPipe { return .success }
    logError(error.description)
    return .ioError
  }
}

/// Prints `text` on standard output.
package func printText(_ text: String) -> ExitStatus {
  var out = ByteWriter()
  out.text(text)
  return Output.standard().finish(&out)
}

/// A file's name as messages show it: what would command a terminal or begin a line stands as `\xNN`.
package func shown(_ path: String) -> String {
  var path = path
  var out = ByteWriter(capacity: 64)
  path.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), keepsBackslashes: true) }
  return out.text
}

/// What this program is called in its messages: there is more than one that delivers alerts.
package let programName: String = {
  let path = CommandLine.arguments.first ?? ""
  return path == "impeer" || path.hasSuffix("/impeer") ? "impeer" : "imdump"
}()

/// Writes a line to standard error, and the lines of `quote` beneath it. Whatever names and files are quoted in them, they
/// command no terminal, and a line feed begins no line.
package func logError(_ text: String, quote: [String] = []) {
  var line = ByteWriter(capacity: 256)
  line.text(programName)
  line.literal(": ")
  for var part in [text] + quote {
    part.withUTF8 { line.terminal(UnsafeRawBufferPointer($0), keepsBackslashes: true) }
    line.literal("\n")
  }
  line.withBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Writes a line to standard error as `logError` does. On a terminal that is narrower it is broken between words, and continues below,
/// indented.
package func logFolded(_ text: String) {
  guard let width = Output(descriptor: STDERR_FILENO, name: "standard error").terminalWidth else {
    return logError(text)
  }
  let lines = wrapped(text, cells: max(20, width - programName.utf8.count - 2), keepsWords: true).map { line in
    var line = line
    while line.last == " " { line.removeLast() }
    return String(line)
  }
  logError(lines.first ?? "", quote: lines.dropFirst().map { "  " + $0 })
}
