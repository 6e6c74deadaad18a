import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// The values that the catalogue reads from snapshots, and the uniqueness of its names.
@Suite struct CatalogueReadingTests {
  @Test func namesAreUnique() {
    for (scope, figures) in Catalogue.all {
      for (kind, places) in [
        ("json", figures.flatMap { info in info.json.flatMap { info.leaves($0) } }),
        ("connection", figures.flatMap { info in info.connection.flatMap { info.leaves($0) } }),
        ("interval", figures.flatMap { info in info.interval.flatMap { info.leaves($0) } }),
        ("capture", figures.flatMap { info in info.capture.flatMap { info.leaves($0) } }),
      ] {
        let names = places.map { $0.path.joined(separator: ".") }
        #expect(Set(names).count == names.count, "\(kind) of \(scope)")
        // No name is both a value and an object.
        let objects = Set(
          names.flatMap { name in
            let parts = name.split(separator: ".")
            return (1..<max(1, parts.count)).map { parts.prefix($0).joined(separator: ".") }
          })
        #expect(objects.isDisjoint(with: names), "\(kind) of \(scope)")
      }
      for info in figures {
        #expect(!info.help.hasSuffix(".") && !info.help.isEmpty && info.dimensions.count <= 2, "\(info.id)")
        for name in info.dimensions.map(\.name) where info.help.contains("{") {
          let leaf = info.leaves("{\(name)}")[0]
          #expect(!info.help(leaf.first, leaf.second).contains("{\(name)}"), "\(info.id)")
        }
      }
    }
    let rules = Catalogue.rules.compactMap(\.rule?.name)
    #expect(Set(rules).count == rules.count && rules.allSatisfy { !$0.isEmpty && !$0.contains(".") })
    let compared = ComparedMetric.names
    #expect(Set(compared).count == compared.count)
  }

  /// A capture with hand-written counters: 3 s, two frames from the client and one from the server.
  private static func summary() -> Summary {
    var ledger = Ledger()
    (ledger.firstAt, ledger.lastAt) = (Timestamp(seconds: 10, fraction: 0), Timestamp(seconds: 13, fraction: 0))
    (ledger.packets, ledger.segments, ledger.decodedBytes, ledger.strayBytes) = (20, 18, 500, 40)
    (ledger.connectionAttempts, ledger.connectionSuccesses) = (9, 4)
    (ledger.connectionsRefused, ledger.connectionsTimedOut) = (1, 3)
    (ledger.tlsHandshakes, ledger.tlsHandshakeTime) = (4, .milliseconds(100))
    ledger.issues[Int(IssueKind.unanswered.rawValue)] = 100
    var kinds = [KindTotals](repeating: KindTotals(), count: 65)
    (kinds[0].frames, kinds[0].bodyBytes) = ([2, 1], [60, 40])
    (kinds[0].deliberateCopies, kinds[0].immediateDuplicates, kinds[0].duplicates) = (3, 2, 1)
    kinds[0].fates[0].units = 10
    (kinds[0].fates[0].acked, kinds[0].fates[0].ackedAfterRetry, kinds[0].fates[0].rejected) = (4, 1, 1)
    (kinds[0].fates[0].unanswered, kinds[0].fates[0].pending, kinds[0].fates[0].unknown) = (1, 2, 1)
    kinds[0].fates[0].late = 1
    (kinds[1].fates[1].units, kinds[1].fates[1].unanswered, kinds[1].fates[1].damaged) = (7, 5, 2)
    var capture = CaptureCounts()
    (capture.captured, capture.interruption) = (21, Interruption(packets: 21, share: 0.5))
    return Summary(
      plans: [MadePlan.tjp()], ledger: ledger, reassembly: ReassemblyCounters(), capture: capture, kinds: [kinds],
      sequences: [[]], checksums: [9, 8, 7, 6, 5])
  }

  private static func text(_ value: MetricValue?) -> String {
    switch value {
    case nil: "-"
    case .count(let count)?: "\(count)"
    case .microseconds(let time)?: "\(time) us"
    case .share(let part, let whole)?: "\(part)/\(whole)"
    case .ratio(let ratio)?: "\(ratio)"
    case .seconds(let seconds)?: "\(seconds) s"
    default: "another value"
    }
  }

