import IMEngine
import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMAlerts

/// The state of rules that outlives a run: what is told over a whole capture is told over its parts, too.
@Suite struct AlertSnapshotTests {
  private final class Collector { var events: [AlertEvent] = [] }

  /// The sink of an engine whose monitor is replaced while it goes on.
  private final class Relay: EngineSink {
    var monitor: AlertMonitor
    init(_ monitor: AlertMonitor) { self.monitor = monitor }
    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) { monitor.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs) }
    func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {
      monitor.heartbeat(after: interval, change: change, endpoint: endpoint)
    }
    func resolved(_ exchange: borrowing Exchange) { monitor.resolved(exchange) }
    func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {
      monitor.reconnected(connection, previous: previous, at: time)
    }
    func issue(_ issue: IMEngine.Issue, _ connection: ConnectionInfo) { monitor.issue(issue, connection) }
    func named(_ session: UInt32, _ name: String) { monitor.named(session, name) }
    func forgotten(_ session: UInt32) { monitor.forgotten(session) }
    func opened(_ connection: ConnectionInfo, _ at: Timestamp) { monitor.opened(connection, at) }
    func connection(_ report: ConnectionReport) { monitor.connection(report) }
    func met(_ status: StatusCode, place: UInt16) { monitor.met(status, place: place) }
  }

  static func text(_ rules: [String]) -> String { "version: 1\nrules:\n" + rules.map { "  - { \($0) }\n" }.joined() }

  static func rules(_ text: String) throws -> [AlertRule] {
    try AlertRules(text, source: "r", profiles: ["tjp"]).rules
  }

  /// What the numbers of an engine mean goes on with the engine, and is in no file: here it is handed on.
  private static func hand(_ old: AlertMonitor, to new: AlertMonitor) {
    for known in old.connections.values.sorted(by: { $0.info.serial < $1.info.serial }) {
      let copy = MonitoredConnection(known.info)
      // One that was opened before the cut is no further one between its ends.
      copy.info.sawOpening = false
      (copy.endpoint, copy.owner, copy.isOver) = (known.endpoint, known.owner, known.isOver)
      (copy.told, copy.missedInARow) = (known.told, known.missedInARow)
      new.connections[known.info.serial] = copy
      new.bind(copy)
    }
    (new.sessions, new.servers, new.finished) = (old.sessions, old.servers, old.finished)
    (new.early, new.open, new.reconnected, new.statuses) = (old.early, old.open, old.reconnected, old.statuses)
    (new.captureCounts, new.beatChange) = (old.captureCounts, old.beatChange)
    for index in old.watches.indices {
      for series in old.watches[index].series.values where !series.open.isEmpty {
        new.watches[index].series.values.first { $0.number == series.number }?.open = series.open
      }
    }
  }

  /// What is told over packets; behind each of `cuts` the state goes through the bytes of a file into another monitor.
  private static func told(
    _ text: String, _ packets: [TimedPacket], cuts: [Int] = [], limits: AlertLimits = AlertLimits()
  ) throws -> [AlertEvent] {
    let rules = try rules(text)
    let collector = Collector()
    let plans = [MadePlan.tjp()]
    func monitor() -> AlertMonitor {
      AlertMonitor(rules: rules, plans: plans, limits: limits) { collector.events.append($0) }
    }
    let relay = Relay(monitor())
    var options = EngineOptions(plans: plans)
    options.needs = AlertMonitor.needs
    var engine = Engine(options: options, sink: relay)
    var start = 0
    for cut in cuts + [packets.count] {
      if cut > start {
        let batch = CaptureBuilder(Array(packets[start..<cut])).batch()
        engine.process(batch.bytes.span.bytes, batch.records.span)
      }
      start = cut
      guard cut < packets.count, let snapshot = relay.monitor.snapshot(text: text) else { continue }
      let bytes = try #require(snapshot.bytes)
      let next = monitor()
      let changes = next.resume(
        try AlertSnapshot(bytes, maximumSeries: limits.series), rules: rules, watchedFrom: nil)
      #expect(changes.kept == rules.count && changes.added + changes.changed + changes.removed == 0)
      hand(relay.monitor, to: next)
      // What was kept is kept again, but for what only names what this engine counts.
      if cut % 3 == 0 { #expect(next.snapshot(text: text)?.rules.count == snapshot.rules.count) }
      relay.monitor = next
    }
    engine.finish()
    relay.monitor.finish(at: engine.totals.lastAt)
    return collector.events
  }

  /// All that is told of an alert, but for the engine's numbers of connections.
  static func words(_ events: [AlertEvent]) -> [String] {
    events.map { event in
      let affected = [event.first, event.last].map { $0.map { "\($0.connection.client) \($0.at.nanoseconds)" } ?? "-" }
      return
        "\(event.rule.name) \(event.state) \(event.id) \(event.at.nanoseconds) \(event.since.nanoseconds) \(event.count) "
        + "\(event.value ?? -1) \(event.samples) \(event.affected) \(event.unknown) \(event.suppressed) \(event.dropped) "
        + "\(event.group?.name ?? "-") \(event.connection.map { "\($0.client)" } ?? "-") \(affected) \(event.ending.map { "\($0)" } ?? "-")"
    }
  }

  /// When a client sends, in milliseconds: every 1.1 s, with one pause in which windows become empty.
  private static func times(_ number: UInt16) -> [Int64] {
    (0..<150 as Range<Int64>).map { index in
      let pause: Int64 = index > 90 ? 45_000 : 0
      return index * 1_100 + Int64(number) * 270 + pause
    }
  }

  /// Clients some of whose messages are lost, or answered slowly, with pauses in which windows become empty.
  static func talk(_ seed: UInt64, clients: UInt16 = 3) -> [TimedPacket] {
    var random = SeededRandom(seed)
    return (0..<clients).flatMap { number in
      let times = Self.times(number)
      let lost = times.filter { time in
        (time / 30_000) % 2 == 1 && Int.random(in: 0..<3, using: &random) == 0
      }
      return AlertMonitorTests.talk(number, times, lost: Set(lost))
    }.sorted { $0.timestamp < $1.timestamp }
  }

  static var every: [String] {
    var texts = AlertMetric.allCases.enumerated().map {
      "name: r\($0), metric: \($1.rawValue), window: 12s, op: '>', threshold: 0, keep_firing: \($0 % 3)s"
    }
    for (number, by) in ["client", "session", "type", "network/20"].enumerated() {
      texts.append(
        "name: g\(number), metric: messages, by: \(by), max_series: \(2 + number % 2), window: 10s, op: '>', threshold: 3, for: 5s"
      )
    }
    return texts + [
      "name: lost, metric: loss, window: 30s, op: '>', threshold: 10%, clear: 5%, for: 10s, keep_firing: 5s",
      "name: slow, metric: rtt_p95, window: 20s, op: '>', threshold: 5ms, scope: profile",
      "name: age, metric: unacked_age, scope: connection, window: 10s, op: '>', threshold: 3s",
      "name: inner, metric: loss, scope: connection, by: type, window: 12s, op: '>', threshold: 0",
      "name: quiet, metric: messages, scope: profile, profile: tjp, window: 10s, op: absent, for: 5s",
      "name: few, metric: messages, scope: connection, window: 10s, op: '<', threshold: 5, for: 10s",
    ]
  }

  /// Cut at random packets, with the state in bytes between, a capture gives the alerts of one run, each with all that is told of it.
  @Test func cutsChangeNothing() throws {
    let text = Self.text(Self.every)
    var random = SeededRandom(47)
    for seed in 1...3 as ClosedRange<UInt64> {
      let packets = Self.talk(seed)
      let expected = Self.words(try Self.told(text, packets))
      let states = Set(expected.map { $0.split(separator: " ").prefix(2).joined(separator: " ") })
      #expect(expected.count > 60)
      for state in ["lost resolved", "quiet firing"] { #expect(states.contains(state), "\(states.sorted())") }
      for _ in 0..<8 {
        let cuts = Set(
          (0..<Int.random(in: 1...12, using: &random)).map { _ in
            Int.random(in: 1..<packets.count, using: &random)
          }
        ).sorted()
        let found = Self.words(try Self.told(text, packets, cuts: cuts))
        #expect(found == expected, "seed \(seed), cuts \(cuts): \(zip(found, expected).first { $0 != $1 } ?? ("", ""))")
      }
    }
  }

  /// If the next run resumes from the state, a message still waiting at the end of a live run counts as unknown in it; otherwise it does
  /// not.
  @Test(arguments: [true, false])
  func messagesUnderWay(_ isKept: Bool) throws {
    let text = Self.text(["name: lost, metric: loss, window: 60s, op: '>', threshold: 0.2, min_samples: 3"])
    let plans = [MadePlan.tjp()]
    let monitor = AlertMonitor(rules: try Self.rules(text), plans: plans) { _ in }
    monitor.countsPendingAsUnknown = isKept
    var options = EngineOptions(plans: plans)
    options.needs = AlertMonitor.needs
    var engine = Engine(options: options, sink: monitor)
    let packets = AlertMonitorTests.talk(1, [0, 1_000, 2_000, 3_000], lost: [3_000])
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    monitor.suspend(at: engine.totals.lastAt)
    let snapshot = try AlertSnapshot(#require(monitor.snapshot(text: text)?.bytes), maximumSeries: 10)
    let window = try #require(snapshot.rules.first?.series.first).window
    #expect(window.reduce(0) { $0 + $1.counts.samples } == 3)
    #expect(window.reduce(0) { $0 + $1.counts.affected } == 0)
    #expect(window.reduce(0) { $0 + $1.counts.unknown } == (isKept ? 1 : 0))
  }

  /// With another engine behind the cut, as after a restart, rules of servers, of profiles and of groups tell the same, where no message
  /// waits for its answer at the cut.
  @Test func aRestartChangesNothing() throws {
    let text = Self.text([
      "name: slow, metric: rtt_p95, direction: c2s, window: 30s, op: '>', threshold: 19ms, for: 20s",
      "name: busy, metric: messages, window: 10s, op: '>=', threshold: 27, clear: 20, keep_firing: 3s",
      "name: clients, metric: messages, by: client, scope: profile, window: 10s, op: '>', threshold: 5, for: 5s",
      "name: types, metric: messages, by: type, window: 10s, op: '>', threshold: 26",
      "name: nets, metric: success, by: network/16, window: 20s, op: '>', threshold: 0.5, for: 30s, keep_firing: 10s",
    ])
    let rules = try Self.rules(text)
    let packets = (0..<3 as Range<UInt16>).flatMap { AlertMonitorTests.talk($0, Self.times($0)) }
      .sorted { $0.timestamp < $1.timestamp }
    // Every answer is there after 20 ms.
    let quiet = packets.indices.dropFirst(12).filter {
      packets[$0].timestamp.nanoseconds(since: packets[$0 - 1].timestamp) > 100_000_000
    }
    func told(_ cuts: [Int]) throws -> [AlertEvent] {
      let collector = Collector()
      let plans = [MadePlan.tjp()]
      var kept: AlertSnapshot?
      var start = 0
      for cut in cuts + [packets.count] {
        let monitor = AlertMonitor(rules: rules, plans: plans) { collector.events.append($0) }
        if let kept { _ = monitor.resume(kept, rules: rules, watchedFrom: nil) }
        var options = EngineOptions(plans: plans)
        options.needs = AlertMonitor.needs
        var engine = Engine(options: options, sink: monitor)
        let batch = CaptureBuilder(Array(packets[start..<cut])).batch()
        engine.process(batch.bytes.span.bytes, batch.records.span)
        engine.finish()
        if cut == packets.count {
          monitor.finish(at: engine.totals.lastAt)
        } else {
          monitor.suspend(at: engine.totals.lastAt)
          let bytes = try #require(monitor.snapshot(text: text)?.bytes)
          kept = try AlertSnapshot(bytes, maximumSeries: 100)
        }
        start = cut
      }
      return collector.events
    }
    let expected = Self.words(try told([]))
    for rule in rules {
      #expect(expected.contains { $0.hasPrefix("\(rule.name) firing") }, "\(rule.name)")
    }
    var random = SeededRandom(5)
    for _ in 0..<12 {
      let cuts = Set((0..<3).map { _ in quiet.randomElement(using: &random) ?? 13 }).sorted()
      #expect(Self.words(try told(cuts)) == expected, "\(cuts)")
    }
  }

  /// What fires goes on under its name; what was changed or removed meanwhile is resolved with that as the reason.
  @Test func otherRulesAreDropped() throws {
    let packets = Self.talk(1)
    let kinds = ["kept", "changed", "gone"]
    let loud = "name: kept, metric: messages, window: 10s, op: '>', threshold: 5"
    let text = Self.text(kinds.map { loud.replacing("kept", with: $0) })
    let collector = Collector()
    let plans = [MadePlan.tjp()]
    func run(_ text: String, _ packets: ArraySlice<TimedPacket>, _ kept: AlertSnapshot?) throws -> (
      AlertSnapshot?, RuleChanges?, AlertMonitor
    ) {
      let monitor = AlertMonitor(rules: try Self.rules(text), plans: plans) { collector.events.append($0) }
      let changes = try kept.map { monitor.resume($0, rules: try Self.rules($0.text), watchedFrom: nil) }
      var options = EngineOptions(plans: plans)
      options.needs = AlertMonitor.needs
      var engine = Engine(options: options, sink: monitor)
      let batch = CaptureBuilder(Array(packets)).batch()
      engine.process(batch.bytes.span.bytes, batch.records.span)
      return (monitor.snapshot(text: text), changes, monitor)
    }
    let (first, none, _) = try run(text, packets[..<200], nil)
    #expect(none == nil && collector.events.map(\.state) == [.firing, .firing, .firing])
    let bytes = try #require(first?.bytes)
    let later = Self.text([
      loud + ", summary: Loud", loud.replacing("kept", with: "changed").replacing("threshold: 5", with: "threshold: 6"),
      loud.replacing("kept", with: "new"),
    ])
    let (_, changes, monitor) = try run(later, packets[200...], try AlertSnapshot(bytes, maximumSeries: 10))
    let counted = changes.map { [$0.kept, $0.changed, $0.removed, $0.added] }
    #expect(counted == [1, 1, 1, 1])
    let names = kinds.map { name in collector.events.filter { $0.rule.name == name } }
    try #require(names.allSatisfy { $0.count >= 2 }, "\(Self.words(collector.events).joined(separator: "\n"))")
    #expect(names[0].map(\.state).prefix(3) == [.firing, .resolved, .firing] && names[0][0].id == names[0][1].id)
    #expect(names[0][1].ending == nil && names[0][1].rule.summary == "Loud")
    #expect(names[1][1].state == .resolved && names[1][1].ending == .changed && names[1][0].id == names[1][1].id)
    #expect(names[2].map(\.state) == [.firing, .resolved] && names[2][1].ending == .removed)
    #expect(Set(monitor.firing.map(\.rule.name)).isSubset(of: ["kept", "changed", "new"]))
  }

  /// Of the time between two live runs nothing is known: neither silence nor a number that is too small follows from it.
  @Test func timeWithoutARunIsNoSilence() throws {
    let text = Self.text([
      "name: absent, metric: messages, scope: profile, profile: tjp, window: 20s, op: absent",
      "name: few, metric: messages, scope: profile, window: 20s, op: '<', threshold: 10",
      "name: many, metric: messages, scope: profile, window: 20s, op: '>', threshold: 10",
    ])
    let rules = try Self.rules(text)
    let plans = [MadePlan.tjp()]
    let collector = Collector()
    func run(_ times: [Int64], _ kept: AlertSnapshot?, from: Int64, to: Int64) throws -> AlertSnapshot? {
      let monitor = AlertMonitor(rules: rules, plans: plans) { collector.events.append($0) }
      if let kept { _ = monitor.resume(kept, rules: rules, watchedFrom: AlertMonitorTests.at(from)) }
      var options = EngineOptions(plans: plans)
      options.needs = AlertMonitor.needs
      var engine = Engine(options: options, sink: monitor)
      if !times.isEmpty {
        let batch = CaptureBuilder(AlertMonitorTests.talk(1, times)).batch()
        engine.process(batch.bytes.span.bytes, batch.records.span)
      }
      monitor.advance(to: AlertMonitorTests.at(to))
      return monitor.snapshot(text: text)
    }
    // A message a second until 60 s; the next run begins an hour later, and so does a message a second.
    let first = try run((0..<60).map { Int64($0) * 1_000 + 100 }, nil, from: 0, to: 60_000)
    func told() -> [String] { collector.events.map { "\($0.rule.name) \($0.state)" } }
    // There are few at the very beginning.
    #expect(told() == ["few firing", "few resolved", "many firing"])
    collector.events = []
    let hour: Int64 = 3_600_000
    let second = try run((0..<60).map { hour + Int64($0) * 1_000 + 100 }, first, from: hour, to: hour + 60_000)
    #expect(told() == [])
    // What is told in a third run, in seconds since it began.
    func third(_ times: [Int64]) throws -> [String] {
      collector.events = []
      _ = try run(times.map { 2 * hour + $0 }, second, from: 2 * hour, to: 2 * hour + 60_000)
      return collector.events.map { event in
        let since = event.at.nanoseconds(since: AlertMonitorTests.at(2 * hour)) / 1_000_000_000
        return "\(event.rule.name) \(event.state) \(since)"
      }
    }
    // Silence is silence 20 s after the run began, and two messages are few then, not before.
    let silent = try third([])
    #expect(silent == ["absent firing 20", "few firing 20"])
    let quiet = try third([5_100, 25_100])
    #expect(quiet == ["few firing 20", "many resolved 20", "absent firing 46"])
  }

  // MARK: Broken files

  private static func sample() throws -> (bytes: [UInt8], text: String) {
    let text = text(every)
    let monitor = AlertMonitor(rules: try rules(text), plans: [MadePlan.tjp()]) { _ in }
    var options = EngineOptions(plans: [MadePlan.tjp()])
    options.needs = AlertMonitor.needs
    var engine = Engine(options: options, sink: monitor)
    let packets = talk(1)
    let batch = CaptureBuilder(Array(packets[..<(packets.count * 2 / 3)])).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    let bytes = try #require(monitor.snapshot(text: text)?.bytes)
    return (bytes, text)
  }

  /// Every prefix is refused, with its end or an earlier place, and every changed byte too.
  @Test func brokenFilesAreRefused() throws {
    let (bytes, _) = try Self.sample()
    #expect(throws: Never.self) { _ = try AlertSnapshot(bytes, maximumSeries: 10_000) }
    func problem(_ bytes: [UInt8]) -> AlertStateError? {
      do throws(AlertStateError) {
        _ = try AlertSnapshot(bytes, maximumSeries: 10_000)
        return nil
      } catch { return error }
    }
    for count in Array(0..<200) + stride(from: 200, to: bytes.count, by: 97) + [bytes.count - 1] {
      let found = problem(Array(bytes[..<count]))
      #expect(found != nil && (found?.offset ?? .max) <= count, "\(count)")
    }
    #expect(problem([])?.message == "not an alert state")
    #expect(problem(bytes + [0])?.offset == 12)
    var random = SeededRandom(3)
    for _ in 0..<2_000 {
      var mutant = bytes
      mutant[Int.random(in: 0..<mutant.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      #expect(problem(mutant) != nil)
    }
    var other = bytes
    other[8] = 9
    #expect(problem(other) == AlertStateError(offset: 8, message: "format 9, expected 2"))
    var sum = bytes
    sum[sum.count - 1] ^= 1
    #expect(problem(sum) == AlertStateError(offset: bytes.count - 8, message: "the checksum is wrong"))
  }

  /// Files whose checksum is right and whose content is not: what is taken up does no harm, and takes no longer than a moment.
  @Test func hostileFilesDoNoHarm() throws {
    let (bytes, text) = try Self.sample()
    let rules = try Self.rules(text)
    let plans = [MadePlan.tjp()]
    let packets = Self.talk(1)
    let batch = CaptureBuilder(Array(packets[(packets.count * 2 / 3)...].prefix(60))).batch()
    var random = SeededRandom(11)
    var taken = 0, refused = 0
    let start = ContinuousClock.now
    for round in 0..<3_000 {
      var state = Array(bytes[20..<bytes.count - 8])
      // Behind the text of the rules, where what is counted begins.
      let first = min(text.utf8.count + 3, state.count - 1)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let place = Int.random(in: first..<state.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: state[place] = UInt8.random(in: 0...255, using: &random)
        case 1: state.remove(at: place)
        case 2: state.insert([0xff, 0x7f, 0, 1, 0x80].randomElement(using: &random) ?? 0, at: place)
        default:
          state.replaceSubrange(
            place..<min(place + 9, state.count), with: [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])
        }
        guard first < state.count else { break }
      }
      guard let kept = try? AlertSnapshot(Self.sealed(state), maximumSeries: 10_000) else {
        refused += 1
        continue
      }
      taken += 1
      let monitor = AlertMonitor(rules: rules, plans: plans) { _ = $0.id }
      _ = monitor.resume(kept, rules: rules, watchedFrom: round % 2 == 0 ? packets[packets.count / 2].timestamp : nil)
      guard taken % 4 == 0 else { continue }
      var options = EngineOptions(plans: plans)
      options.needs = AlertMonitor.needs
      var engine = Engine(options: options, sink: monitor)
      engine.process(batch.bytes.span.bytes, batch.records.span)
      engine.finish()
      monitor.finish(at: engine.totals.lastAt)
      monitor.end()
      #expect(monitor.firing.isEmpty)
    }
    #expect(taken > 100 && refused > 500, "\(taken) \(refused)")
    #expect(ContinuousClock.now - start < .seconds(60))
  }

  /// The file of a state, with a header and a checksum that are right.
  private static func sealed(_ state: [UInt8]) -> [UInt8] {
    func word(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) } }
    return Array("imalerts".utf8) + [2, 0, 0, 0] + word(UInt64(state.count)) + state + word(fnv1a(state))
  }
}
