package import IMWire

/// What the tracker says of one frame.
package struct FrameNote: Sendable, BitwiseCopyable {
  /// The exchange that the frame belongs to, by `Exchange.id`: as a copy, or as an answer.
  package var exchange: UInt32 = .max
  /// 1 for the first copy; 0 for frames that are no copy of anything.
  package var copy: UInt16 = 0
  /// For an answer, the number it names.
  package var ackOf: UInt64?
  /// For the first answer of an exchange with one copy, microseconds from the copy to it.
  package var roundTrip: Int64?
  /// For the first answer, microseconds from the first copy to it.
  package var latency: Int64?
  /// For the first receipt of a message, microseconds from the message's first copy to it.
  package var readLatency: Int64?
  /// Whether the frame is an answer, a retry, a duplicate after the answer.
  package var isAck = false, isRetry = false, isDuplicate = false, isDupAck = false, isOrphan = false
  /// The session, as the tracker counts them.
  package var session: UInt32 = .max
}

/// Hears of exchanges.
package protocol ExchangeSink: AnyObject {
  /// The fate of `exchange` was decided, or decided anew when an answer came late.
  func settled(_ exchange: borrowing Exchange)
  /// The same of many, for whoever needs no more of them: `EngineOptions.Needs.settlements`. They are told late, but
  /// before the end of the capture is.
  func settled(_ batch: Span<Settlement>)
  /// `exchange` is forgotten; nothing of it will change.
  func finished(_ exchange: borrowing Exchange)
  /// The connection with this serial number is a further one of a session whose last one, `previous`, is over. `time` is
  /// when it began; its first frame is told next.
  func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp)
  /// A message that was sent in `direction` was read, `latency` microseconds after its first copy: its first receipt
  /// came. `endpoint` is the server's index, as in `ConnectionInfo`.
  func read(after latency: Int64, _ direction: Direction, endpoint: UInt32)
  /// A heartbeat came `interval` microseconds after the one before on its connection; `change` is how much the interval
  /// differs from the one before, `nil` for the first.
  func heartbeat(after interval: Int64, change: Int64?, endpoint: UInt32)
  /// Exchanges know this status by the number `place` from now on: see `Exchange.status`.
  func met(_ status: StatusCode, place: UInt16)
}

/// What a sink does not ask for, it need not hear.
extension ExchangeSink {
  /// Nothing.
  package func settled(_ exchange: borrowing Exchange) {}
  /// Nothing.
  package func settled(_ batch: Span<Settlement>) {}
  /// Nothing.
  package func finished(_ exchange: borrowing Exchange) {}
  /// Nothing.
  package func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {}
  /// Nothing.
  package func read(after latency: Int64, _ direction: Direction, endpoint: UInt32) {}
  /// Nothing.
  package func heartbeat(after interval: Int64, change: Int64?, endpoint: UInt32) {}
  /// Nothing.
  package func met(_ status: StatusCode, place: UInt16) {}
}
