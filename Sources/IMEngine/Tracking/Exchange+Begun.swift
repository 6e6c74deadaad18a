package import IMWire

extension Exchange {
  /// An exchange of which the first copy has just come, and nothing else: what a watcher is shown until its fate is decided.
  ///
  /// `note` is what the tracker says of `frame`, which is a first copy; `connection` is its serial number, and `plan` what decodes it.
  package init(begun frame: Frame, _ note: FrameNote, connection: UInt32, plan: UInt8, _ direction: Direction) {
    let sequence = frame.flags.contains(.sequence) ? frame.sequence : 0
    let kept = KeptExchange(
      number: UInt32(truncatingIfNeeded: sequence), session: note.session, direction: direction,
      firstAt: frame.timestamp, flow: 0, connection: connection,
      bodyCount: UInt32(truncatingIfNeeded: frame.bodyCount), end: 0, fingerprint: 0, clock: 0,
      flags: frame.checksumStatus == .bad ? .bad : .good, plan: plan, kind: frame.kind.pointee.index)
    self.init(kept, sequence: sequence, id: note.exchange, rest: ExchangeRest())
  }
}
