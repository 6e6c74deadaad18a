package import IMEngine
package import IMWire

/// Tells two sinks the same, the first one first: so what alerts say of a step stands in front of what comes behind it.
package final class PairSink<First: EngineSink>: EngineSink {
  private let first: First
  private let other: any EngineSink

  /// A sink that tells `first` and then `other`.
  package init(_ first: First, _ other: any EngineSink) {
    self.first = first
    self.other = other
  }

  /// Tells both.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    first.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
    other.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
  }

  /// Tells both.
  package func undecoded(
    _ chunk: UndecodedChunk, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan
  ) {
    first.undecoded(chunk, connection, direction, bytes: bytes)
    other.undecoded(chunk, connection, direction, bytes: bytes)
  }

  /// Tells both.
  package func resolved(_ exchange: borrowing Exchange) {
    first.resolved(exchange)
    other.resolved(exchange)
  }

  /// Tells both.
  package func resolved(_ batch: Span<Resolution>) {
    first.resolved(batch)
    other.resolved(batch)
  }

  /// Tells both.
  package func finished(_ exchange: borrowing Exchange) {
    first.finished(exchange)
    other.finished(exchange)
  }

  /// Tells both.
  package func receipt(_ receipt: MessageReceipt) {
    first.receipt(receipt)
    other.receipt(receipt)
  }

  /// Tells both.
  package func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {
    first.heartbeat(after: interval, change: change, endpoint: endpoint)
    other.heartbeat(after: interval, change: change, endpoint: endpoint)
  }

  /// Tells both.
  package func met(_ status: StatusCode, place: UInt16) {
    first.met(status, place: place)
    other.met(status, place: place)
  }

  /// Tells both.
  package func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {
    first.reconnected(connection, previous: previous, at: time)
    other.reconnected(connection, previous: previous, at: time)
  }

  /// Tells both.
  package func reloaded(_ plans: [ProtocolPlan]) {
    first.reloaded(plans)
    other.reloaded(plans)
  }

  /// Tells both.
  package func named(_ session: UInt32, _ name: String) {
    first.named(session, name)
    other.named(session, name)
  }

  /// Tells both.
  package func forgotten(_ session: UInt32) {
    first.forgotten(session)
    other.forgotten(session)
  }

  /// Tells both.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    first.adopted(exchange, times)
    other.adopted(exchange, times)
  }

  /// Tells both.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    first.issue(issue, connection)
    other.issue(issue, connection)
  }

  /// Tells both.
  package func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp) {
    first.ping(step, connection, sentAt: sentAt)
    other.ping(step, connection, sentAt: sentAt)
  }

  /// Tells both.
  package func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo) {
    first.carrier(event, connection)
    other.carrier(event, connection)
  }

  /// Tells both.
  package func opened(_ connection: ConnectionInfo, _ at: Timestamp) {
    first.opened(connection, at)
    other.opened(connection, at)
  }

  /// Tells both.
  package func hello(_ hello: TLSHello, _ connection: ConnectionInfo) {
    first.hello(hello, connection)
    other.hello(hello, connection)
  }

  /// Tells both.
  package func connection(_ report: ConnectionReport) {
    first.connection(report)
    other.connection(report)
  }
}
