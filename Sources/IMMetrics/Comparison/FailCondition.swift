/// When a comparison of two captures counts as a failure: `rtt_p99>+10%`, `rtt_p99[c2s]>+10%`, `loss>+0.5pp`, `success<99%`.
///
/// A figure of round trips without a direction means either: the condition holds if it holds of one of the two.
package struct FailCondition: Equatable, Sendable {
  private enum Comparison: String, CaseIterable, Sendable {
    // The longer ones first: they begin like the others.
    case atLeast = ">=", atMost = "<=", above = ">", below = "<"

    func holds(_ value: Double, _ limit: Double) -> Bool {
      switch self {
      case .atLeast: value >= limit
      case .atMost: value <= limit
      case .above: value > limit
      case .below: value < limit
      }
    }
  }

  private enum Limit: Equatable, Sendable {
    /// Of the new value.
    case value(Double)
    /// Of the change, in the figure's unit.
    case change(Double)
    /// Of the change, as a part of the old value.
    case relativeChange(Double)
  }

  /// The condition as it was written.
  package let text: String
  /// The figure's name, with a direction where it is about one: `rtt_p99`, `rtt_p99[c2s]`.
  package let name: String
  private let comparison: Comparison
  private let limit: Limit

  /// Reads a condition; `nil` for text that is none, or that speaks of a figure that is not compared.
  package init?(_ text: String) {
    self.text = text
    let compact = text.filter { $0 != " " }
    guard let place = compact.firstIndex(where: { $0 == "<" || $0 == ">" }),
      let comparison = Comparison.allCases.first(where: { compact[place...].hasPrefix($0.rawValue) })
    else { return nil }
    let name = String(compact[..<place])
    let figures = ComparedMetric.all(EndpointMetrics(), EndpointMetrics())
    guard let figure = figures.first(where: { Self.isMeant($0, by: name) }),
      let limit = Self.limit(compact[place...].dropFirst(comparison.rawValue.count), figure.unit)
    else { return nil }
    self.name = name
    self.comparison = comparison
    self.limit = limit
  }

  /// Whether it is about what has changed since another capture.
  package var isOfChange: Bool { if case .value = limit { false } else { true } }

  /// Those of `figures` that it is about and of which it holds: of a figure without a direction, each direction's.
  package func failures(in figures: [ComparedMetric]) -> [ComparedMetric] {
    figures.filter { Self.isMeant($0, by: name) && holds($0) }
  }

  /// Whether `figures` do not tell if it holds: no value that it is about is known.
  package func isUnknown(in figures: [ComparedMetric]) -> Bool {
    !figures.contains { figure in
      guard Self.isMeant(figure, by: name) else { return false }
      return isOfChange ? figure.change != nil : figure.new != nil
    }
  }

  private static func isMeant(_ figure: ComparedMetric, by name: String) -> Bool {
    figure.name == name || figure.baseName == name
  }

  /// Whether it holds; never where what it is about is not known.
  private func holds(_ figure: ComparedMetric) -> Bool {
    switch limit {
    case .value(let limit): figure.new.map { comparison.holds($0, limit) } ?? false
    case .change(let limit): figure.change.map { comparison.holds($0, limit) } ?? false
    case .relativeChange(let limit):
      // From nothing to something is more than any part of it.
      figure.relativeChange.map { comparison.holds($0, limit) }
        ?? figure.change.map { $0 != 0 && comparison.holds($0 * .infinity, limit) } ?? false
    }
  }

  private static func limit(_ text: Substring, _ unit: ComparedMetric.Unit) -> Limit? {
    let isChange = text.first == "+" || text.first == "-"
    let units: [(String, Double)] = [("pp", 0.01), ("ms", 1), ("%", 0.01), ("s", 1_000), ("", 1)]
    guard let (suffix, scale) = units.first(where: { text.hasSuffix($0.0) }),
      let number = Double(text.dropLast(suffix.count)), number.isFinite
    else { return nil }
    let value = number * scale
    switch (suffix, unit, isChange) {
    case ("pp", .ratio, true): return .change(value)
    case ("%", _, true): return .relativeChange(value)
    case ("%", .ratio, false): return .value(value)
    case ("ms", .milliseconds, _), ("s", .milliseconds, _): return isChange ? .change(value) : .value(value)
    // 3 may be meant for 3 %: a share is at most 1.
    case ("", .ratio, _) where abs(value) > 1: return nil
    case ("", .ratio, _), ("", .count, _): return isChange ? .change(value) : .value(value)
    default: return nil
    }
  }
}
