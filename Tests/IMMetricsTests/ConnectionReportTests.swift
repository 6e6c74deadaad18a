import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// Counters derived from connection reports: beginnings, ends, totals, and growth since the previous report.
@Suite struct ConnectionReportTests {
  /// A report of a connection whose client sent `syns` SYNs.
  private static func report(
    _ reason: CloseReason, syns: UInt16 = 1, isEstablished: Bool = true, isDecoded: Bool = true, bytes: UInt64 = 0
  ) -> ConnectionReport {
    var report = isDecoded ? MadeReport.decoded() : MadeReport.undecoded()
    (report.reason, report.synCount) = (reason, syns)
    report.establishedAt = isEstablished ? report.firstSeen : nil
    report.streamBytes[0] = bytes
    return report
  }

  private static func counts(
    _ attempts: UInt64 = 0, _ succeeded: UInt64 = 0, refused: UInt64 = 0, timedOut: UInt64 = 0, opened: UInt64 = 0,
    closed: UInt64 = 0, reset: UInt64 = 0
  ) -> ConnectionCounts {
    var counts = ConnectionCounts()
    (counts.attempts, counts.succeeded, counts.refused, counts.timedOut) = (attempts, succeeded, refused, timedOut)
    (counts.opened, counts.closed, counts.reset) = (opened, closed, reset)
    return counts
  }

  @Test func beginnings() {
    let cases: [(name: String, report: ConnectionReport, begin: ConnectionCounts, end: ConnectionCounts)] = [
      ("closed", Self.report(.fin), Self.counts(1, 1, opened: 1), Self.counts(closed: 1)),
      ("reset", Self.report(.reset), Self.counts(1, 1, opened: 1), Self.counts(closed: 1, reset: 1)),
      ("open at the end", Self.report(.open), Self.counts(1, 1, opened: 1), Self.counts()),
      ("begun before the capture", Self.report(.fin, syns: 0), Self.counts(opened: 1), Self.counts(closed: 1)),
      (
        "refused", Self.report(.refused, isEstablished: false, isDecoded: false), Self.counts(1, refused: 1),
        Self.counts()
      ),
      (
        "not answered", Self.report(.timeout, syns: 4, isEstablished: false, isDecoded: false),
        Self.counts(1, timedOut: 1), Self.counts()
      ),
      (
        // A connection that carried a byte did not fail.
        "refused, and yet it carried bytes", Self.report(.refused, isEstablished: false, isDecoded: false, bytes: 1),
        Self.counts(1), Self.counts()
      ),
      ("nothing decodes it", Self.report(.reset, isDecoded: false), Self.counts(1, 1), Self.counts()),
    ]
    for (name, report, begin, end) in cases {
      #expect(ConnectionCounts(beginning: report) == begin, "\(name)")
      #expect(ConnectionCounts(end: report) == end, "\(name)")
    }
  }

  @Test func aLivingConnectionOnWhichAFrameWasDecoded() {
    var info = ConnectionInfo(told: 3, client: MadeReport.client, server: MadeReport.server)
    #expect(ConnectionCounts(carrying: info) == Self.counts(opened: 1))
    info.sawOpening = true
    #expect(ConnectionCounts(carrying: info) == Self.counts(1, 1, opened: 1))
  }

  @Test func additionAndWhatIsKnown() {
    var sum = Self.counts(9, 5, refused: 2, timedOut: 1, opened: 6, closed: 4, reset: 3)
    sum.reconnects = 7
    var twice = sum
    twice.add(sum)
    var expected = Self.counts(18, 10, refused: 4, timedOut: 2, opened: 12, closed: 8, reset: 6)
    expected.reconnects = 14
    #expect(twice == expected && sum.known == 8)
  }

  /// The score adds one for each retry, gap, wrong checksum and reset, four for each failure and two for each missed heartbeat.
  @Test func problems() {
    #expect(MadeReport.undecoded().problemScore == 0 && MadeReport.decoded().problemScore == 0)
    var report = MadeReport.decoded()
    (report.rare.deliberateCopies, report.gapCount, report.reason) = (3, 2, .reset)
    report.figures?.checksums[2] = 5
    #expect(report.problemScore == 3 + 2 + 5 + 1)
    (report.rare.rejectedControls, report.rare.unansweredControls) = (1, 1)
    (report.rare.fates[0].unanswered, report.rare.fates[1].damaged, report.rare.fates[1].rejected) = (1, 2, 3)
    #expect(report.problemScore == 11 + 8 + 24)
    var beats = HeartbeatMetrics()
    beats.missed = 4
    report.heartbeats = beats
    #expect(report.problemScore == 43 + 8)
  }

