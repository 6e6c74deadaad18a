import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Counters within a session, and sessions across connections.
@Suite struct SessionTests {
  /// Numbers in the order in which they came: (numbers left out, reordered, late).
  @Test(
    arguments: [
      ("in order", [5, 6, 7], [0, 0, 0]),
      ("one left out", [5, 7], [1, 0, 0]),
      ("two left out, one comes", [5, 8, 6], [2, 1, 0]),
      ("both come", [5, 8, 7, 6, 9], [2, 2, 0]),
      ("from before", [5, 6, 3], [0, 0, 1]),
      ("two gaps", [1, 3, 6, 2, 4, 5], [3, 3, 0]),
      ("wraps to 0", [0xfe_fffe, 0xfe_ffff, 0, 1], [0, 0, 0]),
      ("0 is left out", [0xfe_ffff, 1], [1, 0, 0]),
      ("the last before the wrap is left out", [0xfe_fffe, 0], [1, 0, 0]),
      ("a category each", [5, 0x0100_0005, 6, 0x0200_0005, 0x0100_0006, 0x0200_0006], [0, 0, 0]),
      ("a gap in one of them", [5, 0x0100_0005, 6, 0x0100_0008], [2, 0, 0]),
    ] as [(String, [UInt32], [UInt32])])
  func counters(_ name: String, _ numbers: [UInt32], _ expected: [UInt32]) throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: 0))
    for (i, number) in numbers.enumerated() {
      let frame = TJPFrameBuilder(text: "number \(number)", sequence: number)
      talk.send(frame.bytes, .clientToServer, at: Timestamp(milliseconds: 10 + Int64(i) * 10))
      // An echo draws no number; a copy neither.
      talk.send(
        TJPFrameBuilder.echoACK(of: number).bytes, .serverToClient, at: Timestamp(milliseconds: 12 + Int64(i) * 10))
      if i == 0 { talk.send(frame.bytes, .clientToServer, at: Timestamp(milliseconds: 14)) }
    }
    let run = Run(talk.packets)
    let figures = try #require(run.heard.reports.first?.rare)
    #expect([figures.sequenceGaps, figures.sequenceReordered, figures.sequenceLate] == expected, "\(name)")
    run.expectLedgerAddsUp()
  }

  // MARK: Across connections

  /// One connection of a phone: where it is, the session's number and the counters it uses.
  struct Visit {
    var address: UInt32 = 0xc000_0215
    var port: UInt16
    var session: UInt16 = 0x1a2b
    var numbers: ClosedRange<UInt32>
    var at: Int64
    var ends = true
  }

  @Test(
    arguments: [
      (
        "comes back from the same place", 1, 1,
        [Visit(port: 40_000, numbers: 10...14, at: 0), Visit(port: 40_001, numbers: 15...19, at: 5_000)]
      ),
      (
        "comes back from another network", 1, 1,
        [
          Visit(port: 40_000, numbers: 10...14, at: 0),
          Visit(address: 0x6440_1104, port: 50_000, numbers: 15...19, at: 5_000),
        ]
      ),
      (
        "two phones whose numbers collide", 2, 0,
        [
          Visit(port: 40_000, numbers: 10...14, at: 0, ends: false),
          Visit(address: 0x6440_1104, port: 50_000, numbers: 0x50_0000...0x50_0004, at: 1_000),
        ]
      ),
      (
        "another number", 2, 0,
        [Visit(port: 40_000, numbers: 10...14, at: 0), Visit(port: 40_001, session: 7, numbers: 15...19, at: 5_000)]
      ),
      (
        "three times", 1, 2,
        [
          Visit(port: 40_000, numbers: 10...14, at: 0), Visit(port: 40_001, numbers: 15...19, at: 5_000),
          Visit(port: 40_002, numbers: 20...24, at: 9_000),
        ]
      ),
    ] as [(String, Int, UInt64, [Visit])])
  func stitching(_ name: String, _ sessions: Int, _ reconnects: UInt64, _ visits: [Visit]) {
    var packets: [TimedPacket] = []
    for visit in visits {
      let client = Endpoint(address: IPAddress(v4: visit.address), port: visit.port)
      var talk = ConversationBuilder(client: client, server: Talk.server(8_080))
      talk.open(at: Timestamp(milliseconds: visit.at))
      for (i, number) in visit.numbers.enumerated() {
        let frame = TJPFrameBuilder(text: "text \(number)", sequence: number, session: visit.session)
        talk.send(frame.bytes, .clientToServer, at: Timestamp(milliseconds: visit.at + 10 + Int64(i) * 20))
      }
      if visit.ends { talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: visit.at + 200)) }
      packets += talk.packets
    }
    packets.sort { $0.timestamp < $1.timestamp }
    let run = Run(packets)
    #expect(Set(run.frames.map(\.session)).count == sessions, "\(name)")
    #expect(run.reconnects == reconnects, "\(name)")
    // Every finished visit ended with a FIN from both sides.
    let clean = Set(run.heard.reports.filter(\.rare.followsCleanClose).map(\.info.serial))
    #expect(UInt64(clean.count) == reconnects, "\(name)")
    // Counters go on across connections of one session: nothing was left out.
    #expect(run.heard.reports.map(\.rare.sequenceGaps).reduce(0, +) == 0, "\(name)")
    run.expectLedgerAddsUp()
  }

  /// A client that races connections has several of them talking at once, and their first frames overtake one another: the
  /// numbers of the connections' first frames, in the order in which they came, and whether all come from one address.
  @Test(
    arguments: [
      ("in order", [7, 8, 9, 10], true, 1),
      ("one is overtaken", [7, 8, 10, 9], true, 1),
      ("the first comes last", [8, 9, 10, 7], true, 1),
      ("far apart", [7, 40, 100, 60], true, 1),
      ("too far", [7, 8, 5_000], true, 2),
      ("from other addresses", [7, 8, 10], false, 2),
      ("a number that was used for something else", [7, 8, 7], true, 2),
    ] as [(String, [UInt32], Bool, Int)])
  func raced(_ name: String, _ first: [UInt32], _ isOnePlace: Bool, _ sessions: Int) {
    var packets: [TimedPacket] = []
    for (i, number) in first.enumerated() {
      let client = Endpoint(
        address: IPAddress(v4: 0xc000_0215 + (isOnePlace ? 0 : UInt32(i))), port: 40_000 + UInt16(i))
      var talk = ConversationBuilder(client: client, server: Talk.server(8_080))
      talk.open(at: Timestamp(milliseconds: Int64(i)))
      let asks = TJPFrameBuilder(
        type: TJPType.control, sequence: 2 << 24 | number, body: TLVBuilder().text("connection \(i)").bytes)
      talk.send(asks.bytes, .clientToServer, at: Timestamp(milliseconds: 100 + Int64(i) * 10))
      // Each connection carries a copy of one message, and all go on talking.
      for round in 0..<3 {
        let frame = TJPFrameBuilder(text: "text \(round)", sequence: 500 + UInt32(round))
        talk.send(frame.bytes, .clientToServer, at: Timestamp(milliseconds: 105 + Int64(i) * 10 + Int64(round) * 200))
      }
      packets += talk.packets
    }
    packets.sort { $0.timestamp < $1.timestamp }
    let run = Run(packets)
    #expect(Set(run.frames.map(\.session)).count == sessions, "\(name)")
    run.expectLedgerAddsUp()
    guard sessions == 1 else { return }
    let messages = run.heard.finished.filter { $0.sequence >> 24 == 0 }
    #expect(messages.count == 3, "\(name)")
    #expect(messages.allSatisfy { Int($0.copies) == first.count }, "\(name)")
  }

  /// From the end of the old connection to the new one's handshake.
  @Test func reconnectTime() {
    var packets: [TimedPacket] = []
    for (port, number, at) in [(40_000, 1, 0), (40_001, 2, 7_000)] as [(UInt16, UInt32, Int64)] {
      var talk = ConversationBuilder(
        client: Endpoint(address: Talk.phone.address, port: port), server: Talk.server(8_080))
      talk.open(at: Timestamp(milliseconds: at))
      talk.send(
        TJPFrameBuilder(text: "x", sequence: number).bytes, .clientToServer, at: Timestamp(milliseconds: at + 10))
      talk.close(.reset(by: .clientToServer), at: Timestamp(milliseconds: at + 1_000))
      packets += talk.packets
    }
    let run = Run(packets)
    let figures = run.heard.reports.filter(\.isFinal).map(\.rare)
    #expect(figures.map(\.isReconnect) == [false, true])
    // The handshake ends 200 µs behind its SYN.
    #expect(figures.last?.reconnectTime == .microseconds(6_000_200))
  }

  // MARK: Protocols whose clients name themselves

  /// Whether both sides closed the previous connection of a returning client is known however long the client was away.
  @Test(
    arguments: [
      (.fin(by: .clientToServer), 2_000, true), (.fin(by: .serverToClient), 2_000, true),
      (.reset(by: .clientToServer), 2_000, false), (.fin(by: .clientToServer), 600_000, true),
      (.reset(by: .serverToClient), 600_000, false),
    ] as [(ConversationBuilder.Ending, Int64, Bool)])
  func reconnectsAfterACleanClose(_ close: ConversationBuilder.Ending, _ away: Int64, _ isClean: Bool) {
    var packets: [TimedPacket] = []
    for (i, at) in [0, away].enumerated() {
      let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 40_000 + UInt16(i))
      var talk = ConversationBuilder(client: client, server: Talk.server(1_883))
      talk.open(at: Timestamp(milliseconds: at))
      talk.send(MQTTPacketBuilder.connect(clientID: "phone"), .clientToServer, at: Timestamp(milliseconds: at + 10))
      talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: Timestamp(milliseconds: at + 20))
      talk.close(close, at: Timestamp(milliseconds: at + 30))
      packets += talk.packets
    }
    let run = Run(packets)
    #expect(run.reconnects == 1)
    let reports = run.heard.reports.filter(\.rare.isReconnect)
    #expect(!reports.isEmpty && reports.allSatisfy { $0.rare.followsCleanClose == isClean })
  }

  @Test func mqttClientComesBack() {
    var packets: [TimedPacket] = []
    for (i, name) in ["phone", "other", "phone"].enumerated() {
      let client = Endpoint(address: IPAddress(v4: 0x0a00_0001 + UInt32(i)), port: 40_000)
      var talk = ConversationBuilder(client: client, server: Talk.server(1_883))
      let at = Int64(i) * 2_000
      talk.open(at: Timestamp(milliseconds: at))
      talk.send(MQTTPacketBuilder.connect(clientID: name), .clientToServer, at: Timestamp(milliseconds: at + 10))
      talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: Timestamp(milliseconds: at + 20))
      talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: at + 30))
      packets += talk.packets
    }
    let run = Run(packets)
    let sessions = run.frames.map(\.session)
    #expect(sessions == [sessions[0], sessions[0], sessions[2], sessions[2], sessions[0], sessions[0]])
    #expect(sessions[0] != sessions[2])
    #expect(run.reconnects == 1)
    #expect(run.heard.names.values.sorted() == ["other", "phone"])
    run.expectLedgerAddsUp()
  }

  /// One MQTT packet a line: C from the client, S from the server.
  @Test(
    arguments: [
      ("refused", ["C connect", "S connack 5"], "rejected"),
      ("accepted", ["C connect", "S connack 0"], "acked"),
      ("the number is free after the answer", ["C publish", "S puback", "C publish", "S puback"], "acked acked"),
      ("without an answer it is a copy", ["C publish", "C publish", "S puback"], "acked_after_retry"),
      ("marked as one", ["C publish", "C duplicate", "S puback"], "acked_after_retry"),
      ("a copy behind the answer", ["C publish", "S puback", "C duplicate"], "acked"),
      ("quality 2 is two questions", ["C publish2", "S pubrec", "C pubrel", "S pubcomp"], "acked acked"),
      ("pings are answered in order", ["C ping", "C ping", "S pong", "S pong"], "acked acked"),
      ("the oldest ping first", ["C ping", "C ping", "S pong"], "acked pending"),
      ("quality 0 asks for nothing", ["C publish0"], "unacknowledged"),
    ] as [(String, [String], String)])
  func mqttAnswers(_ name: String, _ lines: [String], _ expected: String) {
    typealias M = MQTTPacketBuilder
    let packets: [String: [UInt8]] = [
      "connect": M.connect(clientID: "p"), "connack 0": M.connack(), "connack 5": M.connack(code: 5),
      "publish": M.publish("a", [1], qos: 1, packetID: 5), "puback": M.puback(5),
      "duplicate": M.publish("a", [1], qos: 1, packetID: 5, duplicate: true),
      "publish2": M.publish("a", [1], qos: 2, packetID: 5), "pubrec": M.pubrec(5), "pubrel": M.pubrel(5),
      "pubcomp": M.pubcomp(5), "ping": M.pingreq, "pong": M.pingresp, "publish0": M.publish("a", [1]),
    ]
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    talk.open(at: Timestamp(milliseconds: 0))
    let hasConnect = lines[0] == "C connect"
    if !hasConnect {
      talk.send(M.connect(clientID: "p"), .clientToServer, at: Timestamp(milliseconds: 5))
      talk.send(M.connack(), .serverToClient, at: Timestamp(milliseconds: 6))
    }
    for (i, line) in lines.enumerated() {
      talk.send(
        packets[String(line.dropFirst(2))] ?? [], line.hasPrefix("C") ? .clientToServer : .serverToClient,
        at: Timestamp(milliseconds: 10 + Int64(i) * 10))
    }
    let run = Run(talk.packets)
    let fates = run.heard.finished.map(\.fate.name).dropFirst(hasConnect ? 0 : 1)
    #expect(fates.joined(separator: " ") == expected, "\(name)")
    run.expectLedgerAddsUp()
  }

  /// Of 1,100 counters with a gap as many are remembered as the memory is meant for; what the others left out is late when it comes.
  @Test func manyCounters() {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      for (round, number) in ([10, 12, 11] as [UInt32]).enumerated() {
        for session in UInt16(0)..<1_100 {
          let frame = TJPFrameBuilder(text: "\(number)", sequence: number, session: session)
          talk.send(frame.bytes, .clientToServer, at: Scene.ms(100 + Int64(round) * 100 + Int64(session) / 20))
        }
      }
    }
    let run = Run(packets, plans: [Plans.tjp]) { $0.memory = 4 << 20 }
    let totals = run.orders[0]
    #expect(totals.map(\.leftOut) == [1_100])
    #expect(totals.map(\.reordered) == [1_024])
    #expect(totals.map(\.late) == [76])
    #expect(totals.map(\.open) == [0])
    #expect(totals.map(\.missing) == [76])
    run.expectLedgerAddsUp()
  }

  /// A session that had to go for others, because its connection was quiet: what it has open is still found by its answer, and
  /// its connection goes on.
  @Test func forgottenSession() throws {
    var quiet = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    quiet.open(at: Scene.ms(0))
    quiet.send(Scene.text(5), .clientToServer, at: Scene.ms(1))
    var busy = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0299), port: 40_002), server: Talk.server(8_080))
    busy.acknowledges = false
    busy.open(at: Scene.ms(2))
    for session in UInt16(1)...30_000 {
      let frame = TJPFrameBuilder(
        type: TJPType.receipt, sequence: 7, session: session, body: TLVBuilder().field(0x10, [0, 0, 0, 9]).bytes)
      busy.send(frame.bytes, .clientToServer, at: Scene.ms(10 + Int64(session) / 20))
    }
    quiet.send(TJPFrameBuilder.echoACK(of: 5).bytes, .serverToClient, at: Scene.ms(2_001))
    quiet.send(Scene.text(6), .clientToServer, at: Scene.ms(2_100))
    quiet.send(TJPFrameBuilder.echoACK(of: 6).bytes, .serverToClient, at: Scene.ms(2_150))
    let packets = (quiet.packets + busy.packets).sorted { $0.timestamp < $1.timestamp }
    let run = Run(packets, plans: [Plans.tjp]) { $0.memory = 4 << 20 }
    #expect(run.ledger.evicted[.session] > 0)
    let answered = run.heard.finished.filter(\.isAnswered)
    #expect(answered.map(\.sequence) == [5, 6] && answered.map { $0.roundTrip?.milliseconds } == [2_000, 50])
    run.expectLedgerAddsUp()
  }

  /// Answers that the capture has before their messages, more than are kept: the first ones find their messages, the others are
  /// orphans, and so are their messages.
  @Test func manyOrphans() {
    let count: UInt32 = 5_000
    let packets = Scene.talk { talk in
      talk.acknowledges = false
      talk.open(at: Scene.ms(0))
      for n in 1...count { talk.send(Scene.text(n), .clientToServer, at: Scene.ms(2_000 + Int64(n) / 10)) }
      // The server's TCP has acknowledged all of them by then.
      for n in 1...count {
        talk.send(TJPFrameBuilder.echoACK(of: n).bytes, .serverToClient, at: Scene.ms(100 + Int64(n) / 10))
      }
    }
    let run = Run(packets, plans: [Plans.tjp])
    let answered = run.heard.finished.filter(\.isAnswered).map(\.sequence)
    #expect(answered.sorted() == (1...4_096).map { UInt64($0) })
    #expect(run.heard.finished.count == Int(count))
    #expect(run.heard.reports.last?.rare.orphanAcks == count - 4_096)
    run.expectLedgerAddsUp()
  }
}
