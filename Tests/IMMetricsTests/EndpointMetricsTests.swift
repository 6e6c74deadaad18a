import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// The metrics of servers are the same whether counted one by one, in batches or in parts.
@Suite struct EndpointMetricsTests {
  /// All values of a server in the catalogue, as text, for comparison.
  private static func values(_ metrics: EndpointMetrics) -> [String] {
    let snapshot = ServerSnapshot(metrics)
    return Catalogue.servers.flatMap { figure -> [String] in
      let (first, second) = (figure.info.dimensions.first?.values.count ?? 1, figure.info.dimensions.dropFirst().first)
      return (0..<first).flatMap { one in
        (0..<(second?.values.count ?? 1)).map { other in
          let value = figure.read(snapshot, one, other)
          let text =
            switch value {
            case .percentiles(let trips)?: "\(trips.count) \(trips.sum) \(trips.percentile(50) ?? -1)"
            case .coarse(let trips)?: "\(trips.count) \(trips.sum) \(trips.percentile(50) ?? -1)"
            default: "\(value.map { "\($0)" } ?? "not known")"
            }
          return "\(figure.info.id) \(one) \(other): \(text)"
        }
      }
    }
  }

  private static func drawn(_ count: Int, _ random: inout SeededRandom) -> [Resolution] {
    (0..<count).flatMap { _ in
      let kind = UInt8(random.next() % 6), endpoint = UInt32(random.next() % 3)
      return MadeResolution.history(&random).map { resolution in
        var resolution = resolution
        (resolution.kind, resolution.endpoint) = (kind, endpoint)
        resolution.status = resolution.fate == .rejected ? UInt16(kind) : 0
        return resolution
      }
    }
  }

