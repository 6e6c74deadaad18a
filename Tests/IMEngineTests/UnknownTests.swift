import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Messages that did not succeed: where to look for what is wrong, and what the capture cannot know.
@Suite struct UnknownTests {
  /// Drawn timelines, a second a column; `s` is the server's TCP, `m` an answer that the capture lacks.
  @Test(arguments: [
    // The peer's TCP never had it, or had it and nobody answered.
    ("d........", "unanswered network"), ("ds.......", "unanswered peer"), ("d....s....", "unanswered peer"),
    // Acknowledged when its time was over: nobody had it in time.
    ("d........s", "unanswered network"), ("d.R", "unanswered peer"),
    // The client acknowledges an answer that was not captured.
    ("dm.......", "unknown capture"), ("d...m....", "unknown capture"),
    // One before the message, or behind its closing, says nothing of it.
    ("m.d.......", "unanswered network"), ("ds........m.", "unanswered peer"),
    // An answer that was captured is one, whatever else was not.
    ("dm.a", "acked"), ("dm........a", "acked"), ("x........", "damaged checksum"), ("xm.......", "damaged checksum"),
    ("d.", "pending"), ("dm.", "pending"),
  ])
  func cause(_ drawing: String, _ expected: String) throws {
    let timeline = Timeline(drawing)
    let exchange = try #require(timeline.run.heard.finished.first { $0.sequence == 1 })
    let words = [exchange.fate.name] + (exchange.cause.map { [$0.name] } ?? [])
    #expect(words.joined(separator: " ") == expected, "\(drawing)")
    timeline.run.expectLedgerAddsUp("\(drawing)")
  }

  /// Fates and causes add up wherever they are counted.
  @Test func counts() throws {
    for (drawing, unknown, network, peer) in [
      ("dm.......", 1, 0, 0), ("d........", 0, 1, 0), ("ds.......", 0, 0, 1), ("dm........a", 0, 0, 0),
    ] as [(String, UInt32, UInt32, UInt32)] {
      let run = Timeline(drawing).run
      let fates = try #require(run.heard.reports.first?.rare.fates[0])
      #expect([fates.unknown, fates[.network], fates[.peer]] == [unknown, network, peer], "\(drawing)")
      #expect(fates.open == 0 && fates.units == 1, "\(drawing)")
      #expect(run.totals[0].reduce(0) { $0 + $1.fates[0].unknown } == unknown, "\(drawing)")
    }
  }

  // MARK: Answers without a number

  /// One step of an MQTT client and its server.
  private enum Step { case ping, pong, lostPong }

