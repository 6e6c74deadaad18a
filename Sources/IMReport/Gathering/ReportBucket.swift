package import IMEngine
package import IMMetrics
import IMOutput
package import IMWire

/// What a stretch of time came to.
package struct ReportBucket: Additive {
  /// Messages of every role by their type: the plan's index above the type's. They count when their first copy came.
  package private(set) var types: [UInt16: UInt32] = [:]
  /// Messages of users that were lost, sent again before their answer, or refused; those whose answer the capture may lack.
  package private(set) var lost: UInt32 = 0, retried: UInt32 = 0, rejected: UInt32 = 0, unknown: UInt32 = 0
  /// Round trips by Karn's rule, of everything but heartbeats, by direction.
  package private(set) var roundTrips = RTTByDirection()
  /// Microseconds from one heartbeat of a connection to the next.
  package private(set) var intervals = RTTHistogram()
  /// Heartbeats without an answer.
  package private(set) var missed: UInt32 = 0
  /// Bytes of streams that were missing.
  package private(set) var missingBytes: UInt64 = 0

  /// Nothing counted.
  package init() {}

  /// Messages of users whose fate is known or may be lost, lost ones among them.
  package private(set) var messages: UInt32 = 0

  /// Whether something was wrong.
  var isTrouble: Bool { lost > 0 || missingBytes > 0 || unknown > 0 }
  /// The part of the messages that was lost.
  var loss: Double { messages == 0 ? 0 : Double(lost) / Double(messages) }

  /// The key of a type in `types`.
  package static func key(plan: UInt8, kind: UInt8) -> UInt16 { UInt16(plan) << 8 | UInt16(kind) }

  /// Counts a message whose fate is final; or whose fate is decided anew, with `isRevision`, because its answer came late: it was
  /// counted before.
  package mutating func count(_ exchange: borrowing Exchange, _ role: FrameRole, isRevision: Bool = false) {
    if isRevision { return revise(exchange, role) }
    let fate = exchange.fate
    types[Self.key(plan: exchange.plan, kind: exchange.kind), default: 0] &+= 1
    if role == .heartbeat {
      if fate == .unanswered || fate == .damaged { missed &+= 1 }
      return
    }
    if let roundTrip = exchange.roundTrip { roundTrips.record(roundTrip, exchange.direction) }
    guard role == .message else { return }
    messages &+= 1
    switch fate {
    case .unanswered, .damaged: lost &+= 1
    case .rejected: rejected &+= 1
    case .unknown: unknown &+= 1
    case .acked, .ackedAfterRetry, .pending, .unacknowledged: break
    }
    if exchange.repeats > 0, fate != .unacknowledged { retried &+= 1 }
  }

  private mutating func revise(_ exchange: borrowing Exchange, _ role: FrameRole) {
    let before = exchange.outcome.before
    if role == .heartbeat {
      if before == .unanswered || before == .damaged { missed &-= min(missed, 1) }
      return
    }
    if let roundTrip = exchange.roundTrip { roundTrips.record(roundTrip, exchange.direction) }
    guard role == .message else { return }
    switch before {
    case .unanswered, .damaged: lost &-= min(lost, 1)
    case .unknown: unknown &-= min(unknown, 1)
    case .acked, .ackedAfterRetry, .rejected, .pending, .unacknowledged: break
    }
    if exchange.fate == .rejected { rejected &+= 1 }
  }

  /// The names of types, with their profile's where several decoded something.
  package static func names(_ names: [UInt16: String], _ plans: [ProtocolPlan]) -> [UInt16: String] {
    guard Set(names.keys.map { $0 >> 8 }).count > 1 else { return names }
    return Dictionary(uniqueKeysWithValues: names.map { ($0, "\($1) (\(plans[Int($0 >> 8)].name))") })
  }

  /// Counts the time since the heartbeat before.
  package mutating func heartbeat(after interval: Nanoseconds) { intervals.record(interval) }

  /// Counts missing bytes.
  package mutating func missing(_ byteCount: UInt64) { missingBytes &+= byteCount }

  /// Adds what another one counted.
  package mutating func add(_ other: ReportBucket) {
    for (type, count) in other.types { types[type, default: 0] &+= count }
    messages &+= other.messages
    lost &+= other.lost
    retried &+= other.retried
    rejected &+= other.rejected
    unknown &+= other.unknown
    roundTrips.add(other.roundTrips)
    intervals.add(other.intervals)
    missed &+= other.missed
    missingBytes &+= other.missingBytes
  }
}
