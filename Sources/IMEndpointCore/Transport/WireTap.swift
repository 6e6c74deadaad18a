public import IMWire

/// Sees what passes between a transport and its connections, without a part in it: for ledgers and for tests.
public protocol WireTap: AnyObject {
  /// A connection is being opened to `remote`.
  func opening(_ connection: ConnectionID, to remote: Endpoint, at now: Instant)
  /// A connection can carry bytes.
  func opened(_ connection: ConnectionID, local: Endpoint?, remote: Endpoint, at now: Instant)
  /// The kernel has taken these bytes to be sent.
  func wrote(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant)
  /// The core has read these bytes.
  func read(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant)
  /// A connection is gone, or did not come about.
  func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant)
}
