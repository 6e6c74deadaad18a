import IMWire
import Testing

@testable import IMAlerts

/// Rules while the live clock is set: no time is walked through step by step, and nothing fires for it that did not happen.
@Suite struct ClockTests {
  /// Days by which the clock is set, one after the other, from the time of the last packet on; 0 is that time.
  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      [1], [-1, 1], [1, -1, 1], [36_500, 0, -36_500, 36_500], [-36_500, -1, 0, 1],
      (0..<2_000).map { $0 % 2 == 0 ? 36_500 : -36_500 },
    ] as [[Int64]])
  func theLiveClockIsSet(_ days: [Int64]) throws {
    let silence = try AlertMonitorTests.rule("metric: messages, window: 10s, op: absent, for: 5s")
    let loss = try AlertMonitorTests.rule("metric: loss, window: 6s, op: '>', threshold: 10%")
    let times = Array(stride(from: Int64(100), to: 20_000, by: 1_000))
    let outcome = AlertMonitorTests.run([silence, loss], AlertMonitorTests.talk(1, times)) { monitor in
      for day in days {
        let now = AlertMonitorTests.at(19_200 + day * 86_400_000)
        monitor.captured(received: 100, dropped: 0, at: now)
        monitor.advance(to: now)
      }
    }
    // The last message comes at 19.1 s: ten seconds without one are over at 30, five more at 35. Once is enough.
    #expect(outcome.told == ["firing@35"])
  }
}
