import IMOutput
import IMWire
import Testing

@testable import IMReport

/// The choice of a page's percentiles, and its wording of times and rates.
@Suite struct PagePercentilesTests {
  @Test(
    arguments: [
      ("50", "50"), ("99,50,95", "50,95,99"), ("99.9,99.99,99.999", "99.9,99.99,99.999"), ("050", "50"),
      ("1.001", "1.001"),
      ("0.001,99.999", "0.001,99.999"), ("2.002,33.333,66.667,87.003", "2.002,33.333,66.667,87.003"),
      ("1,2,3,4,5", "1,2,3,4,5"),
    ])
  func aListIsRead(_ text: String, _ expected: String) {
    let found = PagePercentiles(text)
    #expect(found?.text == expected)
    #expect(found.flatMap { PagePercentiles($0.text) } == found)
  }

  @Test(arguments: [
    "", ",", "50,", ",50", "50,50", "50,50.0", "0", "100", "100.0", "-1", "+50", "5e1", "0x10", "nan", "inf", " 50",
    "50 ", "50;95",
    "1,2,3,4,5,6", "99.9999", "0.0001", ".", "1.2.3", "p50", "٥٠",
  ]) func anotherListIsNone(_ text: String) { #expect(PagePercentiles(text) == nil) }

  /// A number with up to three decimals is accepted, and printed as it was written.
  @Test func threeDecimalsAreExact() {
    for thousandths in 1..<100_000 where thousandths % 31 == 0 || thousandths < 500 {
      let decimals = String(1_000 + thousandths % 1_000).dropFirst()
      let text = "\(thousandths / 1_000).\(decimals)"
      guard let found = PagePercentiles(text) else {
        Issue.record("\(text) is refused")
        continue
      }
      #expect(Double(found.text) == Double(text) && found.all == [Double(text) ?? 0])
    }
  }

  @Test func theUsualOnesAreThree() {
    #expect(PagePercentiles.usual.text == "50,95,99")
    #expect(PagePercentiles.usual.all.map(PagePercentiles.name) == ["p50", "p95", "p99"])
    #expect(PagePercentiles.name(99.9) == "p99.9" && PagePercentiles.name(0.001) == "p0.001")
  }

  // MARK: Words

  @Test(
    arguments: [
      (0.0, "0 per second"), (3.0, "3 per second"), (0.25, "0.25 per second"), (999.0, "999 per second"),
      (1_000.0, "1,000 per second"), (1_234.6, "1,235 per second"), (1e30, "1,000,000,000,000,000,000 per second"),
    ])
  func ratesAreWords(_ value: Double, _ expected: String) { #expect(Words.rate(value) == expected) }

  @Test(arguments: [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
  func listsAreWords(_ parts: [String], _ expected: String) { #expect(Words.list(parts) == expected) }

  /// A time on the same day has no date, by the clock of the zone.
  @Test func timesAreThoseOfAClock() {
    let at = MadeExchange.begin.advanced(by: 123_456_789)
    let china = LocalZone { _ in (28_800, "CST") }
    #expect(Words.date(at) == "2023-11-14" && Words.time(at) == "22:13:20" && Words.milliseconds(at) == "22:13:20.123")
    #expect(Words.moment(at, near: nil) == "2023-11-14 22:13:20")
    #expect(Words.moment(at, near: at.advanced(by: 3_600_000_000_000)) == "22:13:20")
    #expect(Words.moment(at, near: at.advanced(by: 7_200_000_000_000)) == "2023-11-14 22:13:20")
    #expect(Words.moment(at, near: nil, china) == "2023-11-15 06:13:20")
    #expect(Words.moment(at, near: at.advanced(by: 7_200_000_000_000), china) == "06:13:20")
    // Extreme times have a text, too.
    for end in [Timestamp.distantPast, .distantFuture] { #expect(!Words.moment(end, near: at, china).isEmpty) }
  }
}
