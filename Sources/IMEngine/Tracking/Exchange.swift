package import IMWire

/// One message with all its copies and answers: what the protocol's two ends meant as one. 64 bytes, one cache line.
///
/// The times of its last copy and its first answer are kept as whole microseconds after the first copy; they stop at
/// 71 and at 35 minutes, far beyond the time for any answer. Two places mean one thing until the first answer and another
/// behind it: `place` and `detail`.
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
    package static let settled = Flags(rawValue: 4)
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
  package var sequence: UInt64
  /// When the first copy came.
  package var firstAt: Timestamp
  /// The tracker's session.
  package var session: UInt32
  /// Link to an older exchange with the same number.
  var previous: UInt32 = 0
  /// Its number in this run, from 0.
  package var id: UInt32
  /// Length and checksum in one: equal bodies have equal fingerprints.
  var fingerprint: UInt32
  /// The flow of the first copy.
  package var flow: UInt32
  /// That flow's serial number; its place may have been given to another.
  package var connection: UInt32
  /// The length in bytes of the first copy's body, as on the wire.
  package var bodyCount: UInt32
  /// Microseconds from the first copy to the last.
  private var lastDelay: UInt32 = 0
  /// Until an answer comes, the low half of the stream offset behind the first copy; then the microseconds from the first
  /// copy to the first answer, below 0 where the capture has the answer first.
  private var place: UInt32
  /// Copies after the first, up to the first answer; like the counts below, it stops at 65,535.
  package var repeats: UInt16 = 0
  /// Copies after the first answer.
  package var duplicates: UInt16 = 0
  /// Answers seen.
  package var acks: UInt16 = 0
  /// The low half of the sender's clock in the last copy; behind an answer that has a status, the status's number in
  /// `StatusTable`, if `hasStatus`.
  private var detail: UInt16
  /// What is known of it.
  package var flags: Flags
  /// What it has come to; it counts only with `Flags.settled`, and an answer that comes late changes it.
  package internal(set) var outcome = FateAndCause()
  /// The index of the plan that decodes it, in `EngineOptions.plans`.
  package var plan: UInt8
  /// Its type, by `FrameKind.index`; `.max` for a type that the profile does not know.
  package var kind: UInt8

  /// An exchange whose first copy came at `firstAt`.
  @inline(__always)
  init(
    sequence: UInt64, session: UInt32, direction: Direction, id: UInt32, firstAt: Timestamp, flow: UInt32,
    connection: UInt32, bodyCount: UInt32, end: UInt32, fingerprint: UInt32, clock: UInt16, flags: Flags, plan: UInt8,
    kind: UInt8
  ) {
    self.sequence = sequence
    self.session = session
    self.id = id
    self.firstAt = firstAt
    self.flow = flow
    self.connection = connection
    self.bodyCount = bodyCount
    self.fingerprint = fingerprint
    place = end
    detail = clock
    self.flags = direction == .serverToClient ? Flags(rawValue: flags.rawValue | Flags.fromServer.rawValue) : flags
    self.plan = plan
    self.kind = kind
  }

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
  package var lastAt: Timestamp { firstAt.advanced(by: Int64(lastDelay) * 1_000) }
  private var answerDelay: Int32 { Int32(bitPattern: place) }
  /// When the first answer came, to the microsecond; `distantPast` where none came.
  package var ackedAt: Timestamp {
    isAnswered ? Timestamp(microseconds: firstAt.microseconds + Int64(answerDelay)) : .distantPast
  }
  /// From the first copy to the first answer, in whole microseconds of the packets' times; `nil` without an answer, and
  /// where the capture has the answer first.
  package var latency: Int64? { isAnswered && answerDelay >= 0 ? Int64(answerDelay) : nil }
  /// `latency`, when only one copy was seen before the answer: after a repeat nobody can tell which copy was answered
  /// (Karn's rule).
  package var roundTrip: Int64? { repeats == 0 ? latency : nil }
  /// The number in `StatusTable` of the answer's status; 0 without one.
  package var status: UInt16 { outcome.hasStatus ? detail : 0 }
  /// The low half of the stream offset behind the first copy; it counts until the answer comes.
  var end: UInt32 { place }
  /// The low half of the sender's clock in the last copy; it counts until an answer with a status comes.
  var clock: UInt16 { detail }

  /// Takes note of the first answer; gives `latency`. `status` is its number in `StatusTable`, 0 without one.
  @inline(__always)
  mutating func answered(at now: Timestamp, status: UInt16) -> Int64? {
    let delay = now.microseconds &- firstAt.microseconds
    let told =
      now >= firstAt
      ? Int32(truncatingIfNeeded: min(delay, Int64(Int32.max)))
      : Int32(truncatingIfNeeded: max(min(delay, -1), -Int64(Int32.max)))
    place = UInt32(bitPattern: told)
    acks = 1
    if status != 0 {
      detail = status
      outcome.hasStatus = true
    }
    return told >= 0 ? Int64(told) : nil
  }

  /// Takes note of a copy with the low half of its sender's clock.
  mutating func copied(at now: Timestamp, clock: UInt16) {
    let delay = UInt32(clamping: now.nanoseconds(since: firstAt) / 1_000)
    lastDelay = max(lastDelay, delay)
    if !outcome.hasStatus { detail = clock }
  }
}
