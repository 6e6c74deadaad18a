import IMMetrics
import IMWire

/// Metrics as the parts of a line of text, in the order that they declare. Compiled once for all scopes, not for each: a report has
/// a few lines of them.
enum MetricSentences {
  /// The parts of `line`, such as `3 retransmissions (1 fast)`; of direction `way`, where they have one. `remark` adds words to
  /// the part of a named value, beside those that the figure has for it; values that `isWanted` does not take have no part.
  @_semantics("optimize.sil.specialize.generic.never")
  static func parts<Snapshot>(
    _ line: MetricPresentation.Place, _ figures: [Metric<Snapshot>], _ snapshot: Snapshot, way: Int? = nil,
    remark: (String) -> String? = { _ in nil }, isWanted: (String) -> Bool = { _ in true }
  ) -> [String] {
    var parts = MetricParts()
    for (figure, text) in Catalogue.texts(line, in: figures) {
      switch text.style {
      case .named(let words):
        let all = values(figure, snapshot, way)
        parts.add(
          named: all.map { ($0.name, $0.count, remark($0.name) ?? ($0.place < words.count ? words[$0.place] : nil)) },
          head: text.one)
      case .each(let words):
        let all = values(figure, snapshot, way).filter { value in
          isWanted(value.name) && (words.isEmpty || value.place < words.count && !words[value.place].isEmpty)
        }
        parts.add(each: all, text, words)
      case .behindEach(let words): parts.add(behindEach: values(figure, snapshot, way), text, words)
      default:
        let isOfWay = way != nil && figure.info.dimensions.first?.name == Dimension.direction.name
        let value = isOfWay ? figure.value(snapshot, at: way ?? 0) : figure.value(snapshot)
        parts.add(value, text, figure.info.unit)
      }
    }
    return parts.all
  }

  /// The counts of a figure by its last dimension, without those that are 0.
  @_semantics("optimize.sil.specialize.generic.never")
  private static func values<Snapshot>(
    _ figure: Metric<Snapshot>, _ snapshot: Snapshot, _ way: Int?
  ) -> [MetricParts.Value] {
    (figure.info.dimensions.last?.values ?? []).enumerated().compactMap { place, value in
      guard case .count(let count)? = figure.value(snapshot, at: place, way: way), count > 0 else { return nil }
      return (place, value.name, count)
    }
  }

  /// A value in a line: `1,234`, `12.50 %`, `3.250 s`.
  static func text(_ value: MetricValue, _ unit: MetricUnit) -> String {
    var out = ByteWriter(capacity: 32)
    switch value {
    case .count(let count): return grouped(count)
    case .change(let change): out.number(change)
    case .ratio, .share:
      if unit == .ratio { return percent(value.ratio ?? 0) }
      out.decimal(value.ratio ?? 0, 1)
    case .microseconds, .mean, .nanoseconds:
      out.decimal(microseconds(value) / 1_000_000, 3)
      out.literal(" s")
    case .seconds(let seconds): out.decimal(seconds, 3)
    case .percentiles, .coarse, .buckets: break
    }
    return out.text
  }

  /// A time in milliseconds, as it stands in columns.
  static func milliseconds(_ value: MetricValue) -> String {
    var out = ByteWriter(capacity: 32)
    out.milliseconds(Int64(exactly: microseconds(value).rounded(.towardZero)) ?? 0)
    return out.text
  }

  private static func microseconds(_ value: MetricValue) -> Double {
    switch value {
    case .microseconds(let time): Double(time)
    case .mean(let time): time
    case .nanoseconds(let time): Double(time / 1_000)
    default: 0
    }
  }
}

/// The parts of a line while it is made.
struct MetricParts {
  /// A value of a dimension, and how many there are.
  typealias Value = (place: Int, name: String, count: UInt64)

