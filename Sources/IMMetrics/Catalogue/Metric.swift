/// One figure of the product, declared once: what it is called in each format, what it means, when it is final, and where it
/// is read in the snapshot of its scope. Outputs walk the tables of these and name no figure themselves.
///
/// Tables are made when a report is written first; a run that writes none never makes them.
package struct Metric<Snapshot>: Sendable {
  /// Reads a value in a snapshot, at a place of each dimension; `nil` where it is not known, which is not 0.
  package typealias Read = @Sendable (_ snapshot: Snapshot, _ first: Int, _ second: Int) -> MetricValue?

  /// Shared, because a table of figures is copied in part for each line of text.
  private final class Shared: Sendable {
    let info: MetricInfo
    init(_ info: MetricInfo) { self.info = info }
  }

  private let shared: Shared
  /// Its names and its meaning.
  package var info: MetricInfo { _read { yield shared.info } }
  /// Reads its value.
  package let read: Read

  /// A figure of its parts.
  package init(
    _ id: String, _ unit: MetricUnit = .count, _ moment: MetricTiming, _ help: String, by dimensions: [Dimension] = [],
    json: [String] = [], connection: [String] = [], interval: [String] = [], capture: [String] = [],
    metric: MetricName? = nil, runMetric: MetricName? = nil, rule: MetricRule? = nil, text: [MetricPresentation] = [],
    omitsZero: Bool = false, kind: MetricKind = .counter,
    read: @escaping Read
  ) {
    shared = Shared(
      MetricInfo(
        id: id, unit: unit, kind: kind, moment: moment, help: help, dimensions: dimensions, json: json,
        connection: connection, interval: interval, capture: capture, metric: metric, runMetric: runMetric,
        rule: rule?.named(by: id), text: text, omitsZero: omitsZero))
    self.read = read
  }

  private init(info: MetricInfo, read: @escaping Read) {
    shared = Shared(info)
    self.read = read
  }

  /// The same figure of a larger snapshot that has this one as a part; absent where it has none.
  package func of<Whole>(ifAny part: @escaping @Sendable (Whole) -> Snapshot?) -> Metric<Whole> {
    let read = read
    return Metric<Whole>(info: info) { whole, first, second in
      part(whole).flatMap { read($0, first, second) }
    }
  }

  /// The same figure of a larger snapshot that always has this one as a part.
  package func of<Whole>(_ part: @escaping @Sendable (Whole) -> Snapshot) -> Metric<Whole> {
    let read = read
    return Metric<Whole>(info: info) { whole, first, second in read(part(whole), first, second) }
  }

  /// The same figure with other names.
  package func named(_ change: (inout MetricInfo) -> Void) -> Metric {
    var info = info
    change(&info)
    return Metric(info: info, read: read)
  }

  /// The same figure with the names only that it has in documents of connections, of minutes, or of the capture.
  package func only(_ names: WritableKeyPath<MetricInfo, [String]>) -> Metric {
    named { info in
      let kept = info[keyPath: names]
      (info.json, info.connection, info.interval, info.capture) = ([], [], [], [])
      (info.metric, info.runMetric) = (nil, nil)
      info[keyPath: names] = kept
    }
  }

  /// The same figure without the names that it has in documents.
  package var withoutDocuments: Metric {
    named { ($0.connection, $0.interval, $0.capture) = ([], [], []) }
  }

  /// Its value at places of its dimensions, added up where those are several.
  package func value(_ snapshot: Snapshot, _ first: Range<Int>, _ second: Range<Int>) -> MetricValue? {
    Self.sum(read, snapshot, first, second)
  }

  /// What `read` gives at places of the dimensions, added up where those are several.
  package static func sum(
    _ read: Read, _ snapshot: Snapshot, _ first: Range<Int>, _ second: Range<Int>
  ) -> MetricValue? {
    var sum: UInt64?
    for one in first {
      for other in second {
        guard let value = read(snapshot, one, other) else { continue }
        guard case .count(let count) = value else { return value }
        sum = (sum ?? 0) &+ count
      }
    }
    return sum.map { .count($0) }
  }
}

/// What a figure is called, and what it means.
package struct MetricInfo: Sendable {
  /// What names it in the code and in the documentation.
  package var id: String
  /// What it counts in.
  package var unit: MetricUnit
  /// Whether it only grows.
  package var kind: MetricKind
  /// What it belongs to, when it is final, and how a late answer corrects it.
  package var moment: MetricTiming
  /// What it says, in words, without a full stop; `{name}` stands for the words of a dimension's value.
  package var help: String
  /// What it is told apart by, two at most.
  package var dimensions: [Dimension]
  /// Its dotted places in the objects of `stats --json`. A dimension without `{name}` in a place is summed over.
  package var json: [String]
  /// Its dotted places below `imdump.conn`, `imdump.summary` and `imdump.capture`.
  package var connection: [String], interval: [String], capture: [String]
  /// Its metric by server (by type, where it is one of types), and its metric of the run.
  package var metric: MetricName?, runMetric: MetricName?
  /// How rules watch it.
  package var rule: MetricRule?
  /// Its words in lines of text, and its columns in tables.
  package var text: [MetricPresentation]
  /// Whether it is left out of JSON where it is 0.
  package var omitsZero: Bool

  /// A name of it, and the places of its dimensions that have that name.
  package struct Leaf: Sendable {
    /// The dotted name's parts, or the values of labels.
    package let path: [String]
    /// Places of the first dimension and of the second; several where they are added up.
    package let first: Range<Int>, second: Range<Int>
  }

  /// The names that the dotted `place` stands for: one for each value of the dimensions that it names.
  package func leaves(_ place: String) -> [Leaf] {
    func ranges(_ i: Int) -> [(name: String?, range: Range<Int>)] {
      guard i < dimensions.count else { return [(nil, 0..<1)] }
      let values = dimensions[i].values
      guard place.contains("{\(dimensions[i].name)}") else { return [(nil, 0..<values.count)] }
      return values.indices.map { (values[$0].name, $0..<$0 + 1) }
    }
    let parts = place.split(separator: ".").map(String.init)
    func filled(_ part: String, _ names: [String?]) -> String {
      zip(dimensions, names).reduce(part) { part, pair in
        pair.1.map { part.replacing("{\(pair.0.name)}", with: $0) } ?? part
      }
    }
    return ranges(0).flatMap { one in
      ranges(1).map { other in
        Leaf(
          path: parts.map { filled($0, [one.name, other.name]) }, first: one.range, second: other.range)
      }
    }
  }

  /// Its help where its dimensions are at these places.
  package func help(_ first: Range<Int>, _ second: Range<Int>) -> String {
    zip(dimensions, [first, second]).reduce(help) { text, pair in
      text.replacing("{\(pair.0.name)}", with: pair.1.count == 1 ? pair.0.values[pair.1.lowerBound].help : "")
    }
  }
}

