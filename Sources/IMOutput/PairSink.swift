package import IMEngine
package import IMWire

/// Tells two sinks the same, one after the other. Alerts are the first one, so that what they say of a step stands in front
/// of what comes behind it.
package final class PairSink: EngineSink {
  private let first: any EngineSink
  private let second: any EngineSink

  /// A sink that tells `first` and then `second`.
  package init(_ first: any EngineSink, _ second: any EngineSink) {
    self.first = first
    self.second = second
  }

  /// Tells both.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    first.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
    second.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
  }

  /// Tells both.
  package func settled(_ exchange: borrowing Exchange) {
    first.settled(exchange)
    second.settled(exchange)
  }

  /// Tells both.
  package func settled(_ batch: Span<Settlement>) {
    first.settled(batch)
    second.settled(batch)
  }

  /// Tells both.
  package func finished(_ exchange: borrowing Exchange) {
    first.finished(exchange)
    second.finished(exchange)
  }

  /// Tells both.
  package func read(after latency: Int64, _ direction: Direction, endpoint: UInt32) {
    first.read(after: latency, direction, endpoint: endpoint)
    second.read(after: latency, direction, endpoint: endpoint)
  }

  /// Tells both.
  package func heartbeat(after interval: Int64, endpoint: UInt32) {
    first.heartbeat(after: interval, endpoint: endpoint)
    second.heartbeat(after: interval, endpoint: endpoint)
  }

  /// Tells both.
  package func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {
    first.reconnected(connection, previous: previous, at: time)
    second.reconnected(connection, previous: previous, at: time)
  }

  /// Tells both.
  package func named(_ session: UInt32, _ name: String) {
    first.named(session, name)
    second.named(session, name)
  }

  /// Tells both.
  package func forgotten(_ session: UInt32) {
    first.forgotten(session)
    second.forgotten(session)
  }

  /// Tells both.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    first.adopted(exchange, times)
    second.adopted(exchange, times)
  }

  /// Tells both.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    first.issue(issue, connection)
    second.issue(issue, connection)
  }

  /// Tells both.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) {
    first.opened(connection, at)
    second.opened(connection, at)
  }

  /// Tells both.
  package func connection(_ report: ConnectionReport) {
    first.connection(report)
    second.connection(report)
  }
}
