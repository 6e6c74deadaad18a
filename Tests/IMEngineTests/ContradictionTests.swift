import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Protocols that look like a built-in one on one side: what the other side says decides.
@Suite struct ContradictionTests {
  private func numbers(_ values: UInt32...) -> [UInt8] {
    var bytes: [UInt8] = []
    for value in values { bytes.append(big: value) }
    return bytes
  }

  /// A message with the length of all of it in front.
  private func framed(_ rest: [UInt8]) -> [UInt8] { numbers(UInt32(4 + rest.count)) + rest }

  /// CMPP: length, command, sequence.
  private func cmpp(from sequence: UInt32) -> Talk {
    var random = SeededRandom(3)
    var talk = Talk(port: 7_890)
    func pdu(_ command: UInt32, _ sequence: UInt32, _ body: [UInt8] = []) -> [UInt8] {
      framed(numbers(command, sequence) + body)
    }
    talk.say(.clientToServer, pdu(1, sequence, [UInt8]("901234".utf8) + random.bytes(16) + [0x30] + random.bytes(4)))
    talk.say(.serverToClient, pdu(0x8000_0001, sequence, [0, 0, 0, 0] + random.bytes(16) + [0x30]))
    for i in 1...60 {
      let n = sequence + UInt32(i)
      talk.say(
        .clientToServer,
        pdu(4, n, random.bytes(8) + [1, 1, 1, 0] + [UInt8](repeating: 0, count: 120) + random.bytes(20)))
      talk.say(.serverToClient, pdu(0x8000_0004, n, random.bytes(8) + [0, 0, 0, 0]))
      if i % 3 == 0 {
        talk.say(.serverToClient, pdu(5, n, random.bytes(8) + [UInt8](repeating: 0, count: 60)))
        talk.say(.clientToServer, pdu(0x8000_0005, n, random.bytes(8) + [0, 0, 0, 0]))
      }
      if i % 15 == 0 {
        talk.say(.clientToServer, pdu(8, n))
        talk.say(.serverToClient, pdu(0x8000_0008, n, [0]))
      }
    }
    talk.close()
    return talk
  }

  private func expectUnread(
    _ packets: [TimedPacket], _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let run = Run(packets, plans: Plans.usual)
    #expect(run.frames.isEmpty, what, sourceLocation: sourceLocation)
    run.expectLedgerAddsUp(what, sourceLocation: sourceLocation)
  }

  /// From its beginning, and from its midst.
  @Test(arguments: [0, 1, 1_000] as [UInt32], [0, 6, 40]) func cmpp(_ sequence: UInt32, _ first: Int) {
    expectUnread([TimedPacket](cmpp(from: sequence).packets[first...]), "from \(first)")
  }

  /// SGIP: length, command, node, time, sequence.
  @Test(arguments: [0, 3_020_000_001] as [UInt32]) func sgip(_ node: UInt32) {
    var talk = Talk(port: 8_801)
    let name =
      [UInt8](repeating: 0x75, count: 16) + [UInt8](repeating: 0x70, count: 16) + [UInt8](repeating: 0, count: 8)
    talk.say(.clientToServer, framed(numbers(1, node, 0, 0) + [1] + name))
    talk.say(.serverToClient, framed(numbers(0x8000_0001, node, 0, 0) + [UInt8](repeating: 0, count: 9)))
    talk.close()
    expectUnread(talk.packets, "SGIP")
  }

  /// Kafka: length behind which all counts, API, version, correlation, client.
  @Test func kafka() {
    var random = SeededRandom(5)
    var talk = Talk(port: 9_092)
    for i in 0..<60 {
      let id = [UInt8]("rdkafka".utf8)
      let request = numbers(UInt32([18, 3, 0, 1][i % 4]) << 16 | UInt32(i % 3), UInt32(i + 1)) + [0, 7] + id
      talk.say(.clientToServer, framed(request + random.bytes(30 + i)).kafka)
      let answer = numbers(UInt32(i + 1), 0) + [0, 0, 0, 1, 0, 4] + [UInt8]("news".utf8) + random.bytes(20 + i)
      talk.say(.serverToClient, framed(answer).kafka)
    }
    talk.close()
    expectUnread(talk.packets, "Kafka")
  }

  /// SOCKS 5 in front of a protocol, on a port that no profile names.
  @Test(arguments: [false, true]) func socks(_ isSMPP: Bool) {
    typealias M = MQTTPacketBuilder
    typealias S = SMPPBuilder
    var talk = Talk(port: 1_080)
    talk.say(.clientToServer, [5, 1, 0])
    talk.say(.serverToClient, [5, 0])
    talk.say(.clientToServer, [5, 1, 0, 1, 203, 0, 113, 9, 7, 91])
    talk.say(.serverToClient, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    let before = talk.messages.count
    if isSMPP {
      talk.say(.clientToServer, S.bind(1, "shop"))
      talk.say(.serverToClient, S.pdu(0x8000_0009, 1, S.string("centre")))
      for n in 2...9 as ClosedRange<UInt32> {
        talk.say(.clientToServer, S.message(4, n, "49155", [1, 2, 3]), S.pdu(0x15, n + 100))
        talk.say(.serverToClient, S.pdu(0x8000_0004, n, S.string("m-\(n)")), S.pdu(0x8000_0015, n + 100))
      }
    } else {
      talk.say(.clientToServer, M.connect(clientID: "p"))
      talk.say(.serverToClient, M.connack())
      for n in 1...3 as ClosedRange<UInt16> {
        talk.say(.clientToServer, M.publish("a", [1], qos: 1, packetID: n))
        talk.say(.serverToClient, M.puback(n))
      }
    }
    talk.close()
    let run = Run(talk.packets, plans: Plans.usual)
    #expect(difference(run.said, talk.messages[before...].said) == nil)
    #expect(run.ledger.strayBytes + run.ledger.unreadBytes == 25)
    run.expectLedgerAddsUp()
  }
}

extension [UInt8] {
  /// With a length that does not count itself.
  fileprivate var kafka: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt32(count - 4))
    return bytes + dropFirst(4)
  }
}
