package import IMYAML

/// What is different between the fields of an older imdump and those of this one.
package struct SchemaDifference: Equatable, Sendable {
  /// A field whose type, or that it is a list, is another one.
  package struct Change: Equatable, Sendable {
    /// The field.
    package var name: String
    /// The types, `[]` behind that of a list.
    package var old: String, new: String
  }

  /// Fields that are new.
  package private(set) var added: [String] = []
  /// Fields that are gone.
  package private(set) var removed: [String] = []
  /// Fields that have another type.
  package private(set) var changed: [Change] = []

  /// Whether what an older version wrote, or asks for, no longer fits: a field is gone or has another type.
  package var isBreaking: Bool { !removed.isEmpty || !changed.isEmpty }

  /// The difference to what `text` lists, which an older version has printed; `source` names it in errors.
  ///
  /// Throws where it is no such list.
  package init(from text: String, source: String, to fields: [ECSField] = ECSFields.listed) throws(SourceError) {
    let whole = try YAMLReader(text, source: source, subject: "list of fields")
    var old: [String: String] = [:]
    for (name, field) in try whole.required("fields").entries() + (whole.optional("ecs_fields")?.entries() ?? []) {
      let isArray = try field.optional("array")?.flag() ?? false
      old[try name.text()] = try field.required("type").text() + (isArray ? "[]" : "")
    }
    let hasCommon = try whole.optional("ecs_fields") != nil
    var new: [String: String] = [:]
    // A list of own fields only says nothing of the others.
    for field in fields where hasCommon || !field.isCommon { new[field.name] = SchemaList.type(field) }
    added = new.keys.filter { old[$0] == nil }.sorted()
    removed = old.keys.filter { new[$0] == nil }.sorted()
    for (name, type) in old.sorted(by: { $0.key < $1.key }) {
      if let now = new[name], now != type { changed.append(Change(name: name, old: type, new: now)) }
    }
  }

  /// A line for each: `added NAME`, `removed NAME`, `changed NAME: OLD, now NEW`.
  package var text: String {
    let lines =
      changed.map { "changed \($0.name): \($0.old), now \($0.new)" } + removed.map { "removed \($0)" }
      + added.map { "added \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
