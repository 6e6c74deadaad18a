/// What a server does with messages by itself: send them back, or forward them.
extension ServerCore {
  /// Whether a message can be taken.
  enum Admission: Equatable, Sendable {
    case taken
    /// There is no room now where it is to go.
    case noRoom
    case refused(FailureReason)
  }

  /// A body as its sender wrote it.
  func plain(_ body: RawSpan, _ header: FrameHeader) -> [UInt8] {
    if header.compression == 1, let inflated = Deflate.inflated(body) { return inflated }
    return body.withUnsafeBytes { [UInt8]($0) }
  }

  /// Whether a message can be taken that a session has sent.
  func admission(of body: [UInt8], _ count: Int, _ place: Int) -> Admission {
    guard configuration.service == .forward else {
      return sessions[place].traffic.hasRoom(count, .normal) ? .taken : .noRoom
    }
    guard let target = target(of: body) else { return .refused(.noRecipient) }
    guard count <= min(configuration.largestBody, OutgoingTransfer.most) - Self.addedBytes else {
      return .refused(.tooLarge)
    }
    if isTransient(body) { return .taken }
    let device = Int(sessions[place].device)
    // What has come before is acknowledged again, whatever room there is now.
    if hasCome(body, target, from: device) { return .taken }
    return refusal(of: count + Self.addedBytes, for: target, from: device).map { .refused($0) } ?? .taken
  }

  /// Why a message of so many bytes cannot be taken in for a user or a group; `nil` when it can.
  func refusal(of count: Int, for target: (name: String, isGroup: Bool), from device: Int) -> FailureReason? {
    target.isGroup
      ? refusal(of: count, forGroup: target.name, from: device) : refusal(of: count, for: target.name, from: device)
  }

  /// Whether a message with this number has come from the device before.
  func hasCome(_ body: [UInt8], _ target: (name: String, isGroup: Bool), from device: Int) -> Bool {
    guard let (number, _) = origin(in: body), number > 0 else { return false }
    return devices[device].conversations[conversation(target, number)]?.contains(MessageOrigin.counter(of: number))
      ?? false
  }

  /// What a server adds to a body, at most: the sender's name and the origin.
  static var addedBytes: Int { 640 }

  /// The user or the group that a message names; the group, where it names both.
  func target(of body: [UInt8]) -> (name: String, isGroup: Bool)? {
    let bytes = body.span.bytes
    let group = TLV.value(of: .group, in: bytes)
    guard let range = group ?? TLV.value(of: .recipient, in: bytes), range.count <= 256, !range.isEmpty else {
      return nil
    }
    return String(validating: body[range], as: UTF8.self).map { ($0, group != nil) }
  }

  /// The number and the time that a client has written into its message.
  private func origin(in body: [UInt8]) -> (number: UInt64, milliseconds: UInt64)? {
    let bytes = body.span.bytes
    guard let range = TLV.value(of: .origin, in: bytes), range.count == 16 else { return nil }
    let middle = range.lowerBound + 8
    return (TLV.number(bytes, range.lowerBound..<middle), TLV.number(bytes, middle..<range.upperBound))
  }

  /// Whether a message is of use to those who are there alone.
  private func isTransient(_ body: [UInt8]) -> Bool {
    let bytes = body.span.bytes
    return TLV.value(of: .typing, in: bytes) != nil || TLV.value(of: .userStatus, in: bytes) != nil
  }

  private func conversation(_ target: (name: String, isGroup: Bool), _ number: UInt64) -> Conversation {
    Conversation(name: target.name, isGroup: target.isGroup, lane: MessageOrigin.lane(of: number))
  }

  /// Does with a message that came for the first time what the service says.
  mutating func serve(
    _ body: [UInt8], _ header: FrameHeader, _ place: Int, _ large: LargeContent? = nil, at now: Instant
  ) {
    switch configuration.service {
    case .deliver: break
    case .echo: _ = try? accept(.data, body, header.sequence.category ?? .normal, .normal, place, at: now)
    case .forward: forward(body, header, place, large, at: now)
    }
  }

