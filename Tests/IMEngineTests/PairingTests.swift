import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What an answer belongs to where numbers do not tell: all the same, none, another one on the next connection, or one in the body.
@Suite struct PairingTests {
  typealias M = MQTTPacketBuilder

  /// A connection to `server`, on which each line is said at its time, in milliseconds: C from the client, S from the server.
  private func talk(
    _ lines: [(Int64, Character, [UInt8])], port: UInt16, clientPort: UInt16 = 40_001, host: UInt32 = 0xcb00_710a,
    end: Int64? = nil
  ) -> [TimedPacket] {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: clientPort),
      server: Endpoint(address: IPAddress(v4: host), port: port))
    let start = (lines.first?.0 ?? 0) - 10
    talk.open(at: Scene.ms(start))
    for (at, side, bytes) in lines {
      talk.send(bytes, side == "C" ? .clientToServer : .serverToClient, at: Scene.ms(at))
    }
    if let end { talk.close(.reset(by: .clientToServer), at: Scene.ms(end)) }
    return talk.packets
  }

  private func merged(_ talks: [TimedPacket]...) -> [TimedPacket] {
    talks.joined().sorted { $0.timestamp < $1.timestamp }
  }

  /// All heartbeats, and the authentication, have the number 1; the answers of two never come.
  @Test func oneNumber() throws {
    typealias G = GoimBuilder
    var lines: [(Int64, Character, [UInt8])] = [(0, "C", G.pack(7, 1, [0x7b, 0x7d])), (20, "S", G.pack(8, 1))]
    for i in 0..<10 {
      let at = Int64(i + 1) * 25_000
      lines.append((at, "C", G.pack(2, 1)))
      if i != 4, i != 7 { lines.append((at + 20, "S", G.pack(3, 1))) }
    }
    lines.append((340_000, "S", G.pack(9, 0, [1])))
    let run = Run(talk(lines, port: 3_101), plans: Plans.usual)
    let beats = try #require(run.heard.reports.first?.heartbeats)
    #expect((beats.sent, beats.answered, beats.missed) == (10, 8, 2))
    #expect(beats.roundTripSum == 8 * 20_000 && beats.roundTrips == 8)
    #expect(run.heard.finished.allSatisfy { $0.copies == 1 })
    run.expectLedgerAddsUp()
  }

  /// An answer that is slower than the next heartbeat is one of the older one's all the same: none is missed.
  @Test func slowAnswers() throws {
    typealias G = GoimBuilder
    var lines: [(Int64, Character, [UInt8])] = [(0, "C", G.pack(7, 1)), (20, "S", G.pack(8, 1))]
    lines += [
      (1_000, "C", G.pack(2, 1)), (2_000, "C", G.pack(2, 1)), (2_500, "S", G.pack(3, 1)), (3_500, "S", G.pack(3, 1)),
    ]
    let run = Run(talk(lines, port: 3_101, end: 60_000), plans: Plans.usual)
    let beats = try #require(run.heard.reports.first?.heartbeats)
    #expect((beats.sent, beats.answered, beats.missed) == (2, 2, 0))
  }

  private static func beat(_ kind: String, _ beat: String) throws -> ProtocolPlan {
    try ProfileCompiler.compile(
      """
      profile: beat
      version: 1
      header: { length: 8, magic: { offset: 0, bytes: CAFEF00D } }
      length: { offset: 5, size: 1 }
      fields: { type: { offset: 4, size: 1 }, sequence: { offset: 6, size: 2 } }
      sequence: { kind: \(kind) }
      types:
        1: { name: beat, role: heartbeat, \(beat) }
        2: { name: pong, role: acknowledgment, answers: [hello] }
        3: { name: hello, role: control, answered: true, numbered: true }
        4: { name: echo, role: acknowledgment, answers: [hello, beat] }
        5: { name: inner, role: acknowledgment, answers: [beat], in-order: true }
      """, source: "beat.yaml")
  }

  /// Heartbeats without numbers, with numbers that never change, and those that nobody answers, whatever kind of numbers the
  /// protocol has otherwise.
  @Test(
    arguments: [
      ("answered: true, in-order: true", 5, 10), ("answered: true", 4, 10), ("answered: true, copies: none", 4, 10),
      ("from: client", nil, 10), ("answered: true, copies: same", 4, 1),
    ] as [(String, UInt8?, UInt32)], ["counter", "identifier"])
  func unnumbered(_ type: (words: String, answer: UInt8?, sent: UInt32), _ kind: String) throws {
    func frame(_ type: UInt8) -> [UInt8] { [0xca, 0xfe, 0xf0, 0x0d, type, 0, 0, 0] }
    var lines: [(Int64, Character, [UInt8])] = []
    for i in 0..<10 {
      lines.append((Int64(i) * 20_000, "C", frame(1)))
      // Where a copy is meant, the answer comes last: an identifier is free again after it.
      if let answer = type.answer, type.sent > 1 || i == 9 {
        lines.append((Int64(i) * 20_000 + 30, "S", frame(answer)))
      }
    }
    let run = Run(talk(lines, port: 7_000, end: 200_000), plans: [try Self.beat(kind, type.words)])
    let beats = try #require(run.heard.reports.first?.heartbeats)
    #expect(beats.sent == type.sent, "\(type.words)")
    #expect(beats.intervals == type.sent - 1, "\(type.words)")
    if type.answer != nil, type.sent > 1 { #expect((beats.answered, beats.missed) == (10, 0), "\(type.words)") }
    #expect(run.issues.allSatisfy { $0.kind != .orphanAck }, "\(type.words)")
    run.expectLedgerAddsUp("\(type.words)")
  }

  /// A PUBREL that is sent again when the session goes on is one message; one of a session that began anew is another.
  @Test(arguments: [false, true]) func pubrel(_ isClean: Bool) {
    let first = talk(
      [
        (0, "C", M.connect(clientID: "q2", cleanSession: false)), (20, "S", M.connack()),
        (40, "C", M.publish("a", [1], qos: 2, packetID: 44)), (60, "S", M.pubrec(44)), (80, "C", M.pubrel(44)),
      ], port: 1_883, end: 200)
    var lines: [(Int64, Character, [UInt8])] = [
      (1_100, "C", M.connect(clientID: "q2", cleanSession: isClean)), (1_120, "S", M.connack(sessionPresent: !isClean)),
    ]
    if isClean { lines += [(1_130, "C", M.publish("a", [2], qos: 2, packetID: 44)), (1_140, "S", M.pubrec(44))] }
    lines += [(1_150, "C", M.pubrel(44)), (1_170, "S", M.pubcomp(44))]
    let run = Run(merged(first, talk(lines, port: 1_883, clientPort: 40_002)))
    let released = run.heard.finished.filter { $0.kind == 5 }
    #expect(released.map(\.fate) == (isClean ? [.unanswered, .acked] : [.ackedAfterRetry]))
    #expect(released.map(\.copies) == (isClean ? [1, 1] : [2]))
    run.expectLedgerAddsUp()
  }

  /// With T and the same end-to-end number, a request on a connection to another peer is a copy; without T, or with another number,
  /// it is another request.
  @Test(
    arguments: [
      (0xd0, 1_000, [Fate.ackedAfterRetry]), (0xc0, 1_000, [.unanswered, .acked]),
      (0xd0, 1_001, [.unanswered, .acked]),
    ] as [(UInt8, UInt32, [Fate])])
  func failover(_ flags: UInt8, _ number: UInt32, _ fates: [Fate]) {
    typealias D = DiameterBuilder
    func request(_ flags: UInt8, _ hop: UInt32, _ number: UInt32, _ code: UInt32 = 272) -> [UInt8] {
      var bytes = D.message(code, flags: flags, hop, D.origin("mme") + [D.avp(25, [1, 2, 3])])
      for i in 0..<4 { bytes[16 + i] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * i)) }
      return bytes
    }
    func opening(_ at: Int64) -> [(Int64, Character, [UInt8])] {
      [
        (at, "C", D.message(257, flags: 0x80, 1, D.origin("mme"))),
        (at + 20, "S", D.message(257, flags: 0, 1, [D.avp(268, 2_001)] + D.origin("ocs"))),
      ]
    }
    let first = talk(opening(0) + [(40, "C", request(0xc0, 10, 1_000))], port: 3_868, end: 500)
    let second = talk(
      opening(1_000) + [
        (1_100, "C", request(flags, 77, number)), (1_120, "S", D.message(272, flags: 0x40, 77, [D.avp(268, 2_001)])),
      ], port: 3_868, clientPort: 40_002, host: 0xcb00_710b)
    let run = Run(merged(first, second), plans: Plans.usual)
    let requests = run.heard.finished.filter {
      $0.bodyCount > 0 && $0.fate != .acked || $0.firstAt >= Scene.ms(1_050) || $0.copies > 1
    }
    #expect(requests.map(\.fate) == fates)
    #expect(run.issues.allSatisfy { $0.kind != .orphanAck })
    run.expectLedgerAddsUp()
  }

  /// An answer that names the media, an answer that names the message, both, and one of a medium that nobody has seen.
  @Test func reference() {
    typealias J = JT808Builder
    func media(_ id: UInt8) -> [UInt8] { [0, 0, 0, id, 0, 0, 0, 1] + [UInt8](repeating: 9, count: 40) }
    let run = Run(
      talk(
        [
          (0, "C", J.frame(0x0102, 1, [0x31])), (20, "S", J.answer(0x8001, 1, of: 1, 0x0102)),
          (100, "C", J.frame(0x0801, 2, media(7))), (120, "S", J.frame(0x8800, 2, [0, 0, 0, 7])),
          (200, "C", J.frame(0x0801, 3, media(8))), (220, "S", J.answer(0x8001, 3, of: 3, 0x0801)),
          (230, "S", J.frame(0x8800, 4, [0, 0, 0, 8])),
          (300, "C", J.frame(0x0801, 4, media(7))), (320, "S", J.frame(0x8800, 5, [0, 0, 0, 7])),
          (330, "S", J.frame(0x8800, 6, [0, 0, 0, 99])),
        ], port: 9_999), plans: Plans.usual)
    #expect(run.heard.finished.map(\.fate) == [.acked, .acked, .acked, .acked])
    #expect(run.heard.finished.map { $0.roundTrip?.microseconds } == [20_000, 20_000, 20_000, 20_000])
    #expect(run.issues.isEmpty)
    #expect(run.frames.allSatisfy { !$0.isDupAck })
    run.expectLedgerAddsUp()
  }

  /// Category 4 has a counter of its own.
  @Test func categories() {
    func text(_ category: UInt32, _ number: UInt32) -> [UInt8] {
      TJPFrameBuilder(text: "n", sequence: category << 24 | number).bytes
    }
    var lines: [(Int64, Character, [UInt8])] = []
    for i in 0..<6 {
      lines.append((Int64(i) * 100, "C", text(0, 100 + UInt32(i))))
      // One number of category 4 is left out.
      lines.append((Int64(i) * 100 + 50, "C", text(4, 7_000 + UInt32(i) + (i > 2 ? 1 : 0))))
    }
    let run = Run(talk(lines, port: 8_080))
    #expect(run.orders[0].map(\.category) == [4])
    #expect(run.orders[0].map(\.leftOut) == [1])
    run.expectLedgerAddsUp()
  }

  /// Answers in order that wait behind a hole of their own direction, while further requests come: each is its own request's all the
  /// same, because its packet tells which requests its sender had received. `missing` are the packets that the capture lacks: answers, and
  /// with a negative number requests.
  @Test(arguments: [[2], [2, 5], [2, 3], [2, -3], [2, -3, 6]] as [[Int]])
  func answersThatWaited(_ missing: [Int]) throws {
    let plan = try ProfileCompiler.compile(
      """
      profile: queue
      version: 1
      header: { length: 5, magic: { offset: 0, bytes: CAFEF0 } }
      length: { offset: 4, size: 1 }
      fields: { type: [side, { offset: 3 }] }
      types:
        "client 1": { name: request, role: message, answered: true, in-order: true }
        "server 1": { name: answer, role: acknowledgment, answers: [request], in-order: true }
      """, source: "queue.yaml")
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: 40_001),
      server: Endpoint(address: IPAddress(v4: 0xcb00_710a), port: 7_000))
    talk.acknowledges = false
    talk.open(at: Scene.ms(0))
    for i in 0..<16 {
      let frame = [0xca, 0xfe, 0xf0, 1, 4] + [UInt8](repeating: UInt8(i), count: 4)
      let request = talk.send(frame, .clientToServer, at: Scene.ms(10 + Int64(i) * 10))
      let answer = talk.send(frame, .serverToClient, at: Scene.ms(12 + Int64(i) * 10))
      if missing.contains(-i) { talk.drop(request[0]) }
      if missing.contains(i) { talk.drop(answer[0]) }
    }
    talk.close(.fin(by: .clientToServer), at: Scene.ms(1_000))
    let run = Run(talk.packets, plans: [plan])
    #expect(run.heard.finished.count == 16 - missing.count { $0 < 0 })
    for exchange in run.heard.finished {
      let number = Int((exchange.firstAt.microseconds - Scene.ms(10).microseconds) / 10_000)
      if missing.contains(number) {
        #expect(exchange.fate == .unknown, "\(number)")
      } else {
        #expect(exchange.fate == .acked, "\(number)")
        #expect(exchange.roundTrip?.microseconds == 2_000, "\(number)")
      }
    }
    run.expectLedgerAddsUp()
  }
}
