/// What a device calls one of its messages: it means the same in every session, and to the server's next process.
struct MessageName: Hashable, Sendable {
  /// The user or the group that the message goes to.
  var conversation: String
  var isGroup: Bool
  /// The number in the conversation, with its lane; 0 where the device does not number its messages.
  var number: UInt64
}

/// Where a forwarded message came from: the session and its number there, and who calls it what.
struct SentFrom: Sendable {
  var session: SessionID
  var sequence: SequenceNumber
  var device: DeviceID
  var name: MessageName

  /// The message of a client that this process has no session of.
  init(_ device: DeviceID, _ name: MessageName) {
    self.init(SessionID(place: .max), SequenceNumber(rawValue: 0), device, name)
  }

  init(_ session: SessionID, _ sequence: SequenceNumber, _ device: DeviceID, _ name: MessageName) {
    (self.session, self.sequence, self.device, self.name) = (session, sequence, device, name)
  }
}

/// Where forwarded messages came from, so that receipts find their way back; the newest are kept.
struct OriginLog: Sendable {
  private var slots: [(id: MessageID, from: SentFrom)?] = []
  static var limit: Int { 65_536 }

  mutating func note(_ id: MessageID, _ from: SentFrom) {
    while true {
      if !slots.isEmpty {
        let slot = Int(truncatingIfNeeded: id.rawValue) & (slots.count - 1)
        if slots[slot] == nil || slots.count >= Self.limit {
          slots[slot] = (id, from)
          return
        }
      }
      let old = slots
      slots = Array(repeating: nil, count: max(64, old.count * 2))
      for case let entry? in old { slots[Int(truncatingIfNeeded: entry.id.rawValue) & (slots.count - 1)] = entry }
    }
  }

  func origin(of id: MessageID) -> SentFrom? {
    guard !slots.isEmpty else { return nil }
    let slot = slots[Int(truncatingIfNeeded: id.rawValue) & (slots.count - 1)]
    return slot?.id == id ? slot?.from : nil
  }

  /// The messages of a session, by their numbers in it, of which one of `sequences` is the number.
  func names(of sequences: Set<UInt32>, in session: SessionID) -> [UInt32: SentFrom] {
    var found: [UInt32: SentFrom] = [:]
    for case let (_, from)? in slots where from.session == session && sequences.contains(from.sequence.rawValue) {
      found[from.sequence.rawValue] = from
    }
    return found
  }
}

/// What is known of messages to groups until all have them. A message's letters have numbers that follow one another.
///
/// The newest are kept; what goes for them, and was not delivered to all or not read by all, is counted.
struct GroupLog: Sendable {
  struct Entry: Sendable {
    /// The first of the letters, and how many there are.
    var first: MessageID
    var count: Int
    var from: SentFrom
    /// Members of whom no device has it yet.
    var undelivered: Int
    /// Members who have not read it; nil where that is not known.
    var unread: Int?
    /// A bit for each member who has read it.
    var readers: [UInt64] = []
    /// The members, in the order of their letters; empty where they are not known.
    var members: [String] = []
    /// Whether nothing more is to be told of it.
    var isSettled: Bool { undelivered == 0 && unread ?? 0 == 0 }
  }

  /// What a device calls a message to a group.
  private struct Name: Hashable {
    var device: DeviceID
    var name: MessageName
  }

  /// Messages of which account is kept.
  static var limit: Int { 65_536 }
  private var entries = FIFOQueue<Entry>(keeping: 256)
  private var names: [Name: MessageID] = [:]
  /// Messages of which not all was told when they went.
  private(set) var lost: UInt64 = 0

  var count: Int { entries.count }

  /// - Returns: entries that are not kept any more.
  @discardableResult
  mutating func append(_ entry: Entry) -> [Entry] {
    entries.append(entry)
    if entry.from.name.number > 0 { names[Name(device: entry.from.device, name: entry.from.name)] = entry.first }
    var gone: [Entry] = []
    while let first = entries.first, first.isSettled || entries.count > Self.limit {
      if !first.isSettled { lost += 1 }
      _ = entries.popFirst()
      let name = Name(device: first.from.device, name: first.from.name)
      if names[name] == first.first { names[name] = nil }
      gone.append(first)
    }
    return gone
  }

  /// The entry of the message that has the letter with this number.
  func entry(of id: MessageID) -> Entry? { place(of: id).flatMap { entries[$0] } }

  /// The number of a member's letter of a message, which is called by its name.
  func letter(_ device: DeviceID, _ name: MessageName, of member: String) -> MessageID? {
    guard let first = names[Name(device: device, name: name)], let entry = entry(of: first),
      let index = entry.members.firstIndex(of: member)
    else { return nil }
    return MessageID(rawValue: first.rawValue + UInt64(index))
  }

  /// A member has the letter with this number, or has read it.
  /// - Returns: where the message came from, whether its sender is told now, and whether something has changed; nil when it is no
  ///   message to a group.
  mutating func note(_ id: MessageID, isRead: Bool) -> (from: SentFrom, isToldNow: Bool, isNew: Bool)? {
    guard let place = place(of: id), var entry = entries[place] else { return nil }
    defer { entries[place] = entry }
    guard isRead else {
      entry.undelivered = max(0, entry.undelivered - 1)
      return (entry.from, entry.undelivered == 0, true)
    }
    let member = Int(id.rawValue - entry.first.rawValue)
    if entry.readers.isEmpty { entry.readers = [UInt64](repeating: 0, count: (entry.count + 63) / 64) }
    guard let unread = entry.unread, entry.readers[member / 64] & 1 << (member & 63) == 0 else {
      return (entry.from, false, false)
    }
    entry.readers[member / 64] |= 1 << (member & 63)
    entry.unread = max(0, unread - 1)
    return (entry.from, unread == 1, true)
  }

  /// The place of the message that has the letter with this number, which is looked for by halves.
  private func place(of id: MessageID) -> Int? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      guard let entry = entries[middle] else { return nil }
      if id < entry.first {
        high = middle
      } else if id.rawValue - entry.first.rawValue < UInt64(entry.count) {
        return middle
      } else {
        low = middle + 1
      }
    }
    return nil
  }
}

/// Acknowledgments that a slow server sends later, in the order they came.
struct DelayedAcknowledgments: Sendable {
  private var items: [(at: Instant, session: SessionID, sequence: SequenceNumber)] = []
  private var head = 0
  /// More are not held back.
  static var limit: Int { 65_536 }

  var first: Instant? { head < items.count ? items[head].at : nil }
  var isFull: Bool { items.count - head >= Self.limit }

  mutating func append(_ session: SessionID, _ sequence: SequenceNumber, at moment: Instant) {
    items.append((moment, session, sequence))
  }

  mutating func pop(until now: Instant) -> (session: SessionID, sequence: SequenceNumber)? {
    guard head < items.count, items[head].at <= now else { return nil }
    let item = items[head]
    head += 1
    if head == items.count {
      items = []
      head = 0
    } else if head > 1_024, head * 2 > items.count {
      items.removeFirst(head)
      head = 0
    }
    return (item.session, item.sequence)
  }
}
