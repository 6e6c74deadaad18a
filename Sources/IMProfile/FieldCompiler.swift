import IMContent
import IMFields
import IMYAML

/// Turns the part `named` of a profile into a plan that reads fields by their names.
///
/// It is apart from `ProfileCompiler`, because nothing of it is needed to decode: the built-in profiles' own is read when fields
/// are asked for.
struct FieldCompiler {
  let root: YAMLReader
  /// The names of the profile's types, and its variable with the value of the variant.
  let types: [String]
  var draft = FieldPlan.Draft()
  var ids: [String: Int] = [:]
  var enums: [String: Int] = [:]
  var layouts: [String: Int] = [:]
  var tables: [String: YAMLReader] = [:]
  /// Tables that were compiled, by name and prefix.
  var tableIndices: [String: Int] = [:]
  /// What stands in front of the names of a table that is read a second time.
  var prefix = ""
  var depth = 0

  /// The plan of `named`, of a profile with these types; `variable` and `value` tell its variant. Where the profile keeps
  /// clients' names from being shown, fields that name somebody are not shown either.
  static func plan(
    _ named: YAMLReader, types: [String], variable: String?, value: UInt64?, hidesIdentity: Bool = false,
    content: ContentForm = ContentForm(.bytes), lead: [LeadStep] = []
  ) throws(ProfileError) -> FieldPlan {
    var compiler = FieldCompiler(root: named, types: types)
    (compiler.content, compiler.lead) = (content, lead)
    try compiler.run()
    if let variable, let value, let id = compiler.ids[variable] {
      (compiler.draft.variable, compiler.draft.variant) = (id, value)
      compiler.draft.remembers = true
    }
    if hidesIdentity { compiler.draft.hidden.insert(.identity) }
    compiler.describe()
    return FieldPlan(compiler.draft)
  }

  /// What is inside frames, and what precedes it.
  var content = ContentForm(.bytes)
  var lead: [LeadStep] = []

  init(root: YAMLReader, types: [String]) { (self.root, self.types) = (root, types) }

  mutating func run() throws(ProfileError) {
    let parts = try root.fields(
      "hide", "enums", "fields", "layouts", "elements", "header", "readable", "messages", "derived")
    for rank in try parts["hide"]?.elements() ?? [] { draft.hidden.insert(try sensitivity(rank)) }
    for (key, table) in try parts["enums"]?.entries() ?? [] {
      enums[try name(key)] = draft.enums.count
      draft.enums.append(try names(table))
    }
    for (key, field) in try parts["fields"]?.entries() ?? [] { try info(key, field) }
    for (key, table) in try parts["elements"]?.entries() ?? [] { tables[try name(key)] = table }
    for (key, steps) in try parts["layouts"]?.entries() ?? [] {
      let steps = try self.steps(steps)
      layouts[try name(key)] = draft.layouts.count
      draft.layouts.append(steps)
    }
    if let header = parts["header"] { draft.header = try steps(header) }
    if let readable = parts["readable"] { draft.readable = try conditions(readable, "when", "unless") }
    for (key, steps) in try parts["messages"]?.entries() ?? [] {
      let type = try key.text()
      guard type == "*" || types.contains(type) else { throw key.error("no type '\(type)'") }
      draft.messages[type] = try self.steps(steps)
    }
    if let derived = parts["derived"] { draft.derived = try steps(derived) }
  }

  // MARK: Names

