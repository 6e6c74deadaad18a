import IMMetrics
import IMWire
import Testing

@testable import IMEngine
@testable import IMReport

/// The counts of a bucket of time, and the messages that a report keeps.
@Suite struct ReportBucketTests {
  /// Messages, lost, retried, rejected, unknown, missed, and round trips of both directions.
  private static func counts(_ bucket: ReportBucket) -> [UInt64] {
    [bucket.messages, bucket.lost, bucket.retried, bucket.rejected, bucket.unknown, bucket.missed].map { UInt64($0) }
      + [bucket.roundTrips[.clientToServer].count, bucket.roundTrips[.serverToClient].count]
  }

  private static let cases: [(MadeExchange, [UInt64])] = [
    (MadeExchange(.acked) { $0.answerAfter = 5 }, [1, 0, 0, 0, 0, 0, 1, 0]),
    (MadeExchange(.acked) { ($0.answerAfter, $0.direction) = (5, .serverToClient) }, [1, 0, 0, 0, 0, 0, 0, 1]),
    (MadeExchange(.ackedAfterRetry) { ($0.answerAfter, $0.repeats) = (5, 2) }, [1, 0, 1, 0, 0, 0, 0, 0]),
    (MadeExchange(.unanswered) { $0.repeats = 1 }, [1, 1, 1, 0, 0, 0, 0, 0]),
    (MadeExchange(.damaged), [1, 1, 0, 0, 0, 0, 0, 0]),
    (MadeExchange(.rejected) { $0.answerAfter = 5 }, [1, 0, 0, 1, 0, 0, 1, 0]),
    (MadeExchange(.unknown), [1, 0, 0, 0, 1, 0, 0, 0]),
    (MadeExchange(.pending), [1, 0, 0, 0, 0, 0, 0, 0]),
    (MadeExchange(.unacknowledged) { $0.repeats = 1 }, [1, 0, 0, 0, 0, 0, 0, 0]),
    (MadeExchange(.acked) { ($0.kind, $0.answerAfter) = (.heartbeat, 5) }, [0, 0, 0, 0, 0, 0, 0, 0]),
    (MadeExchange(.unanswered) { $0.kind = .heartbeat }, [0, 0, 0, 0, 0, 1, 0, 0]),
    (MadeExchange(.damaged) { $0.kind = .heartbeat }, [0, 0, 0, 0, 0, 1, 0, 0]),
    (MadeExchange(.acked) { ($0.kind, $0.answerAfter) = (.control, 5) }, [0, 0, 0, 0, 0, 0, 1, 0]),
    (MadeExchange(.unanswered) { $0.kind = .receipt }, [0, 0, 0, 0, 0, 0, 0, 0]),
  ]

  @Test func anExchangeIsCountedOnce() {
    var sum = ReportBucket()
    for (made, expected) in Self.cases {
      var bucket = ReportBucket()
      bucket.count(made.exchange, made.role)
      #expect(Self.counts(bucket) == expected, "\(made.kind) \(made.fate)")
      #expect(bucket.types == [ReportBucket.key(plan: 0, kind: made.kind.rawValue): 1])
      sum.add(bucket)
    }
    // The sum of single counts equals the joint count.
    var all = ReportBucket()
    for (made, _) in Self.cases { all.count(made.exchange, made.role) }
    #expect(Self.counts(sum) == Self.counts(all) && sum.types == all.types)
    #expect(all.types.values.reduce(0, +) == UInt32(Self.cases.count))
    #expect(all.loss == 2.0 / 9 && all.isTrouble && !ReportBucket().isTrouble && ReportBucket().loss == 0)
  }

  /// A late answer subtracts what was counted before, and no more than that.
  @Test(
    arguments: [
      (
        MadeExchange(.unanswered), MadeExchange(.acked) { ($0.before, $0.answerAfter) = (.unanswered, 40) },
        [1, 0, 0, 0, 0, 0, 1, 0]
      ),
      (MadeExchange(.damaged), MadeExchange(.rejected) { $0.before = .damaged }, [1, 0, 0, 1, 0, 0, 0, 0]),
      (MadeExchange(.unknown), MadeExchange(.acked) { $0.before = .unknown }, [1, 0, 0, 0, 0, 0, 0, 0]),
      (
        MadeExchange(.unanswered) { $0.kind = .heartbeat },
        MadeExchange(.acked) { ($0.kind, $0.before, $0.answerAfter) = (.heartbeat, .unanswered, 40) },
        [0, 0, 0, 0, 0, 0, 0, 0]
      ),
      (
        MadeExchange(.unanswered) { $0.kind = .control },
        MadeExchange(.acked) { ($0.kind, $0.before, $0.answerAfter) = (.control, .unanswered, 40) },
        [0, 0, 0, 0, 0, 0, 1, 0]
      ),
    ] as [(MadeExchange, MadeExchange, [UInt64])])
  func aLateAnswerTakesBack(_ first: MadeExchange, _ late: MadeExchange, _ expected: [UInt64]) {
    var bucket = ReportBucket()
    bucket.count(first.exchange, first.role)
    bucket.count(late.exchange, late.role, isRevision: true)
    #expect(Self.counts(bucket) == expected)
    // If the first fate was counted elsewhere, for example before a page began, no count becomes negative.
    var empty = ReportBucket()
    empty.count(late.exchange, late.role, isRevision: true)
    #expect(empty.lost == 0 && empty.unknown == 0 && empty.missed == 0 && empty.messages == 0)
  }

