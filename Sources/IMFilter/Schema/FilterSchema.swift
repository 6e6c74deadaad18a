package import IMWire

/// The fields a filter may name. A field is known by its index here.
package struct FilterSchema: Sendable {
  /// The fields in the order of the man page.
  package let fields: [FilterField]
  private let indices: [String: Int]
  /// The zone of times that name none.
  package var zone = LocalZone.utc
  /// When the messages begin: a time of day is of that day, or of the next one. `nil` where that cannot be known; then times have dates.
  package var begin: Timestamp?

  /// A schema of `fields`; of two with the same name the first is found.
  package init(fields: [FilterField]) {
    self.fields = fields
    indices = Dictionary(
      zip(fields.map(\.name), fields.indices), uniquingKeysWith: { first, _ in first })
  }

  /// The index of the field called `name`, or `nil`.
  package func index(of name: String) -> Int? { indices[name] }

  /// This schema with `known` as the only words that the name field `name` may be compared with, so that a misspelt
  /// message type is an error. Numbers stay allowed. A field of another kind, or no field, changes nothing.
  package func naming(_ name: String, known: [String]) -> FilterSchema {
    guard let index = indices[name], case .name = fields[index].kind else { return self }
    var fields = fields
    fields[index].kind = .name(known: known)
    return with(fields)
  }

  /// A schema of `fields` whose times are read as this one reads them.
  package func with(_ fields: [FilterField]) -> FilterSchema {
    var schema = FilterSchema(fields: fields)
    (schema.zone, schema.begin) = (zone, begin)
    return schema
  }
}

extension FilterSchema {
  /// The fields as mdoc list items, which `imdump-filter.7` carries word for word.
  package var manualList: String {
    var lines: [String] = []
    for field in fields {
      let key = field.isKeyed ? "[path]" : ""
      lines.append(".It Ic \(field.name)\(key) Pq \(field.kind.label)")
      lines.append("\(field.meaning).")
      if case .word(let words, _) = field.kind {
        lines.append("One of")
        for (index, word) in words.enumerated() {
          lines.append(".Cm \(word)" + (index + 1 < words.count ? " ," : " ."))
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
