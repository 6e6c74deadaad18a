import Foundation
import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// Times, durations, hex dumps and shell words, compared with Foundation, a shell, and hand-written values.
@Suite struct TextValueTests {
  private static func text(_ body: (inout ByteWriter) -> Void) -> String {
    var out = ByteWriter(capacity: 64)
    body(&out)
    return out.text
  }

  // MARK: Times

  /// Random times over the whole range, and the ends of months, days and years.
  @Test func datesAreThoseOfFoundation() throws {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    var random = SeededRandom(91)
    var moments = (0..<400).map { _ in Int64(random.next() % 18_000_000_000) - 9_000_000_000 }
    for year in [1700, 1900, 1904, 1969, 1970, 1972, 2000, 2023, 2024, 2100, 2262] {
      for (month, day) in [(1, 1), (2, 28), (3, 1), (12, 31)] {
        let date = try #require(calendar.date(from: DateComponents(year: year, month: month, day: day)))
        let second = Int64(date.timeIntervalSince1970)
        moments += [second - 1, second, second + 86_399]
      }
    }
    func two(_ value: Int?) -> String { String("\(100 + (value ?? 0))".dropFirst()) }
    for second in moments where abs(second) < 9_000_000_000 {
      let parts = calendar.dateComponents(
        [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(second)))
      let date = "\(parts.year ?? 0)-\(two(parts.month))-\(two(parts.day))"
      let clock = "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
      let time = Timestamp(seconds: second, fraction: 7_654_321)
      #expect(Self.text { $0.instant(time) } == "\(date)T\(clock).007654Z")
      #expect(Self.text { $0.timeOfDay(time) } == "\(clock).007654")
    }
  }

  @Test func theEndsOfTime() {
    // date -u -d @-9223372037 and @9223372036
    #expect(Self.text { $0.instant(.distantPast) } == "1677-09-21T00:12:43.145224Z")
    #expect(Self.text { $0.instant(.distantFuture) } == "2262-04-11T23:47:16.854775Z")
  }

  @Test(
    arguments: [
      (0, "0.000000"), (1, "0.000001"), (1_700_000_000_123_456, "1700000000.123456"), (-1, "-0.000001"),
      (-500_000, "-0.500000"), (-1_000_000, "-1.000000"), (-1_000_001, "-1.000001"),
      (9_223_372_036_854_775, "9223372036.854775"),
    ] as [(Int64, String)])
  func secondsSince1970(_ microseconds: Int64, _ expected: String) {
    #expect(Self.text { $0.epoch(Timestamp(microseconds: microseconds)) } == expected)
  }

  /// The styles of a line's time stamp, in a zone whose clocks go forward after an hour.
  @Test func styles() {
    let zone = LocalZone { second in second < 3_600 ? (3_600, "CET") : (7_200, "CEST") }
    let moments: [Int64] = [0, 3_599_999, 3_600_000, 3_600_250]
    func lines(_ style: TimeStyle) -> [String] {
      var times = TimeText(style, zone)
      return moments.map { moment in Self.text { times.write(Timestamp(milliseconds: moment), to: &$0) } }
    }
    #expect(lines(.none) == ["", "", "", ""])
    #expect(lines(.timeOfDay) == ["01:00:00.000000 ", "01:59:59.999000 ", "03:00:00.000000 ", "03:00:00.250000 "])
    #expect(lines(.epoch) == ["0.000000 ", "3599.999000 ", "3600.000000 ", "3600.250000 "])
    #expect(lines(.sinceLast) == ["0.000 ms ", "3599999.000 ms ", "1.000 ms ", "250.000 ms "])
    #expect(lines(.date).first == "1970-01-01T01:00:00.000000+01:00 ")
    #expect(lines(.date).last == "1970-01-01T03:00:00.250000+02:00 ")
    var utc = TimeText(.date, .utc)
    #expect(Self.text { utc.write(Timestamp(milliseconds: 1), to: &$0) } == "1970-01-01T00:00:00.001000Z ")
    var back = TimeText(.sinceLast, .utc)
    _ = Self.text { back.write(Timestamp(milliseconds: 50), to: &$0) }
    #expect(Self.text { back.write(Timestamp(milliseconds: 20), to: &$0) } == "-30.000 ms ")
  }

  @Test func stylesByTheirCount() {
    var style = TimeStyle.timeOfDay
    for (count, expected) in [
      (0, TimeStyle.timeOfDay), (1, .none), (2, .epoch), (3, .sinceLast), (4, .date), (9, .date),
    ] {
      style.count = count
      #expect(style == expected)
    }
    #expect(TimeStyle.sinceLast.count == 3)
  }

