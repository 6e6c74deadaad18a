import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// More connections are open than the limit on memory has room for, and all of them go on talking: those that were evicted go on where
/// they were.
@Suite struct ResumeTests {
  private static let count: UInt32 = 12_000
  private static let rounds: UInt32 = 4

  /// Each client sends a message and is answered, `rounds` times, one client after the other.
  private static func packets() -> [TimedPacket] {
    var packets: [TimedPacket] = []
    for i in 0..<count {
      let start = Int64(i) * 100
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0000 + i / 50), port: UInt16(20_000 + i % 50)),
        server: Talk.server(8_080))
      talk.spacing = 1_000
      talk.open(at: Timestamp(microseconds: Scene.ms(0).microseconds + start))
      for round in 1...rounds {
        // Few numbers for many sessions, as 16 bits are.
        var message = TJPFrameBuilder(text: "text \(i)", sequence: round)
        message.session = UInt16(truncatingIfNeeded: i % 2_000)
        var answer = TJPFrameBuilder.echoACK(of: round)
        answer.session = message.session
        let at = Timestamp(microseconds: Scene.ms(2_000 * Int64(round) - 1_990).microseconds + start)
        talk.send(message.bytes, .clientToServer, at: at)
        talk.send(answer.bytes, .serverToClient, at: at.advanced(by: .milliseconds(20)))
      }
      packets += talk.packets
    }
    return packets.sorted { $0.timestamp < $1.timestamp }
  }

  @Test func whoComesBackGoesOnWhereTheyWere() {
    let all = Int(Self.count * Self.rounds)
    let packets = Self.packets()
    let free = Run(packets, plans: [Plans.tjp])
    #expect(free.heard.finished.count == all && free.heard.finished.allSatisfy { $0.fate == .acked })
    let tight = Run(packets, plans: [Plans.tjp]) { $0.memory = 6 << 20 }
    #expect(tight.ledger.evicted[.connection] > UInt64(Self.count))
    // No message is lost or doubled by that, and nine of ten have their answer, although hardly half of the connections fit.
    #expect(tight.heard.finished.count == all)
    let acked = tight.heard.finished.count { $0.fate == .acked }
    #expect(acked >= all * 9 / 10, "\(acked) of \(all)")
    #expect(tight.heard.finished.count { $0.fate == .unanswered } <= all / 200)
    // There was one connection for each client.
    #expect(tight.reconnects <= UInt64(Self.count) / 100)
    #expect(tight.issues.count { $0.kind == .gap } == 0)
  }

  /// A table has the slots that fit into the bytes for it.
  @Test func aTableForFewBytes() {
    #expect(ResumeTable.cost(within: 0) == 0 && ResumeTable.cost(within: 111) == 0)
    #expect(ResumeTable.cost(within: 112) == 112 && ResumeTable.cost(within: 1 << 20) <= 1 << 20)
    var table = ResumeTable()
    table.allocate(within: 111)
    let hasNone = table.isEmpty
    table.allocate(within: 1 << 20)
    let hasSome = !table.isEmpty
    #expect(hasNone && hasSome)
  }

  /// A plan that is read again has another framing: what the one before it decoded does not go on with it.
  @Test func aPlanThatIsReadAgain() throws {
    var table = ResumeTable()
    table.allocate(within: 1 << 16)
    var segment = Segment()
    segment.sequence = 77
    for (hash, plan) in [(UInt64(0x1_0000_0001), UInt8(0)), (0x2_0000_0002, 1), (0x5_0000_0003, 192)] {
      var point = ResumePoint()
      point.next[0] = 77
      point.profile = FlowProfile(rawValue: plan)
      table.remember(point, hash)
    }
    table.forget(plan: 0)
    let found = [0x1_0000_0001, 0x2_0000_0002, 0x5_0000_0003 as UInt64].map {
      table.take($0, &segment)?.profile.rawValue
    }
    // The third one was of the other variant of plan 0.
    #expect(found == [nil, 1, nil])
  }
}
