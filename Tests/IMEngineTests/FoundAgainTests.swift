import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Frames of a protocol without a magic number, found again where bytes are missing.
///
/// Bodies are drawn at random, so that nothing but the frames themselves tells where they begin.
@Suite struct FoundAgainTests {
  /// Publishes of `sizes` bytes with drawn bodies, several in one go, with answers between.
  private func talk(_ sizes: [Int], segmentSize: Int, seed: UInt64, port: UInt16 = 1_883) -> Talk {
    typealias M = MQTTPacketBuilder
    var random = SeededRandom(seed)
    var talk = Talk(port: port, segmentSize: segmentSize)
    talk.say(.clientToServer, M.connect(clientID: "phone-\(seed)"))
    talk.say(.serverToClient, M.connack())
    for (i, size) in sizes.enumerated() {
      let id = UInt16(i * 4 + 1)
      talk.say(
        .clientToServer, M.publish("chat/room/\(i)", random.bytes(size), qos: 1, packetID: id),
        M.publish("sensors/attic", random.bytes(size / 2)), M.pingreq)
      talk.say(.serverToClient, M.puback(id), M.pingresp, M.publish("user/7", random.bytes(size), qos: 2, packetID: id))
      talk.say(.clientToServer, M.pubrec(id))
      talk.say(.serverToClient, M.pubrel(id))
      talk.say(.clientToServer, M.pubcomp(id))
    }
    talk.close()
    return talk
  }

  /// Each segment in turn is missing, each pair of neighbours, and everything before each packet.
  @Test(arguments: 1...3) func drawnBodies(_ seed: Int) {
    for (sizes, segmentSize) in [([30, 200, 90], 61), ([3_000, 50, 900], 700), ([400, 20, 4_000], 1_448)] {
      let talk = talk(sizes, segmentSize: segmentSize, seed: UInt64(seed))
      for (a, b) in zip(talk.pieces, talk.pieces.dropFirst()) {
        expect(talk, without: [a])
        expect(talk, without: [a, b])
      }
      for first in 1..<talk.packets.count {
        expect(talk, without: talk.pieces.filter { $0.packet < first }, from: first)
      }
    }
  }

  /// The capture begins inside a message that is longer than an undecided direction may hold.
  @Test(arguments: [100_000, 400_000]) func insideLongMessage(_ size: Int) {
    let talk = talk([size, 300, 40], segmentSize: 1_448, seed: 4)
    let first = talk.pieces[4].packet
    expect(talk, without: talk.pieces.filter { $0.packet < first }, from: first)
  }

  private func expect(
    _ talk: Talk, without missing: [Talk.Piece], from first: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let gone = Set(missing.map(\.packet))
    let run = Run(talk.packets.indices.filter { $0 >= first && !gone.contains($0) }.map { talk.packets[$0] })
    let problem = difference(run.said, talk.messages(without: missing.map { ($0.direction, $0.range) }).said)
    #expect(problem == nil, "\(missing.count) from \(first)", sourceLocation: sourceLocation)
    run.expectLedgerAddsUp("\(missing.count) from \(first)", sourceLocation: sourceLocation)
  }

  // MARK: What a type tells

  /// The server speaks first in the capture, on a port that nobody named: types that only clients send tell the client.
  @Test func clientByType() throws {
    let talk = talk([60, 80, 70], segmentSize: 1_448, seed: 5, port: 21_883)
    let first = try #require(talk.pieces.first { $0.direction == .serverToClient && $0.range.lowerBound > 4 })
    let run = Run([TimedPacket](talk.packets[first.packet...]))
    #expect(run.heard.reports.map(\.info.client) == [Talk.phone])
    #expect(run.heard.reports.map(\.info.server.port) == [21_883])
  }

  /// What one connection announces is not said of another's frames.
  @Test func keepAliveIsOfItsFrame() {
    let run = Run(talk([20], segmentSize: 1_448, seed: 6).packets)
    #expect(run.frames.filter { $0.type == 1 }.map(\.keepAlive) == [60])
    #expect(run.frames.filter { $0.type != 1 }.allSatisfy { $0.keepAlive == 0 })
  }

  /// A heartbeat's answer has the time of its type, where that has one.
  @Test(arguments: [("", Fate.unanswered), (", timeout: 60s", Fate.acked)])
  func heartbeatTimeout(_ entry: String, _ fate: Fate) throws {
    let plan = try ProfileCompiler.compile(
      """
      profile: beats
      version: 1
      ports: [7000]
      header:
        length: 12
        magic: { offset: 0, bytes: 43484348 }
      length: { offset: 4, size: 2, counts: body, maximum: 65535 }
      fields:
        type: { offset: 6, size: 2 }
        sequence: { offset: 8, size: 4 }
      sequence: { kind: counter }
      types:
        1: { name: beat, role: heartbeat, answered: true\(entry) }
        2: { name: ok, role: acknowledgment, answers: [beat], body: none }
      timing: { heartbeat: 10s }
      """, source: "beats.yaml")
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(7_000))
    talk.open(at: Scene.ms(0))
    func frame(_ type: UInt8) -> [UInt8] { [0x43, 0x48, 0x43, 0x48, 0, 0, 0, type, 0, 0, 0, 9] }
    talk.send(frame(1), .clientToServer, at: Scene.ms(10))
    talk.acknowledge(.clientToServer, at: Scene.ms(20_000))
    talk.send(frame(2), .serverToClient, at: Scene.ms(30_000))
    let run = Run(talk.packets, plans: [plan])
    #expect(run.heard.resolved.first?.fate == fate)
    #expect(run.heard.finished.map(\.fate) == [.acked])
    #expect(run.heard.finished.first?.flags.contains(.late) == (fate == .unanswered))
  }
}
