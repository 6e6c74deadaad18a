import Foundation
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMOutput

/// Metrics as nested objects, parsed with Foundation.
@Suite struct MetricTreeTests {
  private typealias Values = [String: MetricValue]

  private static func metric(
    _ place: String, _ unit: MetricUnit = .count, omitsZero: Bool = false
  ) -> Metric<Values> {
    Metric(place, unit, .packet, "help", json: [place], omitsZero: omitsZero) { values, _, _ in values[place] }
  }

  private static func read(
    _ tree: MetricTree<Values>, _ values: Values, isWanted: (String) -> Bool = { _ in true }
  ) throws -> (text: String, object: Document) {
    var out = ByteWriter()
    JSONLines.line(to: &out) { tree.write(values, &$0, isWanted: isWanted) }
    let object = try JSONSerialization.jsonObject(with: Data(out.text.utf8)) as? [String: Any]
    return (out.text, Document(try #require(object)))
  }

  @Test func objectsInOneAnother() throws {
    let tree = MetricTree(
      ["a", "b.c", "b.d.e", "f.g", "b.h"].map { Self.metric($0) }, .microseconds, at: { $0.json })
    let all = try Self.read(
      tree, ["a": .count(1), "b.c": .count(2), "b.d.e": .count(3), "f.g": .count(4), "b.h": .change(-5)])
    // Members in the order of their declaration, and each object in one piece.
    #expect(all.text == #"{"a":1,"b":{"c":2,"d":{"e":3},"h":-5},"f":{"g":4}}"# + "\n")
    // An object without a known value is absent, with its commas.
    #expect(try Self.read(tree, ["b.h": .count(7)]).text == #"{"b":{"h":7}}"# + "\n")
    #expect(try Self.read(tree, ["f.g": .count(0)]).text == #"{"f":{"g":0}}"# + "\n")
    #expect(try Self.read(tree, [:]).text == "{}\n")
    let some = try Self.read(tree, ["a": .count(1), "b.c": .count(2), "f.g": .count(3)], isWanted: { $0 != "b" })
    #expect(some.text == #"{"a":1,"f":{"g":3}}"# + "\n")
  }

  /// Objects that are present even without members, and metrics that are absent at 0.
  @Test func emptyObjectsAndZeros() throws {
    let tree = MetricTree(
      [
        Self.metric("issues.x", omitsZero: true), Self.metric("y.z", omitsZero: true),
        Self.metric("y.t", .time, omitsZero: true),
      ],
      .microseconds, at: { $0.json })
    #expect(try Self.read(tree, ["issues.x": .count(0), "y.z": .count(0)]).text == #"{"issues":{}}"# + "\n")
    #expect(
      try Self.read(tree, ["issues.x": .count(1), "y.t": .microseconds(0)]).text
        == #"{"issues":{"x":1},"y":{"t":0}}"# + "\n")
  }

  /// The unit of a time follows the suffix of its name, `_ms` or `_s`, else it is that of the tree; numbers have the limits of
  /// Elasticsearch.
  @Test func forms() throws {
    let names = [
      "count", "ratio", "share", "rate", "t", "t_ms", "t_s", "mean", "mean_ms", "mean_s", "ns", "ns_ms", "clock",
    ]
    let units: [MetricUnit] = [
      .count, .ratio, .ratio, .rate, .time, .time, .time, .time, .time, .time, .time, .time, .seconds,
    ]
    let figures = zip(names, units).map { Self.metric($0, $1) }
    let values: Values = [
      "count": .count(.max), "ratio": .ratio(0.123_456_7), "share": .share(1, of: 3), "rate": .ratio(2.5),
      "t": .microseconds(1_234_567), "t_ms": .microseconds(1_234_567), "t_s": .microseconds(1_234_567),
      "mean": .mean(1_234.9), "mean_ms": .mean(1_234.5678), "mean_s": .mean(1_500_000), "ns": .nanoseconds(1_234_567),
      "ns_ms": .nanoseconds(1_234_567), "clock": .seconds(1_700_000_000.25),
    ]
    let micro = try Self.read(MetricTree(figures, .microseconds, at: { $0.json }), values).object
    let milli = try Self.read(MetricTree(figures, .milliseconds, at: { $0.json }), values).object
    let expected: [(name: String, micro: Double, milli: Double)] = [
      ("count", 0x1p63, 0x1p63), ("ratio", 0.123_457, 0.123_457), ("share", 0.333_333, 0.333_333), ("rate", 2.5, 2.5),
      ("t", 1_234_567, 1_234.567), ("t_ms", 1_234.567, 1_234.567), ("t_s", 1.235, 1.235), ("mean", 1_234, 1.235),
      ("mean_ms", 1.235, 1.235), ("mean_s", 1.5, 1.5), ("ns", 1_234.567, 1.234), ("ns_ms", 1.234, 1.234),
      ("clock", 1_700_000_000.25, 1_700_000_000.25),
    ]
    for (name, inMicroseconds, inMilliseconds) in expected {
      #expect(micro.number(name) == inMicroseconds, "\(name)")
      #expect(milli.number(name) == inMilliseconds, "\(name)")
    }
  }

  @Test func histograms() throws {
    var histogram = RTTHistogram()
    for sample: Int64 in [5, 5, 150_000, 90_000_000_000] { histogram.record(microseconds: sample) }
    let tree = MetricTree([Self.metric("h", .histogram)], .milliseconds, at: { $0.json })
    let object = try Self.read(tree, ["h": .coarse(histogram)]).object
    let values = try #require(object["h.values"] as? [Double]), counts = try #require(object["h.counts"] as? [Int])
    #expect(values.count == 3 && values == values.sorted() && counts == [2, 1, 1] && values[0] == 0.005)
    #expect(abs(values[1] - 150) <= 150 * 0.025)
  }

  /// Metrics one by one: their dotted names, whether they are integers, and their text in the object.
  @Test func oneByOne() {
    let tree = MetricTree(
      [
        Self.metric("a"), Self.metric("b.c", .time), Self.metric("b.d_ms", .time),
        Self.metric("b.e.f", omitsZero: true),
        Self.metric("b.g", .ratio), Self.metric("h.i"), Self.metric("h.j", .histogram),
      ], .microseconds, at: { $0.json })
    let values: Values = [
      "a": .count(1), "b.c": .microseconds(2), "b.d_ms": .microseconds(3_500), "b.e.f": .count(0), "b.g": .ratio(0.5),
      "h.i": .count(9), "h.j": .coarse(RTTHistogram()),
    ]
    var found: [String] = []
    tree.forEach(values, isWanted: { $0 != "a" }) { name, isWhole, text in
      found.append("\(name) \(isWhole) \(String(decoding: text, as: UTF8.self))")
    }
    #expect(found == ["b.c true 2", "b.d_ms false 3.5", "b.g false 0.5", "h.i true 9"])
    #expect(tree.counts(values, in: "h").map(\.name) == ["i"] && tree.counts(values, in: "nothing").isEmpty)
  }

  /// A name without a dimension is the sum over it.
  @Test func dimensions() throws {
    let way = Dimension("way", [("up", ""), ("down", "")])
    let figure = Metric<[UInt64?]>(
      "f", .count, .packet, "help", by: [way], json: ["sum", "each.{way}"]
    ) { values, place, _ in values[place].map { .count($0) } }
    let tree = MetricTree([figure], .microseconds, at: { $0.json })
    for (values, expected) in [
      ([1, 2], #"{"sum":3,"each":{"up":1,"down":2}}"#), ([nil, 2], #"{"sum":2,"each":{"down":2}}"#),
      ([nil, nil], "{}"),
    ] as [([UInt64?], String)] {
      var out = ByteWriter()
      JSONLines.line(to: &out) { tree.write(values, &$0) }
      #expect(out.text == expected + "\n")
    }
  }
}

/// Lines with the limits of Elasticsearch.
@Suite struct JSONLineTests {
  private static func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  @Test func membersAndTheirLimits() throws {
    var lines = JSONLines()
    lines.begin()
    lines.number("largest", UInt64.max)
    lines.number("none", nil)
    lines.number("some", UInt64?(7))
    lines.signed("least", .min)
    lines.milliseconds("time", Int64(-1_500))
    lines.milliseconds("noTime", Int64?.none)
    lines.milliseconds("mean", 1_234.5678)
    lines.milliseconds("nothing", Double.nan)
    lines.decimal("part", 1.0 / 3)
    lines.decimal("infinite", -.infinity)
    lines.flag("flag", false)
    lines.pair("a\"\n", "b\\\u{1}")
    lines.text("text", nil)
    lines.text("long", String(repeating: "息", count: 1_000))
    lines.open("empty")
    lines.close()
    lines.open("object")
    lines.name("name", "x")
    lines.close()
    #expect(lines.end() == true)
    let object = try Self.object(lines.writer.text)
    #expect(object["largest"] as? Int64 == .max && object["least"] as? Int64 == .min && object["some"] as? Int == 7)
    #expect(object["time"] as? Double == -1.5 && object["mean"] as? Double == 1.235)
    #expect(object["part"] as? Double == 0.333_333 && object["flag"] as? Bool == false)
    #expect(object["a\"\n"] as? String == "b\\\u{1}")
    // 1,024 bytes would end in the middle of the 342nd character.
    #expect(object["long"] as? String == String(repeating: "息", count: 341))
    #expect((object["empty"] as? [String: Any])?.isEmpty == true)
    #expect((object["object"] as? [String: String]) == ["name": "x"])
    for name in ["none", "noTime", "nothing", "infinite", "text"] { #expect(object[name] == nil, "\(name)") }
  }

  /// A line has at most 64 KiB; a longer one is dropped, and the lines around it stay.
  @Test func longLinesAreTakenBack() throws {
    var lines = JSONLines()
    for (count, isKept) in [(100, true), (1_000_000, false), (200, true)] {
      lines.begin()
      lines.members("\"x\":\"\(String(repeating: "a", count: count))\"")
      #expect(lines.end() == isKept)
    }
    #expect(lines.refused == 1)
    let kept = lines.writer.text.split(separator: "\n").map { $0.utf8.count }
    #expect(kept == [100 + 8, 200 + 8])
    // To the byte: braces, name, quotes, colon and line feed are nine bytes.
    for (count, isKept) in [((64 << 10) - 9, true), ((64 << 10) - 8, false)] {
      lines.begin()
      lines.members("\"x\":\"\(String(repeating: "a", count: count))\"")
      #expect(lines.end() == isKept, "\(count)")
    }
  }

  @Test func membersAreTakenBack() throws {
    var lines = JSONLines()
    lines.begin()
    let first = lines.mark
    lines.number("a", UInt64(1))
    let second = lines.mark
    lines.open("b")
    lines.number("c", UInt64(2))
    lines.takeBack(to: second)
    lines.number("d", UInt64(3))
    #expect(lines.writer.text == #"{"a":1,"d":3"#)
    lines.takeBack(to: first)
    lines.number("e", UInt64(4))
    #expect(lines.end() == true)
    #expect(lines.writer.text == #"{"e":4}"# + "\n")
  }

  @Test(arguments: [
    ("", 0), (String(repeating: "a", count: 1_024), 1_024), (String(repeating: "a", count: 1_025), 1_024),
    (String(repeating: "é", count: 513), 1_024), ("a" + String(repeating: "é", count: 513), 1_023),
    (String(repeating: "🙂", count: 300), 1_024), ("abc" + String(repeating: "🙂", count: 300), 1_023),
    // A character of very many scalars is cut between scalars.
    ("e" + String(repeating: "\u{301}", count: 5_000), 1_023),
  ]) func cut(_ text: String, _ count: Int) {
    let cut = JSONLines.cut(text)
    #expect(cut.utf8.count == count && text.utf8.starts(with: cut.utf8))
    #expect(!cut.unicodeScalars.contains("\u{fffd}"))
  }

  @Test func decimals() {
    func text(_ units: Int64, _ places: Int) -> String {
      var out = ByteWriter(capacity: 64)
      out.decimal(units, places: places)
      return out.text
    }
    let cases: [(units: Int64, places: Int, text: String)] = [
      (0, 0, "0"), (0, 6, "0"), (12, 0, "12"), (1_200, 2, "12"), (1_230, 2, "12.3"), (5, 3, "0.005"), (-5, 3, "-0.005"),
      (-1_000_001, 6, "-1.000001"), (.max, 18, "9.223372036854775807"), (.min, 18, "-9.223372036854775808"),
      (.min, 0, "-9223372036854775808"), (100, 2, "1"),
    ]
    for test in cases { #expect(text(test.units, test.places) == test.text) }
  }
}
