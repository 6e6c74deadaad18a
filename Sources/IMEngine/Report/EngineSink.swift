package import IMWire

/// Hears what the engine finds, in the order in which it finds it.
package protocol EngineSink: ExchangeSink {
  /// A frame was decoded. The spans are borrowed for the call: `bytes` holds the frame at `frame.start`; `body` is what
  /// `tlvs` point into, the body on the wire or the inflated one.
  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>)
  /// Bytes of a stream were something else than a frame that is read where it stands.
  func undecoded(_ chunk: UndecodedChunk, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan)
  /// A session has the name `name`, which its client gave.
  func named(_ session: UInt32, _ name: String)
  /// A session is forgotten for want of room: its identity will never come again.
  func forgotten(_ session: UInt32)
  /// Answers that had come out before this exchange's first copy were found to be its own.
  func adopted(_ exchange: UInt32, _ times: [Timestamp])
  /// Something was not as it should be.
  func issue(_ issue: Issue, _ connection: ConnectionInfo)
  /// A carrier told something, such as the client's address. Told where issues are.
  func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo)
  /// A ping of a carrier was sent at `sentAt` on the connection with the serial number `connection`, or what became of it is known. Told
  /// where issues are.
  func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp)
  /// A connection was opened, as far as a SYN tells.
  func opened(_ connection: ConnectionInfo, _ at: Timestamp)
  /// The first message of the TLS handshake of a connection, whose report is next. There is none where that message was not
  /// captured, and for connections beyond the first 4,096 that are open at once.
  func hello(_ hello: TLSHello, _ connection: ConnectionInfo)
  /// A connection ended, or is to be reported on.
  func connection(_ report: ConnectionReport)

  /// A profile was read again: names and roles of types, and what else was taken from `plans`, may be others from here on.
  func reloaded(_ plans: [ProtocolPlan])
}

/// What a sink does not ask for, it need not hear: see `EngineOptions.Needs`.
extension EngineSink {
  /// Nothing.
  package func reloaded(_ plans: [ProtocolPlan]) {}
  /// Nothing.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {}
  /// Nothing.
  package func undecoded(
    _ chunk: UndecodedChunk, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan
  ) {}
  /// Nothing.
  package func named(_ session: UInt32, _ name: String) {}
  /// Nothing.
  package func forgotten(_ session: UInt32) {}
  /// Nothing.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {}
  /// Nothing.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {}
  /// Nothing.
  package func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo) {}
  /// Nothing.
  package func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp) {}
  /// Nothing.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  /// Nothing.
  package func hello(_ hello: TLSHello, _ connection: ConnectionInfo) {}
  /// Nothing.
  package func connection(_ report: ConnectionReport) {}
}

/// What becomes of a carrier's ping.
package enum PingStep: Sendable {
  /// It was sent; it was answered; the next one came first.
  case sent, answered, missed
}
