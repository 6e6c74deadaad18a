package import IMEngine
package import IMWire

/// Tells two sinks the same: the alerts first, so that what they say of a step stands in front of what comes behind it.
package final class PairSink: EngineSink {
  private let alerts: AlertMonitor
  private let other: any EngineSink

  /// A sink that tells `alerts` and then `other`.
  package init(_ alerts: AlertMonitor, _ other: any EngineSink) {
    self.alerts = alerts
    self.other = other
  }

  /// Tells both.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    alerts.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
    other.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
  }

  /// Tells both.
  package func settled(_ exchange: borrowing Exchange) {
    alerts.settled(exchange)
    other.settled(exchange)
  }

  /// Tells the other one; the alerts need not know.
  package func finished(_ exchange: borrowing Exchange) { other.finished(exchange) }

  /// Tells the other one; no rule asks for it.
  package func read(after latency: Int64, _ direction: Direction, endpoint: UInt32) {
    other.read(after: latency, direction, endpoint: endpoint)
  }

  /// Tells the other one; the alerts count intervals themselves.
  package func heartbeat(after interval: Int64, endpoint: UInt32) {
    other.heartbeat(after: interval, endpoint: endpoint)
  }

  /// Tells both.
  package func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {
    alerts.reconnected(connection, previous: previous, at: time)
    other.reconnected(connection, previous: previous, at: time)
  }

  /// Tells the other one; the alerts need not know.
  package func named(_ session: UInt32, _ name: String) { other.named(session, name) }

  /// Tells the other one; the alerts need not know.
  package func forgotten(_ session: UInt32) { other.forgotten(session) }

  /// Tells the other one; the alerts need not know.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) { other.adopted(exchange, times) }

  /// Tells both.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    alerts.issue(issue, connection)
    other.issue(issue, connection)
  }

  /// Tells both.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) {
    alerts.opened(connection, at)
    other.opened(connection, at)
  }

  /// Tells both.
  package func connection(_ report: ConnectionReport) {
    alerts.connection(report)
    other.connection(report)
  }
}
