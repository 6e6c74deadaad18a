/// How much the alerts of a run may keep and say.
package struct AlertLimits: Equatable, Sendable {
  /// Servers, profiles and connections with a state of their own, under all rules together.
  package var series = 10_000
  /// Alerts of one rule that are told in a minute of packet time; the rest is counted.
  package var notifications: UInt64 = 100
  /// Connections that are known.
  package var connections = 1 << 16
  /// Exchanges that wait for an answer, for `unacked_age`.
  package var exchanges = 1 << 17

  /// The defaults.
  package init() {}
}

/// What the alerts of a run came to.
package struct AlertMetrics: Equatable, Sendable {
  /// Alerts that fired, told or not, and that were resolved.
  package var fired: UInt64 = 0, resolved: UInt64 = 0
  /// Times when an alert would have fired, had the capture not dropped packets.
  package var held: UInt64 = 0
  /// Alerts that were not told for being too many.
  package var suppressed: UInt64 = 0
  /// States that were forgotten, and those that were not kept at all, for want of room.
  package var evicted: UInt64 = 0, refused: UInt64 = 0

  /// All zero.
  package init() {}
}
