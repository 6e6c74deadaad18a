import IMEngine
import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMAlerts

/// Rules with `by`: each group has the alerts that it would have if it were alone.
@Suite struct GroupTests {
  private static let server = AlertMonitorTests.server

  /// A client at `address` that sends a message each second for a minute; of `lost` in ten none is answered.
  private static func talk(_ address: IPAddress, port: UInt16, session: UInt16, lost: Int, seed: UInt64)
    -> [TimedPacket]
  {
    var random = SeededRandom(seed)
    // A packet has addresses of one kind.
    let server =
      address.isIPv6 ? Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1), port: 8_080) : Self.server
    var talk = ConversationBuilder(client: Endpoint(address: address, port: port), server: server)
    let start = Int64.random(in: 0..<500, using: &random)
    talk.open(at: AlertMonitorTests.at(start))
    for number in 0..<60 as Range<UInt32> {
      let time = start + 100 + Int64(number) * 1_000
      talk.send(
        TJPFrameBuilder(text: "message", sequence: number + 1, session: session).bytes, .clientToServer,
        at: AlertMonitorTests.at(time))
      guard Int.random(in: 0..<10, using: &random) >= lost else { continue }
      talk.send(
        TJPFrameBuilder.echoACK(of: number + 1, session: session).bytes, .serverToClient,
        at: AlertMonitorTests.at(time + 20))
    }
    return talk.packets
  }

  private static func words(_ events: [AlertEvent]) -> [String] {
    events.map { "\($0.state) \($0.at.seconds) \($0.samples) \($0.affected) \($0.value ?? -1)" }
  }

  static let clients: [(address: IPAddress, lost: Int)] = [
    (IPAddress(v4: 0x0a00_0007), 0), (IPAddress(v4: 0x0a00_0008), 5), (IPAddress(v4: 0x0a00_0107), 2),
    (IPAddress(v6High: 0x2001_0db8_0000_0001, v6Low: 7), 0), (IPAddress(v6High: 0x2001_0db8_0000_0001, v6Low: 8), 6),
    (IPAddress(v6High: 0x2001_0db8_0000_0002, v6Low: 7), 3),
  ]

  /// The alerts of each group are those of the rule without groups over the packets of its clients alone.
  @Test(
    arguments: [
      ("client", { @Sendable (address: IPAddress) in "\(address)" }),
      (
        "network/24",
        { @Sendable (address: IPAddress) in
          let text = "\(address)"
          return text.hasPrefix("10.0.0.")
            ? "10.0.0.0/24"
            : text.hasPrefix("10.")
              ? "10.0.1.0/24" : text.hasPrefix("2001:db8:0:1:") ? "2001:db8:0:1::/64" : "2001:db8:0:2::/64"
        }
      ),
      ("network/16/32", { @Sendable (address: IPAddress) in address.isIPv6 ? "2001:db8::/32" : "10.0.0.0/16" }),
    ] as [(String, @Sendable (IPAddress) -> String)])
  func aGroupIsAsIfItWereAlone(_ by: String, _ name: @Sendable (IPAddress) -> String) throws {
    let talks = Self.clients.enumerated().map { number, client in
      (
        name(client.address),
        Self.talk(
          client.address, port: 4_000 + UInt16(number), session: UInt16(number), lost: client.lost, seed: UInt64(number)
        )
      )
    }
    for text in [
      "metric: loss, window: 12s, op: '>', threshold: 20%", "metric: messages, window: 4s, op: '>=', threshold: 4",
      "metric: rtt_p50, scope: profile, window: 6s, op: '>', threshold: 1ms",
      "metric: unacked_age, window: 6s, op: '>', threshold: 2s",
    ] {
      let grouped = AlertMonitorTests.run(
        [try AlertMonitorTests.rule(text + ", by: \(by)")], talks.flatMap { $0.1 }
      ).events
      let plain = try AlertMonitorTests.rule(text)
      var fingerprints: Set<String> = []
      for group in Set(talks.map { $0.0 }) {
        let own = grouped.filter { $0.group?.name == group }
        let alone = AlertMonitorTests.run([plain], talks.filter { $0.0 == group }.flatMap { $0.1 }).events
        #expect(Self.words(own) == Self.words(alone), "\(text) \(group)")
        fingerprints.formUnion(own.map(\.fingerprint))
      }
      #expect(fingerprints.count == Set(grouped.map { $0.group?.name }).count)
      #expect(!grouped.isEmpty && grouped.allSatisfy { $0.group != nil })
    }
  }

  /// The same of sessions and types of messages, which are not of a connection. The numbers of sessions are on the wire.
  @Test func sessionsAndTypes() throws {
    // Each client has a session of its own, and two of them the same one, one after the other.
    let talks = Self.clients.enumerated().map { number, client in
      (
        "\(number % 4 + 1)",
        Self.talk(
          client.address, port: 4_000 + UInt16(number), session: UInt16(number % 4 + 1), lost: client.lost,
          seed: UInt64(number))
      )
    }
    let text = "metric: messages, scope: profile, window: 4s, op: '>=', threshold: 3"
    let grouped = AlertMonitorTests.run(
      [try AlertMonitorTests.rule(text + ", by: session")], talks.flatMap { $0.1 }
    ).events
    for session in Set(talks.map { $0.0 }) {
      let own = grouped.filter { $0.group?.name == session }
      let alone = AlertMonitorTests.run(
        [try AlertMonitorTests.rule(text)], talks.filter { $0.0 == session }.flatMap { $0.1 }
      ).events
      #expect(Self.words(own) == Self.words(alone), "session \(session)")
      #expect(own.allSatisfy { $0.group?.isNamedByClient == false })
    }
    #expect(Set(grouped.map { $0.group?.name }) == Set(talks.map { $0.0 }))
    let types = AlertMonitorTests.run(
      [try AlertMonitorTests.rule(text + ", by: type")], talks.flatMap { $0.1 }
    ).events
    let all = AlertMonitorTests.run([try AlertMonitorTests.rule(text)], talks.flatMap { $0.1 }).events
    #expect(Self.words(types) == Self.words(all))
    #expect(Set(types.map { $0.group?.name }) == ["data"])
  }

  /// The state of a connection's groups ends with the connection.
  @Test func groupsOfAConnectionEndWithIt() throws {
    var packets: [TimedPacket] = []
    for number in 0..<3 as Range<UInt16> {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 5_000 + number), server: Self.server)
      let begin = Int64(number) * 20_000
      talk.open(at: AlertMonitorTests.at(begin))
      talk.send(TJPFrameBuilder(text: "m", sequence: 1).bytes, .clientToServer, at: AlertMonitorTests.at(begin + 100))
      talk.close(.fin(by: .clientToServer), at: AlertMonitorTests.at(begin + 200))
      packets += talk.packets
    }
    let text = "metric: messages, scope: connection, window: 6s, op: '>=', threshold: 1"
    let plain = AlertMonitorTests.run([try AlertMonitorTests.rule(text)], packets).events
    let grouped = AlertMonitorTests.run([try AlertMonitorTests.rule(text + ", by: type")], packets).events
    #expect(Self.words(plain) == Self.words(grouped))
    #expect(grouped.contains { $0.ending == .connection })
  }

  /// A rule has no more states than it may; that is told once, what is not counted is counted, and other rules are as before.
  @Test func aRuleHasSoManyStates() throws {
    final class Collector { var told: [String] = [] }
    let collector = Collector()
    let packets = (0..<30 as Range<UInt32>).flatMap { number in
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0100 + number), port: 5_000), server: Self.server)
      talk.open(at: AlertMonitorTests.at(10))
      for message in 0..<4 as Range<UInt32> {
        talk.send(
          TJPFrameBuilder(text: "m", sequence: message + 1, session: UInt16(number + 1)).bytes, .clientToServer,
          at: AlertMonitorTests.at(100 + Int64(message) * 100))
      }
      return talk.packets
    }.sorted { $0.timestamp < $1.timestamp }
    let plans = [MadePlan.tjp()]
    let rules = try [
      "name: r, metric: messages, window: 60s, by: client, max_series: 10, op: '>', threshold: 0",
      "name: s, metric: messages, window: 60s, by: client, op: '>', threshold: 0",
    ].map { try AlertRules("version: 1\nrules:\n  - { \($0) }\n", source: "r", profiles: []).rules[0] }
    var fired: [String: Int] = [:]
    let monitor = AlertMonitor(rules: rules, plans: plans) { fired[$0.rule.name, default: 0] += 1 }
    monitor.overflowed = { collector.told.append($0.name) }
    var options = EngineOptions(plans: plans)
    options.needs = AlertMonitor.needs
    var engine = Engine(options: options, sink: monitor)
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    monitor.finish(at: engine.totals.lastAt)
    #expect(fired == ["r": 10, "s": 30])
    #expect(collector.told == ["r"])
    #expect(monitor.refusedByRule.map { "\($0.rule) \($0.samples)" } == ["r 80"] && monitor.figures.refused == 80)
  }

  /// Networks against the bits of their addresses, written out.
  @Test func networksKeepTheFirstBits() {
    func bits(_ address: IPAddress) -> [Character] {
      func word(_ value: UInt64, _ count: Int) -> String {
        let text = String(value, radix: 2)
        return String(repeating: "0", count: count - text.count) + text
      }
      return Array(address.isIPv6 ? word(address.high, 64) + word(address.low, 64) : word(address.low, 32))
    }
    var random = SeededRandom(3)
    for bitCount in 1...128 as ClosedRange<UInt8> {
      let v6 = IPAddress(v6High: random.next(), v6Low: random.next())
      let v4 = IPAddress(v4: UInt32(truncatingIfNeeded: random.next()))
      for address in bitCount <= 32 ? [v4, v6] : [v6] {
        let kept = bits(address).prefix(Int(bitCount))
        let rest = [Character](repeating: "0", count: bits(address).count - kept.count)
        #expect(bits(address.network(bits: bitCount)) == kept + rest, "\(address)/\(bitCount)")
      }
    }
  }

  /// A name of any length is kept short, and two long ones that differ anywhere are two groups.
  @Test func namesOfSessionsAreShort() {
    let long = String(repeating: "x", count: 60_000)
    let names = [long + "a", long + "b", "short", String(repeating: "y", count: 256)].map { AlertGroup(session: $0) }
    #expect(Set(names).count == 4 && names.allSatisfy { $0.name.utf8.count <= 256 && $0.isNamedByClient })
    #expect(names[2].name == "short" && names[3].name.utf8.count == 256)
  }
}
