import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// Periods of one minute, and the table of the current ones, by server.
@Suite struct PeriodTests {
  private typealias Made = MadeResolution

  /// Every packet belongs to the period of its time; a packet from the past belongs to the current one. Periods do not overlap.
  @Test func drawnTimes() {
    var random = SeededRandom(61)
    for _ in 0..<50 {
      var clock = PeriodClock()
      var time = Int64(random.next() % 4_000_000_000_000_000_000) - 2_000_000_000_000_000_000
      var last: Period?
      for _ in 0..<60 {
        time += Int64(random.next() % 50_000_000_000) - (random.once(in: 4) ? 40_000_000_000 : 0)
        guard let period = clock.advance(to: Timestamp(nanoseconds: time)) else { continue }
        #expect(period.end == period.boundary && period.start < period.end)
        #expect(period.boundary.nanoseconds % PeriodClock.length == 0)
        #expect(period.end.nanoseconds(since: period.start) <= PeriodClock.length)
        // Only the first period may be partial, until the run ends.
        #expect(period.isPartial == (last == nil && period.start.nanoseconds % PeriodClock.length != 0))
        if let last { #expect(period.start >= last.end) }
        last = period
      }
      if let end = clock.finish(), let now = clock.now {
        #expect(end.isPartial && end.end == max(end.start, now) && end.end <= end.boundary)
        if let last { #expect(end.start >= last.end) }
      }
    }
  }

  @Test func theEndsOfTime() {
    var clock = PeriodClock()
    #expect(clock.finish() == nil && clock.now == nil)
    #expect(clock.advance(to: .distantPast) == nil)
    let first = clock.advance(to: Timestamp(seconds: 0, fraction: 0))
    #expect(first?.start == .distantPast && first.map { $0.start < $0.end } == true)
    let second = clock.advance(to: .distantFuture)
    #expect(second?.start == Timestamp(seconds: 0, fraction: 0) && second?.end == Timestamp(seconds: 60, fraction: 0))
    #expect(clock.advance(to: .distantFuture) == nil)
    #expect(clock.finish()?.end == .distantFuture)
  }

  /// Some metrics of a server in one minute.
  private typealias Minute = (index: UInt32, units: UInt32, late: UInt32, lost: UInt64)

  private static func closed(_ table: inout PeriodTable) -> [Minute] {
    var all: [Minute] = []
    table.close { index, metrics in
      let both = metrics.messages.both
      all.append((index, both.units, both.late, both.lost))
    }
    return all
  }

  private static func resolve(_ resolution: Resolution, id: UInt32, at endpoint: UInt32, in table: inout PeriodTable) {
    table.resolved(resolution, id: id, role: .message, endpoint: endpoint, roundTrip: nil)
  }

  /// Only servers with activity are reported, in the order of their indices.
  @Test func onlyServersThatDidSomething() {
    var table = PeriodTable()
    for endpoint in [30, 2, 7, 2] as [UInt32] {
      Self.resolve(Made.make(.acked), id: endpoint, at: endpoint, in: &table)
    }
    let first = Self.closed(&table)
    #expect(first.map(\.index) == [2, 7, 30] && first.map(\.units) == [2, 1, 1])
    let idle = Self.closed(&table)
    #expect(idle.isEmpty)
    Self.resolve(Made.make(.unanswered), id: 9, at: 7, in: &table)
    let second = Self.closed(&table)
    #expect(second.map(\.index) == [7] && second.map(\.units) == [1] && second.map(\.lost) == [1])
  }

  /// A late answer corrects the period that counted the message; a later period counts it as late, without changing a fate.
  @Test func lateAnswers() {
    var table = PeriodTable()
    Self.resolve(Made.make(.unanswered), id: 1, at: 0, in: &table)
    Self.resolve(Made.make(.unanswered), id: 2, at: 0, in: &table)
    Self.resolve(Made.late(.acked, after: .unanswered), id: 1, at: 0, in: &table)
    let first = Self.closed(&table)
    #expect(first.map(\.units) == [2] && first.map(\.late) == [1] && first.map(\.lost) == [1])
    Self.resolve(Made.late(.acked, after: .unanswered), id: 2, at: 0, in: &table)
    Self.resolve(Made.late(.acked, after: .unanswered), id: 77, at: 0, in: &table)
    let second = Self.closed(&table)
    #expect(second.map(\.units) == [0] && second.map(\.late) == [2] && second.map(\.lost) == [0])
  }

  /// Open connections carry over to the next period; all other counts start again at zero.
  @Test func openConnectionsGoOn() {
    var table = PeriodTable()
    let info = ConnectionInfo(told: 1, client: MadeReport.client, server: MadeReport.server)
    table.at(0).pointee.began(info, isOpen: true)
    table.at(0).pointee.began(info, isOpen: false)
    var seen: [[UInt64]] = []
    func close() { table.close { seen.append([$1.active, $1.connections.opened, $1.connections.closed]) } }
    close()
    table.at(0).pointee.missed()
    close()
    let report = MadeReport.decoded()
    var history = ReportHistory()
    let news = history.take(report, ReportCounts(report), isDecoded: true)
    table.at(0).pointee.reported(report, news)
    close()
    #expect(seen == [[1, 2, 0], [1, 0, 0], [0, 0, 1]])
  }

  /// Counts that an endpoint reports about itself.
  @Test func anEndpointsOwnMinute() {
    var metrics = PeriodMetrics()
    for _ in 0..<5 { metrics.tried() }
    metrics.opened()
    metrics.opened()
    metrics.failed(isRefused: true)
    metrics.failed(isRefused: false)
    metrics.withdrawn()
    metrics.closed(isReset: true)
    metrics.closed(isReset: false)
    // More ends than beginnings: no count becomes negative.
    metrics.closed(isReset: false)
    metrics.returned()
    metrics.beat()
    metrics.passed(100, .clientToServer)
    metrics.passed(7, .serverToClient)
    let counts = metrics.connections
    #expect([counts.attempts, counts.succeeded, counts.refused, counts.timedOut] == [4, 2, 1, 1])
    #expect([counts.opened, counts.closed, counts.reset, counts.reconnects] == [2, 3, 1, 1])
    #expect(metrics.active == 0 && metrics.heartbeats.sent == 1 && metrics.frames.bytes[0] == 100)
    #expect(metrics.frames.bytes[1] == 7)
    for _ in 0..<9 { metrics.withdrawn() }
    #expect(metrics.connections.attempts == 0)
    metrics.opened()
    metrics.begin()
    #expect(metrics.active == 1 && metrics.connections == ConnectionCounts() && metrics.heartbeats.isEmpty)
  }

  /// A failed connection is counted once, with its last report, and only if no frame of it was decoded.
  @Test func failedConnections() {
    var metrics = PeriodMetrics()
    var report = MadeReport.undecoded()
    (report.reason, report.synCount, report.establishedAt, report.isFinal) = (.timeout, 3, nil, false)
    var history = ReportHistory()
    func take() { metrics.reported(report, history.take(report, ReportCounts(report), isDecoded: false)) }
    take()
    #expect(metrics.connections == ConnectionCounts() && metrics.counts[.repeatedSYNs] == 2)
    report.isFinal = true
    take()
    #expect(metrics.connections.attempts == 1 && metrics.connections.timedOut == 1)
    #expect(metrics.counts[.repeatedSYNs] == 2)
  }
}

/// A run divided into periods of packet time.
@Suite struct SeriesOfPeriodsTests {
  private static func series() -> PeriodSeries { PeriodSeries(plans: [MadePlan.tjp()]) { $0 / 10 } }

  private static func exchange(_ fate: Fate, at second: Int64, after microseconds: Int64 = 1_000, kind: UInt8 = 0)
    -> Exchange
  {
    MadeResolution.exchange(fate, kind: kind, at: Timestamp(seconds: second, fraction: 0), after: microseconds)
  }

  /// A message counts in the period of its first copy, however late its fate is decided, and in whichever order fates are reported.
  @Test func fatesCountWhereTheMessageBegan() {
    let all = [
      Self.exchange(.acked, at: 1), Self.exchange(.unanswered, at: 9), Self.exchange(.acked, at: 25),
      Self.exchange(.rejected, at: 12), Self.exchange(.unacknowledged, at: 12), Self.exchange(.acked, at: 3, kind: 1),
    ]
    for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0, 5, 2, 4, 1]] {
      var series = Self.series()
      for place in order { series.resolved(all[place]) }
      let rows = series.takeRows(before: .max)
      #expect(rows.map(\.number) == [0, 1, 2])
      #expect(rows.map { $0.row.metrics.messages.both.units } == [2, 1, 1])
      #expect(rows.map { $0.row.metrics.messages.both.lost } == [1, 0, 0])
      #expect(rows.map { $0.row.metrics.messages.unacknowledged(.clientToServer) } == [0, 1, 0])
      #expect(rows.map { $0.row.metrics.heartbeats.answered } == [1, 0, 0])
      #expect(rows.map { $0.row.metrics.roundTrips.count } == [1, 0, 1])
    }
  }

