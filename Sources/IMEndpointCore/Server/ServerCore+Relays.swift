/// A large message that is relayed to its recipients while it arrives.
struct Relay: Sendable {
  /// The message as its recipients get it.
  let large: LargeBody
  /// The sessions that it is sent in.
  let recipients: [SessionID]

  /// How many bytes may go out after `contiguous` bytes have arrived without a gap: never the last one, which ends the message.
  func available(_ contiguous: Int) -> Int {
    let count = large.parts.reduce(large.prefix.count) { $0 + $1.clamped(to: 0..<contiguous).count }
    return min(count, large.source.count - 1)
  }
}

/// Cut-through relaying of large messages: upload and download of a message overlap.
///
/// A message becomes a letter when it is whole and accepted. Until then its bytes go to those devices of its recipients that are
/// connected, all but the last piece, which follows with the letter. A message that its sender gives up is withdrawn.
extension ServerCore {
  /// Messages that may be relayed at once: to one session, and in all.
  private static var mostOfSession: Int { 4 }
  private static var mostRelays: Int { 1_024 }
  /// Sessions that one message may be relayed to. Others get it when it is whole.
  private static var mostRecipients: Int { 64 }
  /// Bytes of a withdrawal.
  private static var withdrawalCount: Int { TLV.headCount + 8 }
  /// Until a message is a letter, its number is that of its body from here on.
  static var firstRelay: UInt64 { 1 << 63 }

  /// Relays what has arrived of a large message, a piece of which was taken.
  mutating func relay(_ piece: IncomingTransfer.Piece, _ frame: RawSpan, _ place: Int, at now: Instant) {
    guard configuration.service == .forward,
      let known = sessions[place].traffic.transfers.arriving(piece.name)
    else { return }
    if relays[known.body] == nil, piece.offset == 0 {
      relays[known.body] = begin(known.body, frame.extracting(piece.bytes), piece.size, place, at: now)
    }
    guard let relay = relays[known.body] else { return }
    let available = relay.available(known.contiguous)
    for session in relay.recipients {
      guard let recipient = self.place(of: session),
        sessions[recipient].traffic.transfers.extend(known.body, to: available)
      else { continue }
      pumpPieces(recipient, at: now)
    }
  }

  /// Begins to relay a message whose first bytes are `beginning`, if they name the recipient and hold the head of the content.
  private mutating func begin(
    _ body: UInt64, _ beginning: RawSpan, _ size: Int, _ place: Int, at now: Instant
  ) -> Relay? {
    let device = Int(sessions[place].device)
    guard relays.count < Self.mostRelays, let bodies, let reader = bodies.reader(of: body),
      let (head, parts) = Self.read(Beginning(beginning.withUnsafeBytes { [UInt8]($0) }, of: size)),
      let target = target(of: head), let prefix = prefix(ofRelay: head, target, from: device)
    else { return nil }
    let large = LargeBody(body, prefix: prefix, parts: parts, reader)
    var sent: [SessionID] = []
    for recipient in recipients(of: target, from: device) where sent.count < Self.mostRecipients {
      // No letter waits before it.
      guard devices[recipient].cursor.next == mailboxes[Int(devices[recipient].mailbox)].end,
        let session = lane(of: recipient),
        sessions[session].traffic.features.isSuperset(of: [.transfers, .resumption, .relays]),
        sessions[session].traffic.transfers.relayCount < Self.mostOfSession,
        sessions[session].traffic.hasRoom(Self.withdrawalCount, .high)
      else { continue }
      let message = QueuedMessage(
        id: MessageID(rawValue: Self.firstRelay | body), kind: .data, category: .media, priority: .normal, body: [],
        acceptedAt: now)
      sessions[session].traffic.transfers.append(message, large.source, name: body, asks: true, available: 0)
      sent.append(id(session))
    }
    return sent.isEmpty ? nil : Relay(large: large, recipients: sent)
  }

  /// The devices that a message goes to.
  private func recipients(of target: (name: String, isGroup: Bool), from device: Int) -> [Int] {
    guard target.isGroup else { return devices(of: target.name) }
    let members = groups[target.name] ?? []
    guard let sender = devices[device].user, members.contains(sender) else { return [] }
    return members.sorted().flatMap { devices(of: $0) }.filter { $0 != device }
  }

  private func devices(of user: String) -> [Int] {
    users[user].map { mailboxes[Int($0)].devices.map { Int($0) } } ?? []
  }

  /// The body of the letter of a relayed message that is whole and accepted; `nil` if it was not relayed. The message is withdrawn from
  /// sessions whose devices do not get the letter.
  mutating func accepted(
    relay body: UInt64, _ target: (name: String, isGroup: Bool), from device: Int, at now: Instant
  ) -> LargeBody? {
    guard let relay = relays.removeValue(forKey: body) else { return nil }
    let devices = Set(recipients(of: target, from: device))
    for session in relay.recipients {
      guard let place = place(of: session), !devices.contains(Int(sessions[place].device)) else { continue }
      withdraw(body, from: place, at: now)
    }
    return relay.large
  }

  /// Whether a relayed message that is whole does not match what its beginning announced.
  func isContradicted(_ body: UInt64, _ parts: [Range<Int>]) -> Bool {
    relays[body].map { $0.large.parts != parts } ?? false
  }

  /// Withdraws a relayed message that will not become a letter.
  mutating func withdraw(relay body: UInt64, at now: Instant) {
    guard let relay = relays.removeValue(forKey: body) else { return }
    for session in relay.recipients {
      if let place = place(of: session) { withdraw(body, from: place, at: now) }
    }
  }

  /// Withdraws a message from a device that may have a part of it.
  mutating func withdraw(_ body: UInt64, fromDevice device: Int, at now: Instant) {
    for session in devices[device].sessions { withdraw(body, from: Int(session), at: now) }
  }

  private mutating func withdraw(_ body: UInt64, from place: Int, at now: Instant) {
    guard let (message, hasBegun) = sessions[place].traffic.transfers.relayed(body) else { return }
    removePieces(of: message, place, at: now)
    guard hasBegun else { return }
    var value: [UInt8] = []
    TLV.append(.withdrawn, TLV.bigEndian(body), to: &value)
    // A full queue takes it as well: a client that is not told would keep its part. There was room when the relay began, so no
    // more than `mostOfSession` of them exceed a limit.
    sessions[place].traffic.enqueue(
      QueuedMessage(
        id: MessageID(rawValue: 0), kind: .control, category: .control, priority: .high, body: value, acceptedAt: now))
    pump(place, at: now)
  }

  /// The first bytes of a body; the others cannot be read yet.
  private final class Beginning: BodyReader {
    private let bytes: [UInt8]
    let byteCount: Int

    init(_ bytes: [UInt8], of byteCount: Int) { (self.bytes, self.byteCount) = (bytes, byteCount) }

    func read(at offset: Int, count: Int) -> [UInt8]? {
      offset + count <= bytes.count ? Array(bytes[offset..<offset + count]) : nil
    }
    func digest() -> [UInt8]? { nil }
  }
}
