import Glibc

/// Why a client's state could not be kept.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was attempted, and with which file.
  public var operation: String
  /// The reason.
  public var reason: String

  init(_ operation: String, _ reason: String = String(cString: strerror(errno))) {
    self.operation = operation
    self.reason = reason
  }

  /// The attempt and the reason, as a person reads them.
  public var description: String { "\(operation): \(reason)" }
}

/// A client's state in a folder: who it is, what waits, and what has come.
///
/// One file to which records are appended: length in four bytes, CRC-32 in four, and the bytes. What a process that was
/// killed has written is there; the last record of one whose machine went down may be cut off, and is left out. The file is
/// written anew, without what cancels, when it is opened. One process at a time may have the folder.
public final class FileStore: ClientStore {
  /// Who the client is.
  public private(set) var identity: ClientIdentity
  /// What proves it.
  public private(set) var secret: DeviceSecret
  /// What was kept when the store was opened.
  public let state: ClientState
  private let path: String
  private var file: Int32
  private let lock: Int32

  private static let magic = Array("tjp client 1\n".utf8)

  /// Opens the state in a folder, and makes both where they are missing.
  public init(folder: String) throws(StoreError) {
    path = folder + "/state"
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw StoreError("make " + folder) }
    lock = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw StoreError("open \(folder)/lock") }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      let isTaken = errno == EWOULDBLOCK
      close(lock)
      throw isTaken ? StoreError("open " + folder, "another process is using it") : StoreError("lock " + folder)
    }
    (identity, secret) = (.random(), .random())
    file = -1
    do throws(StoreError) {
      (identity, secret, state) = try Self.read(path, identity, secret)
      file = try Self.rewrite(path, identity, secret, state)
    } catch {
      Self.release(lock)
      throw error
    }
  }

  deinit {
    if file >= 0 { close(file) }
    Self.release(lock)
  }

  /// Unlocks, too: a child of this process that has not run its program yet has the same lock open, and closing alone would leave it held.
  private static func release(_ lock: Int32) {
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// Appends operations, in their order.
  public func append(_ operations: [ClientOperation]) throws(StoreError) {
    guard !operations.isEmpty else { return }
    var bytes: [UInt8] = []
    for operation in operations { Self.append(Self.encoded(operation), to: &bytes) }
    try Self.write(bytes, file, path)
  }

  // MARK: the file

  private static func read(_ path: String, _ identity: ClientIdentity, _ secret: DeviceSecret) throws(StoreError) -> (
    ClientIdentity, DeviceSecret, ClientState
  ) {
    var state = ClientState()
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      guard errno == ENOENT else { throw StoreError("open " + path) }
      return (identity, secret, state)
    }
    defer { close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(file, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw StoreError("read " + path) }
      if count == 0 { break }
      bytes += piece[..<count]
    }
    let head = magic.count + 16 + DeviceSecret.byteCount
    guard bytes.count >= head, bytes.starts(with: magic),
      let known = DeviceSecret(Array(bytes[magic.count + 16..<head]))
    else { throw StoreError("read " + path, "not the state of a client") }
    var offset = head
    while bytes.count - offset >= 8 {
      let count = Int(number(bytes, offset, 4))
      let end = offset + 8 + count
      // What was cut off when the machine went down was never answered.
      guard end <= bytes.count else { break }
      let record = Array(bytes[offset + 8..<end])
      guard UInt64(Checksum.of(record.span.bytes)) == number(bytes, offset + 4, 4), let operation = decoded(record)
      else { break }
      state.apply(operation)
      offset = end
    }
    return (ClientIdentity(bytes[magic.count..<magic.count + 16]), known, state)
  }

  private static func rewrite(
    _ path: String, _ identity: ClientIdentity, _ secret: DeviceSecret, _ state: ClientState
  ) throws(StoreError) -> Int32 {
    var bytes = magic + identity.bytes + secret.bytes
    for operation in state.operations { append(encoded(operation), to: &bytes) }
    let new = path + ".new"
    let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw StoreError("open " + new) }
    do throws(StoreError) {
      try write(bytes, file, new)
      guard fsync(file) == 0 else { throw StoreError("write " + new) }
      guard rename(new, path) == 0 else { throw StoreError("rename " + new) }
    } catch {
      close(file)
      throw error
    }
    return file
  }

  private static func write(_ bytes: [UInt8], _ file: Int32, _ path: String) throws(StoreError) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError("write " + path) }
      written += count
    }
  }

  // MARK: records

  private static func append(_ record: [UInt8], to bytes: inout [UInt8]) {
    bytes += TLV.bigEndian(UInt32(truncatingIfNeeded: record.count))
    bytes += TLV.bigEndian(Checksum.of(record.span.bytes))
    bytes += record
  }

  private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func encoded(_ operation: ClientOperation) -> [UInt8] {
    func name(_ text: String) -> [UInt8] {
      let bytes = Array(text.utf8)
      return TLV.bigEndian(UInt32(truncatingIfNeeded: bytes.count)) + bytes
    }
    switch operation {
    case .sent(let message):
      if let file = message.file {
        var record: [UInt8] = [4, message.isGroup ? 1 : 0] + TLV.bigEndian(message.number)
        record += [message.category.rawValue, message.priority.rawValue] + name(message.conversation) + name(file.path)
        record += TLV.bigEndian(UInt64(clamping: file.byteCount)) + TLV.bigEndian(UInt64(bitPattern: file.modified))
        record += TLV.bigEndian(file.transfer) + TLV.bigEndian(UInt64(clamping: file.headCount))
        return record + message.body
      }
      return [1, message.isGroup ? 1 : 0] + TLV.bigEndian(message.number)
        + [message.category.rawValue, message.priority.rawValue] + name(message.conversation) + message.body
    case .settled(let conversation, let isGroup, let number):
      return [2, isGroup ? 1 : 0] + TLV.bigEndian(number) + name(conversation)
    case .received(let device, let group, let number):
      return [3, group == nil ? 0 : 1] + TLV.bigEndian(number) + device.bytes + name(group ?? "")
    }
  }

  private static func decoded(_ record: [UInt8]) -> ClientOperation? {
    guard record.count >= 10 else { return nil }
    let flag = record[1] != 0
    let number = number(record, 2, 8)
    var offset = 10
    func name() -> String? {
      guard record.count - offset >= 4 else { return nil }
      let count = Int(Self.number(record, offset, 4))
      guard record.count - offset - 4 >= count else { return nil }
      defer { offset += 4 + count }
      return String(validating: record[offset + 4..<offset + 4 + count], as: UTF8.self)
    }
    switch record[0] {
    case 1, 4:
      guard record.count >= 12, let category = SequenceCategory(rawValue: record[10]),
        let priority = Priority(rawValue: record[11])
      else { return nil }
      offset = 12
      guard let conversation = name() else { return nil }
      var file: StoredFile?
      if record[0] == 4 {
        guard let path = name(), record.count - offset >= 32 else { return nil }
        let numbers = (0..<4).map { Self.number(record, offset + 8 * $0, 8) }
        offset += 32
        var known = StoredFile(
          path: path, byteCount: Int(clamping: numbers[0]), modified: Int64(bitPattern: numbers[1]))
        (known.transfer, known.headCount) = (numbers[2], Int(clamping: numbers[3]))
        file = known
      }
      return .sent(
        StoredMessage(
          conversation: conversation, isGroup: flag, number: number, category: category, priority: priority,
          body: Array(record[offset...]), file: file))
    case 2:
      guard let conversation = name() else { return nil }
      return .settled(conversation: conversation, isGroup: flag, number: number)
    case 3:
      guard record.count >= 26 else { return nil }
      let device = ClientIdentity(record[10..<26])
      offset = 26
      guard let group = name() else { return nil }
      return .received(device: device, group: flag ? group : nil, number: number)
    default: return nil
    }
  }
}
