internal import IMWire

/// Receipts that wait for one sender, in the order they came, each once. Each costs the same, however many there are.
struct PendingReceipts: Sendable {
  private struct Waiting: Sendable {
    var order: UInt64
    /// The session that it was sent in; it goes out anew when that is gone.
    var session: SessionID?
  }

  private var waiting: [NamedReceipts.Entry: Waiting] = [:]
  /// Entries in their order; those that do not wait any more are passed over.
  private var line = FIFOQueue<(entry: NamedReceipts.Entry, order: UInt64)>(keeping: 64)
  private var nextOrder: UInt64 = 0

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }
  /// All of them, in their order, with the session that each was sent in.
  var all: [(entry: NamedReceipts.Entry, session: SessionID?)] {
    var all: [(entry: NamedReceipts.Entry, session: SessionID?)] = []
    for place in 0..<line.count {
      guard let (entry, order) = line[place], let known = waiting[entry], known.order == order else { continue }
      all.append((entry, known.session))
    }
    return all
  }

  func contains(_ entry: NamedReceipts.Entry) -> Bool { waiting[entry] != nil }

  mutating func append(_ entry: NamedReceipts.Entry) {
    waiting[entry] = Waiting(order: nextOrder)
    line.append((entry, nextOrder))
    nextOrder += 1
    guard line.count > 64 + 2 * waiting.count else { return }
    line.filter { [waiting] in waiting[$0.entry]?.order == $0.order }
  }

  mutating func popFirst() -> NamedReceipts.Entry? {
    while let (entry, order) = line.popFirst() {
      guard waiting[entry]?.order == order else { continue }
      waiting[entry] = nil
      return entry
    }
    return nil
  }

  /// Whether it waited.
  mutating func remove(_ entry: NamedReceipts.Entry) -> Bool { waiting.removeValue(forKey: entry) != nil }

  mutating func note(_ entry: NamedReceipts.Entry, sentIn session: SessionID) { waiting[entry]?.session = session }
}

/// Receipts: told in the session that a message came in, or by the message's name where that session is gone.
extension ServerCore {
  /// Receipts that wait for one device, and for all devices; the oldest of a device go for newer ones.
  static var mostPendingReceipts: Int { 4_096 }
  static var mostPendingReceiptsInAll: Int { 1 << 18 }

  /// Receipts that were forgotten before their senders had them: there were too many.
  public var receiptsLost: UInt64 { droppedReceipts + groupLog.lost }

  /// A device of the recipient's has a message, the first one: its sender is told soon.
  mutating func reportDelivered(_ id: MessageID, at now: Instant) {
    guard let from = whom(id, isRead: false) else { return }
    if let sender = attached(from) {
      guard sessions[sender].traffic.features.contains(.levels) else { return }
      if sessions[sender].delivered.isEmpty { informed.append(from.session) }
      sessions[sender].delivered.append(from.sequence.rawValue)
      if sessions[sender].delivered.count >= 1_024 { inform(sender, at: now) }
    } else {
      queueReceipt(from, isRead: false, at: now)
    }
  }

  /// A recipient has read a message.
  mutating func reportRead(_ id: MessageID, at now: Instant) {
    guard let from = whom(id, isRead: true) else { return }
    guard let sender = attached(from) else { return queueReceipt(from, isRead: true, at: now) }
    do { try sendReceipt(from.sequence, sender, at: now) } catch { queueReceipt(from, isRead: true, at: now) }
  }

  /// A recipient has read a message that came in a session which is gone: it says where the message comes from.
  mutating func reportRead(_ body: RawSpan, _ range: Range<Int>, by device: Int, at now: Instant) {
    guard range.count >= 24, range.count <= 24 + 256, let user = devices[device].user else { return }
    let start = range.lowerBound
    let identity = ClientIdentity(
      high: TLV.number(body, start..<start + 8), low: TLV.number(body, start + 8..<start + 16))
    let number = TLV.number(body, start + 16..<start + 24)
    guard let sender = identities[identity].map({ Int($0) }), devices[sender].isKnown else { return }
    if range.count > 24 {
      // To a group: its sender is notified when all have read it.
      let group = body.extracting(start + 24..<range.upperBound).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      let name = MessageName(conversation: group, isGroup: true, number: number)
      guard let letter = groupLog.letter(id(ofDevice: sender), name, of: user) else { return }
      return reportRead(letter, at: now)
    }
    let name = MessageName(conversation: user, isGroup: false, number: number)
    let conversation = Conversation(name: user, isGroup: false, lane: MessageOrigin.lane(of: number))
    let counter = MessageOrigin.counter(of: number)
    guard counter > 0, devices[sender].conversations[conversation]?.contains(counter) ?? false else { return }
    queueReceipt(SentFrom(id(ofDevice: sender), name), isRead: true, at: now)
  }

