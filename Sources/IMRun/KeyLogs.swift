import CSandbox
import Glibc
import IMCapture
import IMDescriptors
package import IMSystem
import IMTLS
import IMWire

/// The TLS secrets of a run: those of key logs, which may grow meanwhile, and those that capture files bring.
///
/// One thread at a time uses it: that which leads packets through the engine.
package final class KeyLogs: @unchecked Sendable {
  /// The secrets.
  let table: KeyTable

  /// An open key log.
  private struct Log {
    let descriptor: Int32
    var offset: Int64 = 0
    var parser = KeyLogParser()
  }

  private var logs: [Log] = []
  /// Lines of secrets that are to be written to a capture, each with its end; `nil` where none are.
  @exclusivity(unchecked) private var copied: [UInt8]?
  private let isFollowed: Bool
  /// Whether a capture file brought secrets.
  @exclusivity(unchecked) package private(set) var hasBlocks = false
  /// Whether there are key logs, or secrets in a capture.
  package var hasKeys: Bool { hasBlocks || !logs.isEmpty }

  /// Opens the key logs at `paths` and reads them; live and from a pipe (`isFollowed`) they are read on as they grow.
  ///
  /// `limit` is the most bytes that secrets take.
  /// `copies` keeps them for `takeCopied`.
  private init(_ paths: [String], isFollowed: Bool, copies: Bool, limit: Int) throws(UsageError) {
    table = KeyTable(byteLimit: limit)
    self.isFollowed = isFollowed
    guard TLSCrypto.prepare() else {
      throw UsageError(message: "--keylog: libcrypto does not have a cipher that TLS needs")
    }
    if copies {
      copied = []
      table.onSecret = { [unowned self] line in
        copied?.append(contentsOf: line)
        copied?.append(UInt8(ascii: "\n"))
      }
    }
    for path in paths { logs.append(try Self.open(path)) }
    for i in logs.indices {
      read(i)
      if !isFollowed { logs[i].parser.finish(isWhole: false, into: table) }
    }
  }

  deinit { for log in logs { close(log.descriptor) } }

  /// The secrets for a run over `input`; `nil` where there are none.
  ///
  /// `SSLKEYLOGFILE` of the environment counts as `--keylog` where this process has no more rights than its caller.
  package static func of(_ decode: DecodeOptions, _ input: InputOptions, isQuiet: Bool) throws(UsageError) -> KeyLogs? {
    var paths = decode.keyLogs
    if paths.isEmpty, let path = imdump_secure_getenv("SSLKEYLOGFILE").map({ String(cString: $0) }), !path.isEmpty {
      if access(path, R_OK) == 0 {
        if !isQuiet { logError("\(path): reading TLS secrets from this file (SSLKEYLOGFILE)") }
        paths = [path]
      } else if !isQuiet {
        logError("\(path): \(systemText(errno)); no TLS secrets are read (SSLKEYLOGFILE)")
      }
    }
    guard !paths.isEmpty || input.files.contains(where: isPcapng) else {
      if decode.writesSecrets {
        throw UsageError(message: "--write-secrets: there are none; give a key log with --keylog")
      }
      return nil
    }
    let isFollowed = input.interface != nil || input.readOnce != nil
    let logs = try KeyLogs(paths, isFollowed: isFollowed, copies: decode.writesSecrets, limit: decode.memory / 4)
    if !paths.isEmpty, !isFollowed, !isQuiet, logs.table.count == 0 {
      logError("--keylog: there are no TLS secrets in \(paths.joined(separator: ", "))")
    }
    return logs
  }

  /// Whether a regular file may be a pcapng file, which may bring secrets.
  private static func isPcapng(_ path: String) -> Bool {
    if path.hasSuffix(".gz") { return path.contains(".pcapng") }
    // A pipe is left alone: its writer would take this for the end of its reader.
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { return false }
    defer { close(file) }
    var magic: UInt32 = 0
    return Glibc.read(file, &magic, 4) == 4 && magic == 0x0a0d_0d0a
  }

  private static func open(_ path: String) throws(UsageError) -> Log {
    // A pipe without a writer is not waited for.
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw UsageError(message: "--keylog \(path): \(systemText(errno))") }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      close(file)
      throw UsageError(message: "--keylog \(path): is a directory")
    }
    return Log(descriptor: file)
  }

  /// Reads what has been written to the key logs since.
  func follow() {
    guard isFollowed else { return }
    for i in logs.indices { read(i) }
  }

  /// Nothing more is written: the last line of a log counts without its end, where it is a whole one.
  func finish() {
    for i in logs.indices {
      read(i)
      logs[i].parser.finish(isWhole: false, into: table)
    }
  }

  private func read(_ i: Int) {
    var status = stat()
    if fstat(logs[i].descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size < logs[i].offset {
      // It was cut, and is written anew.
      logs[i].offset = 0
      logs[i].parser.restart()
      lseek(logs[i].descriptor, 0, SEEK_SET)
    }
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { room in
      while true {
        let count = Glibc.read(logs[i].descriptor, room.baseAddress, room.count)
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN, !isFollowed {
          var wait = pollfd(fd: logs[i].descriptor, events: Int16(POLLIN), revents: 0)
          if poll(&wait, 1, 1_000) > 0 { continue }
        }
        guard count > 0 else { return }
        logs[i].offset += Int64(count)
        logs[i].parser.take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[0..<count]), into: table)
      }
    }
  }

  /// The secrets that were read since the last time, as texts of whole lines for blocks of a capture.
  package func takeCopied() -> [[UInt8]] {
    guard let text = copied, !text.isEmpty else { return [] }
    copied = []
    var blocks: [[UInt8]] = []
    var start = 0
    while start < text.count {
      // A line of a secret has at most 226 bytes.
      var end = min(text.count, start + Self.blockBytes)
      while end < text.count, end > start, text[end - 1] != UInt8(ascii: "\n") { end -= 1 }
      blocks.append(Array(text[start..<end]))
      start = end
    }
    return blocks
  }
  /// The most bytes of secrets in one block.
  private static var blockBytes: Int { 65_536 }

  /// What takes the secrets that capture files bring.
  var handler: SecretsHandler {
    SecretsHandler { [self] bytes in
      hasBlocks = true
      var parser = KeyLogParser()
      parser.take(bytes, into: table)
      parser.finish(isWhole: true, into: table)
    }
  }
}
