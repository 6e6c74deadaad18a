/// Why a session has no connection any more, or did not get one.
public enum DisconnectReason: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// The application wanted it.
  case requested
  /// The network failed: nothing came back, or there was no route.
  case network
  /// The server closed the connection, or reset it.
  case closedByPeer
  /// No process listens at the server's address.
  case refused
  /// Nothing answered a heartbeat in time.
  case heartbeatTimeout
  /// No connection came about in time.
  case connectTimeout
  /// There is no way to the network.
  case noPath
  /// The path changed.
  case pathChanged
  /// TLS could not be agreed on, or broke.
  case secureChannel
  /// The bytes were not frames.
  case protocolError
  /// The server speaks another major version.
  case version
  /// The server refused the session.
  case rejected

  init(_ reason: CloseReason) {
    self =
      switch reason {
      case .finished, .reset: .closedByPeer
      case .refused: .refused
      case .timedOut, .unreachable, .system: .network
      case .secureChannel: .secureChannel
      case .requested: .requested
      }
  }
}