  /// Sends a message on to the user it names, with its sender's name, device and number as the server knows them.
  private mutating func forward(
    _ body: [UInt8], _ header: FrameHeader, _ place: Int, _ large: LargeContent?, at now: Instant
  ) {
    guard let target = target(of: body) else { return }
    let device = Int(sessions[place].device)
    let category = header.sequence.category ?? .normal
    var origin = MessageOrigin(
      device: devices[device].identity, number: 0, milliseconds: UInt64(header.time) * 1_000)
    let said = self.origin(in: body)
    if let said { (origin.number, origin.milliseconds) = said }
    let isTransient = isTransient(body)
    var missing: UInt64?
    var withheld: [UInt64] = []
    if !isTransient, said == nil || origin.number > 0 {
      let lane = said == nil ? MessageOrigin.lane(category, .normal) : MessageOrigin.lane(of: origin.number)
      let conversation = Conversation(name: target.name, isGroup: target.isGroup, lane: lane)
      guard let counter = number(origin.number, isSaid: said != nil, in: conversation, of: device, &missing) else {
        metrics.duplicatesReceived += 1
        return
      }
      origin.number = UInt64(lane) << 56 | counter
      withheld = self.withheld(in: conversation, before: counter, of: device)
    } else {
      origin.number = 0
    }
    let forwarded = forwarded(body, origin, from: device, missing, withheld)
    if isTransient {
      guard target.isGroup else { return pass(forwarded, category, to: target.name, at: now) }
      let sender = devices[device].user
      guard let sender, let members = groups[target.name], members.contains(sender) else { return }
      for member in members where member != sender { pass(forwarded, category, to: member, at: now) }
      return
    }
    let isShort = large == nil && forwarded.count <= Deflate.largestCount
    let compressed = configuration.speech.compresses && isShort ? Deflate.compressed(forwarded) : nil
    var letter = Letter(
      id: MessageID(rawValue: nextMessage), body: large == nil ? compressed ?? forwarded : [],
      isCompressed: compressed != nil, category: category, sender: self.id(ofDevice: device), at: now)
    if let large {
      letter.large =
        accepted(relay: large.body, target, from: device, at: now)
        ?? LargeBody(large.body, prefix: forwarded, parts: large.parts, large.reader)
    }
    let name = MessageName(
      conversation: target.name, isGroup: target.isGroup, number: said == nil ? 0 : origin.number)
    let from = SentFrom(self.id(place), header.sequence, letter.sender, name)
    guard !target.isGroup else { return putAll(letter, in: target.name, from, at: now) }
    letter.id = MessageID(rawValue: nextMessage)
    nextMessage += 1
    origins.note(letter.id, from)
    put(letter, for: target.name, at: now)
  }

  /// A message as its recipients get it: with the values that the server knows about its sender, and without those that only the server may set.
  private func forwarded(
    _ body: [UInt8], _ origin: MessageOrigin, from device: Int, _ missing: UInt64?, _ withheld: [UInt64]
  ) -> [UInt8] {
    var forwarded: [UInt8] = []
    if let sender = devices[device].user { TLV.append(.sender, sender.utf8, to: &forwarded) }
    TLV.append(.origin, origin.forwarded, to: &forwarded)
    if let missing { TLV.append(.missing, TLV.bigEndian(missing), to: &forwarded) }
    if !withheld.isEmpty { TLV.append(.withheld, withheld.flatMap { TLV.bigEndian($0) }, to: &forwarded) }
    // No client writes under another client's name.
    TLV.append(body, without: [.sender, .origin, .missing, .withheld], to: &forwarded)
    return forwarded
  }

  /// The values before the content of a large message, as its recipients get them while it arrives; `nil` if they cannot be known yet.
  ///
  /// The number of the first missing message is that of the moment: it may arrive before the large message is whole.
  func prefix(ofRelay head: [UInt8], _ target: (name: String, isGroup: Bool), from device: Int) -> [UInt8]? {
    guard let (number, milliseconds) = origin(in: head), !isTransient(head) else { return nil }
    let origin = MessageOrigin(device: devices[device].identity, number: number, milliseconds: milliseconds)
    let counter = MessageOrigin.counter(of: number)
    guard number > 0 else { return forwarded(head, origin, from: device, nil, []) }
    let conversation = conversation(target, number)
    let floor = devices[device].conversations[conversation]?.floor ?? 1
    return forwarded(
      head, origin, from: device, floor < counter ? floor : nil,
      withheld(in: conversation, before: counter, of: device))
  }

  /// Numbers that are announced with a later one.
  private static var mostWithheld: Int { 32 }

  /// A message was refused for good: the next message tells its recipients not to wait for it.
  mutating func withhold(_ body: [UInt8], of device: Int) {
    guard configuration.service == .forward, let target = target(of: body), let (number, _) = origin(in: body),
      MessageOrigin.counter(of: number) > 0
    else { return }
    let conversation = conversation(target, number)
    let counter = MessageOrigin.counter(of: number)
    guard !devices[device].withheld.contains(where: { $0.counter == counter && $0.conversation == conversation }) else {
      return
    }
    devices[device].withheld.append((conversation, counter))
    if devices[device].withheld.count > 4 * Self.mostWithheld { devices[device].withheld.removeFirst() }
  }

  private func withheld(in conversation: Conversation, before counter: UInt64, of device: Int) -> [UInt64] {
    guard !devices[device].withheld.isEmpty else { return [] }
    return devices[device].withheld.filter { $0.counter < counter && $0.conversation == conversation }
      .suffix(Self.mostWithheld).map(\.counter)
  }

  /// The counter of a message in its conversation, which has come with it; `nil` when it had come before. A client that
  /// does not number its messages has them numbered as they come.
  private mutating func number(
    _ number: UInt64, isSaid: Bool, in conversation: Conversation, of device: Int, _ missing: inout UInt64?
  ) -> UInt64? {
    if devices[device].conversations[conversation] == nil {
      if devices[device].conversations.count >= ServerDevice.mostConversations,
        let some = devices[device].conversations.keys.first
      {
        devices[device].conversations[some] = nil
      }
      devices[device].conversations[conversation] = NumberWindow(floor: 1)
    }
    let floor = devices[device].conversations[conversation]?.floor ?? 1
    let counter = isSaid ? MessageOrigin.counter(of: number) : floor
    guard devices[device].conversations[conversation]?.insert(counter) ?? false else { return nil }
    if configuration.isDurable {
      changedNumbers.insert(ChangedNumbers(device: self.id(ofDevice: device), conversation: conversation))
    }
    if floor < counter { missing = floor }
    return counter
  }

