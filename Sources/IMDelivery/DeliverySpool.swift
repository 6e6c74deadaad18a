import CSandbox
import Glibc
import IMDescriptors
import IMOutput
import IMSystem
import IMWire

/// Payloads that could not be delivered, as files of a folder, until a receiver takes them: `--alert-spool`.
///
/// A file has one payload of one way out: `NUMBER-WAY.alert`, where the number counts up and the way is a hash of the hook's words or
/// of the address, which is in no file. Files are replaced as a whole (`WholeFile`). The folder's content is not trusted: names and
/// sizes have limits, and files that are no payloads are left alone. One process at a time uses a folder.
final class DeliverySpool {
  /// A payload on its way.
  struct Entry: Equatable {
    /// Payloads with the same key stay in order: those of one alert.
    var key: String
    /// The JSON object, or the body of a request.
    var body: [UInt8]
    /// The environment of a hook; empty for requests.
    var environment: [String] = []
  }

  /// The size that the files may have together, where nothing else is said, and how many there may be.
  static let usualBytes: Int64 = 16 << 20
  static let maximumFiles = 10_000
  /// The largest file that is read, in bytes.
  static let maximumFileBytes = 160 << 10
  private static let format = "imdump alert 1"

  private struct File {
    var name: String
    var way: String
    var bytes: Int64
  }

  private let folder: Int32
  private let path: String
  private let maximumBytes: Int64
  /// Oldest first.
  private var files: [File] = []
  private var byteCount: Int64 = 0
  private var next: UInt64 = 1
  /// Payloads that were deleted because there was no room.
  private(set) var dropped = 0

  /// The spool in the folder at `path`. Throws why it cannot be used, in words.
  init(_ path: String, maximumBytes: Int64) throws(SpoolError) {
    self.path = path
    self.maximumBytes = maximumBytes
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw SpoolError(words: systemText(errno)) }
    // One of a run that is over gives its lock back, however it ended.
    guard flock(folder, LOCK_EX | LOCK_NB) == 0 else {
      close(folder)
      throw SpoolError(words: "in use by another run")
    }
    self.folder = folder
    for name in names(in: path).sorted() {
      guard let (number, way) = Self.parts(name), files.count < Self.maximumFiles else { continue }
      var status = stat()
      guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG else {
        continue
      }
      files.append(File(name: name, way: way, bytes: Int64(status.st_size)))
      byteCount &+= Int64(status.st_size)
      next = max(next, number + 1)
    }
  }

  deinit { close(folder) }

  /// Why a spool cannot be used.
  struct SpoolError: Error, Equatable {
    var words: String
  }

  /// The number and the way in a name; `nil` where it is none of ours.
  private static func parts(_ name: String) -> (number: UInt64, way: String)? {
    let bytes = Array(name.utf8)
    guard bytes.count == 18 + 1 + 16 + 6, name.hasSuffix(".alert"), bytes[18] == UInt8(ascii: "-"),
      bytes[..<18].allSatisfy({ (48...57).contains($0) }),
      bytes[19..<35].allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
      let number = UInt64(String(decoding: bytes[..<18], as: UTF8.self))
    else { return nil }
    return (number, String(decoding: bytes[19..<35], as: UTF8.self))
  }

  /// The name of a way out: of a hook's words, or of an address.
  static func way(_ parts: [String]) -> String {
    SHA1.shortDigest(parts.map { "\($0.utf8.count):\($0)" }.joined())
  }

  /// Payloads that wait, in all.
  var count: Int { files.count }
  /// Payloads of a way that wait.
  func count(of way: String) -> Int { files.count { $0.way == way } }

  /// Appends a payload. The oldest ones are deleted to make room. False if it could not be written.
  func append(_ entry: Entry, way: String) -> Bool {
    let bytes = DeliveryMessage(
      parts: [
        Array(Self.format.utf8), Array(entry.key.utf8), entry.body, Array(DeliveryMessage.list(entry.environment).utf8),
      ]
    ).bytes
    guard bytes.count <= Self.maximumFileBytes, Int64(bytes.count) <= maximumBytes, next < 1_000_000_000_000_000_000
    else {
      return false
    }
    while let oldest = files.first,
      byteCount + Int64(bytes.count) > maximumBytes || files.count >= Self.maximumFiles
    {
      remove(oldest)
      dropped += 1
    }
    let digits = "\(next)"
    let name = String(repeating: "0", count: 18 - digits.count) + digits + "-" + way + ".alert"
    guard WholeFile.replace(name, in: folder, with: bytes.span.bytes, suffix: ".new", mode: 0o600) == nil else {
      return false
    }
    next += 1
    files.append(File(name: name, way: way, bytes: Int64(bytes.count)))
    byteCount += Int64(bytes.count)
    return true
  }

  /// The oldest payload of a way that can be read, and the name of its file. Files that are none are passed over, and not deleted.
  func first(of way: String) -> (name: String, entry: Entry)? {
    while let place = files.firstIndex(where: { $0.way == way }) {
      let file = files[place]
      if let entry = read(file.name) { return (file.name, entry) }
      byteCount -= file.bytes
      files.remove(at: place)
    }
    return nil
  }

  /// Deletes a payload that was delivered, or that no receiver will ever accept.
  func remove(name: String) { if let file = files.first(where: { $0.name == name }) { remove(file) } }

  private func remove(_ file: File) {
    unlinkat(folder, file.name, 0)
    byteCount -= file.bytes
    files.removeAll { $0.name == file.name }
  }

  private func read(_ name: String) -> Entry? {
    let descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.maximumFileBytes + 1)
    var count = 0
    while count < bytes.count {
      let n = bytes[count...].withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if n < 0, errno == EINTR { continue }
      guard n > 0 else { break }
      count += n
    }
    return count > Self.maximumFileBytes ? nil : Self.entry(bytes[..<count])
  }

  /// The payload in the bytes of a file; `nil` where they are none.
  static func entry(_ bytes: ArraySlice<UInt8>) -> Entry? {
    guard let message = DeliveryMessage(decoding: bytes), message.parts.count == 4, message.text(0) == format,
      message.parts[1].count <= 256
    else { return nil }
    // A user who may write to the folder must not control a hook's loader or shell.
    let environment = message.list(3).filter { $0.hasPrefix("IMDUMP_ALERT_") }
    return Entry(key: message.text(1), body: message.parts[2], environment: environment)
  }
}
