import IMOutput
import Testing

/// Ratios in text.
@Suite struct PercentTests {
  @Test(
    "rounded to two decimals; 100.00 % means all, and 0.00 % none",
    arguments: [
      (0, 7, "0.00 %"), (7, 7, "100.00 %"), (1, 2, "50.00 %"), (2, 3, "66.67 %"), (1, 3, "33.33 %"),
      (1, 800, "0.13 %"), (199_999, 200_000, "99.99 %"), (1, 200_000, "0.01 %"),
    ] as [(UInt64, UInt64, String)])
  func percents(_ part: UInt64, _ whole: UInt64, _ expected: String) {
    #expect(percent(part, whole) == expected)
  }
}
