package import IMWire

extension Exchange {
  /// An exchange as one of its ends knows it, which needs no packets to say what became of it: what an endpoint counts by the
  /// same definitions. `decidedAt` is when the answer came or the message was given up; `copies` were sent until then.
  package init(
    told fate: Fate, role kind: UInt8, plan: UInt8 = 0, direction: Direction, id: UInt32, connection: UInt32,
    sentAt: Timestamp, decidedAt: Timestamp, copies: Int
  ) {
    self.init(
      sequence: UInt64(id), session: connection, direction: direction, id: id, firstAt: sentAt, flow: 0,
      connection: connection, bodyCount: 0, end: 0, fingerprint: 0, clock: 0, flags: [.good, .settled], plan: plan,
      kind: kind)
    repeats = UInt16(clamping: copies - 1)
    if fate == .acked || fate == .ackedAfterRetry { _ = answered(at: decidedAt, status: 0) }
    copied(at: decidedAt, clock: 0)
    // Whether the other end's kernel had it is not asked.
    outcome.reach(nil)
    outcome.decide(fate)
  }
}
