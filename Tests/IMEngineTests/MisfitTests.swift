import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Frames of a wrong length, with wrong flags or of another version, where everything in front of them was a frame: they are frames,
/// malformed, and answer what they name.
@Suite struct MisfitTests {
  typealias M = MQTTPacketBuilder
  typealias S = SMPPBuilder
  typealias D = DiameterBuilder

  /// A connection as `lines` draw it: C from the client, S from the server, each with what it says in one go.
  private func run(
    _ lines: [(Character, [[UInt8]])], port: UInt16, segmentSize: Int = 1_448, plans: [ProtocolPlan] = Plans.usual
  ) -> Run {
    var talk = Talk(port: port, segmentSize: segmentSize)
    for (side, texts) in lines { talk.say(side == "C" ? .clientToServer : .serverToClient, texts) }
    talk.close()
    return Run(talk.packets, plans: plans)
  }

  /// Each has one frame that is not as it should be, and every message its answer.
  @Test(
    arguments: [
      (
        "a PUBACK with a byte too many", 1_883,
        [
          ("C", [M.connect(clientID: "p")]), ("S", [M.connack()]),
          ("C", [M.publish("a", [1], qos: 1, packetID: 7), M.publish("a", [2], qos: 1, packetID: 8)]),
          ("S", [M.packet(4, [0, 7, 0]), M.puback(8)]),
        ]
      ),
      (
        "alone at the end", 1_883,
        [
          ("C", [M.connect(clientID: "p")]), ("S", [M.connack()]),
          ("C", [M.publish("a", [1], qos: 1, packetID: 7)]), ("S", [M.packet(4, [0, 7, 0, 0])]),
        ]
      ),
      (
        "a CONNACK of five bytes", 1_883,
        [
          ("C", [M.connect(clientID: "p")]), ("S", [M.packet(2, [0, 0, 0, 0, 0])]),
          ("C", [M.pingreq]), ("S", [M.pingresp]),
        ]
      ),
      (
        "a PINGRESP with a body", 1_883,
        [
          ("C", [M.connect(clientID: "p")]), ("S", [M.connack()]), ("C", [M.pingreq]), ("S", [M.packet(13, [0])]),
          ("C", [M.pingreq]), ("S", [M.pingresp]),
        ]
      ),
      (
        "a PUBREL without its flags", 1_883,
        [
          ("C", [M.connect(clientID: "p")]), ("S", [M.connack()]),
          ("C", [M.publish("a", [1], qos: 2, packetID: 7)]), ("S", [M.pubrec(7)]), ("C", [M.packet(6, [0, 7])]),
          ("S", [M.pubcomp(7)]),
        ]
      ),
      (
        "an enquire_link_resp with a body", 2_775,
        [
          ("C", [S.bind(1, "shop")]), ("S", [S.pdu(0x8000_0009, 1, S.string("centre"))]), ("C", [S.pdu(0x15, 2)]),
          ("S", [S.pdu(0x8000_0015, 2, [0])]), ("C", [S.pdu(0x15, 3)]), ("S", [S.pdu(0x8000_0015, 3)]),
        ]
      ),
      (
        "an unbind_resp with a body", 2_775,
        [
          ("C", [S.bind(1, "shop")]), ("S", [S.pdu(0x8000_0009, 1, S.string("centre"))]), ("C", [S.pdu(0x06, 2)]),
          ("S", [S.pdu(0x8000_0006, 2, [0, 0])]),
        ]
      ),
    ] as [(String, UInt16, [(Character, [[UInt8]])])], [1_448, 3])
  func answers(_ script: (name: String, port: UInt16, lines: [(Character, [[UInt8]])]), _ segmentSize: Int) {
    let run = run(script.lines, port: script.port, segmentSize: segmentSize)
    #expect(run.said == script.lines.flatMap { side, texts in texts.map { said(side, $0) } }.sorted(), "\(script.name)")
    #expect(run.heard.resolved.allSatisfy { $0.fate == .acked }, "\(script.name)")
    // A body where none is to be is no list of elements either.
    #expect(run.issues.count { $0.kind == .malformedBody } == 1, "\(script.name)")
    #expect(run.issues.allSatisfy { $0.kind == .malformedBody || $0.kind.name.hasPrefix("tlv") }, "\(script.name)")
    #expect(run.frames.count { $0.flags.contains(.malformed) } == 1, "\(script.name)")
    run.expectLedgerAddsUp("\(script.name)")
  }

  private func said(_ side: Character, _ bytes: [UInt8]) -> Said {
    Said(direction: side == "C" ? 0 : 1, bytes: bytes)
  }

  /// Several in a row, each with a byte too many.
  @Test(arguments: [1_448, 7, 1]) func inARow(_ segmentSize: Int) {
    let numbers: [UInt8] = [1, 2, 3, 4, 5]
    let run = run(
      [
        ("C", [M.connect(clientID: "p")]), ("S", [M.connack()]),
        ("C", numbers.map { M.publish("a", [1], qos: 1, packetID: UInt16($0)) }),
        ("S", numbers.map { M.packet(4, [0, $0, 0]) }),
      ], port: 1_883, segmentSize: segmentSize)
    #expect(run.heard.resolved.count { $0.fate == .acked } == 6)
    #expect(run.issues.map(\.kind) == Array(repeating: .malformedBody, count: 5))
    run.expectLedgerAddsUp()
  }

