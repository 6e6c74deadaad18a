import Foundation
import IMEngine
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire
import Testing

@testable import IMReport

/// The positions of marks in charts, and the limits on their number.
@Suite struct ChartTests {
  private static func text(_ draw: (inout Markup) -> Void) -> String {
    var page = Markup()
    draw(&page)
    return String(decoding: page.bytes, as: UTF8.self)
  }

  private static func seconds(_ value: Int64) -> Timestamp { Timestamp(seconds: value, fraction: 0) }

  // MARK: Axes

  @Test(arguments: [(0, 76), (50, 506), (100, 936), (25, 291), (-10, 76), (1_000, 936)] as [(Int64, Double)])
  func aTimeHasAPlace(_ second: Int64, _ place: Double) {
    let axis = TimeAxis(Self.seconds(0), Self.seconds(100), Plot(height: 300), .utc)
    #expect(axis.place(Self.seconds(second)) == place)
  }

  /// A chart of any length has a few ticks at round clock times, from its beginning to its end.
  @Test(
    arguments: [
      (0, 1, ["00:00:00", "00:00:01"]),
      (3, 10, ["00:00:03", "00:00:04", "00:00:05", "00:00:06", "00:00:07", "00:00:08", "00:00:09", "00:00:10"]),
      (55, 600, ["00:02", "00:04", "00:06", "00:08", "00:10"]),
      (82_800, 90_000, ["23:00", "23:15", "23:30", "23:45", "1970-01-02", "00:15", "00:30", "00:45", "01:00"]),
      (0, 604_800, (1...8).map { "1970-01-0\($0)" }),
    ] as [(Int64, Int64, [String])])
  func ticksAreAtRoundTimes(_ begin: Int64, _ end: Int64, _ expected: [String]) throws {
    let plot = Plot(height: 300)
    let found = try PageParser.read(
      Self.text { TimeAxis(Self.seconds(begin), Self.seconds(end), plot, .utc).draw(plot, &$0) })
    #expect(found.texts("text") == expected)
  }

  /// Ticks follow the local clock, and extreme times stay within the chart.
  @Test func ticksFollowTheClock() throws {
    let plot = Plot(height: 300), india = LocalZone { _ in (19_800, "IST") }
    let local = try PageParser.read(
      Self.text { TimeAxis(Self.seconds(0), Self.seconds(14_400), plot, india).draw(plot, &$0) })
    #expect(local.texts("text") == ["05:30", "06:00", "06:30", "07:00", "07:30", "08:00", "08:30", "09:00", "09:30"])
    for (begin, end) in [
      (Timestamp.distantPast, Timestamp.distantFuture), (.distantPast, .distantPast),
      (Self.seconds(9), Self.seconds(3)),
    ] {
      let axis = TimeAxis(begin, end, plot, .utc)
      let drawn = try PageParser.read(Self.text { axis.draw(plot, &$0) })
      #expect(drawn.texts("text").count <= 10)
      for at in [Timestamp.distantPast, Self.seconds(5), .distantFuture] {
        #expect((76...936).contains(axis.place(at)))
      }
    }
  }