  @Test func aBatchIsItsParts() {
    var random = SeededRandom(81)
    let roles = RoleTable(plans: [MadePlan.tjp()])
    let resolutions = Self.drawn(600, &random)
    var batched: [EndpointMetrics] = [], single = [EndpointMetrics](repeating: EndpointMetrics(), count: 3)
    EndpointMetrics.count([Resolution]().span, roles, in: &batched)
    #expect(batched.isEmpty)
    for start in stride(from: 0, to: resolutions.count, by: 77) {
      let part = Array(resolutions[start..<min(start + 77, resolutions.count)])
      EndpointMetrics.count(part.span, roles, in: &batched)
    }
    for resolution in resolutions {
      single[Int(resolution.endpoint)].resolved(resolution, role: roles[resolution.plan, resolution.kind])
    }
    #expect(batched.count == 3)
    for (one, other) in zip(batched, single) { #expect(Self.values(one) == Self.values(other)) }
    // Kind 0 is the only message, and every first decision but a one-way one is a unit.
    let units = (0..<3 as Range<UInt32>).map { endpoint in
      resolutions.count {
        $0.endpoint == endpoint && $0.kind == 0 && $0.fate != .unacknowledged && !$0.flags.contains(.late)
      }
    }
    #expect(single.map { Int($0.messages.both.units) } == units && units.allSatisfy { $0 > 0 })
  }

  @Test func additionHasNoOrder() {
    var random = SeededRandom(82)
    let roles = RoleTable(plans: [MadePlan.tjp()])
    let parts = (0..<3).map { place in
      var part = EndpointMetrics()
      for resolution in Self.drawn(200, &random) { part.resolved(resolution, role: roles[0, resolution.kind]) }
      var report = MadeReport.decoded()
      (report.gapCount, report.packets) = (UInt32(place + 1), [10, 20])
      (report.serverHandshake, report.clientHandshake) = (.milliseconds(Int64(place + 1)), .milliseconds(1))
      part.ended(report, ReportCounts(report))
      for interval in 1...20 as ClosedRange<Int64> { part.beat(after: .milliseconds(interval)) }
      part.receipt(
        MessageReceipt(
          exchange: 0, level: .read, latency: .milliseconds(9), direction: .serverToClient, endpoint: 0))
      return part
    }
    let sums = [[0, 1, 2], [2, 0, 1], [1, 2, 0]].map { order in
      order.reduce(into: EndpointMetrics()) { sum, place in sum.add(parts[place]) }
    }
    // Rejections are listed in the order in which they were seen; the catalogue contains none of them.
    #expect(Self.values(sums[0]) == Self.values(sums[1]) && Self.values(sums[0]) == Self.values(sums[2]))
    #expect(sums[0].counts[.gaps] == 6 && sums[0].connections.closed == 3 && sums[0].reads[1].count == 3)
    #expect(sums[0].heartbeats.sent >= 60 && sums[0].tcp.handshakeMean == .milliseconds(3))
    // Adding exchanges alone does not change the counts of connections.
    var exchanges = parts[0]
    exchanges.addExchanges(parts[1])
    #expect(exchanges.counts == parts[0].counts && exchanges.connections == parts[0].connections)
    #expect(exchanges.messages.both.units == parts[0].messages.both.units + parts[1].messages.both.units)
    #expect(exchanges.heartbeats.sent == parts[0].heartbeats.sent)
  }

  @Test func nothingIsCounted() {
    var metrics = EndpointMetrics()
    #expect(metrics.isEmpty && metrics.roundTrips.count == 0)
    metrics.resolved(MadeResolution.make(.unacknowledged), role: .heartbeat)
    #expect(!metrics.isEmpty)
  }

  /// The longest silence that a connection survived, and the shortest that one did not, over all connections.
  @Test func silences() {
    func report(survived: Int64, fatal: Int64?) -> ConnectionReport {
      var report = MadeReport.decoded()
      report.figures?.lastFrameAt = Timestamp(milliseconds: 9_000)
      report.figures?.longestSilence = .seconds(survived)
      report.fatalSilence = fatal.map { .seconds($0) }
      return report
    }
    var metrics = EndpointMetrics(), other = EndpointMetrics()
    #expect(metrics.longestSilenceSurvived == nil && metrics.shortestFatalSilence == nil)
    for (survived, fatal) in [(0, nil), (30, 400), (60, nil), (20, 90)] as [(Int64, Int64?)] {
      let report = report(survived: survived, fatal: fatal)
      metrics.ended(report, ReportCounts(report))
    }
    #expect(metrics.longestSilenceSurvived == 60_000_000 && metrics.shortestFatalSilence == 90_000_000)
    other.add(metrics)
    other.add(EndpointMetrics())
    #expect(other.longestSilenceSurvived == 60_000_000 && other.shortestFatalSilence == 90_000_000)
  }

  /// Round trips by direction without heartbeats and retries, in the metrics and in the series for a monitoring system.
  @Test func roundTripsOfASeries() {
    var series = EndpointSeries()
    for (way, time) in [(Direction.clientToServer, 4_000), (.serverToClient, 9_000), (.serverToClient, 11_000)]
      as [(Direction, Int64)]
    {
      series.resolved(MadeResolution.make(.acked, way, after: time), role: .message, isHandshake: false)
      series.resolved(MadeResolution.make(.acked, way, after: time), role: .heartbeat, isHandshake: false)
    }
    series.resolved(MadeResolution.make(.ackedAfterRetry, after: 9, copies: 2), role: .message, isHandshake: false)
    series.resolved(MadeResolution.make(.acked, after: 6_000), role: .control, isHandshake: true)
    series.resolved(MadeResolution.make(.rejected), role: .control, isHandshake: true)
    series.resolved(MadeResolution.make(.rejected), role: .control, isHandshake: false)
    #expect(series.handshakesRefused == 1 && series.roundTrips[0].count == 2 && series.roundTrips[1].count == 2)
    #expect(series.roundTrips[0].sum == 10_000 && series.roundTrips[1].sum == 20_000)
    for way in 0...1 { #expect(series.figures.roundTripsByDirection[way].count == series.roundTrips[way].count) }
    #expect(series.figures.roundTrips.count == 4 && series.figures.heartbeats.roundTrips.count == 3)
    #expect(series.heartbeats.decided(.serverToClient, Fate.acked) == 2)
    #expect(series.control.decided(.clientToServer, Fate.rejected) == 2)
    #expect(series.messages.decided(.clientToServer, Fate.ackedAfterRetry) == 1)
  }
}

/// The properties of a connection that a list keeps.
@Suite struct ListedConnectionTests {
  @Test func problems() {
    let cases: [(name: String, reason: CloseReason, isDecoded: Bool, gaps: UInt32, again: UInt32, problems: UInt64)] = [
      ("nothing", .fin, true, 0, 0, 0), ("retransmissions", .fin, true, 0, 3, 3), ("gaps", .fin, true, 2, 0, 2),
      ("a reset", .reset, true, 0, 0, 1), ("undecoded", .reset, false, 2, 3, 6), ("refused", .refused, false, 0, 1, 5),
      ("not answered", .timeout, false, 0, 0, 4),
    ]
    for test in cases {
      var report = test.isDecoded ? MadeReport.decoded() : MadeReport.undecoded()
      (report.reason, report.gapCount, report.resetBy) = (test.reason, test.gaps, .serverToClient)
      report.segments[1].retransmissions = test.again
      let row = ListedConnection(report)
      #expect(row.problems == test.problems, "\(test.name)")
      #expect(row.isDecoded == test.isDecoded && row.resetBy == (test.reason == .reset ? .serverToClient : nil))
    }
  }

  /// A connection lasts from its first packet to its last, and never a negative time; a handshake needs both of its parts.
  @Test func times() {
    var report = MadeReport.undecoded()
    (report.firstSeen, report.lastSeen) = (Timestamp(milliseconds: 500), Timestamp(milliseconds: 100))
    #expect(ListedConnection(report).duration == .zero)
    report.lastSeen = .distantFuture
    report.firstSeen = .distantPast
    #expect(ListedConnection(report).duration == Nanoseconds(.max))
    let cases: [(Int64?, Int64?, Int64?)] = [
      (5, 6, 11), (nil, 6, nil), (5, nil, nil), (.max, 1, nil), (0, 0, 0), (-9, 5, nil),
    ]
    for (server, client, sum) in cases {
      report.serverHandshake = server.map { Nanoseconds($0) }
      report.clientHandshake = client.map { Nanoseconds($0) }
      #expect(ListedConnection(report).handshake?.count == sum)
    }
  }

  /// A server name is cut to 255 bytes, and an empty one is absent.
  @Test func namesOfServers() {
    let report = MadeReport.undecoded()
    for (name, kept) in [(nil, nil), ("", nil), ("a.example", "a.example")] as [(String?, String?)] {
      let row = ListedConnection(report, hello: TLSHello(version: 0x0304, serverName: name, protocols: []))
      #expect(row.serverName == kept && row.tlsVersion == "TLS 1.3")
    }
    let long = TLSHello(version: 0, serverName: String(repeating: "x", count: 4_000), protocols: [])
    #expect(ListedConnection(report, hello: long).serverName?.count == 255)
    #expect(ListedConnection(report).serverName == nil && ListedConnection(report).tlsVersion == nil)
  }
}
