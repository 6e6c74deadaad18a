import Glibc
@testable import IMAlerts
@testable import IMEngine
@testable import IMDelivery
@testable import IMPipeline
@testable import IMStore
@testable import IMWire

/// Targets that read input that others have made and that is no capture: rules over packets of any time, their kept states, alerts that
/// wait on the disk, and stores.
let storeTargets = [
  Target(name: "check", run: check),
  Target(name: "alert-state", run: alertState),
  Target(name: "alert-spool", run: alertSpool),
  Target(name: "store", run: store),
]

// MARK: Rules

/// A rule for every metric, those that wait for something, and those that have groups, and few of them.
private let rules: [AlertRule] = {
  var text = "version: 1\nrules:\n"
  for (number, metric) in AlertMetric.allCases.enumerated() {
    text +=
      "  - { name: r\(number), metric: \(metric.rawValue), window: 60s, op: '>', threshold: 0, keep_firing: 5m }\n"
  }
  text += "  - { name: silence, metric: messages, window: 10s, op: absent, for: 5s }\n"
  text += "  - { name: few, metric: messages, window: 6s, op: '<', threshold: 2, for: 60s }\n"
  text += "  - { name: old, metric: unacked_age, scope: connection, window: 6s, op: '>=', threshold: 5s, clear: 2s }\n"
  for (number, by) in ["client", "session", "type", "network/20/60"].enumerated() {
    text += "  - { name: g\(number), metric: messages, by: \(by), max_series: 2, window: 6s, op: '>', threshold: 0 }\n"
  }
  text += "  - { name: inner, metric: loss, scope: connection, by: type, window: 6s, op: '>', threshold: 0 }\n"
  do { return try AlertRules(text, source: "made", profiles: ["mqtt"]).rules } catch { fail("\(error)") }
}()

/// Segments of one connection: a byte for the side, one for the time, one for the length, then the bytes. However far the times lie apart,
/// the work is that of the segments. In the middle the rules are read again, in another order, and every third one is gone.
@Sendable private func check(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  var segments = SegmentScript(port: 1_883)
  var next: [UInt32] = [1, 1]
  segments.add(0, 2, 0, 0, [])
  segments.add(1, 0x12, 0, 1, [])
  while !script.isEmpty, segments.records.count < 256 {
    let side = Int(script.byte() & 1)
    let step = script.byte()
    // Mostly some ticks; now and then far away, in either direction.
    segments.time &+= step < 250 ? Int64(step) * 40_000_000 : (Int64(step) - 252) * 40_000_000_000_000_000
    let payload = script.take(Int(script.byte()))
    segments.add(side, 0x18, next[side], next[1 - side], payload)
    next[side] &+= UInt32(payload.count)
  }
  segments.close()
  let monitor = AlertMonitor(rules: rules, plans: [mqtt]) { event in
    if event.affected > event.samples { fail("\(event.affected) of \(event.samples) samples") }
  }
  var options = EngineOptions(plans: [mqtt])
  options.needs = AlertMonitor.needs
  options.exchangeCapacity = 64
  options.verifiesChecksums = false
  var engine = Engine(options: options, sink: monitor)
  let middle = segments.records.count / 2
  engine.process(segments.bytes.span.bytes, segments.records.span.extracting(first: middle))
  let later = rules.indices.reversed().filter { $0 % 3 != 0 }.map { rules[$0] }
  let changes = monitor.replace(rules: later, moves: FilterMoves(filters: [], answers: []))
  if changes.kept != later.count || changes.removed != rules.count - later.count { fail("\(changes)") }
  engine.process(segments.bytes.span.bytes, segments.records.span.extracting(droppingFirst: middle))
  engine.finish()
  monitor.finish(at: engine.totals.lastAt)
  monitor.end()
  if monitor.figures.fired != monitor.figures.resolved { fail("\(monitor.figures)") }
}

/// A kept state without header and checksum, which get right values: what is read is written again as it was, and what is taken up can be
/// evaluated and ended.
@Sendable private func alertState(_ input: UnsafeRawBufferPointer) {
  func kept(_ bytes: [UInt8]) -> AlertSnapshot? {
    do throws(AlertStateError) { return try AlertSnapshot(bytes, maximumSeries: 200) } catch {
      if error.offset < 0 || error.offset > bytes.count { fail("\(error)") }
      return nil
    }
  }
  let state = [UInt8](input)
  _ = kept(state)
  func word(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) } }
  let file = Array("imalerts".utf8) + [1, 0, 0, 0] + word(UInt64(state.count)) + state + word(fnv1a(state))
  guard let snapshot = kept(file) else { return }
  guard let again = snapshot.bytes, let second = kept(again), second.bytes == again else { fail("another state") }
  let monitor = AlertMonitor(rules: Array(rules.dropFirst()), plans: [mqtt]) { _ = $0.id }
  let changes = monitor.resume(snapshot, rules: rules, watchedFrom: state.count % 2 == 0 ? snapshot.clock : nil)
  if changes.kept != rules.count - 1 || changes.removed != 1 { fail("\(changes)") }
  monitor.advance(to: snapshot.clock.advanced(by: 90_000_000_000))
  _ = monitor.firing
  monitor.end()
  if !monitor.firing.isEmpty { fail("something fires") }
}