  private var parts: [String] = []
  /// What stands in the parentheses behind the last part.
  private var among: [String] = []
  /// Whether the figure before is there, and the parts of each of its values.
  private var isThere = false
  private var places: [Int: Int] = [:]
  /// What stands in front of the next part.
  private var leading = ""
  /// Times that are joined.
  private var times: (lead: String, values: [String], labels: [String]) = ("", [], [])

  /// All of them.
  var all: [String] {
    mutating get {
      close()
      return parts
    }
  }

  private mutating func close() {
    if !among.isEmpty, let last = parts.popLast() { parts.append("\(last) (\(among.joined(separator: ", ")))") }
    among = []
    guard !times.values.isEmpty else { return }
    let lead = times.lead.isEmpty ? "" : times.lead + " "
    put("\(lead)\(times.values.joined(separator: "/")) ms \(times.labels.joined(separator: "/"))")
    times = ("", [], [])
  }

  private mutating func put(_ part: String) {
    parts.append(leading + part)
    leading = ""
  }

  /// Adds a part of its own, if it is there.
  private mutating func put(if isThere: Bool, _ part: @autoclosure () -> String) {
    close()
    self.isThere = isThere
    if isThere { put(part()) }
  }

  private static func words(_ before: String, _ value: String, _ behind: String) -> String {
    [before, value, behind].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// Adds a figure with this value.
  mutating func add(_ value: MetricValue?, _ text: MetricPresentation, _ unit: MetricUnit) {
    var count: UInt64?
    if case .count(let known)? = value { count = known }
    let printed = value.map { MetricSentences.text($0, unit) } ?? ""
    let words = Self.words("", printed, count == 1 ? text.one : text.many)
    switch text.style {
    case .part: put(if: count.map { $0 > 0 } ?? (value != nil), words)
    case .always: put(if: value != nil, words)
    case .labelled: put(if: (count ?? 0) > 0, Self.words(text.one, printed, ""))
    case .value(let before): put(if: value != nil, Self.words(before, printed, text.one))
    case .leading(let before):
      close()
      if value != nil { leading = Self.words(before, printed, text.one) + ": " }
    case .among: if isThere, value != nil, count != 0 { among.append(words) }
    case .behind: if isThere, (count ?? 0) > 0, let last = parts.popLast() { parts.append("\(last) of \(words)") }
    case .outOf:
      if isThere, count != nil, let last = parts.popLast() { parts.append(Self.words(printed + " of", last, text.one)) }
    case .times(let lead):
      if !times.values.isEmpty, times.lead != lead { close() }
      guard let value else { return }
      if times.values.isEmpty { close() }
      times.lead = lead
      times.values.append(MetricSentences.milliseconds(value))
      times.labels.append(text.one)
    case .named, .each, .behindEach, .columns, .tile, .compared: break
    }
  }

  /// Adds a part for each value of a dimension: `name 3 (remark)`.
  mutating func add(named values: [(name: String, count: UInt64, remark: String?)], head: String) {
    close()
    var head = head
    for (name, count, remark) in values {
      put(Self.words(head, name, grouped(count)) + (remark.map { " (\($0))" } ?? ""))
      head = ""
    }
  }

  /// Adds a part for each value of a dimension: `3 gaps`; its words are still to come.
  mutating func add(each values: [Value], _ text: MetricPresentation, _ words: [String]) {
    close()
    places = [:]
    for (place, _, count) in values {
      places[place] = parts.count
      let behind = place < words.count ? words[place] : ""
      put(Self.words(grouped(count), count == 1 ? text.one : text.many, behind))
    }
  }

  /// Adds to the parts of these values: `3 gaps of 1,000 bytes`.
  mutating func add(behindEach values: [Value], _ text: MetricPresentation, _ words: [String]) {
    for (place, _, count) in values {
      guard let part = places[place] else { continue }
      let behind = place < words.count ? words[place] : ""
      parts[part] += " of " + Self.words(grouped(count), count == 1 ? text.one : text.many, behind)
    }
  }
}