  /// Another version of Diameter's header.
  @Test func otherVersion() {
    var answer = D.message(280, flags: 0, 2, [D.avp(268, 2_001)] + D.origin("ocs"))
    answer[0] = 2
    let run = run(
      [
        ("C", [D.message(257, flags: 0x80, 1, D.origin("gw"))]),
        ("S", [D.message(257, flags: 0, 1, [D.avp(268, 2_001)] + D.origin("ocs"))]),
        ("C", [D.message(280, flags: 0x80, 2, D.origin("gw"))]), ("S", [answer]),
        ("C", [D.message(280, flags: 0x80, 3, D.origin("gw"))]),
        ("S", [D.message(280, flags: 0, 3, [D.avp(268, 2_001)] + D.origin("ocs"))]),
      ], port: 3_868)
    #expect(run.heard.resolved.map(\.fate) == [.acked, .acked, .acked])
    #expect(run.frames.count { $0.flags.contains(.malformed) } == 1)
    run.expectLedgerAddsUp()
  }

  /// Bytes whose length leads nowhere are no frame.
  @Test func noFrame() {
    let run = run(
      [
        ("C", [M.connect(clientID: "p")]), ("S", [M.connack()]),
        ("C", [M.publish("a", [1], qos: 1, packetID: 7)]),
        ("S", [[0x41, 3, 0x55, 0x55, 0x55, 0, 0] + M.puback(7)]), ("C", [M.pingreq]), ("S", [M.pingresp]),
      ], port: 1_883)
    #expect(run.frames.allSatisfy { !$0.flags.contains(.malformed) })
    #expect(run.ledger.strayBytes >= 7)
    run.expectLedgerAddsUp()
  }

  /// CONNECT says version 5 in front of what is wrong in it: the server's answer is one of version 5.
  @Test func levelInFront() {
    typealias M5 = MQTT5PacketBuilder
    var connect = M5.connect(clientID: "p")
    // The length of the properties stands behind name, level, flags and keep-alive.
    connect[12] = 0x7e
    let run = run(
      [
        ("C", [connect]), ("S", [M5.connack()]), ("C", [M5.publish("a/b", [1], qos: 1, packetID: 7)]),
        ("S", [M5.answer(4, 7, reason: 0x10)]),
      ], port: 1_883)
    #expect(run.heard.resolved.map(\.fate) == [.acked, .acked])
    #expect(run.issues.map(\.kind) == [.malformedBody])
    run.expectLedgerAddsUp()
  }

  /// A body longer than the maximum is passed over by its length; what stands inside is nothing.
  @Test(arguments: [(1_448, false), (1_448, true), (200, false)])
  func oversized(_ segmentSize: Int, _ lacksPart: Bool) throws {
    let text = try #require(BuiltInProfiles.text("mqtt")).replacing("maximum: 16777216", with: "maximum: 1000")
    let plan = try ProfileCompiler.compile(text, source: "mqtt.yaml")
    // A body of frames.
    let body = (0..<2_000).flatMap { M.publish("in", [1, 2, 3], qos: 1, packetID: UInt16(100 + $0)) }
    var talk = Talk(port: 1_883, segmentSize: segmentSize)
    talk.say(.clientToServer, M.connect(clientID: "p"))
    talk.say(.serverToClient, M.connack())
    let long = M.publish("firmware", body, qos: 1, packetID: 9)
    talk.say(.clientToServer, long, M.pingreq)
    talk.say(.serverToClient, M.puback(9), M.pingresp)
    talk.close()
    let missing = talk.pieces.filter { $0.direction == .clientToServer && $0.range.lowerBound > 5_000 }.first?.packet
    let packets = talk.packets.enumerated().filter { !lacksPart || $0.offset != missing }.map(\.element)
    let run = Run(packets, plans: [plan])
    #expect(run.frames.map(\.type).sorted() == [1, 2, 3, 4, 12, 13])
    #expect(run.frames.first { $0.type == 3 }?.sequence == 9)
    #expect(run.heard.resolved.map(\.fate) == [.acked, .acked, .acked])
    #expect(run.ledger.strayBytes == 0)
    #expect(run.heldBytes == 0)
    let used = run.ledger.decodedBytes + run.ledger.strayBytes + run.ledger.unreadBytes
    #expect(run.reassembly.payloadBytes == used)
  }

  /// A connection that ends inside of one: the frame is cut, and its bytes stand in none.
  @Test func oversizedAndCut() throws {
    let text = try #require(BuiltInProfiles.text("mqtt")).replacing("maximum: 16777216", with: "maximum: 1000")
    let plan = try ProfileCompiler.compile(text, source: "mqtt.yaml")
    var talk = Talk(port: 1_883)
    talk.say(.clientToServer, M.connect(clientID: "p"))
    talk.say(.serverToClient, M.connack())
    talk.say(
      .clientToServer,
      [UInt8](M.publish("firmware", [UInt8](repeating: 7, count: 20_000), qos: 1, packetID: 9).prefix(15_000)))
    talk.close()
    let run = Run(talk.packets, plans: [plan])
    #expect(run.frames.map(\.type) == [1, 2])
    #expect(run.issues.map(\.kind) == [.frameCut])
    #expect(run.ledger.strayBytes == 15_000)
    run.expectLedgerAddsUp()
  }
}
