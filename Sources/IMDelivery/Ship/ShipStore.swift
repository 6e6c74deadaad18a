import Glibc
import IMDescriptors
import IMOutput
import IMShip
import IMSystem

/// What `imdump ship` keeps beside the log files: a lock, how far each file was sent, and the documents that were refused.
package final class ShipStore {
  /// The file of refused documents, which is never shipped.
  static let refusedName = "refused.ndjson"

  private let folder: String
  private let lock: Int32
  private let refused: Int32
  /// How far each file was sent.
  var state = ShipState()

  /// The state in `folder`, which is made where there is none. Throws where another process has it, or nothing can be written
  /// there.
  init(folder: String) throws(ShipError) {
    self.folder = folder
    // The user of the capture reads the state, to remove first what is sent. Documents in the folder have rights of their own.
    if mkdir(folder, 0o755) != 0, errno != EEXIST { throw Self.error(folder, errno) }
    let lockPath = "\(folder)/lock"
    lock = openLock(lockPath, in: AT_FDCWD, mode: 0o640)
    guard lock >= 0 else {
      if lock == -EWOULDBLOCK {
        throw ShipError(.failure, "another imdump ship is running here: it has locked \(shown(lockPath))")
      }
      throw Self.error(lockPath, -lock)
    }
    let refusedPath = "\(folder)/\(Self.refusedName)"
    refused = open(refusedPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
    guard refused >= 0 else {
      let number = errno
      close(lock)
      throw Self.error(refusedPath, number)
    }
    load()
  }

  deinit {
    close(refused)
    close(lock)
  }

  private static func error(_ path: String, _ number: Int32) -> ShipError {
    ShipError(
      .ioError,
      "\(shown(path)): \(systemText(number)); the state of sending is kept there: give another folder with --state")
  }

  /// Reads the state. One that is no state is put aside: what was sent before is known to the engine.
  private func load() {
    let path = "\(folder)/state"
    if let bytes = Self.contents(path, limit: ShipState.maximumBytes) {
      if let state = ShipState(bytes) {
        self.state = state
      } else {
        _ = rename(path, "\(path).bad")
        logError("\(shown(path)): not a state file of imdump ship; files are sent from the beginning")
      }
    }
    // What was appended after the last state is appended again with the next one.
    var info = stat()
    guard fstat(refused, &info) == 0 else { return }
    if UInt64(info.st_size) > state.refusedBytes {
      _ = ftruncate(refused, off_t(state.refusedBytes))
    } else {
      state.refusedBytes = UInt64(info.st_size)
    }
  }

  /// The bytes of a file; `nil` where it cannot be read or has more than `limit`.
  static func contents(_ path: String, limit: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return contents(descriptor, limit: limit)
  }

  /// The bytes of an open file, likewise.
  package static func contents(_ descriptor: Int32, limit: Int) -> [UInt8]? {
    var info = stat()
    guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size <= limit else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      done += count
    }
    return Array(bytes[..<done])
  }

  /// Appends refused documents, and then puts the state in the place of the old one: whole, or not at all.
  func write(refused lines: [UInt8]) throws(ShipError) {
    if !lines.isEmpty {
      let output = Output(descriptor: refused, name: "\(folder)/\(Self.refusedName)")
      lines.withUnsafeBytes { output.write($0) }
      if let error = output.error { throw ShipError(.ioError, error.description) }
      state.refusedBytes += UInt64(lines.count)
      _ = fdatasync(refused)
    }
    if let number = Self.replace("\(folder)/state", state.text) { throw Self.error("\(folder)/state", number) }
  }

  /// Replaces the file at `path` by one that holds `text`. The error number, or `nil`.
  static func replace(_ path: String, _ text: String) -> Int32? {
    WholeFile.replace(path, with: Array(text.utf8).span.bytes, suffix: ".tmp", mode: 0o644)
  }
}

/// Why shipping ends.
struct ShipError: Error {
  /// How the process ends.
  var status: ExitStatus
  /// One line.
  var message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }
}