  @Test func namesTellProfilesApart() {
    let names: [UInt16: String] = [0: "data", 3: "control"]
    #expect(ReportBucket.names(names, MadeReport.plans) == names)
    let two = names.merging([ReportBucket.key(plan: 1, kind: 0): "data"]) { first, _ in first }
    #expect(
      ReportBucket.names(two, MadeReport.plans + MadeReport.plans) == [
        0: "data (tjp)", 3: "control (tjp)", 256: "data (tjp)",
      ])
  }

  // MARK: Connections

  @Test func connectionsAreCountedWhenTheyBeginAndEnd() {
    var buckets = TimeBuckets<TransportBucket>()
    let reports: [ConnectionReport] = [
      .made(1, .fin, from: 0, to: 5_000) {
        ($0.serverHandshake, $0.clientHandshake) = (.milliseconds(20), .milliseconds(10))
      },
      .made(2, .reset, from: 0, to: 2_000) { $0.closedAt = nil }, .made(3, .refused, from: 1_000, to: 1_000),
      .made(4, .timeout, from: 1_000, to: 4_000), .made(5, .open, from: 2_000, to: 9_000),
      .made(6, .fin, from: 2_000, to: 5_000) { $0.sawSyn = false },
    ]
    for report in reports { buckets.count(ListedConnection(report), closedAt: report.closedAt) }
    let all = buckets.all.map { [$0.value.opened, $0.value.closed, $0.value.reset, $0.value.failed] }
    #expect(all == [[2, 0, 0, 0], [0, 0, 0, 2], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0]])
    #expect(buckets.all[0].value.handshakes.count == 1 && buckets.all[0].value.handshakes.maximum == 30_000)
    let coarse = buckets.coarser(count: 1).all
    #expect(coarse.count == 1)
    #expect(
      [coarse[0].value.opened, coarse[0].value.closed, coarse[0].value.reset, coarse[0].value.failed] == [3, 2, 1, 2])
  }

  // MARK: Messages

  /// The worst message: lost before rejected before retried, then the one with the most copies, then the earliest.
  @Test func theWorstMessageIsFound() throws {
    func worst(_ made: MadeExchange) -> ReportModel.WorstMessage? { .init(made.exchange, made.role) }
    for fine in [
      MadeExchange(.acked), MadeExchange(.pending), MadeExchange(.unknown),
      MadeExchange(.acked) { $0.kind = .heartbeat },
      MadeExchange(.unanswered) { $0.kind = .control }, MadeExchange(.rejected) { $0.kind = .receipt },
    ] { #expect(worst(fine) == nil, "\(fine.kind) \(fine.fate)") }
    let order: [MadeExchange] = [
      MadeExchange(.unanswered) { $0.repeats = 3 }, MadeExchange(.damaged) { ($0.at, $0.id) = (1, 9) },
      MadeExchange(.unanswered) { ($0.at, $0.id) = (2, 1) }, MadeExchange(.unanswered) { ($0.at, $0.id) = (2, 2) },
      MadeExchange(.rejected), MadeExchange(.ackedAfterRetry) { $0.repeats = 2 },
      MadeExchange(.acked) { $0.repeats = 1 },
      MadeExchange(.unanswered) { $0.kind = .heartbeat },
    ]
    let found = try order.map { try #require(worst($0)) }
    #expect(found.map(\.fate) == [4, 4, 4, 4, 3, 2, 2, 1] && found.map(\.isHeartbeat).last == true)
    for (i, one) in found.enumerated() {
      #expect(one.isWorse(than: nil))
      for (j, other) in found.enumerated() where i != j { #expect(one.isWorse(than: other) == (i < j), "\(i) \(j)") }
    }
  }

  /// The number that the sender assigned, but not one that does not appear on the wire.
  @Test(
    arguments: [
      (7, 7), (0, nil), (4_109_341_130_832_269_705, 4_109_341_130_832_269_705), (1 << 63 | 1 << 8, nil), (.max, nil),
    ] as [(UInt64, UInt64?)])
  func aLostMessageHasItsOwnNumber(_ sequence: UInt64, _ expected: UInt64?) {
    let made = MadeExchange(.unanswered) {
      ($0.sequence, $0.cause, $0.repeats, $0.connection) = (sequence, .peer, 2, 9)
    }
    let message = ReportModel.LostMessage(made.exchange, type: "data", session: "alice")
    #expect(message.number == expected && message.cause == .peer && message.retries == 2 && message.serial == 9)
    #expect(message.at == MadeExchange.begin && message.session == "alice" && message.direction == .clientToServer)
  }

  @Test func heartbeatMarksAreBounded() {
    var marks = HeartbeatMarks()
    for i in 0..<1_600 as Range<Int64> {
      marks.add(MadeExchange.begin.advanced(by: i), .seconds(30), 1)
      marks.miss(MadeExchange.begin.advanced(by: i))
    }
    #expect(marks.count == 1_600 && marks.marks.count == 1_500 && marks.missed.count == 1_500 && !marks.isWhole)
    marks.answeredLate(MadeExchange.begin)
    marks.answeredLate(MadeExchange.begin)
    #expect(marks.missed.count == 1_499 && marks.missed.first == MadeExchange.begin.advanced(by: 1))
    for milliseconds in 0..<20 as Range<UInt32> { marks.promise(milliseconds) }
    marks.promise(3)
    #expect(marks.promised.count == 8 && marks.promised[3] == 2 && marks.promised[8] == nil)
    var sum = HeartbeatMarks()
    sum.add(MadeExchange.begin, .seconds(1), 2)
    #expect(sum.isWhole)
    sum.add(marks)
    #expect(
      sum.count == 1_601 && sum.marks.count == 1_500 && sum.missed.count == 1_499 && sum.promised == marks.promised)
  }
}