  /// Whom a receipt is for; nil when it is not known, or not all members of a group have come so far.
  private mutating func whom(_ id: MessageID, isRead: Bool) -> SentFrom? {
    guard let found = noteGroup(id, isRead: isRead) else { return origins.origin(of: id) }
    return found.isToldNow ? found.from : nil
  }

  /// The session that a message came in, if its client can be told there: it has a connection, or can be told in no other way.
  @inline(__always)
  private func attached(_ from: SentFrom) -> Int? {
    guard let place = place(of: from.session) else { return nil }
    let isThere = sessions[place].linkMask != 0
    return isThere || !sessions[place].traffic.features.contains(.namedReceipts) ? place : nil
  }

  // MARK: by name

  /// A receipt waits for its sender, and goes out at once where a session of it is there.
  mutating func queueReceipt(_ from: SentFrom, isRead: Bool, at now: Instant) {
    guard from.name.number > 0, let device = place(of: from.device), case .client = devices[device].peer else { return }
    let entry = NamedReceipts.Entry(name: from.name, isRead: isRead)
    guard !devices[device].pendingReceipts.contains(entry) else { return }
    if pendingReceiptCount >= Self.mostPendingReceiptsInAll, devices[device].pendingReceipts.isEmpty {
      droppedReceipts += 1
      return
    }
    while devices[device].pendingReceipts.count >= Self.mostPendingReceipts
      || pendingReceiptCount >= Self.mostPendingReceiptsInAll
    {
      guard let first = devices[device].pendingReceipts.popFirst() else { break }
      droppedReceipts += 1
      pendingReceiptCount -= 1
      keep(first, isPending: false, device)
    }
    devices[device].pendingReceipts.append(entry)
    pendingReceiptCount += 1
    keep(entry, isPending: true, device)
    guard let session = devices[device].sessions.first(where: { mayTell(Int($0)) }).map({ id(Int($0)) }) else { return }
    if informed.last != session { informed.append(session) }
  }

  @inline(__always)
  private func mayTell(_ place: Int) -> Bool {
    sessions[place].linkMask != 0 && sessions[place].traffic.features.contains(.namedReceipts)
  }

  private mutating func keep(_ entry: NamedReceipts.Entry, isPending: Bool, _ device: Int) {
    guard let key = keptKey(device) else { return }
    let name = entry.name
    keep(
      .receipt(
        StoredReceipt(
          key: key, conversation: name.conversation, isGroup: name.isGroup, number: name.number, isRead: entry.isRead),
        isPending: isPending))
  }

  /// Tells a client that is back what became of its messages meanwhile. It is kept until that is acknowledged.
  mutating func sendPendingReceipts(_ place: Int, at now: Instant) {
    let device = Int(sessions[place].device)
    guard !devices[device].pendingReceipts.isEmpty, mayTell(place) else { return }
    var part: [NamedReceipts.Entry] = []
    for (entry, session) in devices[device].pendingReceipts.all {
      if let session, self.place(of: session) != nil { continue }
      part.append(entry)
      guard part.count == NamedReceipts.most else { continue }
      guard tell(part, of: device, in: place, at: now) else { return }
      part = []
    }
    if !part.isEmpty { _ = tell(part, of: device, in: place, at: now) }
  }

  private mutating func tell(_ part: [NamedReceipts.Entry], of device: Int, in place: Int, at now: Instant) -> Bool {
    var body: [UInt8] = []
    TLV.append(.namedReceipts, NamedReceipts.encoded(part), to: &body)
    // What the queue has no room for goes out when its client is back again.
    guard (try? accept(.receipt, body, .normal, .normal, place, at: now)) != nil else { return false }
    for entry in part { devices[device].pendingReceipts.note(entry, sentIn: id(place)) }
    return true
  }

  /// A client has a receipt: what it says does not wait any more.
  mutating func receiptsAcknowledged(_ body: [UInt8], _ device: Int) {
    guard !devices[device].pendingReceipts.isEmpty else { return }
    let bytes = body.span.bytes
    guard let range = TLV.value(of: .namedReceipts, in: bytes) else { return }
    for entry in NamedReceipts.decoded(bytes, range) where devices[device].pendingReceipts.remove(entry) {
      pendingReceiptCount -= 1
      keep(entry, isPending: false, device)
    }
  }

