/// A large message that goes on to its recipients while it comes.
struct Relay: Sendable {
  /// What its recipients get of it.
  let large: LargeBody
  /// The sessions that it goes out in.
  var recipients: [SessionID]

  /// Bytes that may go out while so many have come without a gap: never the last one, which ends the message.
  func available(_ contiguous: Int) -> Int {
    let count = large.parts.reduce(large.prefix.count) { $0 + $1.clamped(to: 0..<contiguous).count }
    return min(count, large.source.count - 1)
  }
}

/// Large messages that go on while they come, so that a slow way to the server and a slow way from it overlap.
///
/// Nothing of such a message is a letter before it is whole and accepted: what has come goes to those devices of its recipients that are
/// there, and its end follows when there is a letter. One that is given up before is withdrawn.
extension ServerCore {
  /// Messages that may go on at once: to one session, and to all.
  private static var mostOfSession: Int { 4 }
  private static var mostRelays: Int { 1_024 }
  /// Sessions that one may go to. Others get it when it is whole.
  private static var mostRecipients: Int { 64 }
  /// Messages that are no letters yet have numbers from here on.
  static var firstRelay: UInt64 { 1 << 63 }

  /// A piece of a large message has come: those who have a part of it get what has come.
  mutating func relay(_ piece: IncomingTransfer.Piece, _ frame: RawSpan, _ place: Int, at now: Moment) {
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

  /// Begins to send a message on, of which `beginning` is there: where that says for whom it is and where its content begins.
  private mutating func begin(
    _ body: UInt64, _ beginning: RawSpan, _ size: Int, _ place: Int, at now: Moment
  ) -> Relay? {
    let device = Int(sessions[place].device)
    guard relays.count < Self.mostRelays, let bodies, let reader = bodies.reader(of: body),
      let (head, parts) = Self.read(Beginning(beginning.withUnsafeBytes { [UInt8]($0) }, of: size)),
      let target = target(of: head), let prefix = prefix(ofRelay: head, target, from: device)
    else { return nil }
    let large = LargeBody(body, prefix: prefix, parts: parts, reader)
    var relay = Relay(large: large, recipients: [])
    for recipient in recipients(of: target, from: device) where relay.recipients.count < Self.mostRecipients {
      // Nothing waits before it.
      guard devices[recipient].cursor.next == mailboxes[Int(devices[recipient].mailbox)].end,
        let session = lane(of: recipient),
        sessions[session].traffic.features.isSuperset(of: [.transfers, .resumption, .relays]),
        sessions[session].traffic.transfers.relayCount < Self.mostOfSession
      else { continue }
      nextRelay += 1
      let message = QueuedMessage(
        id: MessageID(rawValue: Self.firstRelay + nextRelay), kind: .data, category: .media, priority: .normal,
        body: [], acceptedAt: now)
      sessions[session].traffic.transfers.relay(message, large.source, name: body, asks: true, available: 0)
      relay.recipients.append(id(session))
    }
    return relay.recipients.isEmpty ? nil : relay
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

  /// A message that goes on while it comes is whole and accepted: what its letter consists of. Who does not get the letter loses the
  /// message.
  mutating func accepted(
    relay body: UInt64, _ target: (name: String, isGroup: Bool), from device: Int, at now: Moment
  ) -> LargeBody? {
    guard let relay = relays.removeValue(forKey: body) else { return nil }
    let devices = Set(recipients(of: target, from: device))
    for session in relay.recipients {
      guard let place = place(of: session), !devices.contains(Int(sessions[place].device)) else { continue }
      withdraw(body, from: place, at: now)
    }
    return relay.large
  }

  /// Whether a message that goes on while it comes has turned out to be another one than its beginning said.
  func isContradicted(_ body: UInt64, _ parts: [Range<Int>]) -> Bool {
    relays[body].map { $0.large.parts != parts } ?? false
  }

  /// A message that goes on while it comes is given up.
  mutating func withdraw(relay body: UInt64, at now: Moment) {
    guard let relay = relays.removeValue(forKey: body) else { return }
    for session in relay.recipients {
      if let place = place(of: session) { withdraw(body, from: place, at: now) }
    }
  }

  /// A device does not get a message of which it may have a part.
  mutating func withdraw(_ body: UInt64, fromDevice device: Int, at now: Moment) {
    for session in devices[device].sessions { withdraw(body, from: Int(session), at: now) }
  }

  private mutating func withdraw(_ body: UInt64, from place: Int, at now: Moment) {
    guard let (message, hasBegun) = sessions[place].traffic.transfers.relayed(body) else { return }
    removePieces(of: message, place, at: now)
    guard hasBegun else { return }
    var value: [UInt8] = []
    TLV.append(.withdrawn, TLV.bigEndian(body), to: &value)
    // Without room for it what has come stays with the client until its session is forgotten.
    _ = try? accept(.control, value, .control, .high, place, at: now)
  }

  /// The first bytes of a body, of which nothing else can be read.
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