  /// Longer durations are higher in the chart, and every duration is within it.
  @Test(arguments: [(1, 1), (5, 5), (100, 10_000), (0, 0), (-7, 7_200_000_000), (1, .max)] as [(Int64, Int64)])
  func lengthsHaveAPlace(_ least: Int64, _ greatest: Int64) throws {
    let plot = Plot(height: 300)
    let axis = LengthAxis(least, greatest, plot)
    let values = [Int64.min, -1, 0, 1, 2, 99, 100, 5_000, 10_000, 1 << 40, .max]
    let places = values.map(axis.place)
    #expect(places.allSatisfy { (plot.top...plot.bottom).contains($0) } && places == places.sorted(by: >))
    let drawn = try PageParser.read(Self.text { axis.draw(&$0) })
    #expect((1...14).contains(drawn.texts("text").count) || greatest == .max, "\(drawn.texts("text"))")
    // If all durations are equal, they are in the middle.
    if least == greatest, least > 0 { #expect(abs(axis.place(least) - (plot.top + plot.bottom) / 2) < 0.001) }
  }

  @Test func linesAreInterrupted() {
    let points: [(x: Double, y: Double)?] = [(1, 2), (3, 4), nil, (5, 6), nil, nil, (7, 8), (9.04, 10.25)]
    #expect(Self.text { Plot.line(points, "ln", &$0) } == "<path class=\"ln\" d=\"M1 2L3 4M5 6h0M7 8L9 10.3\"/>")
    #expect(Self.text { Plot.line([nil, nil], "ln", &$0) } == "<path class=\"ln\" d=\"\"/>")
    #expect(Self.text { Plot.line([(0, 0)], "ln", &$0) } == "<path class=\"ln\" d=\"M0 0h0\"/>")
  }

  // MARK: Marks

  private static func buckets(_ kinds: [Character]) -> [(begin: Timestamp, value: ReportBucket)] {
    kinds.enumerated().map { i, kind in
      var bucket = ReportBucket()
      for _ in 0..<9 { bucket.count(MadeExchange(.acked).exchange, .message) }
      switch kind {
      case "l": bucket.count(MadeExchange(.unanswered).exchange, .message)
      case "L": for _ in 0..<9 { bucket.count(MadeExchange(.damaged).exchange, .message) }
      case "g": bucket.missing(7)
      case "u": bucket.count(MadeExchange(.unknown).exchange, .message)
      default: bucket.count(MadeExchange(.rejected).exchange, .message)
      }
      return (seconds(Int64(i)), bucket)
    }
  }

  /// Steps with losses are marked; if these are the majority, only steps with more than twice the usual loss are.
  @Test(
    arguments: [
      ("....", "....", false), (".l.g.u", ".x.x.x", false), ("ll", "xx", false), ("llll", "xxxx", false),
      ("lllll", ".....", true), ("llllllL.", "......x.", true), ("l.l.", "x.x.", false), ("", "", false),
    ])
  func trouble(_ kinds: String, _ marks: String, _ isRelative: Bool) {
    let found = Charts.troubled(Self.buckets(Array(kinds)))
    #expect(String(found.marks.map { $0 ? "x" : "." }) == marks && found.isRelative == isRelative)
    let words = isRelative ? "with more than twice the usual loss" : "with messages lost or bytes missing"
    #expect(Charts.bandWords(Self.buckets(Array(kinds))) == words)
  }

  /// Adjacent marked steps form one band.
  @Test func bandsAreStretches() throws {
    let plot = Plot(height: 100), axis = TimeAxis(Self.seconds(0), Self.seconds(10), plot, .utc)
    let drawn = try PageParser.read(Self.text { Charts.bands(Self.buckets(Array("ll...l....")), 1, axis, plot, &$0) })
    let bands = drawn.all.filter { $0.attributes["class"] == "band" }.map {
      ($0.attributes["x"], $0.attributes["width"])
    }
    #expect(bands.count == 2 && bands[0] == ("76", "172") && bands[1] == ("506", "86"))
  }

  /// Only percentiles with enough samples are shown.
  @Test(
    arguments: [
      (1, [], ["50 %"]), (3, [], ["50 %"]), (4, [], ["50 %", "75 %"]), (10, [], ["50 %", "75 %", "90 %"]),
      (20, [], ["50 %", "75 %", "90 %", "95 %"]), (99, [], ["50 %", "75 %", "90 %", "95 %"]),
      (100_000, [], ["50 %", "75 %", "90 %", "95 %", "99 %", "99.9 %", "99.99 %", "99.999 %"]),
      (1, [10, 50, 99.5], ["10 %", "50 %", "99.5 %"]), (0, [], []),
    ] as [(UInt64, [Double], [String])])
  func percentilesNeedSamples(_ count: UInt64, _ wanted: [Double], _ expected: [String]) {
    #expect(NinesChart.percents(count, with: wanted).map(\.name) == expected)
  }

  /// The charts of the longest capture are no larger than those of any other.
  @Test func chartsAreBounded() throws {
    var random = SeededRandom(9)
    var model = MadeReport.model()
    for _ in 0..<3_000 {
      let at = MadeExchange.begin.advanced(by: Int64(random.next() % 40_000_000) * 1_000_000_000)
      let made = MadeExchange(random.once(in: 9) ? .unanswered : .acked) {
        $0.answerAfter = Int64(random.next() % 90_000)
      }
      model.series.change(at) { $0.count(made.exchange, .message) }
      model.figures.resolved(Resolution(made.exchange, endpoint: 0), .message)
    }
    #expect(model.series.all.count <= 400)
    let page = try MadeReport.page(model)
    #expect(PageParser.rows(page, "rate-rows").count <= 400 && PageParser.rows(page, "rtt-rows").count <= 400)
    for drawing in page.all where drawing.name == "svg" { #expect(drawing.all.count < 1_000) }
  }

  @Test func logarithmsAreThoseOfTheLibrary() {
    for (value, logarithm) in [
      (1.0, 0.0), (2, 0.301_029_995_663_981), (10, 1), (12_345, 4.091_491_094_267_951), (1e18, 18),
    ] {
      #expect(abs(Logarithm.ten(value) - logarithm) < 1e-12)
      #expect(abs(Logarithm.power(logarithm) / value - 1) < 1e-12)
      #expect(abs(Logarithm.power(Logarithm.ten(value)) / value - 1) < 1e-12)
    }
    #expect(Logarithm.ten(1_000) == 3 && LengthAxis.logarithm(1) == 0)
  }
}
