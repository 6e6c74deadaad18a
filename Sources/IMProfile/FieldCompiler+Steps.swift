import IMContent
import IMFields
import IMYAML

/// Steps over a body: what each reads, and what it is called.
extension FieldCompiler {
  /// A list of steps, or the name of a layout.
  mutating func steps(_ reader: YAMLReader) throws(ProfileError) -> [FieldStep] {
    if reader.isScalar { return [FieldStep(.layout(try layout(reader)))] }
    depth += 1
    defer { depth -= 1 }
    guard depth <= 16 else { throw reader.error("steps may be nested at most 16 deep") }
    var steps: [FieldStep] = []
    for step in try reader.elements() { steps.append(try self.step(step)) }
    return steps
  }

  func layout(_ reader: YAMLReader) throws(ProfileError) -> Int {
    let name = try name(reader)
    guard let index = layouts[name] else { throw reader.error("no layout '\(name)' before this") }
    return index
  }

  mutating func step(_ reader: YAMLReader) throws(ProfileError) -> FieldStep {
    if reader.isScalar { return FieldStep(.layout(try layout(reader))) }
    let conditions = try conditions(reader)
    return FieldStep(try action(reader), conditions: conditions)
  }

  mutating func action(_ reader: YAMLReader) throws(ProfileError) -> FieldStep.Action {
    for (key, value) in try reader.entries() {
      switch try key.text() {
      case "skip":
        try reader.allow("skip", "when", "unless")
        return .skip(try size(value))
      case "layout":
        try reader.allow("layout", "when", "unless")
        return .layout(try layout(value))
      case "elements":
        try reader.allow("elements", "prefix", "size", "counted", "varint", "when", "unless")
        return .elements(table: try elements(value, reader.optional("prefix")), try extent(reader) ?? .rest)
      case "list":
        try reader.allow("list", "count", "each", "when", "unless")
        let count = try self.count(reader.optional("count"))
        let field = try id(value, .list)
        let each = try reader.required("each")
        if let steps = try? each.elements(), !steps.isEmpty {
          return .list(field: field, count, .steps(FieldSteps(try self.steps(each))))
        }
        return .list(field: field, count, .value(try self.value(each, hasField: false)))
      case "within":
        try reader.allow("within", "field", "size", "counted", "varint", "when", "unless")
        let field = try reader.optional("field").map { (field) throws(ProfileError) in try id(field, .object) } ?? -1
        let extent = try extent(reader) ?? .rest
        return .within(field: field, extent, FieldSteps(try steps(value)))
      case "inside":
        try reader.allow("inside", "steps", "when", "unless")
        return .inside(of: try known(value), FieldSteps(try steps(reader.required("steps"))))
      case "json":
        try reader.allow("json", "when", "unless")
        var members: [(field: Int, key: String, kind: JSONKind)] = []
        for (name, kind) in try value.entries() {
          guard let wanted = JSONKind(rawValue: try kind.text()) else {
            throw kind.error("a member must be integer, text or integers")
          }
          let type: FieldType = wanted == .text ? .text : wanted == .integers ? .list : .integer
          members.append((try id(name, type), try name.text(), wanted))
        }
        return .json(members)
      case "paths":
        try reader.allow("paths", "when", "unless")
        return .paths(try paths(value))
      case "at":
        try reader.allow("field", "at", "type", "enum", "when", "unless")
        return .paths(try path(reader))
      case "remember":
        try reader.allow("remember", "when", "unless")
        draft.remembers = true
        return .remember(try known(value))
      case "stop":
        try reader.allow("stop", "when", "unless")
        guard try value.flag() else { throw value.error("'stop' must be true") }
        return .stop
      case "of" where try reader.optional("bits") != nil:
        try reader.allow("of", "bits", "when", "unless")
        return .parts(of: try known(value), try bits(reader.required("bits")))
      case "first", "of", "left", "gather", "alias", "keys":
        return try derived(reader)
      default: continue
      }
    }
    return .value(try value(reader, hasField: true))
  }

  /// Fields that paths lead to: each has a path, or a path and what its values are.
  mutating func paths(_ reader: YAMLReader) throws(ProfileError) -> FieldPaths {
    guard content.kind != .bytes else { throw reader.error("'paths' needs 'content'") }
    var builder = ContentPlanBuilder()
    var items: [FieldPaths.Item] = []
    for (name, wanted) in try reader.entries() {
      if wanted.isScalar || (try? wanted.elements()) != nil {
        items.append(try item(name, wanted, nil, &builder))
      } else {
        try wanted.allow("at", "type", "enum")
        let item = try item(name, wanted.required("at"), wanted.optional("type"), &builder)
        try self.names(wanted.optional("enum"), item)
        items.append(item)
      }
    }
    return FieldPaths(plan: builder.plan(content), items: items, lead: lead)
  }

  /// One field that a path leads to.
  private mutating func path(_ reader: YAMLReader) throws(ProfileError) -> FieldPaths {
    guard content.kind != .bytes else { throw try reader.required("at").error("'at' needs 'content'") }
    var builder = ContentPlanBuilder()
    let item = try item(reader.required("field"), reader.required("at"), reader.optional("type"), &builder)
    try names(reader.optional("enum"), item)
    return FieldPaths(plan: builder.plan(content), items: [item], lead: lead)
  }

