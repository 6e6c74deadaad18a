import IMMetrics

/// Metrics as text that monitoring systems read: families in order, a line for each sample.
///
/// Both dialects have the same samples. They differ in what stands around them:
///
///     # HELP imdump_frames_total Frames decoded          # HELP imdump_frames Frames decoded
///     # TYPE imdump_frames_total counter                 # TYPE imdump_frames counter
///     imdump_frames_total{profile="tjp",...} 12          imdump_frames_total{profile="tjp",...} 12
///                                                        # EOF
///
/// Sources: the text format 0.0.4 of Prometheus; OpenMetrics 1.0.
package struct MetricText: ~Copyable {
  /// The two forms.
  package enum Dialect: Int, CaseIterable, Sendable {
    /// The text format of Prometheus, which its textfile collector reads too.
    case prometheus
    /// OpenMetrics 1.0.
    case openMetrics

    /// What HTTP calls it.
    package var contentType: String {
      switch self {
      case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      }
    }
  }

  /// What was written.
  package private(set) var out = ByteWriter(capacity: 64 << 10)
  private let dialect: Dialect
  private var family = MetricFamily.rejections
  private var isBegun = false

  /// An empty text.
  package init(_ dialect: Dialect) { self.dialect = dialect }

  /// Begins a family; its lines are written with its first sample, so one without samples has none.
  mutating func begin(_ family: MetricFamily) {
    self.family = family
    isBegun = false
  }

  /// Ends the text.
  mutating func end() {
    if dialect == .openMetrics { out.literal("# EOF\n") }
  }

  /// The samples of a figure.
  mutating func sample(_ labels: String, _ value: MetricValue) {
    switch value {
    case .count(let count): part(suffix, labels, count)
    case .change(let change): part(suffix, labels, UInt64(clamping: change))
    case .ratio, .share: part(suffix, labels, decimal: value.ratio ?? 0)
    case .seconds(let seconds): part(suffix, labels, decimal: seconds)
    case .microseconds(let time): part(suffix, labels, microseconds: time)
    case .mean(let time): part(suffix, labels, microseconds: Int64(exactly: time.rounded(.towardZero)) ?? 0)
    case .nanoseconds(let time): part(suffix, labels, microseconds: time / 1_000)
    case .percentiles(let trips): summary(labels, trips.count, trips.sum) { trips.percentile($0) }
    case .coarse(let trips): summary(labels, trips.count, trips.sum) { trips.percentile($0) }
    case .buckets(let series):
      series.forEachBound { bound, count in part("_bucket", labels, count, bound) }
      part("_bucket", labels, series.count, "le=\"+Inf\"")
      part("_sum", labels, microseconds: series.sum)
      part("_count", labels, series.count)
    }
  }

  /// Percentiles, sum and count; without samples there is no percentile, which is not 0.
  private mutating func summary(
    _ labels: String, _ count: UInt64, _ sum: Int64, _ percentile: (Double) -> Int64?
  ) {
    let names: [StaticString] = [
      "quantile=\"0.5\"", "quantile=\"0.9\"", "quantile=\"0.95\"", "quantile=\"0.99\"", "quantile=\"0.999\"",
    ]
    for (name, rank) in zip(names, Catalogue.percentiles) {
      if let value = percentile(rank.percent) { part("", labels, microseconds: value, name) }
    }
    part("_sum", labels, microseconds: sum)
    part("_count", labels, count)
  }

  /// One sample of a family with more than one a figure: `suffix` and `extra`, a label more, tell which.
  private mutating func part(_ suffix: StaticString, _ labels: String, _ value: UInt64, _ extra: StaticString = "") {
    line(suffix, labels, extra)
    out.number(value)
    out.literal("\n")
  }

  /// The same with six decimals.
  private mutating func part(_ suffix: StaticString, _ labels: String, decimal value: Double) {
    line(suffix, labels)
    out.decimal(value, 6)
    out.literal("\n")
  }

  /// The same in microseconds, written as seconds.
  private mutating func part(
    _ suffix: StaticString, _ labels: String, microseconds value: Int64, _ extra: StaticString = ""
  ) {
    line(suffix, labels, extra)
    let magnitude = value.magnitude
    if value < 0 { out.literal("-") }
    out.number(magnitude / 1_000_000)
    out.literal(".")
    var rest = magnitude % 1_000_000
    var digit: UInt64 = 100_000
    repeat {
      out.byte(48 + UInt8(truncatingIfNeeded: rest / digit))
      rest %= digit
      digit /= 10
    } while rest > 0
    out.literal("\n")
  }

  /// `name="value"`. The value is escaped as both dialects want it.
  static func label(_ name: String, _ value: String) -> String {
    var text = name + "=\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }

  // MARK: Parts

  /// What the name of a figure's one sample ends in.
  private var suffix: StaticString {
    switch family.kind {
    case .counter: "_total"
    case .info: "_info"
    case .gauge, .histogram, .summary: ""
    }
  }

  private mutating func line(_ suffix: StaticString, _ labels: String, _ extra: StaticString = "") {
    if !isBegun { head() }
    out.text(family.name)
    out.literal(suffix)
    if !labels.isEmpty || extra.utf8CodeUnitCount > 0 {
      out.literal("{")
      out.text(labels)
      if !labels.isEmpty, extra.utf8CodeUnitCount > 0 { out.literal(",") }
      out.literal(extra)
      out.literal("}")
    }
    out.literal(" ")
  }

  private mutating func head() {
    isBegun = true
    for word in ["HELP", "TYPE", "UNIT"] as [StaticString] {
      let isUnit = word.utf8Start[0] == UInt8(ascii: "U")
      if isUnit, dialect == .prometheus || family.unit.isEmpty { continue }
      out.literal("# ")
      out.literal(word)
      out.literal(" ")
      out.text(family.name)
      if dialect == .prometheus { out.literal(suffix) }
      out.literal(" ")
      switch word.utf8Start[0] {
      case UInt8(ascii: "H"): out.text(family.help)
      case UInt8(ascii: "T"):
        out.text(dialect == .prometheus && family.kind == .info ? "gauge" : family.kind.rawValue)
      default: out.text(family.unit)
      }
      out.literal("\n")
    }
  }
}
