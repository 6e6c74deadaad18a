package import IMMetrics
import IMWire

/// Two captures side by side: `imdump diff`.
package struct ComparisonWriter {
  /// One table: of all servers together, or of one that both captures have.
  package typealias Group = (name: String?, figures: [ComparedFigure])

  /// A writer.
  package init() {}

  /// Appends tables, `width` columns wide.
  package func table(_ groups: [Group], width: Int?, to out: inout ByteWriter) {
    for (place, group) in groups.enumerated() {
      if place > 0 { out.literal("\n") }
      var table = TextTable([group.name ?? "all", "old", "new", "change", ""])
      for figure in group.figures where figure.old != nil || figure.new != nil {
        table.add([
          figure.name, text(figure.old, figure.unit), text(figure.new, figure.unit), change(figure),
          figure.differs ? "*" : "",
        ])
      }
      table.write(to: &out, width: width)
    }
    let isMarked = groups.contains { $0.figures.contains(where: \.differs) }
    out.text(isMarked ? "\n* more than chance explains, at 1 in 1,000\n" : "\nno more than chance explains\n")
  }

  /// Appends one line of JSON.
  package func json(_ groups: [Group], failed: [String], to out: inout ByteWriter) {
    var lines = JSONLines()
    lines.begin()
    for group in groups where group.name == nil { figures(group.figures, &lines) }
    lines.key("servers")
    lines.writer.literal("[")
    for (place, group) in groups.filter({ $0.name != nil }).enumerated() {
      if place > 0 { lines.writer.literal(",") }
      lines.openObject()
      lines.text("server", group.name)
      figures(group.figures, &lines)
      lines.close()
    }
    lines.writer.literal("]")
    lines.key("failed")
    lines.writer.literal("[")
    for (place, condition) in failed.enumerated() {
      if place > 0 { lines.writer.literal(",") }
      lines.writer.jsonString(condition)
    }
    lines.writer.literal("]}\n")
    lines.writer.withBytes { out.raw($0) }
  }

  // MARK: Parts

  private func figures(_ figures: [ComparedFigure], _ lines: inout JSONLines) {
    lines.key("figures")
    lines.writer.literal("[")
    for (place, figure) in figures.filter({ $0.old != nil || $0.new != nil }).enumerated() {
      if place > 0 { lines.writer.literal(",") }
      lines.openObject()
      lines.text("name", figure.name)
      lines.text("unit", figure.unit.rawValue)
      number("old", figure.old, figure.unit, &lines)
      number("new", figure.new, figure.unit, &lines)
      number("change", figure.change, figure.unit, &lines)
      lines.flag("more_than_chance", figure.differs)
      lines.close()
    }
    lines.writer.literal("]")
  }

  private func number(
    _ key: StaticString, _ value: Double?, _ unit: ComparedFigure.Unit, _ lines: inout JSONLines
  ) {
    guard let value else { return }
    guard unit == .count else { return lines.decimal(key, value) }
    lines.key(key)
    lines.writer.number(Int64(value))
  }

  private func text(_ value: Double?, _ unit: ComparedFigure.Unit) -> String {
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
  private func change(_ figure: ComparedFigure) -> String {
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
