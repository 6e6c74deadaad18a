package import IMCapture
package import IMDescriptors
package import IMEngine
package import IMSystem
package import IMWire

/// A feature that accompanies a run in addition to the command's output: a capture file, alerts, documents, metrics.
///
/// `Run` and `Driver` call every feature at the same points of a run and know none by its type: a command passes the list. The calls come in the
/// order below; those from `take` to `hangup` repeat. A feature leaves out the calls that it does not need.
package protocol RunFeature: AnyObject {
  /// The data that it needs from the engine.
  var needs: EngineOptions.Needs { get }
  /// The bytes that it keeps for each decoded connection, each exchange and each server.
  var cost: (connection: Int, exchange: Int, server: Int) { get }
  /// Whether it is notified of the end of each minute of packet time.
  var hearsMinutes: Bool { get }
  /// Whether the wall clock advances packet time while a live line is quiet; otherwise, only the next packet does.
  var wantsClock: Bool { get }
  /// A sink that notifies this feature first, and then `other`.
  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)?

  /// The run begins: no source is open, and no privileges are dropped.
  func start() throws(CaptureError)
  /// A source is open, and nothing has been read from it.
  func opened(_ source: any PacketSource) throws(CaptureError)
  /// Privileges are about to be dropped: adds those that the feature must keep.
  func confine(_ privileges: inout Privileges)
  /// Privileges have been dropped.
  func confined() throws(CaptureError)

  /// Packets are about to come. Facts about a file that are known only after all of it was read are determined here, by `Run.learn`.
  func beforePackets(_ run: Run, _ companions: [any RunFeature])
  /// Packets come, before the engine has them. Returns the number of those that belong to this run: a lower number than all ends it.
  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int
  /// The engine has the packets of a minute of packet time, and the next packet belongs to another one.
  func minuteEnded(_ driver: Driver)
  /// SIGHUP requests that files be reopened or read again.
  func hangup(_ driver: Driver) throws(CaptureError)
  /// Something happened to the interface; it has been reported on standard error.
  func note(_ event: CaptureEvent)
  /// After each batch, and about ten times a second while a live line is quiet.
  func afterBatch(_ driver: Driver) throws(CaptureError)

  /// The last packet has been taken; the engine has not finished.
  func ended() throws(CaptureError)
  /// The engine has finished.
  func finish(_ driver: Driver)
  /// Reports its results. Returns the exit status of a run that would otherwise end with `status`. The last feature is called first.
  func conclude(_ status: ExitStatus) -> ExitStatus
}

/// By default, a feature does nothing at a point of the run.
extension RunFeature {
  package var needs: EngineOptions.Needs { [] }
  package var cost: (connection: Int, exchange: Int, server: Int) { (0, 0, 0) }
  package var hearsMinutes: Bool { false }
  package var wantsClock: Bool { false }
  package func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? { other }
  package func start() throws(CaptureError) {}
  package func opened(_ source: any PacketSource) throws(CaptureError) {}
  package func confine(_ privileges: inout Privileges) {}
  package func confined() throws(CaptureError) {}
  package func beforePackets(_ run: Run, _ companions: [any RunFeature]) {}
  package func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int { records.count }
  package func minuteEnded(_ driver: Driver) {}
  package func hangup(_ driver: Driver) throws(CaptureError) {}
  package func note(_ event: CaptureEvent) {}
  package func afterBatch(_ driver: Driver) throws(CaptureError) {}
  package func ended() throws(CaptureError) {}
  package func finish(_ driver: Driver) {}
  package func conclude(_ status: ExitStatus) -> ExitStatus { status }
}