  /// The names of a field's numbers.
  private mutating func names(_ reader: YAMLReader?, _ item: FieldPaths.Item) throws(ProfileError) {
    guard let reader else { return }
    guard item.type == .integer else { throw reader.error("an 'enum' is for a field of the type integer") }
    let names = try table(reader)
    draft.fields[item.field].names = names
    draft.fields[item.field].tables.insert(names)
  }

  /// The field `name` with the path `at`, or with several paths of which the first present one counts.
  private mutating func item(
    _ name: YAMLReader, _ at: YAMLReader, _ word: YAMLReader?, _ builder: inout ContentPlanBuilder
  ) throws(ProfileError) -> FieldPaths.Item {
    var type = FieldType.text
    if let word {
      let known: [String: FieldType] = [
        "text": .text, "integer": .integer, "unsigned": .integer, "signed": .integer, "flag": .boolean, "bytes": .bytes,
      ]
      guard let found = known[try word.text()] else {
        let meant = ProfileCompiler.nearest(try word.text(), known.keys.sorted())
        throw word.error("a type must be text, integer, flag or bytes here\(meant)")
      }
      type = found
    }
    if at.isScalar, try at.text() == "lead", !lead.isEmpty {
      let isText = lead.contains { $0.isSequence && $0.operation == .until }
      let type = isText ? FieldType.text : .integer
      return FieldPaths.Item(field: try id(name, type), slot: -1, type: type)
    }
    let list = at.isScalar ? [at] : try at.elements()
    guard (1...4).contains(list.count) else {
      throw at.error("expected 1 to 4 paths, of which the first present counts")
    }
    var slots: [Int] = []
    for path in list {
      guard let steps = ContentPath.steps(try path.text(), content.kind) else {
        throw path.error("a path must be 1 to \(ContentPlan.maximumDepth) names, numbers or * with dots between them")
      }
      guard let slot = builder.slot(steps) else {
        throw path.error("a step has at most \(ContentPlan.maximumSlots) paths")
      }
      slots.append(slot)
    }
    return FieldPaths.Item(field: try id(name, type), slot: slots[0], others: Array(slots.dropFirst()), type: type)
  }

  /// How often: as a number of so many bytes says, or a field; to the end without either.
  func count(_ reader: YAMLReader?) throws(ProfileError) -> FieldCount {
    guard let reader else { return .toEnd }
    if let first = try reader.text().utf8.first, !(48...57).contains(first) { return .field(try known(reader)) }
    return .counted(try reader.number(1...8))
  }

  mutating func derived(_ reader: YAMLReader) throws(ProfileError) -> FieldStep.Action {
    let parts = try reader.fields(
      "field", "first", "enum", "of", "plus", "left", "gather", "alias", "keys", "when", "unless")
    let name = try reader.required("field")
    if let first = parts["first"] {
      var paths: [[Int]] = []
      for path in try first.elements() {
        var ids: [Int] = []
        for word in try path.text().split(separator: ".", omittingEmptySubsequences: false) {
          guard let id = self.ids[String(word)] else {
            throw path.error("no field '\(word)' before this")
          }
          ids.append(id)
        }
        paths.append(ids)
      }
      let names = try parts["enum"].map { (names) throws(ProfileError) in try table(names) } ?? -1
      let type = paths.first?.last.map { draft.fields[$0].type }
      let field = try id(name, type)
      for tables in paths.compactMap({ $0.last.map { draft.fields[$0].tables } }) where names < 0 {
        draft.fields[field].tables.formUnion(tables)
      }
      if names >= 0 { draft.fields[field].tables.insert(names) }
      return .first(field: field, paths, names: names)
    }
    if let of = parts["of"] {
      let plus = try parts["plus"]?.number(-(1 << 32)...1 << 32) ?? 0
      return .sum(field: try id(name, .integer), of: try known(of), plus: Int64(plus))
    }
    if let left = parts["left"] {
      guard try left.flag() else { throw left.error("'left' must be true") }
      return .left(field: try id(name, .integer))
    }
    if let gather = parts["gather"] {
      var fields: [(field: Int, from: Int)] = []
      for (key, from) in try gather.entries() { fields.append((try id(key), try known(from))) }
      return .gather(field: try id(name, .object), fields)
    }
    if let alias = parts["alias"] {
      try alias.allow("key", "of")
      draft.remembers = true
      return .alias(
        field: try id(name, .text), key: try known(alias.required("key")), of: try known(alias.required("of")))
    }
    guard let keys = parts["keys"] else { throw reader.error("this field has no definition") }
    try keys.allow("of", "keys", "rest", "required")
    var text = KeyedText()
    for (key, word) in try keys.required("keys").entries() {
      text.keys.append((try id(key, .text), try word.text().lowercased()))
    }
    for (key, word) in try keys.optional("rest")?.entries() ?? [] {
      text.rest = (try id(key, .text), try word.text().lowercased())
    }
    for key in try keys.optional("required")?.elements() ?? [] { text.required.append(try known(key)) }
    return .keys(field: try id(name, .object), of: try known(keys.required("of")), text)
  }
}
