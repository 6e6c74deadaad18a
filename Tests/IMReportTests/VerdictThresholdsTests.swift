import Testing

@testable import IMReport

/// What makes a verdict amber.
@Suite struct VerdictThresholdsTests {
  @Test func whatIsNotNamedKeepsItsDefault() throws {
    let thresholds = try #require(VerdictThresholds("retries=2%,reconnects=0.1"))
    #expect(thresholds.text == "retries=2%,rejections=1%,heartbeats=0%,reconnects=10%,connections=0%")
    #expect(VerdictThresholds(thresholds.text) == thresholds)
  }

  /// A threshold is printed as it was given, and not as the nearest binary number.
  @Test(
    arguments: [
      ("7%", "7"), ("0.07", "7"), ("0.5%", "0.5"), ("33.333%", "33.333"), ("0%", "0"), ("100%", "100"), ("1", "100"),
      ("0.0001%", "0.0001"), ("12.345678%", "12.345678"),
    ] + (0...100).map { ("\($0)%", "\($0)") })
  func aThresholdIsWrittenAsItWasRead(_ text: String, _ percent: String) throws {
    let thresholds = try #require(VerdictThresholds("heartbeats=\(text)"))
    #expect(thresholds.text == "retries=1%,rejections=1%,heartbeats=\(percent)%,reconnects=0%,connections=0%")
    #expect(VerdictThresholds(thresholds.text) == thresholds)
  }

  @Test(arguments: [
    "", "retries", "retries=", "retries=x", "retries=-1%", "retries=101%", "retries=nan", "lost=1%",
    "retries=1%,retries=2%",
    "retries=1%,", "retries=1%=2%",
  ]) func anotherListIsNone(_ text: String) { #expect(VerdictThresholds(text) == nil) }

  @Test func aThresholdHoldsAboveIt() throws {
    let thresholds = try #require(VerdictThresholds("retries=2%,heartbeats=0%"))
    #expect(!thresholds.isExceeded(.retries, 2, of: 100) && thresholds.isExceeded(.retries, 3, of: 100))
    #expect(!thresholds.isExceeded(.heartbeats, 0, of: 10) && thresholds.isExceeded(.heartbeats, 1, of: 1_000_000))
  }
}