/// The value of a figure in a snapshot.
package enum MetricValue: Sendable {
  /// How many, or how many bytes.
  case count(UInt64)
  /// What came or went since the last report.
  case change(Int64)
  /// A ratio, or so many a second; a ratio with its parts, of which the second is not 0.
  case ratio(Double), share(UInt64, of: UInt64)
  /// A time; a mean of times in microseconds.
  case microseconds(Int64), mean(Double), nanoseconds(Int64)
  /// Seconds of a clock.
  case seconds(Double)
  /// Percentiles of the run; apart, so that the others stay small.
  indirect case percentiles(RTTRecorder), coarse(RTTHistogram)
  /// Counts up to fixed boundaries.
  indirect case buckets(LatencySeries)
}

extension MetricValue {
  /// A ratio of its parts; `nil` where there is nothing to be a part of.
  static func part(_ part: UInt64, of whole: UInt64) -> MetricValue? { whole == 0 ? nil : .share(part, of: whole) }

  /// Its number, where it is a ratio or so many a second.
  package var ratio: Double? {
    switch self {
    case .ratio(let ratio): ratio
    case .share(let part, let whole): Double(part) / Double(whole)
    default: nil
    }
  }
}

/// What a figure counts in.
package enum MetricUnit: String, Sendable {
  case count, bytes, ratio, rate, time, seconds, histogram
}

/// How a figure moves.
package enum MetricKind: Sendable {
  /// It only grows while its scope lasts.
  case counter
  /// It goes up and down.
  case gauge
}

/// What a figure belongs to, when it is final, and how an answer that comes late corrects it: the same for all formats.
package enum MetricTiming: String, CaseIterable, Sendable {
  /// Counted with its packet or frame, and final at once.
  case packet
  /// Counted when the fate is decided; a late answer moves it, and the last report has the fate that stands in the end.
  case fate
  /// Counted when the fate is decided first, and final; a late answer is counted beside it.
  case firstFate
  /// Counted with the reports of its connection.
  case report
  /// Counted when its connection is over.
  case end
  /// What is so when the report is written.
  case now

  /// Which server and which minute it belongs to.
  package var attribution: String {
    switch self {
    case .packet: "the server of its connection, the minute of its packet"
    case .fate, .firstFate: "the server of its connection, the minute in which the fate was decided"
    case .report: "the server of its connection, the minute of the connection's report"
    case .end: "the server of its connection, the minute in which that ended"
    case .now: "the minute that ends"
    }
  }

  /// When it is final, and what corrects it.
  package var finality: String {
    switch self {
    case .packet: "final at once"
    case .fate:
      "final 60 s after the last copy, or with the connection's last report: a late answer moves it until then"
    case .firstFate: "final at once: a late answer is counted separately, in `late`"
    case .report:
      "final 6 s after the connection's end, 66 s where answers or copies may still come; before, as of its last report"
    case .end: "counted 6 s after the connection's end, 66 s where answers may still come, or at the end of the run"
    case .now: "never final"
    }
  }
}

/// What a figure is told apart by.
package struct Dimension: Sendable {
  /// The label, and the placeholder in dotted names.
  package let name: String
  /// The names of its values, and what they mean, in words that stand in a figure's help.
  package let values: [(name: String, help: String)]

  /// A dimension of its parts.
  package init(_ name: String, _ values: [(name: String, help: String)]) {
    self.name = name
    self.values = values
  }
}

/// A figure's place among the metrics for monitoring systems.
package struct MetricName: Sendable {
  /// What kinds of families there are, in the words of OpenMetrics.
  package enum Kind: String, Sendable {
    case counter, gauge, histogram, summary, info
  }

  /// The family's name, without what a kind adds to it.
  package let family: String
  /// The family's kind.
  package let kind: Kind
  /// A label that tells the figure from the others of its family.
  package let label: (name: String, value: String)?
  /// The family's help, where it is not the figure's.
  package let help: String?
  /// Whether only a live capture has it.
  package let isLive: Bool

  /// A place of its parts.
  package init(
    _ family: String, _ kind: Kind = .counter, _ label: (name: String, value: String)? = nil, help: String? = nil,
    isLive: Bool = false
  ) {
    self.family = family
    self.kind = kind
    self.label = label
    self.help = help
    self.isLive = isLive
  }
}