  /// A period that was taken is closed: fates that are decided later are dropped.
  @Test func fatesOfAPeriodThatIsOver() {
    var series = Self.series()
    series.resolved(Self.exchange(.acked, at: 5))
    let first = series.takeRows(before: 1)
    #expect(first.map(\.number) == [0])
    series.resolved(Self.exchange(.acked, at: 6))
    series.resolved(Self.exchange(.acked, at: 16))
    let rest = series.takeRows(before: .max)
    #expect(rest.map(\.row.metrics.messages.both.units) == [1])
  }

  /// Pings count as heartbeats only if the connection's last report says so, each in the period in which it was sent. Pings that only the
  /// report contains count in the period in which the connection began.
  @Test func pings() {
    var series = Self.series()
    for (step, second) in [(PingStep.sent, 5), (.answered, 5), (.sent, 15), (.missed, 15)] as [(PingStep, Int64)] {
      for connection in [7, 8] as [UInt32] {
        series.ping(step, connection, sentAt: Timestamp(seconds: second, fraction: 0))
      }
    }
    #expect(series.rows.isEmpty)
    var report = MadeReport.decoded(serial: 7)
    (report.firstSeen, report.closedAt) = (Timestamp(seconds: 2, fraction: 0), Timestamp(seconds: 31, fraction: 0))
    var beats = HeartbeatMetrics()
    (beats.sent, beats.answered, beats.missed) = (4, 1, 1)
    (report.heartbeats, report.heartbeatsArePings) = (beats, true)
    series.ended(report)
    var other = MadeReport.decoded(serial: 8)
    (other.firstSeen, other.closedAt) = (report.firstSeen, nil)
    series.ended(other)
    let rows = series.takeRows(before: .max)
    #expect(rows.map(\.number) == [0, 1, 3])
    // Two of the four are known from the report only.
    #expect(rows.map(\.row.metrics.heartbeats.sent) == [3, 1, 0])
    #expect(rows.map(\.row.metrics.heartbeats.answered) == [1, 0, 0])
    #expect(rows.map(\.row.metrics.heartbeats.missed) == [0, 1, 0])
    #expect(rows.map(\.row.metrics.connections.opened) == [2, 0, 0])
    #expect(rows.map(\.row.metrics.connections.closed) == [0, 0, 1])
  }