/// A state to begin with: messages of two connections, some of them lost.
func alertStateSeed() -> [UInt8] {
  let monitor = AlertMonitor(rules: rules, plans: [mqtt]) { _ in }
  for number: UInt32 in 0..<40 {
    let client = Endpoint(address: IPAddress(v4: 0x0a00_0001 + number % 2), port: 4_000)
    let info = ConnectionInfo(
      told: 1 + number % 2, client: client, server: Endpoint(address: IPAddress(v4: 1), port: 1_883))
    let time = Timestamp(seconds: 1_700_000_000 + Int64(number), fraction: 0)
    if number < 2 { monitor.attempted(info, hasSucceeded: true, at: time) }
    monitor.sent(number + 1, of: info, at: time)
  }
  guard let bytes = monitor.snapshot(text: "")?.bytes else { return [] }
  return Array(bytes.dropFirst(20).dropLast(8))
}

/// A file of the spool: what it holds is bounded, and is read again as it was.
@Sendable private func alertSpool(_ input: UnsafeRawBufferPointer) {
  let bytes = [UInt8](input)
  guard let entry = DeliverySpool.entry(bytes[...]) else { return }
  if !entry.environment.allSatisfy({ $0.hasPrefix("IMDUMP_ALERT_") }) || entry.key.utf8.count > 3 * 256 {
    fail("\(entry)")
  }
  let again = DeliveryMessage(
    parts: [
      Array("imdump alert 1".utf8), Array(entry.key.utf8), entry.body,
      Array(DeliveryMessage.list(entry.environment).utf8),
    ])
  let isKept = entry.key.utf8.count <= 256
  if isKept, DeliverySpool.entry(again.bytes[...]) != entry { fail("another entry") }
}

/// A file of the spool to begin with.
func alertSpoolSeed() -> [UInt8] {
  DeliveryMessage(
    "imdump alert 1", "0123456789abcdef", "{\"alert\":\"loss\"}",
    DeliveryMessage.list(["IMDUMP_ALERT_NAME=loss", "LD_PRELOAD=x"])
  ).bytes
}

// MARK: Stores

private let place = "/dev/shm/imdump-fuzz-\(getpid()).db"

/// A store without messages, which every input changes.
private let template: [UInt8] = {
  close(open(place, O_RDWR | O_CREAT | O_TRUNC, 0o600))
  do throws(StoreError) {
    let writer = try StoreWriter(place, [], StoreOptions(captures: [], writer: "fuzz", sessionLimit: 1))
    try writer.finish(isWhole: true)
  } catch { fail("\(error)") }
  guard let file = fopen(place, "r") else { fail("the template is gone") }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 20)
  let count = fread(&bytes, 1, bytes.count, file)
  return Array(bytes.prefix(count))
}()

/// Changes of the store: four bytes for the place, one for how many bytes, then these.
@Sendable private func store(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  var bytes = template
  while !script.isEmpty {
    let start = Int(script.u32()) % bytes.count
    let new = script.take(1 + Int(script.byte() & 63))
    for (i, byte) in new.enumerated() where start + i < bytes.count { bytes[start + i] = byte }
  }
  let file = open(place, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  guard file >= 0 else { fail("no room in /dev/shm") }
  _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
  close(file)
  // What is wrong is told, and nothing is read of what is not a store.
  do throws(StoreError) {
    let reader = try StoreReader(place)
    _ = try reader.sessions()
    _ = try reader.messages(after: 0, count: 100)
    _ = try reader.ladderMessages(after: 0, PageChoice(), count: 100)
    _ = try reader.problemCounts()
    _ = try reader.captures()
    _ = try reader.periods(limit: 480)
  } catch {}
  do throws(StoreError) {
    let query = try StoreQuery(place)
    var rows = try query.rows("SELECT * FROM messages, problems LIMIT 100")
    while try rows.next() {}
  } catch {}
}