  @Test(
    arguments: [
      (0, "0.000 ms"), (7, "0.007 ms"), (999, "0.999 ms"), (1_000, "1.0 ms"), (1_234, "1.234 ms"), (9_999, "9.999 ms"),
      (61_040, "61.0 ms"), (61_060, "61.1 ms"), (999_900, "999.9 ms"), (1_000_000, "1.0 s"), (3_210_000, "3.21 s"),
      (61_040_000, "61.0 s"), (599_900_000, "599.9 s"), (600_000_000, "10 min 0 s"), (725_900_000, "12 min 5 s"),
      (7_199_999_999, "119 min 59 s"), (7_200_000_000, "2 h 0 min"), (100_000_000_000, "27 h 46 min"),
      (172_800_000_000, "2 d 0 h"), (.max, "106,751,991 d 4 h"), (-3_210_000, "-3.21 s"), (.min, "-106,751,991 d 4 h"),
    ] as [(Int64, String)])
  func lengths(_ microseconds: Int64, _ expected: String) { #expect(Words.length(microseconds) == expected) }

  /// Advice derived from silences; a silence of less than 5 s before an end gives none about heartbeats.
  @Test func silences() throws {
    let base = try #require(MadeReport.decoded().figures)
    func verdict(survived: Int64?, fatal: Int64?) -> String? {
      var report = MadeReport.decoded()
      var figures = base
      figures.lastFrameAt = Timestamp(milliseconds: 1)
      figures.longestSilence = .milliseconds(survived ?? 0)
      (report.figures, report.fatalSilence) = (figures, fatal.map { .milliseconds($0) })
      var metrics = EndpointMetrics()
      metrics.ended(report, ReportCounts(report))
      return SilenceText.verdict(metrics)
    }
    #expect(verdict(survived: nil, fatal: nil) == nil && verdict(survived: 60_000, fatal: nil) == nil)
    #expect(verdict(survived: 60_000, fatal: 4_999) == nil)
    #expect(
      verdict(survived: nil, fatal: 90_500)
        == "no connection survived 90.5 s without a packet: keep the heartbeat below 90 s")
    #expect(
      verdict(survived: 60_020, fatal: 400_040)
        == "up to 60.02 s survived, 400.04 s did not: keep the heartbeat below 60 s")
    #expect(verdict(survived: 90_000, fatal: 60_000)?.hasPrefix("up to 90.0 s survived, but 60.0 s did not on") == true)
  }

  // MARK: Bytes

  /// Lines of 16 bytes, parsed again: their offsets, hex digits and printable characters.
  @Test(arguments: [0, 1, 2, 15, 16, 17, 40]) func hexLines(_ count: Int) throws {
    var random = SeededRandom(UInt64(count))
    let bytes = random.bytes(count), hidden = 5..<9
    let lines = Self.text { $0.hexLines(bytes, hiding: [hidden], limit: .max) }.split(separator: "\n")
    #expect(lines.count == (count + 15) / 16)
    var digits = "", printed = ""
    for (number, line) in lines.enumerated() {
      #expect(line.hasPrefix("\t0x00\(number)0: ") && line.utf8.allSatisfy { $0 == 9 || (0x20..<0x7f).contains($0) })
      let rest = Array(line.dropFirst("\t0x0000: ".count))
      // Eight groups of four digits with a space before each, two spaces, and the characters.
      digits += String(rest.prefix(40)).filter { $0 != " " }
      printed += String(rest.dropFirst(42))
    }
    let expected = bytes.enumerated().map { place, byte in
      hidden.contains(place) ? "--" : String(format: "%02x", byte)
    }
    #expect(digits == expected.joined())
    #expect(
      printed.unicodeScalars.map { UInt8($0.value) }
        == bytes.enumerated().map { hidden.contains($0) || !(0x20...0x7e).contains($1) ? 0x2e : $1 })
  }

  @Test(arguments: [(0, 0), (5, 1), (16, 1), (17, 2), (39, 3)]) func hexLinesAreLimited(_ limit: Int, _ lines: Int) {
    let text = Self.text { $0.hexLines([UInt8](repeating: 0x41, count: 40), hiding: [], limit: limit) }
    #expect(text.hasSuffix("\t... (\(limit) bytes shown)\n") && text.filter { $0 == "A" }.count == limit)
    #expect(text.split(separator: "\n").count == lines + 1)
  }

  @Test func hexadecimalNumbers() {
    for value in [0, 1, 9, 10, 15, 16, 255, 256, 0xdead_beef, UInt64(UInt32.max), .max] as [UInt64] {
      for width in [1, 2, 5, 8, 16] {
        let digits = String(value, radix: 16)
        let padded = String(repeating: "0", count: max(0, width - digits.count)) + digits
        #expect(Self.text { $0.hex(value, width: width) } == padded)
        guard let short = UInt32(exactly: value) else { continue }
        #expect(Self.text { $0.upperHex(short, width: width) } == padded.uppercased())
      }
    }
  }

  // MARK: Words

  /// Words that contain separators, quotes and line feeds, as a shell reads them. A combining mark forms one Swift character with the
  /// quote before it, which does not change how a shell reads it.
  @Test(arguments: [
    "", "plain-word_1./:=,+@%", "two words", "it's", "'", "''", "a'\u{301}b; echo c", "'\u{fe0f}'\u{200d}'", "$HOME",
    "`id`",
    "\"x\"", "\\", "*", "~", "#x", "a\nb", "a\tb", "!x", "消息", "a;b&c|d>e<f", "(x)", "{a,b}",
  ]) func wordsOfAShell(_ word: String) throws {
    let quoted = shellWord(word)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "printf %s \(quoted)"]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && Array(data) == Array(word.utf8), "\(quoted)")
  }

  @Test func plainWordsStayAsTheyAre() {
    for word in ["a", "A1", "-i", "192.0.2.1:80", "/tmp/x.pcap", "key=value,other@x%+"] {
      #expect(shellWord(word) == word)
    }
    #expect(shellWord("") == "''" && shellWord("a b") == "'a b'" && shellWord("a'b") == #"'a'\''b'"#)
  }

  @Test(arguments: [(0, "0 packets"), (1, "1 packet"), (2, "2 packets"), (1_234_567, "1,234,567 packets")])
  func counts(_ value: UInt64, _ expected: String) { #expect(count(value, "packet") == expected) }

  @Test func interruptions() {
    #expect(Interruption(packets: 1, share: nil).text == "interrupted")
    #expect(Interruption(packets: 1, share: 0.419).text == "interrupted at 41 %")
    #expect(Interruption(packets: 1, share: 1).text == "interrupted at 100 %")
  }
}
