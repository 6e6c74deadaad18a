import IMMetrics
import IMTestSupport
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

  /// An answer with a time at the end of what a capture can say: what lies between is not walked through, whatever the rule.
  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      ("metric: messages, window: 10s, op: absent, for: 5s", ["firing@18"]),
      ("metric: loss, window: 6s, op: '>', threshold: 10%", []),
      ("metric: messages, window: 6s, op: '<', threshold: 1, for: 60s", ["firing@69"]),
      ("metric: rtt_p95, window: 6s, op: '>', threshold: 1s", []),
      ("metric: unacked_age, window: 6s, op: '>', threshold: 5s, keep_firing: 1h", []),
    ] as [(String, [String])])
  func anAnswerComesFarAhead(_ text: String, _ told: [String]) throws {
    let far = Timestamp(seconds: 1 << 32, fraction: 0)
    var packets = AlertMonitorTests.talk(1, [100, 1_100, 2_100])
    packets[packets.count - 1].timestamp = far
    let found = AlertMonitorTests.run([try AlertMonitorTests.rule(text)], packets).told
    #expect(found == told)
  }

  /// Something is counted now, and something else far ahead, as by one packet of a reconnect: the steps of both windows are looked at, and
  /// none of those between.
  @Test func whatIsCountedFarAheadIsWaitedFor() throws {
    let rule = try AlertMonitorTests.rule("metric: reconnects, window: 60s, op: '>', threshold: 1")
    let series = AlertSeries(
      number: 0, key: AlertSeries.Key(subject: 0), rule: rule, subject: AlertSeries.Subject(),
      knownSince: AlertMonitorTests.at(0))
    let far = Timestamp(seconds: 1 << 32, fraction: 0)
    for time in [AlertMonitorTests.at(0), far] { series.window[time].add() }
    var boundary = SlidingWindow.boundary(after: AlertMonitorTests.at(0), step: rule.step)
    var looks: [Timestamp: UInt64] = [:]
    looks[boundary] = series.read(rule, at: boundary) { _ in false }.counts.samples
    while let next = series.wake(rule, after: boundary, heldUntil: .distantPast), looks.count < 100 {
      boundary = next
      looks[boundary] = series.read(rule, at: boundary) { _ in false }.counts.samples
    }
    // Six steps of ten seconds with it in the window, and the one at which it leaves, for each of both.
    #expect(looks.count == 14 && looks.values.reduce(0, +) == 12)
    #expect(boundary >= far.advanced(by: 60_000_000_000) && boundary < far.advanced(by: 80_000_000_000))
  }
}
