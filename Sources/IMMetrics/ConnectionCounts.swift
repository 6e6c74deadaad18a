/// How connections began and ended.
package struct ConnectionCounts: Equatable, Sendable {
  /// Connections whose SYN was seen, copies of it not counted; the answered, the refused, the not answered ones of them.
  package var attempts: UInt64 = 0, succeeded: UInt64 = 0, refused: UInt64 = 0, timedOut: UInt64 = 0
  /// Connections on which frames were decoded, those of a capture that began later included.
  package var opened: UInt64 = 0
  /// Of the opened, those that are over; of these, those that a reset ended.
  package var closed: UInt64 = 0, reset: UInt64 = 0
  /// Connections of a session whose last one had ended before.
  package var reconnects: UInt64 = 0

  /// All zero.
  package init() {}

  /// The part of the attempts whose end is known that succeeded; `nil` when there were none.
  package var success: Double? {
    let known = succeeded + refused + timedOut
    return known == 0 ? nil : Double(succeeded) / Double(known)
  }
}
