import IMMetrics
import Testing

@testable import IMOutput

/// Metrics as parts of lines and as columns of tables.
@Suite struct FigureWordsTests {
  /// A figure of the two counts, ratios or times that a snapshot has, by direction.
  private typealias Row = Metric<[MetricValue?]>

  private static func row(
    _ unit: MetricUnit, by dimensions: [Dimension] = [.direction], _ text: MetricPresentation...
  ) -> Row {
    Metric("f", unit, .packet, "", by: dimensions, text: text) { values, place, _ in values[place] }
  }

  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let texts: [(unit: MetricUnit, text: MetricPresentation, values: [MetricValue?])]
    let line: [String]
  }

  private static func some(_ count: UInt64) -> [MetricValue?] { [.count(count), .count(0)] }

  private static let cases: [Case] = [
    Case(
      testDescription: "a part is left out with 0, unless it is always there",
      texts: [
        (.count, MetricPresentation(.tcp, "frame", "frames"), some(0)),
        (.count, MetricPresentation(.tcp, "hole", "holes"), some(1)),
        (.count, MetricPresentation(.tcp, "ACK", "ACKs", .always), some(0)),
      ], line: ["1 hole", "0 ACKs"]),
    Case(
      testDescription: "both directions are added",
      texts: [(.count, MetricPresentation(.tcp, "frame", "frames"), [.count(1_000), .count(234)])],
      line: ["1,234 frames"]),
    Case(
      testDescription: "what is not known is left out",
      texts: [(.count, MetricPresentation(.tcp, "frame", nil, .always), [nil, nil])], line: []),
    Case(
      testDescription: "parentheses, behind what is there only",
      texts: [
        (.count, MetricPresentation(.tcp, "sent", nil, .always), some(5)),
        (.count, MetricPresentation(.tcp, "fast", nil, .among), some(2)),
        (.count, MetricPresentation(.tcp, "slow", nil, .among), some(3)),
        (.count, MetricPresentation(.tcp, "lost"), some(0)),
        (.count, MetricPresentation(.tcp, "twice", nil, .among), some(4)),
      ], line: ["5 sent (2 fast, 3 slow)"]),
    Case(
      testDescription: "of a part, and at its end",
      texts: [
        (.count, MetricPresentation(.tcp, "attempt", "attempts"), some(5)),
        (.count, MetricPresentation(.tcp, "succeeded", nil, .outOf), some(0)),
        (.ratio, MetricPresentation(.tcp, "", nil, .among), [.ratio(0), nil]),
        (.count, MetricPresentation(.tcp, "hole", "holes"), some(2)),
        (.bytes, MetricPresentation(.tcp, "bytes", nil, .behind), some(9)),
      ], line: ["0 of 5 attempts succeeded (0.00 %)", "2 holes of 9 bytes"]),
    Case(
      testDescription: "no attempt, no share",
      texts: [
        (.count, MetricPresentation(.tcp, "attempt", "attempts"), some(0)),
        (.count, MetricPresentation(.tcp, "succeeded", nil, .outOf), some(0)),
      ], line: []),
    Case(
      testDescription: "ratios, rates and times with words around them",
      texts: [
        (.time, MetricPresentation(.tcp, "", nil, .leading("in")), [.microseconds(1_500_000), nil]),
        (.rate, MetricPresentation(.tcp, "frames/s", nil, .value("")), [.ratio(2.25), nil]),
        (.ratio, MetricPresentation(.tcp, "headers", nil, .value("")), [.ratio(0.125), nil]),
        (.time, MetricPresentation(.tcp, "on average", nil, .value("every")), [.mean(30_000_000), nil]),
        (.count, MetricPresentation(.tcp, "retries", nil, .labelled), some(3)),
      ], line: ["in 1.5 s: 2.3 frames/s", "12.50 % headers", "every 30.0 s on average", "retries 3"]),
    Case(
      testDescription: "times of one kind are joined, others are not",
      texts: [
        (.time, MetricPresentation(.tcp, "min", nil, .times("after")), [.microseconds(1_000), nil]),
        (.time, MetricPresentation(.tcp, "max", nil, .times("after")), [.nanoseconds(2_000_999), nil]),
        (.time, MetricPresentation(.tcp, "mean", nil, .times("round trip")), [.mean(1_500.9), nil]),
        (.count, MetricPresentation(.tcp, "frame", "frames"), some(2)),
      ], line: ["after 1.000/2.000 ms min/max", "round trip 1.500 ms mean", "2 frames"]),
    Case(
      testDescription: "a part for each value",
      texts: [
        (.count, .named(.tcp, ["one", ""], head: "skipped:"), [.count(1), .count(2)]),
        (.count, MetricPresentation(.tcp, "gap", "gaps", .each([])), [.count(1), .count(2)]),
        (.bytes, MetricPresentation(.tcp, "bytes", nil, .behindEach(["cut", "lost"])), [.count(7), .count(8)]),
      ],
      line: [
        "skipped: client_to_server 1 (one)", "server_to_client 2 ()", "1 gap of 7 bytes cut", "2 gaps of 8 bytes lost",
      ]),
  ]

  @Test(arguments: cases) func lines(_ test: Case) {
    let figures = test.texts.enumerated().map { place, text in
      Metric<[[MetricValue?]]>("f\(place)", text.unit, .packet, "", by: [.direction], text: [text.text]) {
        values, way, _ in
        values[place][way]
      }
    }
    #expect(MetricSentences.parts(.tcp, figures, test.texts.map(\.values)) == test.line)
  }

  @Test func aLineOfOneDirection() {
    let figure = Self.row(.count, MetricPresentation(.segments, "segment", "segments"))
    #expect(MetricSentences.parts(.segments, [figure], Self.some(3), way: 0) == ["3 segments"])
    #expect(MetricSentences.parts(.segments, [figure], Self.some(3), way: 1) == [])
  }

  @Test func columnsStandInTheirOrder() {
    let figures = [
      Self.row(.count, .columns(.types, [("server_to_client", "s2c"), ("client_to_server", "c2s")])),
      Self.row(.count, .column(.types, "first", width: 8, order: 1), .column(.worst, "elsewhere")),
      Self.row(.time, by: [], .column(.types, "last ms", absent: "?")),
    ]
    let columns = MetricColumns(.types, figures)
    #expect(columns.titles == ["first", "s2c", "c2s", "last ms"])
    #expect(columns.widths == [8, 3, 3, 7])
    #expect(columns.cells([.count(1_000), .count(2)]) == ["1,002", "2", "1,000", "0.000"])
    #expect(columns.cells([nil, nil]) == ["-", "-", "-", "?"])
  }
}
