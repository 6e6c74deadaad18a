import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// How often a client is to be heard of, where its profile says so; and who asks in a handshake.
@Suite struct ContractTests {
  /// A protocol whose clients are to be heard of every ten seconds, and may be silent for twice as long.
  static let beats = """
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
      1: { name: beat, role: heartbeat, answered: true }
      2: { name: ok, role: acknowledgment, answers: [beat], body: none }
    heartbeat: { interval: 10s, factor: 2 }
    """

  private static func frame(_ type: UInt8, _ sequence: UInt8) -> [UInt8] {
    [0x43, 0x48, 0x43, 0x48, 0, 0, 0, type, 0, 0, 0, sequence]
  }

  /// Heartbeats at these seconds, each answered 5 ms later, and the connection's end: silences of more than 20 s are counted
  /// once, from the first heartbeat on, that before the end too.
  @Test(arguments: [
    ([0, 10, 20], 25, 0, [10, 10, 10]), ([0, 10, 35, 45], 50, 1, [10, 25, 10]), ([0, 5, 26, 47], 48, 2, [5, 21, 21]),
    ([0, 20, 40], 60, 0, [20, 20, 20]), ([0, 10], 31, 1, [10, 10, 10]), ([0, 10, 20, 100], 100, 1, [10, 80, 10]),
  ])
  func interval(_ seconds: [Int64], _ end: Int64, _ absent: UInt32, _ intervals: [Int64]) throws {
    let plan = try ProfileCompiler.compile(Self.beats, source: "beats.yaml")
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(7_000))
    talk.acknowledges = false
    talk.open(at: Scene.ms(-1_000))
    for (i, second) in seconds.enumerated() {
      let number = UInt8(i + 1)
      talk.send(Self.frame(1, number), .clientToServer, at: Scene.ms(second * 1_000))
      talk.send(Self.frame(2, number), .serverToClient, at: Scene.ms(second * 1_000 + 5))
    }
    talk.close(.reset(by: .serverToClient), at: Scene.ms(end * 1_000))
    let run = Run(talk.packets, plans: [plan])
    let report = try #require(run.heard.reports.last)
    let beats = try #require(report.heartbeats)
    #expect(beats.expected == 10_000)
    #expect(beats.limit == 20_000)
    #expect(beats.sent == UInt32(seconds.count))
    #expect(beats.answered == beats.sent)
    #expect(beats.absent == absent)
    #expect(beats.intervalMinimum == .seconds(intervals[0]))
    #expect(beats.intervalMaximum == .seconds(intervals[1]))
    #expect(beats.median == .seconds(intervals[2]))
    #expect(beats.roundTripSum == 5_000 * Int64(seconds.count))
  }

  /// The server asks, the client answers; an answer by who has asked is none.
  @Test(arguments: [(Direction.clientToServer, HandshakeOutcome.answered), (.serverToClient, .pending)])
  func serverAsks(_ answerer: Direction, _ expected: HandshakeOutcome) throws {
    func control(_ number: UInt32, tag: UInt16) -> [UInt8] {
      TJPFrameBuilder(
        type: TJPType.control, sequence: 0x0200_0000 + number, body: TLVBuilder().field(tag, [1, 0, 0, 11]).bytes
      ).bytes
    }
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Scene.ms(0))
    talk.send(control(5, tag: 1), .serverToClient, at: Scene.ms(1_000))
    talk.send(control(6, tag: 2), answerer, at: Scene.ms(3_000))
    let report = try #require(Run(talk.packets).heard.reports.last)
    #expect(report.handshake == expected)
    let figures = try #require(report.figures)
    if expected == .answered {
      #expect(figures.readyAt.nanoseconds(since: figures.handshakeAt) == 2_000_000_000)
    } else {
      #expect(figures.readyAt == .distantPast)
    }
  }

  /// What became of one message stands in one count, and of every connection together in their sum.
  @Test func counts() throws {
    var sum = FateCounts()
    let drawings: [(String, Fate)] = [
      ("da", .acked), ("drra", .ackedAfterRetry), ("d.........", .unanswered), ("x........", .damaged),
      ("dm.......", .unknown), ("d.", .pending),
    ]
    for (drawing, fate) in drawings {
      let counts = try #require(Timeline(drawing).run.heard.reports.last?.rare.fates[0])
      for other in Fate.allCases where other != .unacknowledged {
        #expect(counts[other] == (other == fate ? 1 : 0), "\(drawing), \(other.name)")
      }
      #expect(counts.known == (fate == .unknown || fate == .pending ? 0 : 1), "\(drawing)")
      sum.add(counts)
    }
    #expect(sum.units == 6)
    #expect(sum.known == 4)
    #expect(sum.open == 0)
    #expect(drawings.allSatisfy { sum[$0.1] == 1 })
    #expect(sum[.network] == 1)
    #expect(sum[.checksum] == 1)
    #expect(sum[.capture] == 1)
    #expect(sum[.status] == 0)
  }
}
