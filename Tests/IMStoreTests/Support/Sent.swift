import IMEngineTestSupport
import IMWire

@testable import IMEngine
@testable import IMOutput
@testable import IMStore

/// A message for a table of test cases, and the values that a writer receives for it.
struct Sent {
  /// The types of `tjp`, by their indices.
  enum Kind: UInt8 {
    case data, heartbeat, ack, control, receipt
    /// A type that the plan does not know.
    case unknown = 63
  }

  /// Two protocols: clients are identified by numbers in the first, and by names in the second.
  static let plans = [
    MadePlan.tjp(statusNames: [3: "no_route"]), MadePlan.tjp(name: "named", hasSessionNumbers: false),
  ]
  private nonisolated(unsafe) static let kinds = {
    let roles: [FrameRole] = [.message, .heartbeat, .acknowledgment, .control, .receipt]
    let kinds = UnsafeMutablePointer<FrameKind>.allocate(capacity: 64)
    kinds.initialize(repeating: FrameKind(), count: 64)
    for (i, role) in roles.enumerated() {
      kinds[i].index = UInt8(i)
      kinds[i].role = role
    }
    return UnsafePointer(kinds)
  }()

  /// Its number in the run, from 0; the number of its row is one higher.
  var id: UInt32
  /// The time of its first copy, in microseconds since 1970.
  var at: Int64
  var kind = Kind.data
  var fate = Fate.acked
  /// The cause of a missing answer.
  var cause: Cause?
  /// The time to its first answer, in microseconds.
  var answerAfter: Int64?
  var direction = Direction.clientToServer
  /// The session's number in the run, from 0; on the wire it is 1,000 higher.
  var session: UInt32 = 0
  /// The name of its client, in the second protocol.
  var name: String?
  var connection: UInt32 = 1
  /// The number that determines its client's address and port, if it is not that of the connection.
  var client: UInt32?
  var plan: UInt8 = 0
  var sequence: UInt64?
  var bodyCount = 10
  /// Further copies, before and after the answer.
  var retries: UInt16 = 0, duplicates: UInt16 = 0
  var isLate = false
  /// The times of further copies and of further answers, in microseconds since 1970.
  var copies: [Int64] = [], answers: [Int64] = []
  var checksum = ChecksumStatus.be
  var flags: UInt32 = 0
  /// The status of its answer, and the index of that status in exchanges.
  var status: (number: UInt64, place: UInt16)?
  var topic: String?, text: String?, otherText: String?
  var packet: UInt64
  var capture: UInt32 = 0
  var place: UInt64?
  var streamOffset: UInt64 = 100

  init(_ id: UInt32, at: Int64, _ change: (inout Sent) -> Void = { _ in }) {
    (self.id, self.at, packet) = (id, at, 7 + UInt64(id))
    change(&self)
  }

  /// The endpoints of the connection with this number, or those of `client`.
  static func info(_ serial: UInt32, plan: UInt8 = 0, client: UInt32? = nil) -> ConnectionInfo {
    let number = client ?? serial
    var info = ConnectionInfo(
      told: serial, client: Endpoint(address: IPAddress(v4: 0xc000_0200 + number), port: UInt16(40_000 + number)),
      server: Endpoint(address: IPAddress(v4: 0xc633_6401), port: 8_080))
    info.plan = plan
    return info
  }

  var first: FirstCopy {
    var frame = Frame(kind: Self.kinds + Int(kind.rawValue))
    frame.timestamp = Timestamp(microseconds: at)
    frame.number = packet
    frame.streamOffset = streamOffset
    (frame.headerCount, frame.count) = (28, 28 + bodyCount)
    frame.session = UInt64(session) + 1_000
    frame.checksumStatus = checksum
    if let sequence {
      frame.sequence = sequence
      frame.flags.insert(.sequence)
    }
    return FirstCopy(
      frame, Self.info(connection, plan: plan, client: client), direction, Self.plans[Int(plan)], capture: capture,
      place: place)
  }

  var exchange: Exchange {
    var kept = KeptExchange(
      number: UInt32(truncatingIfNeeded: sequence ?? 0), session: session, direction: direction,
      firstAt: Timestamp(microseconds: at), flow: 0, connection: connection, bodyCount: UInt32(bodyCount), end: 0,
      fingerprint: 0, clock: 0, flags: .good, plan: plan, kind: kind.rawValue)
    if fate != .pending { kept.flags.insert(.resolved) }
    if isLate { kept.flags.insert(.late) }
    if let answerAfter {
      _ = kept.answered(at: Timestamp(microseconds: at + answerAfter), status: status?.place ?? 0)
    }
    kept.outcome.decide(fate)
    if fate == .unanswered { kept.outcome.reach(cause.map { $0 == .peer }) }
    if fate == .unknown, cause == .limit { kept.outcome.decideByLimit() }
    var rest = ExchangeRest()
    (rest.repeats, rest.duplicates) = (retries, duplicates)
    rest.lastDelay = UInt32(clamping: (copies.max() ?? at) - at)
    return Exchange(kept, sequence: sequence ?? 0, id: id, rest: rest)
  }

  var statusCode: StatusCode? { status.map { StatusCode(plan: plan, list: 0, number: $0.number) } }

  /// The facts that a writer receives for a message of a file.
  var facts: StoredFacts {
    var begun = BegunMessage(first, flags: flags)
    begun.name = name
    if let answerAfter { begun.add(TimedFrame(answerAt: at + answerAfter)) }
    for time in answers { begun.add(TimedFrame(answerAt: time)) }
    for time in copies { begun.add(TimedFrame(copyAt: time, .unchecked, flags: 0)) }
    if kind == .unknown { begun.madeExtras().unknownType = "type_99" }
    if let texts { begun.madeExtras().texts = texts }
    return StoredFacts(OpenMessage(begun: begun, exchange: exchange, status: statusCode))
  }

  private var texts: MessageDetails? {
    topic == nil && text == nil && otherText == nil
      ? nil : MessageDetails(text: text, destination: topic, otherText: otherText)
  }

  /// The record that a writer receives for a message of a live run.
  var record: MessageRecord {
    let record = MessageRecord(first)
    record.type = kind == .unknown ? "type_99" : Self.plans[Int(plan)].typeNames[Int(kind.rawValue)]
    record.sessionName = name
    for time in [at] + copies { record.copies.append(time) }
    record.checksums.append(checksum)
    for _ in copies { record.checksums.append(.unchecked) }
    if let answerAfter { record.answers.append(at + answerAfter) }
    for time in answers { record.answers.append(time) }
    record.status = statusCode
    record.details = texts
    record.flags = flags
    return record
  }

  /// A change of a file's message after its row was written.
  func change(_ add: (inout MessageChange.Later) -> Void = { _ in }) -> MessageChange {
    var later = MessageChange.Later()
    add(&later)
    return MessageChange(exchange: exchange, status: statusCode, name: name, later: later)
  }
}
