import IMTestSupport
import IMWire

@testable import IMEngine

/// Resolved exchanges with given fates.
enum MadeResolution {
  /// The time at which every exchange began.
  static let start = Timestamp(milliseconds: 1_760_000_000_000)

  /// An exchange that reached this fate after `microseconds`.
  static func exchange(
    _ fate: Fate, _ direction: Direction = .clientToServer, id: UInt32 = 0, connection: UInt32 = 1, kind: UInt8 = 0,
    at begin: Timestamp = start, after microseconds: Int64 = 1_000, copies: Int = 1
  ) -> Exchange {
    Exchange(
      told: fate, role: kind, direction: direction, id: id, connection: connection, sentAt: begin,
      decidedAt: begin.advanced(by: Nanoseconds.microseconds(microseconds)), copies: copies)
  }

  /// The resolution of such an exchange; `reached` tells whether the receiver's TCP acknowledged it.
  static func make(
    _ fate: Fate, _ direction: Direction = .clientToServer, kind: UInt8 = 0, status: UInt16 = 0,
    after microseconds: Int64 = 1_000, copies: Int = 1, reached: Bool? = nil, byLimit: Bool = false,
    endpoint: UInt32 = 0
  ) -> Resolution {
    let exchange = exchange(fate, direction, kind: kind, after: microseconds, copies: copies)
    var resolution = Resolution(exchange, endpoint: endpoint)
    if reached != nil { resolution.outcome.reach(reached) }
    if byLimit { resolution.outcome.decideByLimit() }
    resolution.status = status
    return resolution
  }

  /// The resolution of an exchange that had the fate `before`, and was then answered late.
  static func late(
    _ fate: Fate, after before: Fate, _ direction: Direction = .clientToServer, reached: Bool? = nil,
    byLimit: Bool = false
  ) -> Resolution {
    var resolution = make(before, direction, reached: reached, byLimit: byLimit)
    resolution.outcome.change(to: fate)
    resolution.flags.insert(.late)
    return resolution
  }

  /// A random history of one message: its first fate and, where that can be corrected, sometimes a late answer.
  static func history(_ random: inout SeededRandom) -> [Resolution] {
    let direction: Direction = random.once(in: 3) ? .serverToClient : .clientToServer
    let fate = random.one(of: Fate.allCases)
    let reached: Bool? = random.one(of: [nil, true, false])
    let byLimit = fate == .unknown && random.once(in: 2)
    let first = make(fate, direction, copies: fate == .ackedAfterRetry ? 2 : 1, reached: reached, byLimit: byLimit)
    let isOpen = fate == .unanswered || fate == .damaged || fate == .unknown
    guard isOpen, random.once(in: 2) else { return [first] }
    let answer = random.one(of: [Fate.acked, .ackedAfterRetry, .rejected])
    return [first, late(answer, after: fate, direction, reached: reached, byLimit: byLimit)]
  }
}
