package import IMMetrics
import IMWire

/// Two captures side by side: `imdump diff`.
package struct ComparisonWriter {
  /// One table: of all servers together, or of one that both captures have.
  package typealias Group = (name: String?, figures: [ComparedMetric])

  /// A writer.
  package init() {}

  /// Appends tables, `width` columns wide.
  package func table(_ groups: [Group], width: Int?, to out: inout ByteWriter) {
    for (place, group) in groups.enumerated() {
      if place > 0 { out.literal("\n") }
      var table = TextTable([group.name ?? "all", "old", "new", "change", ""])
      for figure in group.figures where figure.old != nil || figure.new != nil {
        let (old, new, change) = cells(figure)
        table.add([figure.name, old, new, change, figure.differs == true ? "*" : ""])
      }
      table.write(to: &out, width: width)
    }
    let figures = groups.flatMap(\.figures)
    if figures.contains(where: { $0.differs == true }) {
      out.literal("\n* significant (p < 0.001); the unit of observation is the connection\n")
    } else if figures.contains(where: { $0.unit != .count && $0.differs != nil }) {
      out.literal("\nno significant difference (p < 0.001)\n")
    } else {
      out.literal("\ntoo few connections for a significance test: each capture needs about eight\n")
    }
  }

  /// A figure's two values and its change, as text.
  package func cells(_ figure: ComparedMetric) -> (old: String, new: String, change: String) {
    (Self.text(figure.old, figure.unit), Self.text(figure.new, figure.unit), Self.change(figure))
  }

  /// Appends one line of JSON.
  package func json(_ groups: [Group], failed: [String], to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      for group in groups where group.name == nil { figures(group.figures, &lines) }
      lines.openList("servers")
      for group in groups {
        guard let name = group.name else { continue }
        lines.openItem()
        lines.string("server", name)
        figures(group.figures, &lines)
        lines.close()
      }
      lines.closeList()
      lines.openList("failed")
      for condition in failed { lines.item(condition) }
      lines.closeList()
    }
  }

  /// A line for each of `conditions` that holds of `figures`, with the figure of which it does:
  /// `--fail-on rtt_p99>+10% holds: rtt_p99[c2s] 61.000 ms, was 40.000 ms (+52.5 %)`.
  package static func failures(_ conditions: [FailCondition], in figures: [ComparedMetric]) -> [String] {
    conditions.flatMap { condition in
      condition.failures(in: figures).map { figure in
        let value = condition.isOfChange ? sentence(figure) : "\(figure.name) is \(text(figure.new, figure.unit))"
        return "--fail-on \(condition.text) holds: \(value)"
      }
    }
  }

  /// A line for each of `conditions` of which `figures` do not tell whether it holds.
  package static func unknown(_ conditions: [FailCondition], in figures: [ComparedMetric]) -> [String] {
    conditions.filter { $0.isUnknown(in: figures) }.map {
      "--fail-on \($0.text) cannot be evaluated: \($0.name) is not known"
    }
  }

  /// `rtt_p99[c2s] 61.000 ms, was 40.000 ms (+52.5 %), significant (p < 0.001)`.
  package static func sentence(_ figure: ComparedMetric) -> String {
    let change = change(figure)
    return "\(figure.name) \(text(figure.new, figure.unit)), was \(text(figure.old, figure.unit))"
      + (change.isEmpty ? "" : " (\(change))") + (figure.differs == true ? ", significant (p < 0.001)" : "")
  }

  // MARK: Parts

  private func figures(_ figures: [ComparedMetric], _ lines: inout JSONLines) {
    lines.openList("figures")
    for figure in figures where figure.old != nil || figure.new != nil {
      lines.openItem()
      lines.string("name", figure.name)
      lines.string("unit", figure.unit.rawValue)
      number("old", figure.old, figure.unit, &lines)
      number("new", figure.new, figure.unit, &lines)
      number("change", figure.change, figure.unit, &lines)
      if let differs = figure.differs { lines.flag("more_than_chance", differs) }
      lines.close()
    }
    lines.closeList()
  }

  private func number(
    _ key: StaticString, _ value: Double?, _ unit: ComparedMetric.Unit, _ lines: inout JSONLines
  ) {
    guard let value else { return }
    guard unit == .count else { return lines.decimal(key, value) }
    lines.signed(key, Int64(value))
  }

  private static func text(_ value: Double?, _ unit: ComparedMetric.Unit) -> String {
    guard let value else { return "-" }
    switch unit {
    case .ratio: return percent(value)
    case .milliseconds:
      var text = ByteWriter(capacity: 32)
      text.milliseconds(Int64((value * 1_000).rounded()))
      return text.text + " ms"
    case .count: return grouped(UInt64(max(0, value)))
    }
  }

  /// `-0.71 pp`, `+12.5 %`.
  private static func change(_ figure: ComparedMetric) -> String {
    guard let change = figure.change else { return "" }
    let sign = change < 0 ? "-" : "+"
    if change == 0 { return "" }
    // Percentage points.
    if figure.unit == .ratio { return sign + percent(abs(change)).dropLast() + "pp" }
    guard let part = figure.relativeChange else { return "" }
    var text = ByteWriter(capacity: 32)
    text.decimal(abs(part) * 100, 1)
    return sign + text.text + " %"
  }
}
