import Testing

@testable import IMFilter

@Suite struct TimeLiteralTests {
  /// The seconds are those that date(1) of GNU gives.
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1), ("2000-02-29T12:34:56Z", 951_827_696),
      ("2026-11-21T08:11:46+08:00", 1_795_219_906), ("1900-03-01T00:00:00Z", -2_203_891_200),
      ("2100-12-31T23:59:59-01:30", 4_133_986_199), ("1700-01-01t00:00:00z", -8_520_336_000),
      ("2262-04-11 23:47:16Z", 9_223_372_036),
    ] as [(String, Int128)])
  func calendar(_ text: String, _ seconds: Int128) {
    #expect(TimeLiteral.calendar(text) == seconds * 1_000_000_000)
    let fraction = text.replacing(/(?<second>:\d\d)(?<zone>[Zz]|[+-]\d\d:\d\d)$/) { "\($0.second).0625\($0.zone)" }
    #expect(TimeLiteral.calendar(fraction) == seconds * 1_000_000_000 + 62_500_000)
  }

  @Test(
    arguments: [
      ("0", 0), ("1795219906.123456789", 1_795_219_906_123_456_789), ("1.5", 1_500_000_000), ("-0.5", -500_000_000),
      ("9223372036.854775807", .max), ("-9223372036.854775808", .min),
    ] as [(String, Int64)])
  func seconds(_ text: String, _ nanoseconds: Int64) {
    #expect(TimeLiteral.seconds(text) == Int128(nanoseconds))
  }

  @Test(arguments: [
    "", "2026-11-21", "2026-11-21T00:11:46", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2025-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T00:60:00Z",
    "2026-11-21T00:00:60Z", "2026-11-21T00:00:00.Z", "2026-11-21T00:00:00.1234567890Z", "2026-11-21T00:00:00+8:00",
    "2026-11-21T00:00:00+24:00", "2026-11-21T00:00:00ZZ", "2262-04-12T00:00:00Z", "0001-01-01T00:00:00Z",
    "２026-11-21T00:00:00Z", "1.", ".5", "1.1234567890", "9223372036.854775808", "1e9", "--1", "1.-5",
  ])
  func refuses(_ text: String) {
    #expect(TimeLiteral.calendar(text) == nil)
    #expect(TimeLiteral.seconds(text) == nil)
  }
}