  @Test func theRun() {
    let run = RunSnapshot(Self.summary())
    let expected: [(id: String, value: String)] = [
      ("packets", "20"), ("packets.captured", "21"), ("interrupted.packets", "21"), ("interrupted.share", "0.5"),
      ("packets.received", "-"), ("packets.dropped.kernel", "-"), ("packets.filtered_out", "-"),
      ("time.last", "13.0 s"),
      // 4 of the 8 attempts with a known outcome; the ninth is undecided.
      ("attempts.success", "0.5"), ("attempts.undecided", "1"), ("attempts.refused", "1"),
      ("tls.handshakes.mean", "25000 us"), ("run.frames", "3"), ("run.frames_c2s", "2"), ("run.frames_s2c", "1"),
      ("run.body_bytes", "100"),
      ("run.retries", "3"), ("traffic.duration_us", "3000000 us"), ("traffic.frames_per_s", "1.0"),
      // 10 units less the pending and the unknown ones, plus 6 further copies; 6 messages were answered.
      ("traffic.transmission_loss", "\(1 - 6.0 / 13)"),
      // No report contains the bytes of frames.
      ("traffic.overhead", "-"), ("checksums", "35"), ("websocket.frames", "-"), ("servers", "-"), ("build", "-"),
      ("memory", "-"), ("process.cpu", "-"),
    ]
    for (id, value) in expected {
      #expect(Self.text(Catalogue.value(id, in: Catalogue.run, of: run)) == value, "\(id)")
    }
    #expect(Catalogue.count("packets", in: Catalogue.run, of: run) == 20)
    #expect(Catalogue.count("no such metric", in: Catalogue.run, of: run) == 0)
    // The engine's own counts stay; the final fates are added to them, heartbeats separately.
    #expect(run.count(.unanswered) == 101 && run.count(.lateAck) == 1 && run.count(.heartbeatMissed) == 7)
    #expect(run.count(.gap) == 0)
  }

  @Test func aRunWithoutTime() {
    var summary = Self.summary()
    summary.ledger.lastAt = summary.ledger.firstAt
    #expect(Traffic(summary, frameBytes: 150).duration == nil && Traffic(summary, frameBytes: 150).rate(3) == nil)
    // A third of the bytes is outside of bodies. If bodies have more bytes than frames, the overhead is 0, not negative.
    #expect(Traffic(summary, frameBytes: 150).overhead.map { abs($0 - 1.0 / 3) < 1e-12 } == true)
    #expect(Traffic(summary, frameBytes: 50).overhead == 0)
    summary.kinds = [[]]
    #expect(Traffic(summary, frameBytes: 0).overhead == nil && Traffic(summary, frameBytes: 0).transmissionLoss == nil)
  }

  @Test func growthOfACapture() {
    let cases: [(now: UInt64?, before: UInt64?, growth: UInt64?)] = [
      (nil, nil, nil), (nil, 5, nil), (5, nil, 5), (9, 5, 4), (5, 9, 0), (.max, 0, .max),
    ]
    for (now, before, growth) in cases { #expect(CaptureMetrics.growth(now, before) == growth) }
    func metrics(_ received: UInt64?, _ dropped: UInt64?) -> CaptureMetrics {
      var metrics = CaptureMetrics()
      (metrics.received, metrics.dropped) = (received, dropped)
      return metrics
    }
    #expect(metrics(100, 25).lossRatio(since: nil) == 0.25)
    #expect(metrics(150, 35).lossRatio(since: metrics(100, 25)) == 0.2)
    // No packet arrived; the kernel reports nothing; the kernel reports more drops than packets.
    #expect(metrics(100, 25).lossRatio(since: metrics(100, 25)) == nil && metrics(9, nil).lossRatio(since: nil) == nil)
    #expect(metrics(10, 30).lossRatio(since: nil) == 1)
  }

  @Test func ratiosOfMessages() {
    var tally = MessageTally()
    for (fate, count) in [(Fate.acked, 5), (.ackedAfterRetry, 1), (.rejected, 2), (.damaged, 2), (.unknown, 10)] {
      for _ in 0..<count { tally.resolved(MadeResolution.make(fate, copies: fate == .ackedAfterRetry ? 2 : 1)) }
    }
    let expected = [
      ("messages.success", "6/10"), ("messages.loss", "2/10"), ("messages.retry", "1/10"),
      ("messages.rejected", "2/10"), ("messages.unknown", "10/20"),
    ]
    for (id, value) in expected {
      #expect(Self.text(Catalogue.value(id, in: Catalogue.ratios, of: tally)) == value, "\(id)")
      #expect(Catalogue.value(id, in: Catalogue.ratios, of: MessageTally()) == nil, "\(id)")
    }
  }

  /// Counters of a side are unknown if none of its packets was captured, and otherwise known, even if they are 0.
  @Test func segmentsOfASideThatWasNotHeard() {
    var report = MadeReport.decoded()
    report.packets = [5, 0]
    let counts = ReportCounts(report)
    func values(_ id: String, _ counts: ReportCounts) -> [String] {
      guard let figure = Catalogue.figure(id, in: Catalogue.reports) else { return [] }
      return (0...1).map { Self.text(figure.value(counts, at: $0)) }
    }
    #expect(values("tcp.retransmissions", counts) == ["0", "-"])
    // Lost segments can only be detected if both sides were captured.
    #expect(values("tcp.lost_segments", counts) == ["-", "-"])
    #expect(values("tcp.lost_segments", counts.asGrowth) == ["0", "0"])
    report.packets = [5, 5]
    #expect(values("tcp.lost_segments", ReportCounts(report)) == ["0", "0"])
  }
}
