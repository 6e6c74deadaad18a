package import IMEngine
package import IMWire

/// What became of exchanges, by direction, in counts that never go back.
///
/// An exchange is counted once, under the fate that it had when it was decided first. One that was closed without an answer
/// and is answered later is counted a second time among the late ones, and stays where it was: `MessageTally` and the engine's
/// totals move it instead, but a counter of a monitoring system must not go back. So answered = `decided` as acked + `late` as
/// acked, and lost = `decided` as unanswered or damaged - all `late`.
package struct FateSeries: Equatable, Sendable {
  /// Places for a fate's number, or a cause's.
  private static let width = 8
  private var decisions: InlineArray<16, UInt64> = InlineArray(repeating: 0)
  private var corrections: InlineArray<16, UInt64> = InlineArray(repeating: 0)
  /// Decisions and corrections by direction and cause.
  private var causes: InlineArray<16, UInt64> = InlineArray(repeating: 0)
  private var lateCauses: InlineArray<16, UInt64> = InlineArray(repeating: 0)

  /// Nothing counted.
  package init() {}

  /// Exchanges of one direction that were first decided to have this fate.
  package func decided(_ direction: Direction, _ fate: Fate) -> UInt64 { decisions[Self.place(direction, fate)] }
  /// Exchanges of one direction that were closed without an answer and then were answered so.
  package func late(_ direction: Direction, _ fate: Fate) -> UInt64 { corrections[Self.place(direction, fate)] }

  /// Exchanges of one direction that were first decided to have failed because of `cause`.
  package func decided(_ direction: Direction, _ cause: Cause) -> UInt64 { causes[Self.place(direction, cause)] }
  /// Of these, those that were answered late.
  package func late(_ direction: Direction, _ cause: Cause) -> UInt64 { lateCauses[Self.place(direction, cause)] }
  /// Counts a decision.
  package mutating func resolved(_ resolution: Resolution) {
    let place = Self.place(resolution.direction, resolution.fate)
    if resolution.flags.contains(.late) {
      corrections[place] &+= 1
      if let cause = resolution.outcome.causeBefore { lateCauses[Self.place(resolution.direction, cause)] &+= 1 }
    } else {
      decisions[place] &+= 1
      if let cause = resolution.outcome.cause { causes[Self.place(resolution.direction, cause)] &+= 1 }
    }
  }

  private static func place(_ direction: Direction, _ fate: Fate) -> Int {
    Int(direction.rawValue & 1) * width + Int(fate.rawValue & 7)
  }
  private static func place(_ direction: Direction, _ cause: Cause) -> Int {
    Int(direction.rawValue & 1) * width + Int(cause.rawValue & 7)
  }

  /// Two that counted the same.
  package static func == (a: FateSeries, b: FateSeries) -> Bool {
    (0..<16).allSatisfy {
      a.decisions[$0] == b.decisions[$0] && a.corrections[$0] == b.corrections[$0] && a.causes[$0] == b.causes[$0]
        && a.lateCauses[$0] == b.lateCauses[$0]
    }
  }
}
