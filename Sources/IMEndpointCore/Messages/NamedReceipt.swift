/// Receipts that name messages by conversation and number: they find a sender whose session is gone.
enum NamedReceipts {
  /// One receipt.
  struct Entry: Hashable, Sendable {
    var name: MessageName
    var isRead: Bool
  }

  /// Entries of one frame.
  static var most: Int { 128 }

  /// The value of a frame: for each message a byte, 1 delivered and 2 read; a byte, 1 for a group; its number, eight bytes;
  /// two bytes for the length of the conversation's name, and the name.
  static func encoded(_ entries: some Collection<Entry>) -> [UInt8] {
    var value: [UInt8] = []
    for entry in entries {
      let name = Array(entry.name.conversation.utf8.prefix(Int(UInt16.max)))
      value += [entry.isRead ? 2 : 1, entry.name.isGroup ? 1 : 0]
      value += TLV.bigEndian(entry.name.number) + TLV.bigEndian(UInt16(name.count)) + name
    }
    return value
  }

  /// Reads such a value, as far as it is whole.
  static func decoded(_ body: RawSpan, _ range: Range<Int>) -> [Entry] {
    var entries: [Entry] = []
    var offset = range.lowerBound
    while range.upperBound - offset >= 12 {
      let (level, kind) = (TLV.number(body, offset..<offset + 1), TLV.number(body, offset + 1..<offset + 2))
      let number = TLV.number(body, offset + 2..<offset + 10)
      let end = offset + 12 + Int(TLV.number(body, offset + 10..<offset + 12))
      guard end <= range.upperBound else { break }
      let name = body.extracting(offset + 12..<end).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
      if let name, level == 1 || level == 2 {
        let name = MessageName(conversation: name, isGroup: kind == 1, number: number)
        entries.append(Entry(name: name, isRead: level == 2))
      }
      offset = end
    }
    return entries
  }
}

/// Something became of a message that an earlier process of the client's has sent.
public struct EarlierReceipt: Hashable, Sendable, BitwiseCopyable {
  /// The session that the receipt came in.
  public var session: SessionID
  /// The message's number in its conversation, as `StoredMessage.number` has it.
  public var number: UInt64
  /// Whether the conversation is a group.
  public var isGroup: Bool
  /// `delivered` or `read`.
  public var state: MessageState
  /// Where the name of the user or the group stands in `Inbox.bytes`.
  public var offset: Int
  /// How long the name is, in bytes.
  public var byteCount: Int
}

extension Inbox {
  /// The name of the user or the group that the message of a receipt in this inbox went to.
  public func conversation(of receipt: EarlierReceipt) -> String {
    guard receipt.offset >= 0, receipt.byteCount >= 0, receipt.offset <= bytes.count - receipt.byteCount else {
      return ""
    }
    return String(decoding: bytes[receipt.offset..<receipt.offset + receipt.byteCount], as: UTF8.self)
  }

  mutating func add(_ entry: NamedReceipts.Entry, session: SessionID) -> EarlierReceipt {
    let offset = bytes.count
    bytes += entry.name.conversation.utf8
    return EarlierReceipt(
      session: session, number: entry.name.number, isGroup: entry.name.isGroup,
      state: entry.isRead ? .read : .delivered, offset: offset, byteCount: bytes.count - offset)
  }
}

/// What the newest of a client's messages are called, for receipts that name them so.
struct SentNames: Sendable {
  private var slots: [(name: MessageName, id: MessageID, session: SessionID)] = []
  private var next = 0
  static var limit: Int { 4_096 }

  mutating func note(_ name: MessageName, _ id: MessageID, _ session: SessionID) {
    if slots.count < Self.limit { return slots.append((name, id, session)) }
    slots[next] = (name, id, session)
    next = (next + 1) % Self.limit
  }

  /// The message of that name.
  func find(_ name: MessageName) -> (id: MessageID, session: SessionID)? {
    slots.first { $0.name.number == name.number && $0.name == name }.map { ($0.id, $0.session) }
  }
}
