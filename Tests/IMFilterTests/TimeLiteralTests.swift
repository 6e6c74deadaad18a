import IMWire
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
    #expect(TimeLiteral.calendar(text, .utc) == seconds * 1_000_000_000)
    let fraction = text.replacing(/(?<second>:\d\d)(?<zone>[Zz]|[+-]\d\d:\d\d)$/) { "\($0.second).0625\($0.zone)" }
    #expect(TimeLiteral.calendar(fraction, .utc) == seconds * 1_000_000_000 + 62_500_000)
  }

  @Test(
    arguments: [
      ("0", 0), ("1795219906.123456789", 1_795_219_906_123_456_789), ("1.5", 1_500_000_000), ("-0.5", -500_000_000),
      ("9223372036.854775807", .max), ("-9223372036.854775808", .min),
    ] as [(String, Int64)])
  func seconds(_ text: String, _ nanoseconds: Int64) {
    #expect(TimeLiteral.seconds(text) == Int128(nanoseconds))
  }

  /// The clocks of Berlin in 2026; the seconds are those that date(1) gives. What clocks show twice is its first time, and what
  /// they never show is as if they had not been put forward.
  @Test(
    arguments: [
      ("2026-01-01 00:00:00", 1_767_222_000), ("2026-03-29T01:59:59", 1_774_745_999),
      ("2026-03-29T02:30:00", 1_774_747_800),
      ("2026-03-29T03:00:00", 1_774_746_000), ("2026-07-01T12:00:00", 1_782_900_000),
      ("2026-10-25T01:59:59", 1_792_886_399), ("2026-10-25T02:30:00", 1_792_888_200),
      ("2026-10-25T03:00:00", 1_792_893_600),
    ] as [(String, Int128)])
  func withoutZone(_ text: String, _ seconds: Int128) {
    let berlin = LocalZone { (1_774_746_000..<1_792_890_000).contains($0) ? (7_200, "CEST") : (3_600, "CET") }
    #expect(TimeLiteral.calendar(text, berlin) == seconds * 1_000_000_000)
    #expect(TimeLiteral.calendar(text + ".25", berlin) == seconds * 1_000_000_000 + 250_000_000)
    #expect(TimeLiteral.calendar(text + "Z", berlin) == TimeLiteral.calendar(text, .utc))
  }

  @Test func toTheMinute() {
    for zone in ["", "Z", "+08:00", " UTC", " UTC+08:00"] {
      let expected = TimeLiteral.calendar("2026-11-21T00:11:00" + zone, .utc)
      #expect(expected != nil && TimeLiteral.calendar("2026-11-21T00:11" + zone, .utc) == expected, "\(zone)")
    }
    for text in ["2026-11-21T00:115", "2026-11-21T00:11.5", "2026-11-21T00:11:", "2026-11-21T00:11:5Z"] {
      #expect(TimeLiteral.calendar(text, .utc) == nil, "\(text)")
    }
  }

  /// A time of day is of the day on which the capture begins, or of the next one.
  @Test(
    arguments: [
      ("23:59:30", "2026-11-21T23:59:30Z"), ("23:59:00.25", "2026-11-21T23:59:00.25Z"),
      ("23:59", "2026-11-21T23:59:00Z"), ("23:59:00", "2026-11-21T23:59:00Z"),
      ("23:59:00.24", "2026-11-22T23:59:00.24Z"),
      ("00:00:10", "2026-11-22T00:00:10Z"), ("12:00", "2026-11-22T12:00:00Z"), ("24:00:00", nil), ("23:60", nil),
      ("1:00", nil), ("23:59:", nil), ("", nil), ("23", nil), ("23:59:30.", nil),
      ("23:59:30Z", "2026-11-21T23:59:30Z"), ("23:59 UTC", "2026-11-21T23:59:00Z"),
      ("07:59:30 +08:00", "2026-11-21T23:59:30Z"), ("07:58:30 UTC+08:00", "2026-11-22T23:58:30Z"),
      ("13:58:30+14:00", "2026-11-22T23:58:30Z"), ("12:00:30-12:00", "2026-11-22T00:00:30Z"), ("23:59 CET", nil),
    ] as [(String, String?)])
  func timesOfDay(_ text: String, _ expected: String?) throws {
    let begin = try #require(readMoment("2026-11-21T23:59:00.25Z", zone: .utc))
    #expect(readTimeOfDay(text, near: begin, zone: .utc) == expected.flatMap { readMoment($0, zone: .utc) })
    // On clocks two hours ahead it is the next day there already.
    let east = LocalZone { _ in (7_200, "EET") }
    #expect(
      readTimeOfDay("01:59:30", near: begin, zone: east) == readMoment("2026-11-21T23:59:30Z", zone: .utc))
  }

  /// The last nanosecond that is meant, counted from the moment.
  @Test(
    arguments: [
      ("2026-11-21 00:11:46", 999_999_999), ("00:11:46", 999_999_999), ("00:11", 59_999_999_999),
      ("2026-11-21T00:11Z", 59_999_999_999), ("2026-11-21T00:11:46+08:00", 999_999_999), ("00:11:46.1", 99_999_999),
      ("00:11:46.123", 999_999), ("2026-11-21T00:11:46.123456Z", 999), ("1795219906", 999_999_999),
      ("1795219906.5", 99_999_999), ("1795219906123456", 999), ("1795219906123456789", 0), ("0.123456789", 0),
    ] as [(String, Int64)])
  func precision(_ text: String, _ nanoseconds: Int64) {
    let moment = Timestamp(nanoseconds: 5)
    #expect(lastNanosecond(of: moment, readFrom: text) == moment.advanced(by: nanoseconds), "\(text)")
  }

  @Test(arguments: [
    "", "2026-11-21", "2026-11-21T00:1", "2026-11-21T00:11:46.", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T00:60:00Z",
    "2026-11-21T00:00:60Z", "2026-11-21T00:00:00.Z", "2026-11-21T00:00:00.1234567890Z", "2026-11-21T00:00:00+8:00",
    "2026-11-21T00:00:00+24:00", "2026-11-21T00:00:00ZZ", "2262-04-12T00:00:00Z", "0001-01-01T00:00:00Z",
    "２026-11-21T00:00:00Z", "1.", ".5", "1.1234567890", "9223372036.854775808", "1e9", "--1", "1.-5",
  ])
  func refuses(_ text: String) {
    #expect(TimeLiteral.calendar(text, .utc) == nil)
    #expect(TimeLiteral.seconds(text) == nil)
  }
}