  /// A session is forgotten: what its client was to be told there, it is told by name when it is back.
  mutating func requeueReceipts(_ place: Int, at now: Instant) {
    let device = Int(sessions[place].device)
    guard case .client = devices[device].peer, sessions[place].traffic.features.contains(.namedReceipts) else { return }
    var bodies: [[UInt8]] = []
    var entry = sessions[place].traffic.pending.first
    while entry >= 0 {
      let pending = sessions[place].traffic.pending[entry]
      if pending.kind == .receipt { bodies.append(pending.body) }
      entry = sessions[place].traffic.pending.after(entry)
    }
    for message in sessions[place].traffic.queues.removeOlder(than: .seconds(-1), at: now)
    where message.kind == .receipt { bodies.append(message.body) }
    var delivered = Set(sessions[place].delivered)
    var read: Set<UInt32> = []
    for body in bodies {
      let bytes = body.span.bytes
      if let range = TLV.value(of: .delivered, in: bytes) {
        for start in stride(from: range.lowerBound, to: range.upperBound - 3, by: 4) {
          delivered.insert(UInt32(truncatingIfNeeded: TLV.number(bytes, start..<start + 4)))
        }
      }
      if let range = TLV.value(of: .readReceipt, in: bytes) {
        read.insert(UInt32(truncatingIfNeeded: TLV.number(bytes, range)))
      }
    }
    sessions[place].delivered = []
    guard !delivered.isEmpty || !read.isEmpty else { return }
    let names = origins.names(of: delivered.union(read), in: id(place))
    for (sequence, from) in names.sorted(by: { $0.value.name.number < $1.value.name.number }) {
      if delivered.contains(sequence) { queueReceipt(from, isRead: false, at: now) }
      if read.contains(sequence) { queueReceipt(from, isRead: true, at: now) }
    }
  }

  /// Forgets receipts that wait for a device that is forgotten itself.
  mutating func dropPendingReceipts(_ device: Int) {
    pendingReceiptCount -= devices[device].pendingReceipts.count
    droppedReceipts += UInt64(devices[device].pendingReceipts.count)
    devices[device].pendingReceipts = PendingReceipts()
  }

  // MARK: after a start

  /// Finds out again whom receipts are for, of letters that a store has kept.
  mutating func restoreOrigins(_ letters: [StoredLetter], _ groupMessages: [StoredGroupMessage]) {
    var group: GroupLog.Entry?
    var entries: [GroupLog.Entry] = []
    var known: Set<UInt64> = []
    for message in groupMessages where message.key.count == 16 {
      guard let place = deviceIndex[.client(DeviceKey(message.key))], !message.members.isEmpty,
        message.members.count <= Self.mostMembers
      else {
        keep(.groupForgotten(message.first))
        continue
      }
      let name = MessageName(conversation: message.group, isGroup: true, number: message.number)
      let count = message.members.count
      var readers = message.readers
      if readers.count != (count + 63) / 64 { readers = [] }
      entries.append(
        GroupLog.Entry(
          first: MessageID(rawValue: message.first), count: count, from: SentFrom(id(ofDevice: Int(place)), name),
          undelivered: min(count, max(0, message.undelivered)),
          unread: max(0, count - readers.reduce(0) { $0 + $1.nonzeroBitCount }), readers: readers,
          members: message.members))
      for letter in message.first..<message.first + UInt64(count) { known.insert(letter) }
      nextMessage = max(nextMessage, message.first + UInt64(count))
    }
    for letter in letters where !letter.skipsSender && !known.contains(letter.id) {
      let from = origin(of: letter)
      // The letters of one message to a group follow one another.
      let id = MessageID(rawValue: letter.id)
      if let open = group,
        from?.name != open.from.name || from?.device != open.from.device
          || letter.id - open.first.rawValue >= UInt64(Self.mostMembers)
      {
        entries.append(open)
        group = nil
      }
      guard let from else { continue }
      guard from.name.isGroup else {
        if !letter.isDelivered { origins.note(id, from) }
        continue
      }
      var open = group ?? GroupLog.Entry(first: id, count: 0, from: from, undelivered: 0, unread: nil)
      open.count = Int(letter.id - open.first.rawValue) + 1
      if !letter.isDelivered { open.undelivered += 1 }
      group = open
    }
    if let group { entries.append(group) }
    for entry in entries.sorted(by: { $0.first < $1.first }) {
      for gone in groupLog.append(entry) { keep(.groupForgotten(gone.first.rawValue)) }
    }
  }

  private func origin(of letter: StoredLetter) -> SentFrom? {
    guard letter.sender.count == 16, let place = deviceIndex[.client(DeviceKey(letter.sender))] else { return nil }
    let body = letter.isCompressed ? Deflate.inflated(letter.body.span.bytes) ?? [] : letter.body
    let bytes = body.span.bytes
    guard let origin = MessageOrigin(forwardedIn: bytes), MessageOrigin.counter(of: origin.number) > 0 else {
      return nil
    }
    let group = TLV.value(of: .group, in: bytes).map { String(decoding: body[$0], as: UTF8.self) }
    let name = MessageName(conversation: group ?? letter.user, isGroup: group != nil, number: origin.number)
    return SentFrom(id(ofDevice: Int(place)), name)
  }
}
