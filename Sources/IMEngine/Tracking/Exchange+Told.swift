package import IMWire

extension Exchange {
  /// An exchange as one of its ends knows it, which needs no packets to say what became of it: what an endpoint counts by the
  /// same definitions. `decidedAt` is when the answer came or the message was given up; `copies` were sent until then.
  package init(
    told fate: Fate, role kind: UInt8, plan: UInt8 = 0, direction: Direction, id: UInt32, connection: UInt32,
    sentAt: Timestamp, decidedAt: Timestamp, copies: Int
  ) {
    var kept = KeptExchange(
      number: id, session: connection, direction: direction, firstAt: sentAt, flow: 0, connection: connection,
      bodyCount: 0, end: 0, fingerprint: 0, clock: 0, flags: [.good, .resolved], plan: plan, kind: kind)
    var rest = ExchangeRest(repeats: UInt16(clamping: copies - 1))
    if fate == .acked || fate == .ackedAfterRetry { _ = kept.answered(at: decidedAt, status: 0) }
    kept.copied(at: decidedAt, clock: 0, &rest)
    // Whether the other end's kernel had it is not asked.
    kept.outcome.reach(nil)
    kept.outcome.decide(fate)
    self.init(kept, sequence: UInt64(id), id: id, rest: rest)
  }
}
