import IMEngine
import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMAlerts

/// Rules over made-up conversations: silence, drops, limits, and clocks that jump.
@Suite struct AlertMonitorTests {
  /// What was told, and what it came to.
  struct Outcome {
    var events: [AlertEvent]
    var figures: AlertMetrics
    /// `state@second`, counted from the start of the time of the tests.
    var told: [String] { events.map { "\($0.state.rawValue)@\($0.at.seconds - AlertMonitorTests.start)" } }
  }

  static let start: Int64 = 1_700_000_040
  static let server = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 8080)

  static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: start * 1_000 + milliseconds) }

  static func rule(_ text: String) throws -> AlertRule {
    try AlertRules("version: 1\nrules:\n  - { name: r, \(text) }\n", source: "r", profiles: ["tjp"]).rules[0]
  }

  /// A client that sends a message and gets an answer at each of `times`, in milliseconds; not to those of `lost`.
  static func talk(_ number: UInt16, _ times: [Int64], lost: Set<Int64> = []) -> [TimedPacket] {
    let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 20_000 &+ number)
    var talk = ConversationBuilder(client: client, server: server)
    talk.open(at: at(times[0] - 5))
    for (index, time) in times.enumerated() {
      let sequence = UInt32(index + 1)
      talk.send(
        TJPFrameBuilder(text: "message", sequence: sequence, session: number).bytes, .clientToServer, at: at(time))
      guard !lost.contains(time) else { continue }
      talk.send(
        TJPFrameBuilder.echoACK(of: sequence, session: number).bytes, .serverToClient, at: at(time + 20))
    }
    return talk.packets
  }

  static func run(
    _ rules: [AlertRule], _ packets: [TimedPacket], limits: AlertLimits = AlertLimits(),
    then: (AlertMonitor) -> Void = { _ in }, last: (AlertMonitor) -> Void = { _ in }
  ) -> Outcome {
    final class Collector { var events: [AlertEvent] = [] }
    let collector = Collector()
    let plans = [MadePlan.tjp()]
    let monitor = AlertMonitor(rules: rules, plans: plans, limits: limits) { collector.events.append($0) }
    var options = EngineOptions(plans: plans)
    options.needs = AlertMonitor.needs
    var engine = Engine(options: options, sink: monitor)
    let batch = CaptureBuilder(packets.sorted { $0.timestamp < $1.timestamp }).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    then(monitor)
    engine.finish()
    monitor.finish(at: engine.totals.lastAt)
    last(monitor)
    return Outcome(events: collector.events, figures: monitor.figures)
  }

  @Test func silenceFiresOnceAndIsResolved() throws {
    let rule = try Self.rule("metric: messages, window: 10s, op: absent, for: 5s")
    let times = Array(stride(from: Int64(100), to: 20_000, by: 1_000)) + [60_100, 61_100]
    // The last message before comes at 19.1 s: ten seconds without one are over at 30, five more at 35.
    #expect(Self.run([rule], Self.talk(1, times)).told == ["firing@35", "resolved@61"])
  }

  /// What still fires when a live capture ends is resolved once, with that as its reason, under the name under which it fired.
  @Test func theEndOfACaptureResolvesWhatFires() throws {
    let rule = try Self.rule("metric: messages, window: 10s, op: absent, for: 5s")
    let times = Array(stride(from: Int64(100), to: 20_000, by: 1_000))
    // A connection on which nothing is said shows that time goes on.
    var other = ConversationBuilder(client: Endpoint(address: IPAddress(v4: 1), port: 1), server: Self.server)
    other.open(at: Self.at(41_000))
    let silent = Self.run(
      [rule], Self.talk(1, times) + other.packets,
      last: { monitor in
        monitor.end()
        monitor.end()
      })
    #expect(silent.figures.fired == silent.figures.resolved && silent.figures.fired > 0)
    let (first, end) = (try #require(silent.events.first), try #require(silent.events.last))
    #expect(end.state == .resolved && end.ending == .run)
    #expect(end.id == first.id && end.since == first.since && end.at >= first.at)
  }

  /// Two episodes of one alert have two names, and a run that sees the second one only has the same name for it.
  @Test func anEpisodeHasTheSameNameInEveryRun() throws {
    let rule = try Self.rule("metric: loss, window: 6s, op: '>', threshold: 0.5, min_samples: 1")
    let talk: (UInt16, Int64) -> [TimedPacket] = { Self.talk($0, [$1, $1 + 1_000], lost: [$1, $1 + 1_000]) }
    let answered = Self.talk(3, Array(stride(from: Int64(60_000), to: 100_000, by: 500)))
    let later = Self.talk(4, [180_000, 181_000])
    let both = Self.run([rule], talk(1, 0) + answered + talk(2, 120_000) + later).events.filter { $0.state == .firing }
    let second = Self.run([rule], talk(2, 120_000) + later).events.filter { $0.state == .firing }
    #expect(both.count == 2 && second.count == 1)
    #expect(both[0].id != both[1].id && both[0].fingerprint == both[1].fingerprint)
    #expect(both[1].id == second[0].id)
    #expect(second[0].id == "\(second[0].fingerprint)-\(second[0].at.microseconds / 1_000)")
  }

  @Test func aProfileThatIsNamedNeedsNoFirstMessage() throws {
    let rule = try Self.rule("metric: messages, scope: profile, profile: tjp, window: 10s, op: absent")
    let other = try Self.rule("metric: messages, scope: profile, window: 10s, op: absent")
    // Nothing but a handshake, and a minute later another one.
    var first = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 1), port: 1), server: Endpoint(address: IPAddress(v4: 2), port: 2))
    first.open(at: Self.at(100))
    first.close(.fin(by: .clientToServer), at: Self.at(60_100))
    #expect(Self.run([rule], first.packets).told == ["firing@11"])
    #expect(Self.run([other], first.packets).told == [])
  }

  /// A clock that jumps over a decade while a message waits tells what one that comes there second by second tells, without
  /// an evaluation for each step of ten years.
  @Test(
    arguments: [
      ("op: '>', threshold: 5s", ["firing@6"]), ("op: '>', threshold: 5s, clear: 2s, for: 20s", ["firing@26"]),
      ("op: '>=', threshold: 3600s, for: 7s", ["firing@3608"]), ("op: '<', threshold: 5s", ["firing@1", "resolved@6"]),
      ("op: '<', threshold: 5s, clear: 60s, keep_firing: 30s", ["firing@1", "resolved@91"]),
      ("op: '<', threshold: 5s, for: 10s", []),
    ] as [(String, [String])])
  func theClockJumps(_ text: String, _ expected: [String]) throws {
    let rule = try Self.rule("metric: unacked_age, window: 10s, " + text)
    let decade = Self.at(10 * 365 * 86_400_000)
    let packets = Self.talk(1, [100], lost: [100])
    var told: [[String]] = []
    for steps in [[], Array(stride(from: Int64(200), to: 4_000_000, by: 300))] {
      var events = 0
      let outcome = Self.run([rule], packets) { monitor in
        for step in steps { monitor.advance(to: Self.at(step)) }
        monitor.advance(to: decade)
        events = Int(monitor.figures.fired + monitor.figures.resolved)
      }
      told.append(Array(outcome.told.prefix(events)))
    }
    #expect(told == [expected, expected])
  }

  /// The time for an answer is 6 s, so what was sent at 3 s is lost at 9 s.
  @Test func lossIsCountedWhenTheTimeForAnAnswerIsOver() throws {
    let rule = try Self.rule("metric: loss, window: 6s, op: '>', threshold: 10%")
    let times = Array(stride(from: Int64(500), to: 40_000, by: 500))
    let outcome = Self.run([rule], Self.talk(1, times, lost: [3_000, 3_500]))
    #expect(outcome.told == ["firing@10", "resolved@16"])
    #expect(outcome.events[0].affected == 2)
    #expect(outcome.events[0].first?.at == Self.at(9_000))
    #expect(outcome.events[0].last?.at == Self.at(9_500))
  }

  @Test func dropsHoldLossAndFireTheirOwnRule() throws {
    let loss = try Self.rule("metric: loss, window: 6s, op: '>', threshold: 10%")
    var drops = try Self.rule("metric: capture_drop_ratio, window: 10s, op: '>', threshold: 1%")
    drops.name = "drops"
    let packets = Self.talk(1, Array(stride(from: Int64(500), to: 10_000, by: 500)), lost: [3_000, 3_500])
    let outcome = Self.run([loss, drops], packets) { monitor in
      monitor.captured(received: 1_000, dropped: 0, at: Self.at(9_800))
      monitor.captured(received: 2_000, dropped: 50, at: Self.at(9_900))
      monitor.captured(received: 3_000, dropped: 50, at: Self.at(30_000))
      monitor.captured(received: 4_000, dropped: 50, at: Self.at(50_000))
    }
    let told = outcome.events.map { "\($0.rule.name) \($0.state.rawValue)@\($0.at.seconds - Self.start)" }
    #expect(Set(told) == ["drops firing@10", "drops resolved@31", "r held@10", "r released@16"])
    #expect(outcome.events.first { $0.state == .held }?.dropped == 50)
    #expect(outcome.figures.held == 1)
  }

  @Test func aRuleTellsSoManyInAMinute() throws {
    let rule = try Self.rule("metric: messages, scope: connection, window: 1s, op: '>=', threshold: 1")
    let packets =
      (0..<150).flatMap { Self.talk(UInt16($0), [200 + Int64($0)]) } + Self.talk(150, [70_200])
    let outcome = Self.run([rule], packets)
    let minute = outcome.events.filter { $0.at <= Self.at(2_000) }
    #expect(minute.count == 100)
    #expect(outcome.figures.fired == 151)
    // The first one of the next minute says how many were kept back.
    #expect(outcome.events.first { $0.at > Self.at(60_000) }?.suppressed == 50)
  }

  @Test func statesHaveALimit() throws {
    let rule = try Self.rule("metric: messages, scope: connection, window: 2s, op: '>=', threshold: 100")
    var limits = AlertLimits()
    limits.series = 10
    // Thirty at once: twenty have no room. Thirty one after the other: those before are forgotten.
    let together = (0..<30).flatMap { Self.talk(UInt16($0), [100]) }
    #expect(Self.run([rule], together, limits: limits).figures.refused == 20)
    let apart = (0..<30).flatMap { Self.talk(UInt16($0), [100 + 5_000 * Int64($0)]) }
    let outcome = Self.run([rule], apart, limits: limits)
    #expect(outcome.figures.refused == 0)
    #expect(outcome.figures.evicted == 20)
  }

  /// Packets a year apart, and at the ends of time: no step is walked through that changes nothing.
  @Test(.timeLimit(.minutes(1)))
  func aClockThatJumpsCostsNothing() throws {
    let rules = try [
      "metric: messages, scope: connection, window: 60s, op: absent, for: 24h",
      "metric: loss, window: 1s, op: '>', threshold: 1%, keep_firing: 24h",
    ].map(Self.rule)
    let year: Int64 = 365 * 86_400_000
    for step: Int64 in [year, -year, 86_400_000 * 20_000] {
      var packets: [TimedPacket] = []
      for number in 0..<200 {
        // In nanoseconds, going round: times are whatever a capture says.
        let moved: Int64 = Int64(number) &* step &* 1_000_000
        for packet in Self.talk(UInt16(number), [100, 200]) {
          packets.append(TimedPacket(packet, at: packet.timestamp.advanced(by: moved)))
        }
      }
      let outcome = Self.run(rules, packets)
      #expect(outcome.figures.refused == 0)
    }
    for time in [
      Timestamp.distantPast, .distantFuture, Timestamp(nanoseconds: .max - 1), Timestamp(nanoseconds: .min + 1),
    ] {
      _ = Self.run(rules, Self.talk(1, [100, 200]).map { TimedPacket($0, at: time) })
    }
  }

  @Test func theFingerprintIsOfTheSubjectAndNotOfTheValue() throws {
    let rule = try Self.rule("metric: messages, window: 1s, op: '>=', threshold: 1")
    let few = Self.run([rule], Self.talk(1, [100]))
    let many = Self.run([rule], Self.talk(7, [100, 200, 300, 5_000, 5_100]))
    #expect(few.events[0].value != many.events[0].value)
    #expect(few.events[0].fingerprint == many.events[0].fingerprint)
    #expect(few.events[0].fingerprint.count == 16)
    var other = rule
    other.name = "s"
    #expect(Self.run([other], Self.talk(1, [100])).events[0].fingerprint != few.events[0].fingerprint)
  }
}
