import IMMetrics
import IMWire
import Testing

@Suite struct PeriodSeriesTests {
  private static func at(_ second: Int64) -> Timestamp { Timestamp(seconds: second, fraction: 0) }

  /// What comes in a period that was taken counts in the first that was not: no period is told twice.
  @Test func aPeriodThatWasTakenIsOver() {
    var series = PeriodSeries(plans: []) { $0 / 10 }
    series.missing(5, at: Self.at(12))
    series.missing(6, at: Self.at(31))
    let first = series.takeRows(before: 2)
    #expect(first.map(\.number) == [1] && first.map(\.row.missingBytes) == [5])
    series.missing(7, at: Self.at(13))
    let rest = series.takeRows(before: .max)
    #expect(rest.map(\.number) == [2, 3] && rest.map(\.row.missingBytes) == [7, 6])
  }

  /// Beyond the limit, further periods are counted together, and those that are there go on.
  @Test func furtherPeriodsAreCountedTogether() {
    var series = PeriodSeries(plans: []) { $0 }
    let limit = Int64(PeriodSeries.maximumCount)
    for second in 0..<limit + 3 { series.missing(1, at: Self.at(second)) }
    series.missing(1, at: Self.at(0))
    #expect(series.others?.missingBytes == 3)
    let rows = series.takeRows(before: .max)
    #expect(rows.count == PeriodSeries.maximumCount && rows.first?.row.missingBytes == 2)
  }
}