  /// Pings and pongs 10 s apart, and 5 ms between a ping and its pong.
  private func fates(_ steps: [Step]) -> [String] {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    var now: Int64 = 1_700_000_000_000
    talk.open(at: Timestamp(milliseconds: now))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: Timestamp(milliseconds: now + 10))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: Timestamp(milliseconds: now + 15))
    for step in steps {
      switch step {
      case .ping:
        now += 10_000
        talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: Timestamp(milliseconds: now))
      case .pong: talk.send(MQTTPacketBuilder.packet(13, []), .serverToClient, at: Timestamp(milliseconds: now + 5))
      case .lostPong:
        let lost = talk.send(
          MQTTPacketBuilder.packet(13, []), .serverToClient, at: Timestamp(milliseconds: now + 5))
        for packet in lost { talk.drop(packet) }
      }
    }
    talk.acknowledge(.clientToServer, at: Timestamp(milliseconds: now + 30_000))
    return Run(talk.packets, plans: [Plans.mqtt]).heard.finished.filter { $0.kind == 11 }.map { exchange in
      exchange.fate.name + (exchange.latency.map { " \($0.milliseconds)" } ?? "")
    }
  }

  /// An answer that the capture missed shifts no later one.
  @Test func pingsAreNotShifted() {
    #expect(fates([.ping, .pong, .ping, .pong]) == ["acked 5", "acked 5"])
    #expect(
      fates([.ping, .pong, .ping, .lostPong, .ping, .pong, .ping, .pong])
        == ["acked 5", "unknown", "acked 5", "acked 5"])
    #expect(
      fates([.ping, .lostPong, .ping, .lostPong, .ping, .pong]) == ["unknown", "unknown", "acked 5"])
    #expect(fates([.ping, .ping, .pong, .pong]) == ["acked 10005", "acked 5"])
  }

  /// Two connections of one client: what is open on the first is not answered on the second.
  @Test func answersStayOnTheirConnection() {
    var packets: [TimedPacket] = []
    for (i, port) in [UInt16(40_001), 40_002].enumerated() {
      var talk = ConversationBuilder(
        client: Endpoint(address: Talk.phone.address, port: port), server: Talk.server(1_883))
      let now = 1_700_000_000_000 + Int64(i) * 9_000
      talk.open(at: Timestamp(milliseconds: now))
      talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: Timestamp(milliseconds: now + 10))
      talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: Timestamp(milliseconds: now + 15))
      talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: Timestamp(milliseconds: now + 5_000))
      if i == 1 {
        talk.send(MQTTPacketBuilder.packet(13, []), .serverToClient, at: Timestamp(milliseconds: now + 5_007))
      }
      talk.acknowledge(.clientToServer, at: Timestamp(milliseconds: now + 30_000))
      packets += talk.packets
    }
    let pings = Run(packets.sorted { $0.timestamp < $1.timestamp }, plans: [Plans.mqtt]).heard.finished.filter {
      $0.kind == 11
    }
    #expect(pings.map(\.fate) == [.unanswered, .acked])
    #expect(pings.map { $0.latency?.milliseconds } == [nil, 7])
  }

  // MARK: Numbers that begin again

  /// The same number with the same content on the next connection: a copy by the protocol's word, or something new.
  @Test(
    arguments: [
      ("mqtt", false, 2), ("mqtt", true, 1), ("smpp", false, 2),
    ] as [(String, Bool, Int)])
  func numbersOnAnotherConnection(_ name: String, _ isMarked: Bool, _ expected: Int) throws {
    let plan = try #require(Plans.usual.first { $0.name == name })
    var packets: [TimedPacket] = []
    for (i, port) in [UInt16(40_001), 40_002].enumerated() {
      var talk = ConversationBuilder(
        client: Endpoint(address: Talk.phone.address, port: port), server: Talk.server(name == "mqtt" ? 1_883 : 2_775))
      let now = 1_700_000_000_000 + Int64(i) * 3_000
      talk.open(at: Timestamp(milliseconds: now))
      let opening: (ask: [UInt8], answer: [UInt8]) =
        name == "mqtt"
        ? (MQTTPacketBuilder.connect(clientID: "a", cleanSession: false), MQTTPacketBuilder.connack())
        : (SMPPBuilder.bind(1, "shop"), SMPPBuilder.pdu(0x8000_0009, 1, SMPPBuilder.string("centre")))
      talk.send(opening.ask, .clientToServer, at: Timestamp(milliseconds: now + 10))
      talk.send(opening.answer, .serverToClient, at: Timestamp(milliseconds: now + 15))
      var message =
        name == "mqtt"
        ? MQTTPacketBuilder.packet(3, flags: 2, [0, 1, 97, 0, 7] + [UInt8]("once".utf8))
        : SMPPBuilder.message(4, 2, "49155", [UInt8]("once".utf8))
      if i == 1, isMarked { message[0] |= 8 }
      talk.send(message, .clientToServer, at: Timestamp(milliseconds: now + 100))
      if i == 1 {
        let answer =
          name == "mqtt" ? MQTTPacketBuilder.puback(7) : SMPPBuilder.pdu(0x8000_0004, 2, SMPPBuilder.string("m"))
        talk.send(answer, .serverToClient, at: Timestamp(milliseconds: now + 150))
      }
      talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: now + 2_000))
      packets += talk.packets
    }
    let run = Run(packets, plans: [plan])
    let messages = run.heard.finished.filter { plan.typeRoles[Int($0.kind)] == .message }
    #expect(messages.map(\.fate) == (expected == 1 ? [.ackedAfterRetry] : [.unanswered, .acked]))
    run.expectLedgerAddsUp()
  }

  // MARK: Statuses

  /// An exchange knows its answer's status by a number, which is told once.
  @Test func statuses() throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(2_775))
    talk.open(at: Timestamp(milliseconds: 0))
    let exchanges: [([UInt8], [UInt8])] = [
      (SMPPBuilder.bind(1, "shop"), SMPPBuilder.pdu(0x8000_0009, 1, SMPPBuilder.string("centre"))),
      (SMPPBuilder.message(4, 2, "1", [1]), SMPPBuilder.pdu(0x8000_0004, 2, status: 0x58)),
      (SMPPBuilder.message(4, 3, "1", [2]), SMPPBuilder.pdu(0x8000_0004, 3, status: 0x58)),
      (SMPPBuilder.message(4, 4, "1", [3]), SMPPBuilder.pdu(0x8000_0004, 4, SMPPBuilder.string("m"))),
    ]
    for (i, (ask, answer)) in exchanges.enumerated() {
      talk.send(ask, .clientToServer, at: Timestamp(milliseconds: 10 + Int64(i) * 100))
      talk.send(answer, .serverToClient, at: Timestamp(milliseconds: 60 + Int64(i) * 100))
    }
    let smpp = try #require(Plans.usual.first { $0.name == "smpp" })
    let run = Run(talk.packets, plans: [smpp])
    let codes = run.heard.finished.map { run.heard.statuses[$0.status]?.number }
    #expect(codes == [0, 0x58, 0x58, 0])
    #expect(run.heard.finished.map(\.cause) == [nil, .status, .status, nil])
    #expect(run.heard.statuses.count == 2)
    let refused = try #require(run.heard.statuses.values.first { $0.number == 0x58 })
    #expect(smpp.name(of: refused) == "ESME_RTHROTTLED")
  }
}
