import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// SYNs that are refused, sent again, doubled and answered: attempts, refusals and the handshake's round trip.
@Suite struct OpeningTests {
  /// A SYN of either side, with the sender's clock and the last one that it saw, where there are clocks.
  private static func syn(
    _ talk: inout ConversationBuilder, _ direction: Direction, _ milliseconds: Int64, clocks: (UInt32, UInt32)? = nil
  ) {
    var options: [UInt8] = []
    if let clocks {
      options = [1, 1, 8, 10]
      options.append(big: clocks.0)
      options.append(big: clocks.1)
    }
    if direction == .clientToServer {
      talk.append(direction, .syn, sequence: 1_000, acknowledgment: 0, options: options, at: Scene.ms(milliseconds))
    } else {
      talk.append(
        direction, [.syn, .ack], sequence: 5_000, acknowledgment: 1_001, options: options, at: Scene.ms(milliseconds))
    }
  }

  private static func refuse(_ talk: inout ConversationBuilder, _ milliseconds: Int64) {
    talk.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 1_001, at: Scene.ms(milliseconds))
  }

  /// A connection's first packets, and what is made of them: as letters with times in milliseconds.
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// `S` a SYN, `R` the reset that refuses it, `A` the SYN+ACK.
    var packets: [(Character, Int64, (UInt32, UInt32)?)]
    /// Round trip to the server in milliseconds; `nil` where nobody can tell.
    var server: Int64?
    var client: Int64 = 10
    var refused: UInt64 = 0
    var retransmissions: UInt64 = 0
  }

  static let cases: [Case] = [
    Case(testDescription: "plain", packets: [("S", 0, nil), ("A", 30, nil)], server: 30),
    Case(
      testDescription: "the second SYN is answered", packets: [("S", 0, nil), ("S", 1_000, nil), ("A", 1_030, nil)],
      server: 30, retransmissions: 1),
    Case(
      testDescription: "by its clock it is the second",
      packets: [("S", 0, (1, 0)), ("S", 1_000, (2, 0)), ("A", 1_030, (9, 2))], server: 30, retransmissions: 1),
    Case(
      testDescription: "by its clock it is the first",
      packets: [("S", 0, (1, 0)), ("S", 1_000, (2, 0)), ("A", 1_030, (9, 1))], server: 1_030, retransmissions: 1),
    Case(
      testDescription: "by its clock it is one of the first two",
      packets: [("S", 0, (1, 0)), ("S", 1_000, (2, 0)), ("S", 3_000, (3, 0)), ("A", 3_030, (9, 2))], server: nil,
      retransmissions: 2),
    Case(
      testDescription: "refused, then accepted",
      packets: [("S", 0, nil), ("R", 30, nil), ("S", 500, nil), ("A", 530, nil)],
      server: 30, refused: 1),
    Case(
      testDescription: "refused twice, then the second SYN of the third attempt",
      packets: [
        ("S", 0, nil), ("R", 30, nil), ("S", 500, nil), ("R", 530, nil), ("S", 1_000, nil), ("S", 2_000, nil),
        ("A", 2_030, nil),
      ], server: 30, refused: 2, retransmissions: 1),
    Case(
      testDescription: "the SYN+ACK comes twice",
      packets: [("S", 0, nil), ("A", 30, nil), ("A", 1_030, nil)], server: 30, retransmissions: 1),
  ]

  @Test(arguments: cases) func opened(_ one: Case) throws {
    let packets = Scene.talk { talk in
      for (kind, at, clocks) in one.packets {
        switch kind {
        case "S": Self.syn(&talk, .clientToServer, at, clocks: clocks)
        case "A": Self.syn(&talk, .serverToClient, at, clocks: clocks)
        default: Self.refuse(&talk, at)
        }
      }
      let end = (one.packets.last?.1 ?? 0) + 10
      talk.acknowledge(.clientToServer, at: Scene.ms(end))
      for i in 1...3 { talk.send(Scene.text(UInt32(i)), .clientToServer, at: Scene.ms(end + Int64(i))) }
      talk.send(Scene.text(1), .serverToClient, at: Scene.ms(end + 20))
    }
    let run = Run(packets)
    let report = try #require(run.heard.reports.last)
    #expect(run.ledger.connectionAttempts == one.refused + 1)
    #expect(run.ledger.connectionsRefused == one.refused)
    #expect(run.ledger.connectionSuccesses == 1)
    #expect(run.heard.reports.filter { $0.reason == .refused }.count == Int(one.refused))
    #expect(report.serverHandshake == one.server.map { $0 * 1_000_000 })
    #expect(report.clientHandshake == one.client * 1_000_000)
    #expect(run.reassembly.retransmissions == one.retransmissions)
    #expect(run.frames.count == 4)
    run.expectLedgerAddsUp()

    // `streams` tells the same times; a reset's number 0 is nobody's next byte.
    let stream = try #require(collect(CaptureBuilder(packets)).last)
    #expect(stream.serverHandshake == report.serverHandshake)
    #expect(stream.clientHandshake == report.clientHandshake)
    #expect(stream.analysis[.lostSegment] == 0)
    #expect(stream.directions[1].gaps.isEmpty)
    #expect(stream.directions[1].farBytes == 0)
  }

  /// A SYN that is captured twice is one.
  @Test func capturedTwice() throws {
    var packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
    }
    let (syn, answer) = (packets[0], packets[1])
    packets.insert(TimedPacket(answer, at: answer.timestamp.advanced(by: 20_000)), at: 2)
    packets.insert(TimedPacket(syn, at: syn.timestamp.advanced(by: 20_000)), at: 1)
    let report = try #require(Run(packets).heard.reports.first)
    #expect(report.serverHandshake == 7_000_000 || report.serverHandshake == 100_000)
    #expect(report.synCount == 1)
    let stream = try #require(collect(CaptureBuilder(packets)).first)
    #expect(stream.serverHandshake == report.serverHandshake)
    #expect(stream.clientHandshake == report.clientHandshake)
  }

  /// The first packets of a connection in any order are those of one connection, which was tried once and succeeded. The handshake
  /// is timed where both of its ends can be, and by `streams` in the same cases.
  @Test func inAnyOrder() throws {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      talk.send(Scene.text(1), .serverToClient, at: Scene.ms(40))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(50))
    }
    let count = 4
    for order in Self.orders(of: Array(packets.prefix(count))) {
      let names = order.map { packet in packets.firstIndex { $0.bytes == packet.bytes } ?? 0 }
      let swapped = zip(order, packets).map { TimedPacket($0, at: $1.timestamp) } + packets.dropFirst(count)
      let run = Run(swapped)
      #expect(run.ledger.connections == 1, "\(names)")
      #expect(run.ledger.connectionAttempts == 1, "\(names)")
      #expect(run.ledger.connectionSuccesses == 1, "\(names)")
      #expect(run.frames.count == 3, "\(names)")
      run.expectLedgerAddsUp("\(names)")
      let report = try #require(run.heard.reports.last)
      let streams = collect(CaptureBuilder(swapped))
      #expect(streams.count == 1, "\(names)")
      let isTimed = report.serverHandshake != nil && report.clientHandshake != nil
      let isTimedThere = streams[0].serverHandshake != nil && streams[0].clientHandshake != nil
      #expect(isTimed == isTimedThere, "\(names)")
    }
  }

  /// All orders of `packets`.
  private static func orders(of packets: [TimedPacket]) -> [[TimedPacket]] {
    guard packets.count > 1 else { return [packets] }
    return packets.indices.flatMap { index in
      var others = packets
      let first = others.remove(at: index)
      return orders(of: others).map { [first] + $0 }
    }
  }
}