  /// The name of a field, a table or a layout.
  func name(_ reader: YAMLReader) throws(ProfileError) -> String {
    let name = try reader.text()
    let isName =
      (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
      && !(name.utf8.first.map { (48...57).contains($0) } ?? true)
    guard isName else {
      throw reader.error("a field's name must be 1 to 64 of a-z, 0-9 and _, not beginning with a digit")
    }
    return name
  }

  /// The field that is called so, which is made where there is none yet.
  mutating func id(_ reader: YAMLReader, _ type: FieldType? = nil) throws(ProfileError) -> Int {
    let plain = try name(reader)
    let name = prefix.isEmpty || plain.hasPrefix(prefix) || plain.hasPrefix("_") ? plain : prefix + plain
    let id: Int
    if let known = ids[name] {
      id = known
    } else {
      guard draft.fields.count < 4_096 else { throw reader.error("a profile has at most 4096 fields") }
      id = draft.fields.count
      ids[name] = id
      var info = FieldInfo(name: name)
      if name != plain, let base = ids[plain] {
        info = draft.fields[base]
        info.name = name
        info.ecs = ""
      }
      draft.fields.append(info)
    }
    if let type { draft.fields[id].type = type }
    return id
  }

  /// A field that was named before this.
  func known(_ reader: YAMLReader) throws(ProfileError) -> Int {
    let name = try name(reader)
    guard let id = ids[prefix + name] ?? ids[name] else {
      throw reader.error("no field '\(name)' before this")
    }
    return id
  }

  func sensitivity(_ reader: YAMLReader) throws(ProfileError) -> FieldSensitivity {
    guard let rank = FieldSensitivity(rawValue: try reader.text()) else {
      throw reader.error("a value must be of identity, credential, payload or location")
    }
    return rank
  }

  /// A table of names by numbers.
  func names(_ reader: YAMLReader) throws(ProfileError) -> [UInt64: String] {
    var names: [UInt64: String] = [:]
    for (key, value) in try reader.entries() {
      let name = try value.text()
      let isName =
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != 34 && $0 != 92 }
      guard isName else { throw value.error("a name must be 1 to 64 printable ASCII characters without quotes") }
      names[UInt64(try key.number(0...Int.max))] = name
    }
    return names
  }

  /// A table by its name, or one that stands here.
  mutating func table(_ reader: YAMLReader) throws(ProfileError) -> Int {
    guard reader.isScalar else {
      draft.enums.append(try names(reader))
      return draft.enums.count - 1
    }
    let name = try name(reader)
    guard let index = enums[name] else { throw reader.error("no table '\(name)' in 'enums'") }
    return index
  }

  mutating func info(_ key: YAMLReader, _ reader: YAMLReader) throws(ProfileError) {
    let id = try self.id(key)
    let parts = try reader.fields("unit", "sensitive", "enum", "repeated", "ecs", "log")
    if let unit = parts["unit"] { draft.fields[id].unit = try unit.text() }
    if let rank = parts["sensitive"] { draft.fields[id].sensitivity = try sensitivity(rank) }
    if let names = parts["enum"] {
      draft.fields[id].names = try table(names)
      draft.fields[id].tables.insert(draft.fields[id].names)
    }
    if let repeated = parts["repeated"] { draft.fields[id].isRepeated = try repeated.flag() }
    if let ecs = parts["ecs"] { draft.fields[id].ecs = try ecs.text() }
    if let log = parts["log"] { draft.fields[id].isLogged = try log.flag() }
  }

  // MARK: Conditions

  /// The conditions of a step; what stands under `when` holds together, and not together what stands under `unless`.
  mutating func conditions(_ reader: YAMLReader, _ known: String...) throws(ProfileError) -> [FieldCondition] {
    var conditions: [FieldCondition] = []
    for key in ["when", "unless"] {
      guard let tests = try reader.optional(key) else { continue }
      var all: [FieldTest] = []
      for (name, wanted) in try tests.entries() { all.append(try test(name, wanted)) }
      conditions.append(FieldCondition(all, isNegated: key == "unless"))
    }
    if !known.isEmpty {
      for (key, _) in try reader.entries() where !known.contains(try key.text()) {
        throw key.error("'\(try key.text())' is not known here; expected one of: \(known.joined(separator: ", "))")
      }
    }
    return conditions
  }

  func test(_ name: YAMLReader, _ wanted: YAMLReader) throws(ProfileError) -> FieldTest {
    let field = try name.text() == "_left" ? FieldTest.left : known(name)
    if !wanted.isScalar {
      if let elements = try? wanted.elements() {
        var ranges: [ClosedRange<UInt64>] = []
        for element in elements {
          let number = UInt64(try element.number(0...Int.max))
          ranges.append(number...number)
        }
        return FieldTest(field: field, ranges: ranges)
      }
      try wanted.allow("from", "to")
      let from = UInt64(try wanted.optional("from")?.number(0...Int.max) ?? 0)
      let to = UInt64(try wanted.optional("to")?.number(Int(from)...Int.max) ?? Int.max)
      return FieldTest(field: field, ranges: [from...(to == UInt64(Int.max) ? .max : to)])
    }
    switch try wanted.text() {
    case "absent": return FieldTest(field: field, isAbsent: true)
    case "present": return FieldTest(field: field)
    case "true": return FieldTest(field: field, ranges: [1...UInt64.max])
    case "false": return FieldTest(field: field, ranges: [0...0])
    default:
      let number = UInt64(try wanted.number(0...Int.max))
      return FieldTest(field: field, ranges: [number...number])
    }
  }
}
