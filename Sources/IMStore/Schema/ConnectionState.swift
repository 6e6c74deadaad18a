package import IMEngine

/// How far a TCP connection has come, as `connection.state` has it.
package enum ConnectionState: String, CaseIterable, Sendable {
  /// Nothing was seen of its end.
  case open
  /// One side has sent its FIN.
  case half
  /// Both sides have.
  case closed
  /// A reset ended it.
  case reset
  /// A reset answered the SYN.
  case refused
  /// Nothing answered the SYN.
  case timeout
  /// The same addresses and ports began another connection.
  case reused
  /// It was forgotten at the limit on memory, so that its end is not known.
  case evicted

  /// What a session is called instead that came back: its latest connection is open, and another one is over.
  package static let reconnected = "reconnected"

  /// The state that a report tells.
  package init(_ report: ConnectionReport) {
    self =
      switch report.reason {
      case .open: report.phase == .closing ? .half : .open
      case .fin: .closed
      case .reset: .reset
      case .refused: .refused
      case .timeout: .timeout
      case .reused: .reused
      case .evicted: .evicted
      }
  }

  /// The state of the session `s` whose latest connection is `c`, in SQL. Most have one connection, of which no other is looked for.
  static let ofSession = """
    CASE WHEN s.connections > 1 AND ifnull(c.state, 'open') = 'open' AND EXISTS (
      SELECT 1 FROM session_connection AS sc JOIN connection AS o ON o.id = sc.connection
      WHERE sc.session = s.id AND sc.connection <> s.connection AND o.state NOT IN ('open', 'half', 'evicted')
    ) THEN '\(reconnected)' ELSE ifnull(c.state, 'open') END
    """
}
