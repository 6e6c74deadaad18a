package import IMCapture
package import IMEngine
package import IMSystem
package import IMWire

/// A feature that accompanies a run beside what the command prints: a capture file, alerts, documents, metrics.
///
/// `Run` and `Driver` call every companion at the same points of a run and know none by its type: a command hands in the list. The calls
/// come in the order in which they stand here; those from `take` to `hangup` repeat. Whoever needs nothing at a point leaves the call out.
package protocol RunFeature: AnyObject {
  /// What the engine has to tell for it.
  var needs: EngineOptions.Needs { get }
  /// What it keeps, in bytes, of each connection that is decoded, of each exchange and of each server.
  var cost: (connection: Int, exchange: Int, server: Int) { get }
  /// Whether it wants to know of the end of each minute of packet time.
  var hearsMinutes: Bool { get }
  /// Whether, while a live line is quiet, the clock on the wall decides what time alone decides: else the next packet's time does.
  var wantsClock: Bool { get }
  /// A sink that tells this companion first, and then `other`.
  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)?

  /// The run begins: no source is open, no right is given up.
  func start() throws(CaptureError)
  /// A source is open, and nothing is read from it yet.
  func opened(_ source: any PacketSource) throws(CaptureError)
  /// Privileges are about to be given up: takes what it must keep.
  func confine(_ privileges: inout Privileges)
  /// Privileges are given up.
  func confined() throws(CaptureError)

  /// Packets are about to come. What is known of a file only when all of it was read is learned here, by `Run.learn`.
  func beforePackets(_ run: Run, _ companions: [any RunFeature])
  /// Packets come, before the engine has them. Returns how many belong to this run: fewer than all end it.
  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int
  /// The engine has the packets of a minute of packet time, and the next packet belongs to another one.
  func minuteEnded(_ driver: Driver)
  /// SIGHUP asks that what stands in files be opened or read again.
  func hangup(_ driver: Driver) throws(CaptureError)
  /// Something happened to the interface; it has been told on standard error.
  func note(_ event: CaptureEvent)
  /// After each batch, and about ten times a second while a live line is quiet.
  func afterBatch(_ driver: Driver) throws(CaptureError)

  /// The last packet has been taken; the engine has not finished.
  func ended() throws(CaptureError)
  /// The engine has finished.
  func finish(_ driver: Driver)
  /// Says what it came to, and how the run ends that would end with `status`. The last companion is asked first.
  func conclude(_ status: ExitStatus) -> ExitStatus
}

/// Nothing is done at a point of which a companion says nothing.
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