  /// Every count is read from its own field: all have different values here.
  @Test func reportCounts() {
    var report = MadeReport.decoded()
    (report.packets, report.wireBytes) = ([11, 0], [13, 14])
    (report.synCount, report.conflicts, report.gapCount, report.gapBytes) = (4, 15, 16, 17)
    var segments = SegmentMetrics()
    (segments.retransmissions, segments.fast, segments.spurious, segments.timeouts) = (21, 22, 23, 24)
    (segments.outOfOrder, segments.lost, segments.missedHoles, segments.missedBytes) = (25, 26, 27, 28)
    (segments.duplicateAcks, segments.keepAlives, segments.keepAliveAcks) = (29, 30, 31)
    (segments.zeroWindows, segments.finsAgain, segments.copies) = (32, 33, 34)
    report.segments[1] = segments
    report.figures?.frames = [41, 42]
    report.figures?.frameBytes = [43, 44]
    report.figures?.checksums = [51, 52, 53, 54, 55]
    (report.rare.retries, report.rare.deliberateCopies, report.rare.immediateDuplicates) = (61, 62, 63)
    (report.rare.duplicates, report.rare.dupAcks, report.rare.orphanAcks) = (64, 65, 66)
    let expected: [(ReportCount, UInt64, UInt64)] = [
      (.connections, 1, 0), (.seen, 1, 0), (.seenBoth, 0, 0), (.decoded, 1, 0), (.attempts, 1, 0),
      (.repeatedSYNs, 3, 0), (.retransmissions, 0, 21), (.fast, 0, 22), (.spurious, 0, 23), (.timeouts, 0, 24),
      (.outOfOrder, 0, 25), (.lost, 0, 26), (.missedHoles, 0, 27), (.missedBytes, 0, 28), (.duplicateAcks, 0, 29),
      (.keepAlives, 0, 30), (.keepAliveAcks, 0, 31), (.zeroWindows, 0, 32), (.finsAgain, 0, 33), (.copies, 0, 34),
      (.conflicts, 15, 0), (.gaps, 16, 0), (.gapBytes, 17, 0), (.packets, 11, 0), (.wireBytes, 13, 14),
      (.frames, 41, 42), (.frameBytes, 43, 44), (.rightBigEndian, 51, 0), (.rightLittleEndian, 52, 0),
      (.wrongChecksum, 53, 0), (.noChecksum, 54, 0), (.unchecked, 55, 0), (.retries, 61, 0), (.deliberateCopies, 62, 0),
      (.immediateDuplicates, 63, 0), (.duplicates, 64, 0), (.repeatedAnswers, 65, 0), (.orphanAnswers, 66, 0),
    ]
    #expect(expected.map(\.0) == ReportCount.allCases)
    let counts = ReportCounts(report)
    for (count, first, second) in expected {
      #expect(counts[count, 0] == first && counts[count, 1] == second, "\(count)")
      #expect(counts[count] == first + second && ReportCounts()[count] == 0, "\(count)")
    }
    // Without frames, the metrics of frames are absent.
    var silent = report
    silent.figures = nil
    for count in [ReportCount.decoded, .frames, .wrongChecksum, .retries] { #expect(ReportCounts(silent)[count] == 0) }
  }

  @Test func countsOfSeveralReports() {
    var early = MadeReport.decoded()
    (early.gapCount, early.gapBytes) = (2, 1_000)
    var later = early
    (later.gapCount, later.gapBytes, later.packets) = (5, 900, [7, 8])
    let (old, new) = (ReportCounts(early), ReportCounts(later))
    let growth = new.since(old)
    // A decrease counts as no growth, not as negative growth.
    #expect(growth[.gaps] == 3 && growth[.gapBytes] == 0 && growth[.packets, 1] == 8 && growth[.connections] == 0)
    #expect(new.since(ReportCounts()) == new && new.since(new)[.packets] == 0)
    var sum = ReportCounts()
    sum.add(old)
    sum.add(new)
    #expect(sum[.gaps] == 7 && sum[.gapBytes] == 1_900 && sum[.connections] == 2)
    var none = sum
    none.add(ReportCounts())
    #expect(none == sum)
    #expect(sum.asGrowth[.connections] == 0 && sum.asGrowth[.gaps] == 7 && ReportCounts().asGrowth == ReportCounts())
    // On overflow a count wraps, and does not trap.
    later.gapBytes = .max
    sum.add(ReportCounts(later))
    #expect(sum[.gapBytes] == 1_899)
  }

  /// A connection is reported every minute: its end, its reconnect and each count are counted once.
  @Test func historyOfAConnection() {
    var history = ReportHistory()
    var report = MadeReport.decoded()
    func take(_ isFinal: Bool) -> ReportHistory.News {
      report.isFinal = isFinal
      return history.take(report, ReportCounts(report), isDecoded: true)
    }
    (report.reason, report.gapCount) = (.open, 2)
    var news = take(false)
    #expect(news.counts[.gaps] == 2 && !news.isEnd && !news.isReconnect && news.isDecoded)
    report.rare.reconnectTime = .seconds(1)
    news = take(false)
    #expect(news.counts[.gaps] == 0 && news.isReconnect && !news.isEnd)
    (report.reason, report.gapCount) = (.fin, 3)
    news = take(false)
    #expect(news.counts[.gaps] == 1 && !news.isReconnect && news.isEnd)
    news = take(true)
    #expect(news.counts[.gaps] == 0 && !news.isReconnect && !news.isEnd)
  }

  @Test func aConnectionWithoutFramesHasNoEnd() {
    var history = ReportHistory()
    let report = MadeReport.undecoded()
    let news = history.take(report, ReportCounts(report), isDecoded: false)
    #expect(!news.isEnd && !news.isDecoded && news.counts[.connections] == 1)
  }

  @Test func pingsOfAReport() {
    var history = ReportHistory()
    var report = MadeReport.decoded()
    var beats = HeartbeatMetrics()
    (beats.sent, beats.answered, beats.missed) = (5, 3, 1)
    report.heartbeats = beats
    // The protocol's own heartbeats are exchanges, and counted by their fates.
    #expect(PingCounts(report) == PingCounts())
    report.heartbeatsArePings = true
    #expect(PingCounts(report) == PingCounts(sent: 5, answered: 3, missed: 1))
    _ = history.take(report, ReportCounts(report), isDecoded: true)
    (beats.sent, beats.answered) = (7, 6)
    report.heartbeats = beats
    let news = history.take(report, ReportCounts(report), isDecoded: true)
    #expect(news.pings == PingCounts(sent: 2, answered: 3, missed: 0))
  }
}

/// Durations of handshakes, of TCP and of protocols.
@Suite struct HandshakeTests {
  private static func report(_ server: Nanoseconds?, _ client: Nanoseconds?) -> ConnectionReport {
    var report = MadeReport.undecoded()
    (report.serverHandshake, report.clientHandshake) = (server, client)
    return report
  }