  /// The sum of all periods equals the run, starting from any period; so does the sum of rows added one by one.
  @Test func sums() {
    var random = SeededRandom(71)
    var series = Self.series(), whole = PeriodMetrics()
    var units: UInt32 = 0
    for _ in 0..<400 {
      let second = Int64(random.next() % 100)
      let exchange = Self.exchange(random.one(of: Fate.allCases), at: second, after: Int64(random.next() % 900_000))
      series.resolved(exchange)
      series.missing(3, at: exchange.firstAt)
      if exchange.fate != .unacknowledged { units += 1 }
      if second >= 50 { whole.resolved(exchange, role: .message, elsewhere: false) }
    }
    #expect(series.sum(from: .min).missingBytes == 1_200 && series.sum(from: 10).missingBytes == 0)
    let half = series.sum(from: 5)
    for fate in Fate.allCases { #expect(half.metrics.messages.both[fate] == whole.messages.both[fate]) }
    #expect(half.metrics.roundTrips == whole.roundTrips)
    for percent in [1, 50, 99, 100] as [Double] {
      #expect(half.metrics.roundTrips[0].percentile(percent) == whole.roundTrips[0].percentile(percent))
    }
    var sum = PeriodSeries.Row()
    for (_, row) in series.takeRows(before: .max).reversed() where row.missingBytes > 0 { sum.add(row) }
    #expect(sum.missingBytes == 1_200 && sum.metrics.messages.both.units == units)
    #expect(units > half.metrics.messages.both.units)
  }

  /// Open messages are the sent ones less the decided and the one-way ones, and at least 0.
  @Test func openMessages() {
    var row = PeriodSeries.Row()
    #expect(row.messages == 0 && row.open == 0)
    row.sent = 5
    row.metrics.resolved(MadeResolution.exchange(.acked), role: .message, elsewhere: false)
    row.metrics.resolved(MadeResolution.exchange(.unacknowledged), role: .message, elsewhere: false)
    #expect(row.messages == 4 && row.open == 3)
    row.sent = 1
    #expect(row.messages == 0 && row.open == 0)
  }
}
