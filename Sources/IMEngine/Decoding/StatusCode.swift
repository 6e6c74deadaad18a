/// A status that an answer gave.
package struct StatusCode: Hashable, Sendable {
  /// The plan's index.
  package var plan: UInt8
  /// Which of the plan's lists of names it belongs to; see `ProtocolPlan.statusNames`.
  package var list: UInt8
  /// The number on the wire.
  package var number: UInt64

  /// The status that `frame` gives, whose plan has the index `plan`; it counts only with `Frame.Flags.status`.
  package init(_ frame: Frame, plan: UInt8) {
    self.plan = plan
    list = frame.kind.pointee.statusList &+ (frame.flags.contains(.otherStatus) ? 1 : 0)
    number = frame.status
  }

  /// A status of its parts.
  package init(plan: UInt8, list: UInt8, number: UInt64) {
    self.plan = plan
    self.list = list
    self.number = number
  }
}