  @Test func handshakesOfTCP() {
    var metrics = TCPMetrics()
    #expect(metrics.handshakeMinimum == nil && metrics.handshakeMean == nil && metrics.handshakeMaximum == nil)
    // A handshake with an unseen part is not counted; nor is one with a negative duration, after the clock went back.
    for (server, client) in [(nil, 5), (5, nil), (-9, 5)] as [(Int64?, Int64?)] {
      metrics.add(Self.report(server.map { .milliseconds($0) }, client.map { .milliseconds($0) }))
    }
    #expect(metrics.handshakes == 0)
    for (server, client) in [(10, 1), (20, 3), (30, 2)] as [(Int64, Int64)] {
      metrics.add(Self.report(.milliseconds(server), .milliseconds(client)))
    }
    #expect(metrics.handshakes == 3 && metrics.handshakeMinimum == .milliseconds(11))
    #expect(metrics.handshakeMaximum == .milliseconds(32) && metrics.handshakeMean == .milliseconds(22))
    var twice = metrics
    twice.add(metrics)
    twice.add(TCPMetrics())
    #expect(twice.handshakes == 6 && twice.handshakeMean == .milliseconds(22))
    #expect(twice.handshakeMinimum == .milliseconds(11) && twice.handshakeMaximum == .milliseconds(32))
    // The sum saturates at the longest representable time.
    twice.add(Self.report(Nanoseconds(.max), .zero))
    #expect(twice.handshakeMaximum == Nanoseconds(.max) && twice.handshakeMean == Nanoseconds(.max / 7))
  }

  @Test func handshakesOfAProtocol() throws {
    var counts = HandshakeCounts()
    #expect(counts.times == nil && counts.readiness == nil && counts.requested == 0)
    let base = try #require(MadeReport.decoded().figures)
    func figures(_ milliseconds: Int64?) -> ConnectionMetrics {
      var figures = base
      figures.handshakeAt = Timestamp(milliseconds: 5_000)
      figures.readyAt = milliseconds.map { Timestamp(milliseconds: 5_000 + $0) } ?? .distantPast
      return figures
    }
    counts.add(.answered, figures(20))
    counts.add(.acknowledged, figures(40))
    // Packets without times: ready, but after an unknown time. Then a clock that went back.
    counts.add(.answered, figures(nil))
    counts.add(.answered, figures(-3))
    for outcome in [HandshakeOutcome.refused, .unanswered, .pending, .pending] { counts.add(outcome, figures(90)) }
    #expect(counts.answered == 3 && counts.acknowledged == 1 && counts.ready == 4 && counts.requested == 8)
    #expect(counts.refused == 1 && counts.unanswered == 1 && counts.pending == 2)
    // 4 of the 6 decided ones.
    #expect(try abs(#require(counts.readiness) - 2.0 / 3) < 1e-12)
    let times = try #require(counts.times)
    #expect(times == (0, 20_000, 40_000))
    var sum = HandshakeCounts()
    sum.add(counts)
    #expect(sum == counts)
    sum.add(counts)
    #expect(sum.requested == 16 && sum.times.map { $0 == (0, 20_000, 40_000) } == true)
  }
}
