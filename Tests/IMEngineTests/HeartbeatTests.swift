import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Signs of life, drawn in columns of five seconds.
@Suite struct HeartbeatTests {
  /// What is said of one timeline.
  struct Expected {
    var sent: UInt32 = 0, answered: UInt32 = 0, missed: UInt32 = 0, inARow: UInt32 = 0, absent: UInt32 = 0
    /// Least, median and greatest interval, in seconds.
    var intervals: [Int64] = []
    /// The mean difference of neighbouring intervals, in seconds.
    var jitter = 0.0
  }

  @Test(
    arguments: [
      ("hk", Expected(sent: 1, answered: 1)),
      ("h---h---h---h", Expected(sent: 4, missed: 3, inARow: 3, intervals: [20, 20, 20])),
      ("hk--hk--hk--hk", Expected(sent: 4, answered: 4, intervals: [20, 20, 20])),
      // The answer has 15 s.
      ("h-k", Expected(sent: 1, answered: 1)),
      // Later it is missed, until the answer comes after all.
      ("h---k", Expected(sent: 1, answered: 1)),
      ("h----hk---", Expected(sent: 2, answered: 1, missed: 1, intervals: [25, 25, 25])),
      (
        "h----hk----h----h----",
        Expected(
          sent: 4, answered: 1, missed: 3, inARow: 2, intervals: [25, 25, 30], jitter: 5)
      ),
      // Intervals of 20, 20 and 40 s: not more than twice the usual. One of 45 is.
      ("hk--hk--hk------hk", Expected(sent: 4, answered: 4, intervals: [20, 20, 40], jitter: 10)),
      (
        "hk--hk--hk-------hk",
        Expected(sent: 4, answered: 4, absent: 1, intervals: [20, 20, 45], jitter: 12.5)
      ),
      // Usual is at least 15 s: with one of 10 s, 30 s of silence is still no absence, 35 is.
      ("hkhkhk----hk", Expected(sent: 4, answered: 4, intervals: [10, 10, 30], jitter: 20.0 / 2)),
      ("hkhkhk-----hk", Expected(sent: 4, answered: 4, absent: 1, intervals: [10, 10, 35], jitter: 25.0 / 2)),
      // 20, 25, 20: differences of 5 and 5.
      (
        "hk--hk---hk--hk",
        Expected(sent: 4, answered: 4, intervals: [20, 20, 25], jitter: 5)
      ),
    ] as [(String, Expected)])
  func beats(_ drawing: String, _ expected: Expected) throws {
    let run = Timeline(drawing, column: 5_000).run
    let beats = try #require(run.heard.reports.first?.heartbeats)
    #expect(beats.sent == expected.sent, "\(drawing)")
    #expect(beats.answered == expected.answered, "\(drawing)")
    #expect(beats.missed == expected.missed, "\(drawing)")
    #expect(beats.missedInARow == expected.inARow, "\(drawing)")
    #expect(beats.absent == expected.absent, "\(drawing)")
    if !expected.intervals.isEmpty {
      let found = [beats.intervalMinimum, beats.median, beats.intervalMaximum]
      #expect(found == expected.intervals.map { .seconds($0) }, "\(drawing)")
    }
    #expect(abs((beats.jitter ?? 0) - expected.jitter * 1_000_000) < 0.001, "\(drawing)")
    run.expectLedgerAddsUp("\(drawing)")
  }

  /// A heartbeat answered by one of the same number from the other side, as some servers do.
  @Test func echo() throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: 0))
    let beat = TJPFrameBuilder.heartbeat(sequence: 0x0100_0005).bytes
    talk.send(beat, .clientToServer, at: Timestamp(milliseconds: 10))
    talk.send(beat, .serverToClient, at: Timestamp(milliseconds: 35))
    let run = Run(talk.packets)
    #expect(run.heard.finished.map(\.fate) == [.acked])
    let beats = try #require(run.heard.reports.first?.heartbeats)
    #expect(beats.roundTrips == 1)
    #expect(beats.roundTripSum == 25_000)
    run.expectLedgerAddsUp()
  }

  /// The median is that of the last ten.
  @Test func median() {
    var figures = HeartbeatMetrics()
    var now: Int64 = 0
    for i in 0..<25 {
      now += i < 15 ? 60_000 : 20_000 + Int64(i)
      figures.sent(at: Timestamp(milliseconds: now))
    }
    #expect(figures.median == .microseconds((20_019_000 + 20_020_000) / 2))
    #expect(figures.intervals == 24)
  }
}
