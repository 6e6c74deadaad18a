import IMOutput

/// The declared fields as text: a table to read, and JSON to compare and to make other things of.
package enum SchemaList {
  /// One JSON object:
  ///
  ///     {"schema": "1", "ecs": "9.4.0", "namespace": ["imdump"],
  ///      "fields": {"imdump.alert.affected": {"type": "long", "datasets": ["alert"], "meaning": ...}, ...},
  ///      "ecs_fields": {"@timestamp": {"type": "date", ...}, ...}}
  ///
  /// `fields` are imdump's own, `ecs_fields` those of the Elastic Common Schema that documents have; a line each, by name.
  package static func json(_ fields: [ECSField] = ECSFields.listed) -> String {
    var lines = [
      "{", " \"schema\": \"\(ECSFields.version)\",", " \"ecs\": \"\(ECSFields.commonVersion)\",",
      " \"namespace\": [\"imdump\"],",
    ]
    let parts = [("fields", fields.filter { !$0.isCommon }), ("ecs_fields", fields.filter(\.isCommon))]
    for (part, (key, fields)) in parts.enumerated() {
      lines.append(" \"\(key)\": {")
      for (i, field) in fields.enumerated() {
        lines.append("  " + quoted(field.name) + ": " + object(field) + (i + 1 < fields.count ? "," : ""))
      }
      lines.append(part == 0 ? " }," : " }")
    }
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  /// A line for each field: name, type, unit, datasets, meaning.
  package static func table(_ fields: [ECSField] = ECSFields.all) -> String {
    let rows = fields.map {
      [$0.name, type($0), $0.unit?.rawValue ?? "", datasets($0), $0.meaning]
    }
    let heading = ["field", "type", "unit", "datasets", "meaning"]
    let widths = heading.indices.map { column in (rows + [heading]).map { $0[column].count }.max() ?? 0 }
    return ([heading] + rows).map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += column + 1 < row.count ? cell + String(repeating: " ", count: widths[column] - cell.count + 2) : cell
      }
      return line + "\n"
    }.joined()
  }

  /// `message, weird`, or `all`.
  static func datasets(_ field: ECSField) -> String {
    field.datasets.count == ECSDataset.allCases.count ? "all" : field.datasets.map { "\($0)" }.joined(separator: ",")
  }

  /// `keyword[]` for a list of keywords.
  static func type(_ field: ECSField) -> String { field.kind.rawValue + (field.isArray ? "[]" : "") }

  /// A JSON string of a text of our own.
  static func quoted(_ text: String) -> String { "\"" + JSONLines.escaped(text) + "\"" }

  /// A JSON array of texts of our own.
  static func list(_ texts: [String]) -> String { "[" + texts.map(quoted).joined(separator: ", ") + "]" }

  private static func object(_ field: ECSField) -> String {
    var members = ["\"type\": \"\(field.kind.rawValue)\""]
    if let unit = field.unit { members.append("\"unit\": \"\(unit.rawValue)\"") }
    if field.isArray { members.append("\"array\": true") }
    if field.isDimension { members.append("\"dimension\": true") }
    if let metric = field.metric { members.append("\"metric\": \"\(metric.rawValue)\"") }
    if !field.values.isEmpty { members.append("\"allowed\": " + list(field.values)) }
    members.append("\"datasets\": " + list(field.datasets.map { "\($0)" }))
    members.append("\"meaning\": " + quoted(field.meaning))
    return "{" + members.joined(separator: ", ") + "}"
  }
}
