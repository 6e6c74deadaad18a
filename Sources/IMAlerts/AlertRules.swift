import IMMetrics
import IMWire
package import IMYAML

/// What is known of the filter of a rule once it was looked at.
package enum FilterVerdict: Equatable, Sendable {
  /// It is wrong, and why.
  case mistake(String)
  /// The first frame of a message answers it.
  case asksFrame
  /// It asks what became of a message, too.
  case asksFate
}

/// Reads a file of rules. See imdump-rules(5).
///
/// The file is not trusted: its size and its depth, the rules, their labels and their windows have limits, and every mistake
/// names the place and what would be accepted there.
package struct AlertRules: Equatable, Sendable {
  /// The rules, in the order of the file.
  package var rules: [AlertRule]
  /// The filters that rules choose messages by, each once, in the order in which rules name them.
  package private(set) var filters: [String] = []

  /// Filters of the rules of a file that differ, at most: each has a bit in a word.
  static let maximumFilters = 64
  /// The longest filter, in bytes.
  static let maximumFilterLength = 4_096
  /// Rules in a file, at most.
  package static let maximumRules = 256
  /// Statuses of a rule, at most.
  static let maximumStatuses = 64
  /// Labels of a rule, at most.
  static let maximumLabels = 16
  /// The longest time that a rule can speak of, in seconds.
  static let maximumSeconds: Int64 = 24 * 3_600
  /// Steps of a window: about six where that is a whole number of seconds, and never more than these.
  static let usualSteps: Int64 = 6
  static let maximumSteps: Int64 = 60
  /// States of a rule with groups where it does not say how many, and the most that a rule may say.
  package static let usualSeries = 1_000, maximumSeries = 10_000
  /// The longest address of a runbook, in bytes.
  static let maximumAddress = 2_048
  /// Labels that every alert has of its own.
  static let reservedLabels: Set<String> = [
    "alertname", "severity", "profile", "server", "client", "scope", "sensor", "interface", "owner", "direction",
  ]

  /// Reads the rules in `text`; `source` names it in errors. `profiles` are the names that rules may speak of;
  /// `examine` looks at a filter over messages, and is `nil` where there is nothing to filter by.
  package init(
    _ text: String, source: String, profiles: [String], examine: ((String) -> FilterVerdict)? = nil
  ) throws(SourceError) {
    let root = try YAMLReader(text, source: source, subject: "rules file")
    try root.allow("version", "rules", "runbook")
    _ = try root.required("version").number(1...1)
    let runbook = try root.optional("runbook").map { reader throws(SourceError) in try Self.address(reader) }
    let list = try root.required("rules")
    let elements = try list.elements()
    guard !elements.isEmpty else { throw list.error("no rules") }
    guard elements.count <= Self.maximumRules else { throw list.error("at most \(Self.maximumRules) rules") }
    rules = []
    var names: Set<String> = []
    for element in elements {
      var rule = try Self.rule(element, profiles)
      if rule.runbook == nil { rule.runbook = runbook }
      let filter = try element.optional("filter")
      let place = try element.optional("where")
      if filter != nil, let place { throw place.error("'filter' and 'where' are the same: give one of them") }
      if let filter = place ?? filter { try choose(filter, &rule, examine) }
      guard names.insert(rule.name).inserted else {
        throw try element.required("name").error("another rule has the name '\(rule.name)'")
      }
      rules.append(rule)
    }
  }

  // MARK: One rule

  private mutating func choose(
    _ reader: YAMLReader, _ rule: inout AlertRule, _ examine: ((String) -> FilterVerdict)?
  ) throws(SourceError) {
    guard rule.metric.samples.areOfMessages else {
      throw reader.error("\(rule.metric.rawValue) is not counted by messages")
    }
    guard let examine else { throw reader.error("only what reads packets can choose messages by a filter") }
    let filter = try reader.text()
    guard filter.utf8.count <= Self.maximumFilterLength else {
      throw reader.error("a filter has at most \(Self.maximumFilterLength) bytes")
    }
    switch examine(filter) {
    case .mistake(let message): throw reader.error(message)
    case .asksFrame: rule.filterAsksFate = false
    case .asksFate:
      guard rule.metric.samples.areDecided else {
        throw reader.error(
          "\(rule.metric.rawValue) is counted before the fate of a message is known: use only fields of its first frame"
        )
      }
      rule.filterAsksFate = true
    }
    if !filters.contains(filter) { filters.append(filter) }
    guard filters.count <= Self.maximumFilters else {
      throw reader.error("the rules of a file have at most \(Self.maximumFilters) different filters")
    }
    rule.filter = filter
    rule.filterPlace = filters.firstIndex(of: filter) ?? 0
  }

  private static func rule(_ reader: YAMLReader, _ profiles: [String]) throws(SourceError) -> AlertRule {
    try reader.allow(
      "name", "summary", "metric", "scope", "profile", "window", "op", "threshold", "clear", "for", "keep_firing",
      "min_samples", "severity", "labels", "status", "where", "filter", "direction", "by", "max_series", "runbook")
    let metric = try word(reader.required("metric"), AlertMetric.allCases.map { ($0.rawValue, $0) })
    let scope = try self.scope(reader, metric)
    let comparison: AlertOperator = try word(reader.required("op"), AlertOperator.self)
    let windowReader = try reader.required("window")
    let window = try duration(windowReader, 1...maximumSeconds)
    guard let step = step(seconds: window / second) else {
      throw windowReader.error(
        "\(window / second)s cannot be cut into \(maximumSteps) or fewer equal steps of whole seconds; a multiple of a minute can"
      )
    }
    var rule = AlertRule(
      name: try name(reader.required("name")), metric: metric, scope: scope, window: window, step: step * second,
      comparison: comparison, threshold: 0)
    if let summary = try reader.optional("summary") { rule.summary = try text(summary) }
    if let profile = try reader.optional("profile") {
      let name = try profile.text()
      guard metric.samples != .packets else { throw profile.error("\(metric.rawValue) has no profile") }
      guard profiles.contains(name) else {
        throw profile.error("no profile '\(name)'; there are: \(profiles.joined(separator: ", "))")
      }
      rule.profile = name
    }
    try thresholds(reader, &rule)
    if let patience = try reader.optional("for") { rule.patience = try duration(patience, 0...maximumSeconds) }
    if let keep = try reader.optional("keep_firing") { rule.keepFiring = try duration(keep, 0...maximumSeconds) }
    if let samples = try reader.optional("min_samples") {
      rule.minimumSamples = UInt64(try samples.number(1...1_000_000_000))
      if comparison == .absent { throw samples.error("min_samples has no meaning with absent") }
    }
    if let status = try reader.optional("status") {
      guard metric.hasStatus else { throw status.error("\(metric.rawValue) has no status") }
      let list = status.isScalar ? [status] : try status.elements()
      guard (1...maximumStatuses).contains(list.count) else {
        throw status.error("expected a status, or a list of at most \(maximumStatuses)")
      }
      for element in list { rule.statuses.insert(UInt64(try element.number(0...Int(UInt32.max)))) }
    }
    if let direction = try reader.optional("direction") {
      guard metric.percentile != nil else { throw direction.error("\(metric.rawValue) has no direction") }
      rule.direction = try word(
        direction, [Direction.clientToServer, .serverToClient].map { ($0.shortName, $0) })
    }
    if let severity = try reader.optional("severity") { rule.severity = try word(severity, AlertSeverity.self) }
    try grouping(reader, &rule)
    if let labels = try reader.optional("labels") {
      rule.labels = try self.labels(labels)
      if let own = rule.grouping?.name, rule.labels.contains(where: { $0.name == own }) {
        throw labels.error("'\(own)' is a label that imdump sets itself, with this 'by'")
      }
    }
    rule.runbook = try reader.optional("runbook").map { reader throws(SourceError) in try address(reader) }
    return rule
  }

  /// `by` and `max_series`.
  private static func grouping(_ reader: YAMLReader, _ rule: inout AlertRule) throws(SourceError) {
    if let by = try reader.optional("by") {
      let text = try by.text()
      guard let grouping = AlertGrouping(text) else {
        throw by.error("'\(cut(text))' is not one of client, session, type, owner, and network such as network/24")
      }
      let samples = rule.metric.samples
      guard rule.scope != .capture else { throw by.error("the scope capture has no groups") }
      guard !grouping.isOfMessages || samples.areOfMessages else {
        throw by.error("\(rule.metric.rawValue) is not counted by messages, so not by \(grouping.name)")
      }
      guard rule.scope != .connection || grouping.isOfMessages else {
        throw by.error("a connection has one \(grouping.name)")
      }
      guard rule.scope != .owner || grouping != .owner else { throw by.error("the scope is owner already") }
      rule.grouping = grouping
      rule.maximumSeries = usualSeries
    }
    if let most = try reader.optional("max_series") { rule.maximumSeries = try most.number(1...maximumSeries) }
  }

  /// An address of HTTP.
  private static func address(_ reader: YAMLReader) throws(SourceError) -> String {
    let text = try reader.text()
    guard text.utf8.count <= maximumAddress, text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
      text.hasPrefix("https://") || text.hasPrefix("http://")
    else { throw reader.error("'\(cut(text))' is not an https:// or http:// address") }
    return text
  }

  private static func scope(_ reader: YAMLReader, _ metric: AlertMetric) throws(SourceError) -> AlertScope {
    guard let scopeReader = try reader.optional("scope") else { return metric.samples.scopes[0] }
    let scope: AlertScope = try word(scopeReader, AlertScope.self)
    guard metric.samples.scopes.contains(scope) else {
      throw scopeReader.error(
        "\(metric.rawValue) is not counted by \(scope.rawValue), but by \(listed(metric.samples.scopes.map(\.rawValue)))"
      )
    }
    return scope
  }

  private static func thresholds(_ reader: YAMLReader, _ rule: inout AlertRule) throws(SourceError) {
    let threshold = try reader.optional("threshold")
    let clear = try reader.optional("clear")
    if rule.comparison == .absent {
      if let other = threshold ?? clear { throw other.error("absent compares nothing: leave out threshold and clear") }
      guard rule.metric.samples == .messages else {
        throw try reader.required("op").error("absent is for the metric messages")
      }
      return
    }
    guard let threshold else { throw try reader.required("op").error("'threshold' is missing") }
    rule.threshold = try value(threshold, rule.metric.unit)
    rule.clear = rule.threshold
    guard let clear else { return }
    rule.clear = try value(clear, rule.metric.unit)
    switch rule.comparison {
    case .above, .atLeast:
      guard rule.clear <= rule.threshold else { throw clear.error("clear must not be above threshold here") }
    case .below, .atMost:
      guard rule.clear >= rule.threshold else { throw clear.error("clear must not be below threshold here") }
    case .equal, .absent: throw clear.error("clear has no meaning with ==")
    }
  }

  // MARK: Values

  private static let second: Int64 = 1_000_000_000

  /// The step of a window: the largest whole number of seconds that divides it and is no more than a sixth of it.
  static func step(seconds: Int64) -> Int64? {
    guard seconds > 0 else { return nil }
    var step = max(1, seconds / usualSteps)
    while seconds % step != 0 { step -= 1 }
    return seconds / step <= maximumSteps ? step : nil
  }

  private static func word<Word: RawRepresentable & CaseIterable>(
    _ reader: YAMLReader, _ type: Word.Type
  ) throws(SourceError) -> Word where Word.RawValue == String {
    try word(reader, Word.allCases.map { ($0.rawValue, $0) })
  }

  private static func word<Word>(
    _ reader: YAMLReader, _ words: [(name: String, word: Word)]
  ) throws(SourceError) -> Word {
    let text = try reader.text()
    if let known = words.first(where: { $0.name == text }) { return known.word }
    throw reader.error("'\(cut(text))' is not one of \(listed(words.map(\.name)))")
  }

  private static func name(_ reader: YAMLReader) throws(SourceError) -> String {
    let text = try reader.text()
    let isName = text.utf8.allSatisfy { byte in
      (97...122).contains(byte) || (48...57).contains(byte) || byte == 45 || byte == 95
    }
    guard isName, (1...64).contains(text.utf8.count) else {
      throw reader.error("expected a rule name of 1 to 64 characters a-z, 0-9, - and _")
    }
    return text
  }

  /// One line of at most 256 bytes.
  private static func text(_ reader: YAMLReader) throws(SourceError) -> String {
    let text = try reader.text()
    guard (1...256).contains(text.utf8.count),
      !text.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 })
    else { throw reader.error("expected 1 to 256 bytes in one line") }
    return text
  }

  /// A time such as `90s`, `2m` or `1h`, in nanoseconds.
  private static func duration(_ reader: YAMLReader, _ range: ClosedRange<Int64>) throws(SourceError) -> Int64 {
    let text = try reader.text()
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()), number >= 0,
      number <= 1_000_000
    else { throw reader.error("'\(cut(text))' is not a time such as 90s, 2m or 1h") }
    guard range.contains(number * unit) else {
      throw reader.error("\(text) is not between \(range.lowerBound)s and \(range.upperBound / 3_600)h")
    }
    return number * unit * second
  }

  /// A number in the unit of the metric: `0.02` or `2%`; `250`, `250ms` or `2s`.
  private static func value(_ reader: YAMLReader, _ unit: AlertMetric.Unit) throws(SourceError) -> Double {
    let text = try reader.text()
    let (digits, factor): (Substring, Double) =
      switch unit {
      case .ratio where text.hasSuffix("%"): (text.dropLast(), 0.01)
      case .milliseconds where text.hasSuffix("ms"): (text.dropLast(2), 1)
      case .milliseconds where text.hasSuffix("s"): (text.dropLast(), 1_000)
      default: (text[...], 1)
      }
    let isPlain = digits.utf8.allSatisfy { (48...57).contains($0) || $0 == 46 }
    guard isPlain, let number = Double(digits), number.isFinite else {
      throw reader.error("'\(cut(text))' is not \(expectation(unit))")
    }
    // Exact where the decimal is: 2 % is 0.02.
    let value = factor == 0.01 ? number / 100 : number * factor
    let most = unit == .ratio ? 1 : 1e12
    guard value <= most else { throw reader.error("\(cut(text)) is not \(expectation(unit))") }
    return value
  }

  private static func expectation(_ unit: AlertMetric.Unit) -> String {
    switch unit {
    case .ratio: "a ratio from 0 to 1, such as 0.02 or 2%"
    case .milliseconds: "a time in milliseconds, such as 250, 250ms or 2s"
    case .count: "a number"
    }
  }

  private static func labels(_ reader: YAMLReader) throws(SourceError) -> [AlertRule.Label] {
    let entries = try reader.entries()
    guard entries.count <= maximumLabels else { throw reader.error("at most \(maximumLabels) labels") }
    var labels: [AlertRule.Label] = []
    for (key, value) in entries {
      let name = try key.text()
      let isLetter = { (byte: UInt8) in (97...122).contains(byte) || (65...90).contains(byte) || byte == 95 }
      guard (1...64).contains(name.utf8.count), let first = name.utf8.first, isLetter(first),
        name.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) })
      else { throw key.error("expected a label name of 1 to 64 letters, digits and _, not beginning with a digit") }
      guard !reservedLabels.contains(name), !name.hasPrefix("__") else {
        throw key.error("'\(name)' is a label that imdump sets itself")
      }
      guard !labels.contains(where: { $0.name == name }) else { throw key.error("'\(name)' is given twice") }
      labels.append(AlertRule.Label(name: name, value: try text(value)))
    }
    return labels.sorted { $0.name < $1.name }
  }

  private static func cut(_ text: String) -> String { text.count > 40 ? text.prefix(40) + "..." : text }

  private static func listed(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " and " + last
  }
}
