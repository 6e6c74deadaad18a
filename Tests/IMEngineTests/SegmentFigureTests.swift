import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What the engine counts of segments that are not simply the next ones. Each case says what was sent after the
/// handshake, and the client's and the server's figures by definition; `StreamAnalysisTests` holds the same traffic
/// against the rules of another tool.
@Suite struct SegmentFigureTests {
  static let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 50_000)
  static let server = Endpoint(address: IPAddress(v4: 0x0a00_0002), port: 443)
  static let bytes = [UInt8](repeating: 7, count: 100)

  static func at(_ milliseconds: Int64) -> Timestamp { Scene.ms(milliseconds) }

  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var sent = Expected()
    var received = Expected()
    var act: @Sendable (inout ConversationBuilder) -> Void
  }

  struct Expected: Equatable, Sendable {
    var again = 0, fast = 0, spurious = 0, timeouts = 0, late = 0, lost = 0, holes = 0, missing = 0
    var duplicates = 0, keepAlives = 0, keepAliveAcks = 0, fins = 0

    init(
      again: Int = 0, fast: Int = 0, spurious: Int = 0, timeouts: Int = 0, late: Int = 0, lost: Int = 0,
      holes: Int = 0, missing: Int = 0, duplicates: Int = 0, keepAlives: Int = 0, keepAliveAcks: Int = 0, fins: Int = 0
    ) {
      (self.again, self.fast, self.spurious, self.timeouts) = (again, fast, spurious, timeouts)
      (self.late, self.lost, self.holes, self.missing) = (late, lost, holes, missing)
      (self.duplicates, self.keepAlives, self.keepAliveAcks, self.fins) = (duplicates, keepAlives, keepAliveAcks, fins)
    }

    init(_ figures: SegmentMetrics) {
      self.init(
        again: Int(figures.retransmissions), fast: Int(figures.fast), spurious: Int(figures.spurious),
        timeouts: Int(figures.timeouts), late: Int(figures.outOfOrder), lost: Int(figures.lost),
        holes: Int(figures.missedHoles), missing: Int(figures.missedBytes), duplicates: Int(figures.duplicateAcks),
        keepAlives: Int(figures.keepAlives), keepAliveAcks: Int(figures.keepAliveAcks), fins: Int(figures.finsAgain))
    }
  }

  /// A server that closes its window and keeps it closed, a probe of one byte just below the next, and each packet captured
  /// once or twice: what closes a window is counted once, and a probe of a closed one is no keep-alive.
  @Test(arguments: [1, 2]) func closedWindow(_ times: Int) throws {
    var talk = ConversationBuilder(client: Self.client, server: Self.server)
    talk.acknowledges = false
    talk.open(at: Self.at(0))
    talk.send(Self.bytes, .clientToServer, at: Self.at(10))
    var builder = PacketBuilder()
    var closed = TCPSegment(
      sourcePort: 443, destinationPort: 50_000, sequence: 5_001, acknowledgment: 1_101, flags: .ack)
    closed.window = 0
    let probe = TCPSegment(
      sourcePort: 50_000, destinationPort: 443, sequence: 1_100, acknowledgment: 5_001, flags: .ack, payload: [7])
    var packets = talk.packets
    for (time, segment) in [(20, closed), (1_020, probe), (1_030, closed)] {
      let (from, to) = segment.sourcePort == 443 ? (Self.server, Self.client) : (Self.client, Self.server)
      let bytes = builder.packet(segment, from: from.address, to: to.address)
      for copy in 0..<times {
        let at = Self.at(Int64(time)).advanced(by: Int64(copy) * 20_000)
        packets.append(TimedPacket(timestamp: at, bytes: bytes))
      }
    }
    let report = try #require(Run(packets).heard.reports.last)
    #expect(report.segments[1].zeroWindows == 2)
    #expect(report.segments[0].zeroWindows == 0)
    #expect(report.segments[0].keepAlives == 0)
    #expect(report.segments[0].copies == (times == 2 ? 1 : 0))
    #expect(report.segments[1].copies == (times == 2 ? 2 : 0))
    var sum = report.segments[0]
    sum.add(report.segments[1])
    #expect(sum.zeroWindows == 2)
    #expect(sum.copies == (times == 2 ? 3 : 0))
  }

  static let cases: [Case] = [
    Case(testDescription: "nothing but data and its acknowledgments") { talk in
      talk.send(bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
    },
    Case(testDescription: "sent again after 300 ms", sent: Expected(again: 1, timeouts: 1, lost: 1)) { talk in
      let sent = talk.send(bytes, .clientToServer, at: at(10))
      talk.duplicate(sent[0], at: at(310))
    },
    Case(testDescription: "sent again after 30 ms", sent: Expected(again: 1, lost: 1)) { talk in
      let sent = talk.send(bytes, .clientToServer, at: at(10))
      talk.duplicate(sent[0], at: at(40))
    },
    Case(
      testDescription: "sent again although acknowledged", sent: Expected(again: 1, spurious: 1, timeouts: 1)
    ) { talk in
      let sent = talk.send(bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
      talk.duplicate(sent[0], at: at(310))
    },
    Case(
      testDescription: "the SYN and the FIN again", sent: Expected(again: 2, spurious: 1, timeouts: 2, lost: 1, fins: 1)
    ) { talk in
      talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: at(500))
      talk.append(.clientToServer, [.fin, .ack], sequence: 1_001, acknowledgment: 5_001, at: at(600))
      talk.append(.clientToServer, [.fin, .ack], sequence: 1_001, acknowledgment: 5_001, at: at(900))
    },
    Case(
      testDescription: "a FIN twice more, once with the data in front of it",
      sent: Expected(again: 2, timeouts: 2, lost: 2, fins: 2)
    ) { talk in
      talk.append(.clientToServer, .ack, sequence: 1_001, acknowledgment: 5_001, payload: bytes, at: at(10))
      talk.append(.clientToServer, [.fin, .ack], sequence: 1_101, acknowledgment: 5_001, at: at(20))
      talk.append(.clientToServer, [.fin, .ack], sequence: 1_101, acknowledgment: 5_001, at: at(320))
      talk.append(.clientToServer, [.fin, .ack], sequence: 1_001, acknowledgment: 5_001, payload: bytes, at: at(920))
    },
    Case(testDescription: "overtaken within the round trip", sent: Expected(late: 1)) { talk in
      talk.spacing = 50_000
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      talk.swap(sent[0], sent[1])
    },
    Case(
      testDescription: "lost by the network before the capture, sent again after a timeout",
      sent: Expected(again: 1, timeouts: 1, lost: 1)
    ) { talk in
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      let copy = talk.duplicate(sent[0], at: at(310))
      talk.drop(sent[0])
      _ = copy
    },
    Case(
      testDescription: "the receiver tells what came twice before what it lacks: two blocks, of which one is a hole's",
      sent: Expected(again: 2, fast: 1, spurious: 1, lost: 1), received: Expected(duplicates: 3)
    ) { talk in
      talk.acknowledges = false
      let sent = talk.send(bytes + bytes + bytes, .clientToServer, at: at(10))
      _ = sent
      let twice = TCPOption.sack([(1_001, 1_101), (1_201, 1_301)])
      talk.append(.serverToClient, .ack, sequence: 5_001, acknowledgment: 1_101, at: at(20))
      for i in 0..<3 {
        talk.append(
          .serverToClient, .ack, sequence: 5_001, acknowledgment: 1_101, options: [1, 1] + twice, at: at(21 + Int64(i)))
      }
      talk.append(.clientToServer, .ack, sequence: 1_101, acknowledgment: 5_001, payload: bytes, at: at(30))
      talk.append(.clientToServer, .ack, sequence: 1_201, acknowledgment: 5_001, payload: bytes, at: at(31))
    },
    Case(testDescription: "lost by the capture", sent: Expected(holes: 1, missing: 100)) { talk in
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
      talk.drop(sent[0])
      talk.send(bytes, .clientToServer, at: at(200))
    },
    Case(
      testDescription: "lost by the network, and its copy by the capture",
      sent: Expected(lost: 1, holes: 1, missing: 100), received: Expected(duplicates: 2)
    ) { talk in
      let known = talk.next
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      talk.drop(sent[0])
      talk.append(
        .serverToClient, .ack, sequence: known[1], acknowledgment: known[0],
        options: [1, 1] + TCPOption.sack([(known[0] + 100, known[0] + 200)]), at: at(11))
      talk.append(
        .serverToClient, .ack, sequence: known[1], acknowledgment: known[0],
        options: [1, 1] + TCPOption.sack([(known[0] + 100, known[0] + 200)]), at: at(12))
      talk.acknowledge(.serverToClient, at: at(60))
      talk.send(bytes, .clientToServer, at: at(200))
    },
    Case(
      testDescription: "what was acknowledged selectively is sent again",
      sent: Expected(again: 2, spurious: 1, timeouts: 2, lost: 1), received: Expected(duplicates: 2)
    ) { talk in
      let known = talk.next
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      for time in [11, 12] as [Int64] {
        talk.append(
          .serverToClient, .ack, sequence: known[1], acknowledgment: known[0],
          options: [1, 1] + TCPOption.sack([(known[0] + 100, known[0] + 200)]), at: at(time))
      }
      talk.duplicate(sent[0], at: at(400))
      talk.duplicate(sent[1], at: at(401))
    },
    Case(
      testDescription: "fast retransmission", sent: Expected(again: 1, fast: 1, lost: 1),
      received: Expected(duplicates: 3)
    ) { talk in
      let known = talk.next
      let sent = talk.send(bytes + bytes + bytes + bytes, .clientToServer, at: at(10))
      for time in [11, 12, 13] as [Int64] {
        talk.append(.serverToClient, .ack, sequence: known[1], acknowledgment: known[0], at: at(time))
      }
      talk.duplicate(sent[0], at: at(25))
    },
    Case(
      testDescription: "keep-alives and their answers", sent: Expected(keepAlives: 2),
      received: Expected(keepAliveAcks: 2)
    ) { talk in
      talk.send(bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
      for time in [60_000, 120_000] as [Int64] {
        talk.append(
          .clientToServer, .ack, sequence: talk.next[0] - 1, acknowledgment: talk.next[1],
          payload: time == 60_000 ? [] : [0], at: at(time))
        talk.acknowledge(.serverToClient, at: at(time + 1))
      }
    },
  ]

  @Test(arguments: cases) func figures(_ example: Case) {
    for isCut in [false, true] {
      var talk = ConversationBuilder(client: Self.client, server: Self.server)
      talk.acknowledges = false
      talk.segmentSize = 100
      talk.open(at: Self.at(0))
      example.act(&talk)
      // A packet at a time, too: what is counted does not depend on batches.
      let run = Run(talk.packets.sorted { $0.timestamp < $1.timestamp }, batches: isCut ? 1 : .max)
      #expect(run.heard.reports.count == 1)
      guard let report = run.heard.reports.first else { return }
      #expect(Expected(report.segments[0]) == example.sent)
      #expect(Expected(report.segments[1]) == example.received)
      #expect(run.reassembly.copies == 0)
      run.expectLedgerAddsUp()
    }
  }

  /// One segment at a time is timed, to the acknowledgment that covers it; one that was sent twice is not.
  @Test func roundTrips() {
    var talk = ConversationBuilder(client: Self.client, server: Self.server)
    talk.acknowledges = false
    talk.open(at: Self.at(0))
    for (sent, acked) in [(10, 35), (50, 60), (100, 190)] as [(Int64, Int64)] {
      talk.send(Self.bytes, .clientToServer, at: Self.at(sent))
      talk.acknowledge(.serverToClient, at: Self.at(acked))
    }
    let again = talk.send(Self.bytes, .clientToServer, at: Self.at(300))
    talk.duplicate(again[0], at: Self.at(600))
    talk.acknowledge(.serverToClient, at: Self.at(601))
    let report = Run(talk.packets).heard.reports[0]
    let trips = report.segments[0].roundTrips
    #expect(trips.count == 3)
    // To a tick of 256 ns.
    #expect(trips.minimum.map { abs($0.count - 10_000_000) <= 512 } == true)
    #expect(trips.maximum.map { abs($0.count - 90_000_000) <= 512 } == true)
    #expect(trips.mean.map { abs($0.count - 41_666_666) <= 512 } == true)
    #expect(report.segments[1].roundTrips == AckRoundTrips())
    #expect(report.segments[1].roundTrips.minimum == nil)
  }

  /// One direction alone tells what it sends, and nothing that only the other's packets tell.
  @Test func oneSided() {
    var talk = ConversationBuilder(client: Self.client, server: Self.server)
    talk.acknowledges = false
    talk.open(at: Self.at(0))
    let sent = talk.send(Self.bytes, .clientToServer, at: Self.at(10))
    talk.duplicate(sent[0], at: Self.at(310))
    let packets = talk.packets.enumerated().filter { $0.offset != 1 }.map(\.element)
    let report = Run(packets).heard.reports[0]
    #expect(!report.sawBothSides)
    #expect(report.segments[0].retransmissions == 1)
    #expect(report.segments[0].lost == 0)
    #expect(report.serverHandshake == nil)
  }
}
