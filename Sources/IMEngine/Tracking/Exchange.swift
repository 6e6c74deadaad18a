package import IMWire

/// One message with all its copies and answers, as sinks are told of it: what the protocol's two ends meant as one. The tracker
/// keeps a `KeptExchange`, and makes this where a sink asks for it.
///
/// The times of its last copy and its first answer are whole microseconds after the first copy; they stop at 71 and at
/// 35 minutes, far beyond the time for any answer.
package struct Exchange: Sendable, BitwiseCopyable {
  /// Facts that are true or not.
  package struct Flags: OptionSet, Sendable, BitwiseCopyable {
    /// One bit for each.
    package let rawValue: UInt8
    /// The flags whose bits are set in `rawValue`.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// A copy with a right checksum, or without need of one, was seen.
    package static let good = Flags(rawValue: 1)
    /// A copy with a wrong checksum was seen.
    package static let bad = Flags(rawValue: 2)
    /// The fate is decided.
    package static let resolved = Flags(rawValue: 4)
    /// The answer came after the time for it had run out.
    package static let late = Flags(rawValue: 8)
    /// The answer refused it.
    package static let refused = Flags(rawValue: 16)
    /// Its copies go from the server to the client.
    static let fromServer = Flags(rawValue: 32)
    /// It lives on in another place of the table.
    static let moved = Flags(rawValue: 64)
    /// A receipt said that it was read.
    static let read = Flags(rawValue: 128)
  }

  /// The number that the sender gave it, or one of our own above 2³² for types without one.
  package let sequence: UInt64
  /// When the first copy came.
  package let firstAt: Timestamp
  /// The tracker's session.
  package let session: UInt32
  /// Its number in this run, from 0.
  package let id: UInt32
  /// The flow of the first copy.
  package let flow: UInt32
  /// That flow's serial number; its place may have been given to another.
  package let connection: UInt32
  /// The length in bytes of the first copy's body, as on the wire.
  package let bodyCount: UInt32
  /// Microseconds from the first copy to the last.
  private let lastDelay: UInt32
  /// Microseconds from the first copy to the first answer, below 0 where the capture has the answer first.
  private let answerDelay: Int32
  /// The number in `StatusTable` of the answer's status; 0 without one.
  package let status: UInt16
  /// Copies after the first, up to the first answer; like the counts below, it stops at 65,535.
  package let repeats: UInt16
  /// Copies after the first answer.
  package let duplicates: UInt16
  /// Answers seen.
  package let acks: UInt16
  /// What is known of it.
  package let flags: Flags
  /// What it has come to; it counts only with `Flags.resolved`, and an answer that comes late changes it.
  package let outcome: FateAndCause
  /// The index of the plan that decodes it, in `EngineOptions.plans`.
  package let plan: UInt8
  /// Its type, by `FrameKind.index`; `.max` for a type that the profile does not know.
  package let kind: UInt8

  /// All of one: what is kept of it, and beside that its number, its number in the run and `rest`.
  init(_ kept: KeptExchange, sequence: UInt64, id: UInt32, rest: ExchangeRest) {
    self.sequence = sequence
    firstAt = kept.firstAt
    session = kept.session
    self.id = id
    flow = kept.flow
    connection = kept.connection
    bodyCount = kept.bodyCount
    lastDelay = rest.lastDelay
    answerDelay = kept.answerDelay
    status = kept.status
    repeats = rest.repeats
    duplicates = rest.duplicates
    acks = rest.furtherAcks &+ (kept.isAnswered ? 1 : 0)
    flags = kept.flags
    outcome = kept.outcome
    plan = kept.plan
    kind = kept.kind
  }

  /// The bit in numbers that the tracker assigns to types without numbers; their answers belong to the oldest open exchange.
  static var ownNumbers: UInt64 { 1 << 63 }
  /// Whether `sequence` is such a number, which is not on the wire.
  package var hasOwnNumber: Bool { sequence & Self.ownNumbers != 0 }
  /// The direction of its copies; answers go the other way.
  @inline(__always)
  package var direction: Direction {
    flags.rawValue & Flags.fromServer.rawValue == 0 ? .clientToServer : .serverToClient
  }
  /// Whether an answer came.
  @inline(__always)
  package var isAnswered: Bool { acks != 0 }
  /// What became of it.
  package var fate: Fate { outcome.fate }
  /// Why it did not succeed; see `FateAndCause.cause`.
  package var cause: Cause? { outcome.cause }
  /// Copies seen, at most 65,535.
  package var copies: UInt16 { UInt16(clamping: 1 + Int(repeats) + Int(duplicates)) }
  /// When the last copy came, to the microsecond.
  package var lastAt: Timestamp { firstAt.advanced(by: Nanoseconds.microseconds(Int64(lastDelay))) }
  /// When the first answer came, to the microsecond; `distantPast` where none came.
  package var ackedAt: Timestamp {
    guard isAnswered else { return .distantPast }
    let isKnown = answerDelay != KeptExchange.unknownDelay
    return isKnown ? Timestamp(microseconds: firstAt.microseconds + Int64(answerDelay)) : firstAt
  }
  /// From the first copy to the first answer, in whole microseconds of the packets' times; `nil` without an answer, and
  /// where the capture has the answer first.
  package var latency: Nanoseconds? {
    isAnswered && answerDelay >= 0 ? .microseconds(Int64(answerDelay)) : nil
  }
  /// `latency`, when only one copy was seen before the answer: after a repeat nobody can tell which copy was answered
  /// (Karn's rule). It is final with the fate: a copy from before the answer that comes to light later, because it was held
  /// behind a hole, changes neither.
  package var roundTrip: Nanoseconds? { repeats == 0 || flags.contains(.resolved) && fate == .acked ? latency : nil }
}
