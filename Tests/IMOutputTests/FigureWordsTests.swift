import IMMetrics
import Testing

@testable import IMOutput

/// Figures as parts of lines and as columns of tables.
@Suite struct FigureWordsTests {
  /// A figure of the two counts, ratios or times that a snapshot has, by direction.
  private typealias Row = Figure<[FigureValue?]>

  private static func row(
    _ unit: FigureUnit, by dimensions: [Dimension] = [.direction], _ text: FigureText...
  ) -> Row {
    Figure("f", unit, .packet, "", by: dimensions, text: text) { values, place, _ in values[place] }
  }

  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let texts: [(unit: FigureUnit, text: FigureText, values: [FigureValue?])]
    let line: [String]
  }

  private static func some(_ count: UInt64) -> [FigureValue?] { [.count(count), .count(0)] }

  private static let cases: [Case] = [
    Case(
      testDescription: "a part is left out with 0, unless it is always there",
      texts: [
        (.count, FigureText(.tcp, "frame", "frames"), some(0)), (.count, FigureText(.tcp, "hole", "holes"), some(1)),
        (.count, FigureText(.tcp, "ACK", "ACKs", .always), some(0)),
      ], line: ["1 hole", "0 ACKs"]),
    Case(
      testDescription: "both directions are added",
      texts: [(.count, FigureText(.tcp, "frame", "frames"), [.count(1_000), .count(234)])], line: ["1,234 frames"]),
    Case(
      testDescription: "what is not known is left out",
      texts: [(.count, FigureText(.tcp, "frame", nil, .always), [nil, nil])], line: []),
    Case(
      testDescription: "parentheses, behind what is there only",
      texts: [
        (.count, FigureText(.tcp, "sent", nil, .always), some(5)),
        (.count, FigureText(.tcp, "fast", nil, .among), some(2)),
        (.count, FigureText(.tcp, "slow", nil, .among), some(3)), (.count, FigureText(.tcp, "lost"), some(0)),
        (.count, FigureText(.tcp, "twice", nil, .among), some(4)),
      ], line: ["5 sent (2 fast, 3 slow)"]),
    Case(
      testDescription: "of a part, and at its end",
      texts: [
        (.count, FigureText(.tcp, "attempt", "attempts"), some(5)),
        (.count, FigureText(.tcp, "succeeded", nil, .outOf), some(0)),
        (.ratio, FigureText(.tcp, "", nil, .among), [.ratio(0), nil]),
        (.count, FigureText(.tcp, "hole", "holes"), some(2)),
        (.bytes, FigureText(.tcp, "bytes", nil, .behind), some(9)),
      ], line: ["0 of 5 attempts succeeded (0.00 %)", "2 holes of 9 bytes"]),
    Case(
      testDescription: "no attempt, no share",
      texts: [
        (.count, FigureText(.tcp, "attempt", "attempts"), some(0)),
        (.count, FigureText(.tcp, "succeeded", nil, .outOf), some(0)),
      ], line: []),
    Case(
      testDescription: "ratios, rates and times with words around them",
      texts: [
        (.time, FigureText(.tcp, "", nil, .leading("in")), [.microseconds(1_500_000), nil]),
        (.rate, FigureText(.tcp, "frames/s", nil, .value("")), [.ratio(2.25), nil]),
        (.ratio, FigureText(.tcp, "headers", nil, .value("")), [.ratio(0.125), nil]),
        (.time, FigureText(.tcp, "on average", nil, .value("every")), [.mean(30_000_000), nil]),
        (.count, FigureText(.tcp, "retries", nil, .labelled), some(3)),
      ], line: ["in 1.5 s: 2.3 frames/s", "12.50 % headers", "every 30.0 s on average", "retries 3"]),
    Case(
      testDescription: "times of one kind are joined, others are not",
      texts: [
        (.time, FigureText(.tcp, "min", nil, .times("after")), [.microseconds(1_000), nil]),
        (.time, FigureText(.tcp, "max", nil, .times("after")), [.nanoseconds(2_000_999), nil]),
        (.time, FigureText(.tcp, "mean", nil, .times("round trip")), [.mean(1_500.9), nil]),
        (.count, FigureText(.tcp, "frame", "frames"), some(2)),
      ], line: ["after 1.000/2.000 ms min/max", "round trip 1.500 ms mean", "2 frames"]),
    Case(
      testDescription: "a part for each value",
      texts: [
        (.count, .named(.tcp, ["one", ""], head: "skipped:"), [.count(1), .count(2)]),
        (.count, FigureText(.tcp, "gap", "gaps", .each([])), [.count(1), .count(2)]),
        (.bytes, FigureText(.tcp, "bytes", nil, .behindEach(["cut", "lost"])), [.count(7), .count(8)]),
      ],
      line: [
        "skipped: client_to_server 1 (one)", "server_to_client 2 ()", "1 gap of 7 bytes cut", "2 gaps of 8 bytes lost",
      ]),
  ]

  @Test(arguments: cases) func lines(_ test: Case) {
    let figures = test.texts.enumerated().map { place, text in
      Figure<[[FigureValue?]]>("f\(place)", text.unit, .packet, "", by: [.direction], text: [text.text]) {
        values, way, _ in
        values[place][way]
      }
    }
    #expect(FigureWords.parts(.tcp, figures, test.texts.map(\.values)) == test.line)
  }

  @Test func aLineOfOneDirection() {
    let figure = Self.row(.count, FigureText(.segments, "segment", "segments"))
    #expect(FigureWords.parts(.segments, [figure], Self.some(3), way: 0) == ["3 segments"])
    #expect(FigureWords.parts(.segments, [figure], Self.some(3), way: 1) == [])
  }

  @Test func columnsStandInTheirOrder() {
    let figures = [
      Self.row(.count, .columns(.types, [("server_to_client", "s2c"), ("client_to_server", "c2s")])),
      Self.row(.count, .column(.types, "first", width: 8, order: 1), .column(.worst, "elsewhere")),
      Self.row(.time, by: [], .column(.types, "last ms", absent: "?")),
    ]
    let columns = FigureColumns(.types, figures)
    #expect(columns.titles == ["first", "s2c", "c2s", "last ms"])
    #expect(columns.widths == [8, 3, 3, 7])
    #expect(columns.cells([.count(1_000), .count(2)]) == ["1,002", "2", "1,000", "0.000"])
    #expect(columns.cells([nil, nil]) == ["-", "-", "-", "?"])
  }
}
