import Testing

@testable import IMMetrics

/// Pings of a carrier among heartbeats.
@Suite struct PingCountsTests {
  /// Their connection tells the run and its server of them, so adding a server's answers to the run's does not count them again.
  @Test func countOnce() {
    let pings = PingCounts(sent: 3, answered: 1, missed: 1)
    var run = HeartbeatCounts()
    var server = HeartbeatCounts()
    run.addPings(pings)
    server.addPings(pings)
    server.answered += 5
    server.missed += 2
    run.addAnswers(server)
    #expect([run.answered, run.missed] == [6, 3])
    #expect(run.pings == pings)
    #expect(pings.pending == 1)
  }

  @Test func difference() {
    let early = PingCounts(sent: 3, answered: 2, missed: 1)
    #expect(PingCounts(sent: 5, answered: 3, missed: 1).since(early) == PingCounts(sent: 2, answered: 1, missed: 0))
    // A late pong cannot make a count of a minute negative.
    #expect(PingCounts(sent: 3, answered: 3, missed: 0).since(early) == PingCounts(sent: 0, answered: 1, missed: 0))
  }
}
