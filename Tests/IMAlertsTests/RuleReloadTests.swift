import IMEngine
import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMAlerts

/// Rules that are read again while packets come: what stays goes on as if nothing had happened, what goes is resolved.
@Suite struct RuleReloadTests {
  private static func rules(_ texts: [String]) throws -> [AlertRule] {
    let list = texts.map { "  - { \($0) }\n" }.joined()
    return try AlertRules("version: 1\nrules:\n" + list, source: "r", profiles: ["tjp"]).rules
  }

  /// What is told of packets; behind the first `cut` of them the rules are `later`.
  private static func told(
    _ rules: [AlertRule], _ packets: [TimedPacket], cut: Int? = nil, later: [AlertRule] = []
  ) -> (events: [AlertEvent], changes: RuleChanges) {
    final class Collector { var events: [AlertEvent] = [] }
    let collector = Collector()
    let plans = [MadePlan.tjp()]
    let monitor = AlertMonitor(rules: rules, plans: plans) { collector.events.append($0) }
    var options = EngineOptions(plans: plans)
    options.needs = AlertMonitor.needs
    var engine = Engine(options: options, sink: monitor)
    var changes = RuleChanges()
    let sorted = packets.sorted { $0.timestamp < $1.timestamp }
    func process(_ packets: ArraySlice<TimedPacket>) {
      guard !packets.isEmpty else { return }
      let batch = CaptureBuilder(Array(packets)).batch()
      engine.process(batch.bytes.span.bytes, batch.records.span)
    }
    process(sorted[..<(cut ?? sorted.count)])
    if cut != nil { changes = monitor.replace(rules: later, moves: FilterMoves(filters: [], answers: [])) }
    process(sorted[(cut ?? sorted.count)...])
    engine.finish()
    monitor.finish(at: engine.totals.lastAt)
    return (collector.events, changes)
  }

  private static func words(_ events: [AlertEvent], _ rule: String) -> [String] {
    events.filter { $0.rule.name == rule }.map {
      "\($0.state) \($0.id) \($0.at.seconds) \($0.since.seconds) \($0.samples) \($0.affected) \($0.value ?? -1)"
    }
  }

  /// Two clients, some of whose messages are lost, for three minutes.
  private static func talk() -> [TimedPacket] {
    var random = SeededRandom(7)
    return (0..<2 as Range<UInt16>).flatMap { number in
      let times = (0..<180).map { Int64($0) * 1_000 + Int64(number) * 300 }
      let lost = times.filter { time in
        (time / 40_000) % 2 == 1
          ? Int.random(in: 0..<3, using: &random) == 0 : Int.random(in: 0..<60, using: &random) == 0
      }
      return AlertMonitorTests.talk(number, times, lost: Set(lost))
    }
  }

  private static let kept = [
    "name: lost, metric: loss, window: 30s, op: '>', threshold: 10%, clear: 5%, for: 10s, keep_firing: 5s",
    "name: slow, metric: rtt_p95, window: 20s, op: '>', threshold: 5ms",
    "name: age, metric: unacked_age, scope: connection, window: 10s, op: '>', threshold: 3s",
    "name: busy, metric: messages, by: client, scope: profile, window: 10s, op: '>=', threshold: 9",
  ]

