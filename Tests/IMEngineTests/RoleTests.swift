import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Who is the client where a capture begins in the midst of connections, on a port that nobody named.
///
/// The oracle is the conversations that the test wrote.
@Suite struct RoleTests {
  static let server = Endpoint(address: IPAddress(v4: 0xcb00_710a), port: 7_001)

  static func client(_ number: UInt32) -> Endpoint {
    Endpoint(address: IPAddress(v4: 0xc000_0215 + number), port: 40_001 + UInt16(number) * 77)
  }

  /// What both sides say, from the first round on that is captured.
  private static func turns(_ name: String, rounds: UInt32 = 15) -> [(direction: Direction, bytes: [UInt8])] {
    (1...rounds).flatMap { n -> [(direction: Direction, bytes: [UInt8])] in
      let content = [UInt8]("text number \(n) of many".utf8)
      let id = UInt16(n)
      switch name {
      case "tjp":
        let beat = 0x0100_0000 + n
        return [
          (.clientToServer, TJPFrameBuilder(text: "text \(n)", sequence: n).bytes),
          (.serverToClient, TJPFrameBuilder.echoACK(of: n).bytes),
          (.clientToServer, TJPFrameBuilder.heartbeat(sequence: beat).bytes),
          (.serverToClient, TJPFrameBuilder.echoACK(of: beat).bytes),
        ]
      case "mqtt":
        return [
          (.clientToServer, MQTTPacketBuilder.publish("a/b", content, qos: 1, packetID: id)),
          (.serverToClient, MQTTPacketBuilder.puback(id)),
          (.clientToServer, MQTTPacketBuilder.subscribe(id + 100, [("c/\(n)", 1)])),
          (.serverToClient, MQTTPacketBuilder.suback(id + 100, [1])),
        ]
      case "smpp":
        return [
          (.clientToServer, SMPPBuilder.message(4, n, "4915", content)),
          (.serverToClient, SMPPBuilder.pdu(0x8000_0004, n, SMPPBuilder.string("m\(n)"))),
          (.serverToClient, SMPPBuilder.message(5, n, "4915", content)),
          (.clientToServer, SMPPBuilder.pdu(0x8000_0005, n, [0])),
        ]
      default:
        let origin = DiameterBuilder.origin("peer")
        let answer = [DiameterBuilder.avp(268, 2_001)] + origin
        return [
          (.clientToServer, DiameterBuilder.message(280, flags: 0x80, n, origin)),
          (.serverToClient, DiameterBuilder.message(280, flags: 0, n, answer)),
          (.serverToClient, DiameterBuilder.message(280, flags: 0x80, n + 1_000, origin)),
          (.clientToServer, DiameterBuilder.message(280, flags: 0, n + 1_000, answer)),
        ]
      }
    }
  }

  /// The connection of client `number`, from the first packet on that `first` sends; without acknowledgments in between.
  private static func talk(_ number: UInt32, _ name: String, first: Direction) -> ConversationBuilder {
    var talk = ConversationBuilder(client: client(number), server: server, initial: (1_000 + number, 5_000))
    talk.acknowledges = false
    let said = turns(name).drop { $0.direction != first }
    for (i, turn) in said.enumerated() {
      talk.send(turn.bytes, turn.direction, at: Scene.ms(Int64(i) * 40 + Int64(number) * 3))
    }
    return talk
  }

  /// Expects that every connection of the run goes to the server, and that each side's frames are those that were written.
  private static func expect(_ run: Run, _ name: String, first: Direction, clients: UInt32) {
    let comment = Comment(rawValue: "\(name), \(first)")
    #expect(run.heard.reports.map(\.info.server) == [Endpoint](repeating: server, count: Int(clients)), comment)
    #expect(run.heard.reports.map(\.info.client) == (0..<clients).map(client), comment)
    let said = turns(name).drop { $0.direction != first }
    for serial in 1...clients {
      let frames = run.frames.filter { $0.connection == serial }
      for direction in [Direction.clientToServer, .serverToClient] {
        #expect(
          frames.filter { $0.direction == direction }.map(\.bytes)
            == said.filter { $0.direction == direction }.map(\.bytes), comment)
      }
    }
    run.expectLedgerAddsUp(comment)
  }

  /// The profile's own types tell: some are sent by clients only, others by servers.
  @Test(arguments: ["tjp", "mqtt", "smpp"], [Direction.clientToServer, .serverToClient])
  func typesTell(_ name: String, _ first: Direction) {
    let run = Run(Self.talk(0, name, first: first).packets, plans: Plans.usual)
    Self.expect(run, name, first: first, clients: 1)
  }

  /// Where types tell nothing, as Diameter's do not, the port does that three connections share.
  @Test(arguments: [Direction.clientToServer, .serverToClient])
  func aSharedPortTells(_ first: Direction) {
    let talks = (0..<UInt32(4)).map { Self.talk($0, "diameter", first: first) }
    let packets = talks.flatMap(\.packets).sorted { $0.timestamp < $1.timestamp }
    Self.expect(Run(packets, plans: Plans.usual), "diameter", first: first, clients: 4)
  }

  /// A SYN says it before everything else, whatever types are sent in the wrong direction.
  @Test func aSYNTells() throws {
    var talk = ConversationBuilder(client: Self.client(0), server: Self.server)
    talk.open(at: Scene.ms(0))
    talk.send(MQTTPacketBuilder.publish("a/b", [1], qos: 1, packetID: 1), .serverToClient, at: Scene.ms(10))
    for n in UInt16(1)...20 {
      talk.send(MQTTPacketBuilder.suback(n, [1]), .clientToServer, at: Scene.ms(10 + Int64(n)))
      talk.send(MQTTPacketBuilder.subscribe(n, [("a", 1)]), .serverToClient, at: Scene.ms(50 + Int64(n)))
    }
    let report = try #require(Run(talk.packets, plans: Plans.usual).heard.reports.first)
    #expect(report.info.server == Self.server && report.info.client == Self.client(0))
  }
}