  /// Hands a message that is not stored to those of its recipient's devices that are there.
  private mutating func pass(_ body: [UInt8], _ category: SequenceCategory, to user: String, at now: Instant) {
    guard let box = users[user].map({ Int($0) }) else { return }
    for device in mailboxes[box].devices {
      guard let session = devices[Int(device)].sessions.first(where: { sessions[Int($0)].linkMask != 0 }) else {
        continue
      }
      _ = try? accept(.data, body, category, .normal, Int(session), at: now)
    }
  }

  // MARK: answers

  /// Tells a client that its message will not arrive, if it understands that: else its patience ends it.
  mutating func refuse(
    _ sequence: SequenceNumber, _ reason: FailureReason, _ place: Int, on link: Int, at now: Instant
  ) {
    guard sessions[place].traffic.features.contains(.rejections) else { return }
    var body: [UInt8] = []
    let value = TLV.bigEndian(sequence.rawValue) + TLV.bigEndian(reason.rawValue) + TLV.bigEndian(UInt32(0))
    TLV.append(.refused, value, to: &body)
    let number = sessions[place].traffic.counters.take(.control)
    let (wireID, version) = (sessions[place].traffic.wireID, sessions[place].traffic.version)
    writeControl(body, wireID, number, version, on: link, at: now)
  }

  /// Tells senders what was delivered.
  mutating func inform(at now: Instant) {
    let all = informed
    informed.removeAll(keepingCapacity: all.count <= 1_024)
    for session in all {
      guard let place = place(of: session) else { continue }
      inform(place, at: now)
      sendPendingReceipts(place, at: now)
    }
  }

  mutating func inform(_ place: Int, at now: Instant) {
    guard !sessions[place].delivered.isEmpty else { return }
    var body: [UInt8] = []
    TLV.append(.delivered, sessions[place].delivered.flatMap { TLV.bigEndian($0) }, to: &body)
    let all = sessions[place].delivered
    sessions[place].delivered = []
    do { try accept(.receipt, body, .normal, .normal, place, at: now) } catch {
      // There is no room: who can be told by name is told so.
      for from in origins.names(of: Set(all), in: id(place)).values { queueReceipt(from, isRead: false, at: now) }
    }
  }

  /// A client has taken messages, or its user has read one.
  /// - Returns: whether the receipt is to be acknowledged.
  mutating func receipt(_ header: FrameHeader, _ body: RawSpan, _ place: Int, at now: Instant) -> Bool {
    guard sessions[place].traffic.isFirst(header.sequence) else {
      metrics.duplicatesReceived += 1
      return true
    }
    if let range = TLV.value(of: .delivered, in: body) {
      for start in stride(from: range.lowerBound, to: range.upperBound - 3, by: 4) {
        taken(SequenceNumber(rawValue: UInt32(truncatingIfNeeded: TLV.number(body, start..<start + 4))), place, at: now)
      }
    }
    guard let range = TLV.value(of: .readReceipt, in: body), range.count == 4 else { return true }
    let sequence = SequenceNumber(rawValue: UInt32(truncatingIfNeeded: TLV.number(body, range)))
    tell(.read(id(place), sequence))
    settle(sequence, place, at: now)
    guard let message = sessions[place].traffic.reads.take(sequence) else {
      if let range = TLV.value(of: .readOrigin, in: body) {
        reportRead(body, range, by: Int(sessions[place].device), at: now)
      }
      return true
    }
    tell(message, place, .read)
    took(message, Int(sessions[place].device), at: now)
    reportRead(message, at: now)
    return true
  }

  /// The application of a client has taken the message with this number.
  private mutating func taken(_ sequence: SequenceNumber, _ place: Int, at now: Instant) {
    settle(sequence, place, at: now)
    guard let message = sessions[place].traffic.reads.message(sequence) else { return }
    tell(message, place, .delivered)
    took(message, Int(sessions[place].device), at: now)
  }

  /// A receipt may overtake its acknowledgment, which took another connection: it says as much.
  private mutating func settle(_ sequence: SequenceNumber, _ place: Int, at now: Instant) {
    guard let entry = sessions[place].traffic.pending.find(sequence) else { return }
    let pending = sessions[place].traffic.pending[entry]
    let message = pending.id
    if ClientCore.isHeldBack(pending) { answered(pending.body.count, pending.carriers, of: place, after: nil, at: now) }
    sessions[place].traffic.pending.remove(entry)
    guard message.rawValue != 0 else { return }
    metrics.messagesAcknowledged += 1
    sessions[place].traffic.reads.note(sequence, message)
  }
}