  /// Wherever the rules are read again, in another order and among others, those that are the same tell what they tell without that.
  @Test func aRuleThatStaysGoesOn() throws {
    let packets = Self.talk()
    let rules = try Self.rules(Self.kept)
    let expected = Self.told(rules, packets).events
    #expect(Self.kept.indices.allSatisfy { !Self.words(expected, rules[$0].name).isEmpty })
    var others = Self.kept.reversed() + ["name: new, metric: messages, window: 10s, op: '>', threshold: 0"]
    // Words of an alert are not what it judges by.
    others[0] += ", summary: Busy, runbook: 'https://example.com/busy'"
    let later = try Self.rules(others)
    for cut in stride(from: 1, to: packets.count - 60, by: 41) {
      let (events, changes) = Self.told(rules, packets, cut: cut, later: later)
      for rule in rules {
        #expect(Self.words(events, rule.name) == Self.words(expected, rule.name), "\(rule.name) \(cut)")
      }
      #expect(
        changes
          == {
            var changes = RuleChanges(); (changes.kept, changes.added) = (4, 1); return changes
          }())
      // The new one counts what came behind: its alert begins there.
      let first = try #require(events.first { $0.rule.name == "new" }).at
      let times = packets.map(\.timestamp).sorted()
      #expect(first > times[cut - 1] && first.nanoseconds(since: times[cut - 1]) <= 22_000_000_000)
    }
  }

  /// One that is gone or judges otherwise resolves what fires, under the name under which it fired, and never again.
  @Test func whatGoesIsResolved() throws {
    let packets = Self.talk()
    let loud = "name: loud, metric: messages, window: 10s, op: '>', threshold: 0"
    let rules = try Self.rules([loud, loud.replacing("loud", with: "other")])
    let later = try Self.rules([loud.replacing("threshold: 0", with: "threshold: 1")])
    let (events, changes) = Self.told(rules, packets, cut: 400, later: later)
    #expect(changes.changed == 1 && changes.removed == 1 && changes.kept == 0 && changes.added == 0)
    let other = events.filter { $0.rule.name == "other" }
    #expect(other.map(\.state) == [.firing, .resolved] && other[0].id == other[1].id && other[1].ending == .removed)
    let told = events.filter { $0.rule.name == "loud" }
    #expect(told.prefix(3).map(\.state) == [.firing, .resolved, .firing])
    #expect(told[0].id == told[1].id && told[1].ending == .changed)
    #expect(told[2].id != told[0].id && told[2].rule.threshold == 1 && told[2].at > told[1].at)
  }

  /// Before the first packet there is nothing to keep, and rules work as if they had been there from the beginning.
  @Test func beforeTheFirstPacket() throws {
    let packets = Self.talk()
    let rules = try Self.rules(Self.kept)
    let silence = "name: none, metric: messages, scope: profile, profile: tjp, window: 10s, op: absent"
    let (events, _) = Self.told(try Self.rules([silence]), packets, cut: 0, later: rules)
    let expected = Self.told(rules, packets).events
    #expect(events.map(\.id) == expected.map(\.id) && !events.isEmpty)
  }

  /// Rules of every metric, with groups and few states, read again at random places as a random part of them: each episode that fires is resolved
  /// once, under its name, and nothing is resolved that did not fire.
  @Test func eachEpisodeIsResolvedOnce() throws {
    var texts = AlertMetric.allCases.enumerated().map {
      "name: r\($0), metric: \($1.rawValue), window: 6s, op: '>', threshold: 0, keep_firing: \($0 % 3)s"
    }
    for (number, by) in ["client", "session", "type", "network/20"].enumerated() {
      texts.append("name: g\(number), metric: messages, by: \(by), max_series: 2, window: 6s, op: '>', threshold: 0")
    }
    texts.append("name: inner, metric: loss, scope: connection, by: type, window: 6s, op: '>', threshold: 0")
    texts.append("name: silence, metric: messages, scope: profile, profile: tjp, window: 4s, op: absent")
    let rules = try Self.rules(texts)
    let packets = Self.talk().sorted { $0.timestamp < $1.timestamp }
    var random = SeededRandom(21)
    for _ in 0..<6 {
      final class Collector { var events: [AlertEvent] = [] }
      let collector = Collector()
      let plans = [MadePlan.tjp()]
      var now = rules.filter { _ in Bool.random(using: &random) }
      let monitor = AlertMonitor(rules: now, plans: plans) { collector.events.append($0) }
      var options = EngineOptions(plans: plans)
      options.needs = AlertMonitor.needs
      var engine = Engine(options: options, sink: monitor)
      let cuts = (0..<5).map { _ in Int.random(in: 0...packets.count, using: &random) }.sorted() + [packets.count]
      var start = 0
      for cut in cuts {
        if cut > start {
          let batch = CaptureBuilder(Array(packets[start..<cut])).batch()
          engine.process(batch.bytes.span.bytes, batch.records.span)
        }
        start = cut
        let next = rules.shuffled(using: &random).filter { _ in Int.random(in: 0..<3, using: &random) > 0 }.map {
          rule in
          var rule = rule
          if Int.random(in: 0..<5, using: &random) == 0 { rule.keepFiring += 1_000_000_000 }
          return rule
        }
        let changes = monitor.replace(rules: next, moves: FilterMoves(filters: [], answers: []))
        let names = (Set(now.map(\.name)), Set(next.map(\.name)))
        #expect(
          changes.added == names.1.subtracting(names.0).count && changes.removed == names.0.subtracting(names.1).count)
        #expect(changes.kept == next.count { rule in now.contains { $0 == rule } })
        #expect(changes.kept + changes.changed + changes.added == next.count)
        now = next
      }
      engine.finish()
      monitor.finish(at: engine.totals.lastAt)
      monitor.end()
      #expect(monitor.figures.fired == monitor.figures.resolved && monitor.figures.fired > 20)
      var open: Set<String> = []
      for event in collector.events {
        if event.state == .firing { #expect(open.insert("\(event.rule.name) \(event.id)").inserted, "\(event.id)") }
        if event.state == .resolved { #expect(open.remove("\(event.rule.name) \(event.id)") != nil, "\(event.id)") }
      }
      #expect(open.isEmpty)
    }
  }

  /// Bits of filters and of their answers go to their new places, and those of filters that are gone are gone.
  @Test func bitsMove() {
    var choice = FilterChoice()
    (choice.filters, choice.answers) = (0b1011, 0b110)
    let moved = FilterMoves(filters: [2, nil, 0, 63], answers: [nil, 0, 5]).move(choice)
    #expect(moved.filters == 1 << 2 | 1 << 63 && moved.answers == 0b100001)
    var messages = SelectedMessages()
    let isKept = messages.insert(1, choice, limit: 10)
    let before = messages[1]
    messages.move(FilterMoves(filters: [nil, nil, nil, nil], answers: []))
    let after = messages[1]
    #expect(isKept && before == choice && after == FilterChoice())
  }
}
