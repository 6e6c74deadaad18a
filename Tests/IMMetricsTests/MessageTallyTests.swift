import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// The final fates of messages.
@Suite struct MessageTallyTests {
  private typealias Made = MadeResolution

  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let resolutions: [Resolution]
    /// Units, late answers, and the nonzero fates of the client's messages.
    let units: UInt32, late: UInt32
    let fates: [Fate: UInt32]
    var causes: [Cause: UInt32] = [:]
  }

  private static let cases: [Case] = [
    Case(testDescription: "answered", resolutions: [Made.make(.acked)], units: 1, late: 0, fates: [.acked: 1]),
    Case(
      testDescription: "refused", resolutions: [Made.make(.rejected)], units: 1, late: 0, fates: [.rejected: 1],
      causes: [.status: 1]),
    Case(
      testDescription: "never arrived, and arrived without an answer",
      resolutions: [Made.make(.unanswered, reached: false), Made.make(.unanswered, reached: true)], units: 2, late: 0,
      fates: [.unanswered: 2], causes: [.network: 1, .peer: 1]),
    Case(
      testDescription: "nobody knows whether it arrived", resolutions: [Made.make(.unanswered)], units: 1, late: 0,
      fates: [.unanswered: 1]),
    Case(
      testDescription: "unknown by the capture and by a limit",
      resolutions: [Made.make(.unknown), Made.make(.unknown, byLimit: true)], units: 2, late: 0, fates: [.unknown: 2],
      causes: [.capture: 1, .limit: 1]),
    Case(
      testDescription: "damaged", resolutions: [Made.make(.damaged)], units: 1, late: 0, fates: [.damaged: 1],
      causes: [.checksum: 1]),
    Case(
      testDescription: "a message that asks for no answer is no unit", resolutions: [Made.make(.unacknowledged)],
      units: 0, late: 0, fates: [:]),
    Case(
      testDescription: "a late answer moves the message, and takes its cause along",
      resolutions: [
        Made.make(.unanswered, reached: true), Made.late(.acked, after: .unanswered, reached: true),
      ], units: 1, late: 1, fates: [.acked: 1]),
    Case(
      testDescription: "a late refusal of a message that a limit had made unknown",
      resolutions: [
        Made.make(.unknown, byLimit: true), Made.late(.rejected, after: .unknown, byLimit: true),
      ], units: 1, late: 1, fates: [.rejected: 1], causes: [.status: 1]),
    Case(
      testDescription: "a late answer to what was never counted here changes no fate",
      resolutions: [Made.make(.acked), Made.late(.acked, after: .damaged)], units: 1, late: 1, fates: [.acked: 1]),
  ]

  @Test(arguments: cases) func counts(_ test: Case) {
    var tally = MessageTally()
    for resolution in test.resolutions { tally.resolved(resolution) }
    let counts = tally[.clientToServer]
    #expect(counts.units == test.units && counts.late == test.late)
    for fate in Fate.allCases { #expect(counts[fate] == test.fates[fate] ?? 0, "\(fate)") }
    for cause in Cause.allCases { #expect(counts[cause] == test.causes[cause] ?? 0, "\(cause)") }
    #expect(tally[.serverToClient].units == 0 && tally[.serverToClient].late == 0)
  }

  @Test func directionsAreApart() {
    var tally = MessageTally()
    #expect(tally.isEmpty)
    tally.resolved(Made.make(.acked, .serverToClient))
    tally.resolved(Made.make(.unacknowledged, .clientToServer))
    tally.acked(.clientToServer)
    #expect(tally[.serverToClient].acked == 1 && tally[.clientToServer].acked == 1)
    #expect(tally.unacknowledged(.clientToServer) == 1 && tally.unacknowledged(.serverToClient) == 0)
    #expect(tally.both.units == 2 && tally.both.acked == 2 && !tally.isEmpty)
  }

  @Test func somethingIsCountedHoweverLittle() {
    var oneWay = MessageTally(), late = MessageTally()
    oneWay.resolved(Made.make(.unacknowledged, .serverToClient))
    late.settledElsewhere(.serverToClient)
    #expect(!oneWay.isEmpty && !late.isEmpty)
    #expect(late.both.units == 0 && late.both.late == 1 && late.both.acked == 0)
  }

  /// The fates add up to the units, and no fate of a random history becomes negative.
  @Test func fatesAddUp() {
    var random = SeededRandom(21)
    for _ in 0..<200 {
      var tally = MessageTally()
      var messages = 0, answered = 0
      for _ in 0..<50 {
        let history = MadeResolution.history(&random)
        for resolution in history { tally.resolved(resolution) }
        if history[0].fate != .unacknowledged { messages += 1 }
        if let last = history.last, last.fate == .acked || last.fate == .ackedAfterRetry { answered += 1 }
      }
      let both = tally.both
      #expect(both.units == UInt32(messages))
      #expect(Fate.allCases.reduce(0) { $0 + UInt64(both[$1]) } == UInt64(messages))
      #expect(both.succeeded == UInt64(answered))
      #expect(both.unansweredByNetwork + both.unansweredByPeer <= both.unanswered)
      #expect(both.unknownByLimit <= both.unknown)
    }
  }

  /// Parts added in any order equal the whole.
  @Test func additionHasNoOrder() {
    var random = SeededRandom(22)
    let histories = (0..<60).map { _ in MadeResolution.history(&random) }
    var whole = MessageTally()
    var parts = [MessageTally](repeating: MessageTally(), count: 4)
    for (i, history) in histories.enumerated() {
      for resolution in history {
        whole.resolved(resolution)
        parts[i % 4].resolved(resolution)
      }
    }
    for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]] {
      var sum = MessageTally()
      for part in order { sum.add(parts[part]) }
      for way in [Direction.clientToServer, .serverToClient] {
        for fate in Fate.allCases { #expect(sum[way][fate] == whole[way][fate]) }
        for cause in Cause.allCases { #expect(sum[way][cause] == whole[way][cause]) }
        #expect(sum[way].units == whole[way].units && sum[way].late == whole[way].late)
        #expect(sum.unacknowledged(way) == whole.unacknowledged(way))
      }
    }
  }
}

/// The fates of messages as counters for a monitoring system, which never decrease.
@Suite struct FateSeriesTests {
  private static let answers: [Fate] = [.acked, .ackedAfterRetry, .rejected]

  /// The final count in the series: first decisions, corrected by late answers.
  private static func corrected(_ series: FateSeries, _ way: Direction, _ fate: Fate) -> UInt64 {
    series.decided(way, fate) + (answers.contains(fate) ? series.late(way, fate) : 0)
  }

  /// The series and the tally agree on random histories, and no counter of the series ever decreases.
  @Test func agreesWithTheTally() {
    var random = SeededRandom(23)
    for _ in 0..<50 {
      var series = FateSeries(), tally = MessageTally()
      for _ in 0..<40 {
        for resolution in MadeResolution.history(&random) {
          let before = series
          series.resolved(resolution)
          tally.resolved(resolution)
          for way in [Direction.clientToServer, .serverToClient] {
            for fate in Fate.allCases {
              #expect(series.decided(way, fate) >= before.decided(way, fate))
              #expect(series.late(way, fate) >= before.late(way, fate))
            }
            for cause in Cause.allCases {
              #expect(series.decided(way, cause) >= before.decided(way, cause))
              #expect(series.late(way, cause) <= series.decided(way, cause))
            }
          }
        }
      }
      for way in [Direction.clientToServer, .serverToClient] {
        for fate in Self.answers { #expect(Self.corrected(series, way, fate) == UInt64(tally[way][fate]), "\(fate)") }
        let open = [Fate.unanswered, .damaged, .unknown]
        let first = open.reduce(UInt64(0)) { $0 + series.decided(way, $1) }
        let late = Self.answers.reduce(UInt64(0)) { $0 + series.late(way, $1) }
        #expect(first - late == open.reduce(UInt64(0)) { $0 + UInt64(tally[way][$1]) })
        #expect(series.decided(way, Fate.pending) == UInt64(tally[way].pending))
        for cause in [Cause.network, .peer, .capture, .checksum, .limit] {
          #expect(series.decided(way, cause) - series.late(way, cause) == UInt64(tally[way][cause]), "\(cause)")
        }
      }
    }
  }

  @Test func equalityLooksAtEveryCount() {
    let drawn: [Resolution] = [
      MadeResolution.make(.acked), MadeResolution.make(.acked, .serverToClient), MadeResolution.make(.rejected),
      MadeResolution.late(.acked, after: .unanswered), MadeResolution.make(.unanswered, reached: true),
      MadeResolution.make(.unanswered, reached: false),
    ]
    let series = drawn.map { resolution in
      var series = FateSeries()
      series.resolved(resolution)
      return series
    }
    for i in series.indices {
      #expect(series[i] != FateSeries())
      for j in series.indices { #expect((series[i] == series[j]) == (i == j), "\(i), \(j)") }
    }
  }
}
