import Glibc
import Testing

@testable import IMFiles
@testable import IMPipeline
@testable import IMRun

/// Names and times of the files of `-C`, `-G` and `-W`. Names by number are those that tcpdump 4.99.3 makes.
@Suite(.serialized) struct FileNamesTests {
  struct Case {
    var template = "f"
    var byteCount: UInt64?
    var seconds: Int64?
    var count: Int?
    var names: [String?]
  }

  @Test(arguments: [
    Case(byteCount: 1, names: ["f", "f1", "f2"]),
    Case(byteCount: 1, count: 3, names: ["f0", "f1", "f2"]),
    Case(byteCount: 1, count: 10, names: ["f0", "f1"]),
    Case(byteCount: 1, count: 12, names: ["f00", "f01", "f02"]),
    Case(template: "%H", byteCount: 1, names: ["%H", "%H1"]),
    Case(template: "%Y-%H%M%S.pcap", seconds: 60, names: ["1970-000140.pcap"]),
    Case(template: "%M", seconds: 60, count: 5, names: ["01"]),
    Case(template: "%M.", byteCount: 1, seconds: 60, names: ["01.", "01.1"]),
    Case(template: "%M.", byteCount: 1, seconds: 60, count: 11, names: ["01.00", "01.01"]),
    Case(template: "%D", seconds: 60, names: [nil]),
    Case(template: "", seconds: 60, names: [nil]),
    Case(template: ".", byteCount: 1, names: [nil, ".1"]),
    Case(template: String(repeating: "x", count: 255), byteCount: 1, names: [String(repeating: "x", count: 255), nil]),
  ]) func names(_ item: Case) {
    var rotation = RotationOptions()
    rotation.byteCount = item.byteCount
    rotation.seconds = item.seconds
    rotation.fileCount = item.count
    let names = FileNames(item.template, rotation)
    inZone("UTC") {
      for (number, expected) in item.names.enumerated() { #expect(names.name(number, at: 100) == expected) }
    }
  }

  /// Periods begin where the clock on the wall says so, and cover all time without a gap.
  @Test(
    arguments: [
      ("UTC", 3_600, 1_700_000_000, 1_699_999_200), ("UTC", 86_400, 1_700_000_000, 1_699_920_000),
      // 03:43:20 in Kolkata, half an hour beside the hours of UTC.
      ("Asia/Kolkata", 3_600, 1_700_000_000, 1_699_997_400), ("Asia/Kolkata", 86_400, 1_700_000_000, 1_699_986_600),
      ("UTC", 60, -1, -60), ("UTC", 60, -60, -60), ("UTC", 60, 0, 0),
    ] as [(String, Int64, Int64, Int64)])
  func periods(zone: String, seconds: Int64, at second: Int64, begins: Int64) {
    inZone(zone) {
      let found = ClockPeriods(seconds: seconds).period(at: second)
      #expect(found.start == begins)
      #expect(found.end == begins + seconds)
      #expect(ClockPeriods(seconds: seconds).period(at: found.start).number == found.number)
      #expect(ClockPeriods(seconds: seconds).period(at: found.end).number == found.number + 1)
    }
  }

  /// When clocks are set back an hour, that hour's number comes twice: no further file, so none is written over.
  @Test func theHourThatComesTwice() {
    inZone("Europe/Berlin") {
      let hours = ClockPeriods(seconds: 3_600)
      // 2023-10-29 01:00 UTC: 02:59:59 in summer is followed by 02:00:00 in winter.
      let before = hours.period(at: 1_698_541_199), after = hours.period(at: 1_698_541_200)
      #expect(after.number == before.number)
      #expect(hours.period(at: after.end).number == after.number + 1)
    }
  }

  private func inZone(_ name: String, _ body: () -> Void) {
    let before = getenv("TZ").map { String(cString: $0) }
    setenv("TZ", name, 1)
    tzset()
    body()
    if let before { setenv("TZ", before, 1) } else { unsetenv("TZ") }
    tzset()
  }
}
