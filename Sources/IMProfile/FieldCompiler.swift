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
  private var tableIndices: [String: Int] = [:]
  /// What stands in front of the names of a table that is read a second time.
  private var prefix = ""
  private var depth = 0

  /// The plan of `named`, of a profile with these types; `variable` and `value` tell its variant. Where the profile keeps
  /// clients' names from being shown, fields that name somebody are not shown either.
  static func plan(
    _ named: YAMLReader, types: [String], variable: String?, value: UInt64?, hidesIdentity: Bool = false
  ) throws(ProfileError) -> FieldPlan {
    var compiler = FieldCompiler(root: named, types: types)
    try compiler.run()
    if let variable, let value, let id = compiler.ids[variable] {
      (compiler.draft.variable, compiler.draft.variant) = (id, value)
      compiler.draft.remembers = true
    }
    if hidesIdentity { compiler.draft.hidden.insert(.identity) }
    compiler.describe()
    return FieldPlan(compiler.draft)
  }

  private init(root: YAMLReader, types: [String]) { (self.root, self.types) = (root, types) }

  private mutating func run() throws(ProfileError) {
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
      guard type == "*" || types.contains(type) else { throw key.error("there is no type '\(type)'") }
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
    guard isName else { throw reader.error("a field's name is 1 to 64 of a-z, 0-9 and _, and begins with no digit") }
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
      throw reader.error("there is no field '\(name)' in front of this")
    }
    return id
  }

  private func sensitivity(_ reader: YAMLReader) throws(ProfileError) -> FieldSensitivity {
    guard let rank = FieldSensitivity(rawValue: try reader.text()) else {
      throw reader.error("a value is of identity, credential, payload or location")
    }
    return rank
  }

  /// A table of names by numbers.
  private func names(_ reader: YAMLReader) throws(ProfileError) -> [UInt64: String] {
    var names: [UInt64: String] = [:]
    for (key, value) in try reader.entries() {
      let name = try value.text()
      let isName =
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != 34 && $0 != 92 }
      guard isName else { throw value.error("a name is 1 to 64 printable characters of ASCII without quotes") }
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
    guard let index = enums[name] else { throw reader.error("there is no table '\(name)' in 'enums'") }
    return index
  }

  private mutating func info(_ key: YAMLReader, _ reader: YAMLReader) throws(ProfileError) {
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
        throw key.error("'\(try key.text())' is not known here; known are: \(known.joined(separator: ", "))")
      }
    }
    return conditions
  }

  private func test(_ name: YAMLReader, _ wanted: YAMLReader) throws(ProfileError) -> FieldTest {
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

  // MARK: Steps

  /// A list of steps, or the name of a layout.
  mutating func steps(_ reader: YAMLReader) throws(ProfileError) -> [FieldStep] {
    if reader.isScalar { return [FieldStep(.layout(try layout(reader)))] }
    depth += 1
    defer { depth -= 1 }
    guard depth <= 16 else { throw reader.error("steps stand in steps at most 16 deep") }
    var steps: [FieldStep] = []
    for step in try reader.elements() { steps.append(try self.step(step)) }
    return steps
  }

  private func layout(_ reader: YAMLReader) throws(ProfileError) -> Int {
    let name = try name(reader)
    guard let index = layouts[name] else { throw reader.error("there is no layout '\(name)' in front of this") }
    return index
  }

  private mutating func step(_ reader: YAMLReader) throws(ProfileError) -> FieldStep {
    if reader.isScalar { return FieldStep(.layout(try layout(reader))) }
    let conditions = try conditions(reader)
    return FieldStep(try action(reader), conditions: conditions)
  }

  private mutating func action(_ reader: YAMLReader) throws(ProfileError) -> FieldStep.Action {
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
          return .list(field: field, count, .steps(try self.steps(each)))
        }
        return .list(field: field, count, .value(try self.value(each, hasField: false)))
      case "within":
        try reader.allow("within", "field", "size", "counted", "varint", "when", "unless")
        let field = try reader.optional("field").map { (field) throws(ProfileError) in try id(field, .object) } ?? -1
        let extent = try extent(reader) ?? .rest
        return .within(field: field, extent, try steps(value))
      case "inside":
        try reader.allow("inside", "steps", "when", "unless")
        return .inside(of: try known(value), try steps(reader.required("steps")))
      case "json":
        try reader.allow("json", "when", "unless")
        var members: [(field: Int, key: String, kind: JSONKind)] = []
        for (name, kind) in try value.entries() {
          guard let wanted = JSONKind(rawValue: try kind.text()) else {
            throw kind.error("a member is integer, text or integers")
          }
          let type: FieldType = wanted == .text ? .text : wanted == .integers ? .list : .integer
          members.append((try id(name, type), try name.text(), wanted))
        }
        return .json(members)
      case "remember":
        try reader.allow("remember", "when", "unless")
        draft.remembers = true
        return .remember(try known(value))
      case "stop":
        try reader.allow("stop", "when", "unless")
        guard try value.flag() else { throw value.error("'stop' is true") }
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

  /// How often: as a number of so many bytes says, or a field; to the end without either.
  private func count(_ reader: YAMLReader?) throws(ProfileError) -> FieldCount {
    guard let reader else { return .toEnd }
    if let first = try reader.text().utf8.first, !(48...57).contains(first) { return .field(try known(reader)) }
    return .counted(try reader.number(1...8))
  }

  private mutating func derived(_ reader: YAMLReader) throws(ProfileError) -> FieldStep.Action {
    let parts = try reader.fields(
      "field", "first", "enum", "of", "plus", "left", "gather", "alias", "keys", "when", "unless")
    let name = try reader.required("field")
    if let first = parts["first"] {
      var paths: [[Int]] = []
      for path in try first.elements() {
        var ids: [Int] = []
        for word in try path.text().split(separator: ".", omittingEmptySubsequences: false) {
          guard let id = self.ids[String(word)] else {
            throw path.error("there is no field '\(word)' in front of this")
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
      guard try left.flag() else { throw left.error("'left' is true") }
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
    guard let keys = parts["keys"] else { throw reader.error("nothing says what this field is made of") }
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

  // MARK: Elements

  /// The table of elements that is called so, with a prefix for its names.
  private mutating func elements(_ reader: YAMLReader, _ prefixed: YAMLReader?) throws(ProfileError) -> Int {
    let name = try name(reader)
    guard let table = tables[name] else { throw reader.error("there is no table '\(name)' in 'elements'") }
    let front = try prefixed.map { (reader) throws(ProfileError) in try self.name(reader) } ?? ""
    if let index = tableIndices[front + ":" + name] { return index }
    guard tableIndices.count < 64 else { throw reader.error("at most 64 tables of elements") }
    let index = draft.tables.count
    draft.tables.append(ElementTable())
    tableIndices[front + ":" + name] = index
    let before = prefix
    prefix = front
    defer { prefix = before }
    draft.tables[index] = try elements(table)
    return index
  }

  private mutating func elements(_ reader: YAMLReader) throws(ProfileError) -> ElementTable {
    let parts = try reader.fields("header", "tag", "length", "counts", "vendor", "padding", "order", "known")
    var table = ElementTable()
    let tag = try reader.required("tag")
    if tag.isScalar {
      guard try tag.text() == "varint" else { throw tag.error("a tag is varint, or has a size") }
      table.hasVarintTag = true
    } else {
      try tag.allow("offset", "size")
      table.tagOffset = try tag.optional("offset")?.number(0...15) ?? 0
      table.tagCount = try tag.required("size").number(1...4)
    }
    table.littleEndian = try order(parts["order"])
    table.headerCount = table.tagOffset + table.tagCount
    if let length = parts["length"] {
      guard !table.hasVarintTag else { throw length.error("with a varint tag, tags tell how long values are") }
      try length.allow("offset", "size")
      table.lengthOffset = try length.optional("offset")?.number(0...15) ?? table.headerCount
      table.lengthCount = try length.required("size").number(1...4)
      table.headerCount = max(table.headerCount, table.lengthOffset + table.lengthCount)
    }
    if let header = parts["header"] { table.headerCount = try header.number(table.headerCount...16) }
    if let counts = parts["counts"] {
      guard try ["value", "all"].contains(counts.text()) else { throw counts.error("'counts' is value or all") }
      table.countsAll = try counts.text() == "all"
    }
    if let vendor = parts["vendor"] {
      try vendor.allow("size", "flag", "mask")
      guard table.lengthCount > 0 else { throw vendor.error("a vendor needs 'length'") }
      table.vendorCount = try vendor.required("size").number(1...4)
      table.vendorFlagOffset = try vendor.required("flag").number(0...table.headerCount - 1)
      table.vendorMask = UInt8(try vendor.required("mask").number(1...255))
    }
    table.padding = try parts["padding"]?.number(1...8) ?? 1
    for (key, value) in try reader.required("known").entries() {
      let element = try self.key(key)
      guard table.known[element] == nil else { throw key.error("this element stands here twice") }
      table.known[element] = try known(value, table)
    }
    return table
  }

  /// A tag, or `VENDOR/TAG`.
  private func key(_ reader: YAMLReader) throws(ProfileError) -> ElementKey {
    let parts = try reader.text().split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2, let vendor = UInt32(parts[0]), let tag = UInt32(parts[1]) {
      return ElementKey(vendor: UInt64(vendor), tag: UInt64(tag))
    }
    return ElementKey(tag: UInt64(try reader.number(0...Int(UInt32.max))))
  }

  private mutating func known(_ reader: YAMLReader, _ table: ElementTable) throws(ProfileError) -> ElementTable.Known {
    if let group = try reader.optional("group") {
      try reader.allow("field", "group")
      guard try group.flag(), table.lengthCount > 0 else {
        throw group.error("'group' is true, in elements with a length")
      }
      return .group(field: try id(reader.required("field"), .object))
    }
    if let steps = try reader.optional("steps") {
      try reader.allow("field", "steps", "lengths")
      guard table.lengthCount > 0 else { throw steps.error("steps need elements with a length") }
      let field = try reader.optional("field").map { (field) throws(ProfileError) in try id(field, .object) } ?? -1
      return .steps(field: field, lengths: try lengths(reader.optional("lengths")), try self.steps(steps))
    }
    var step = try value(reader, hasField: true)
    if table.lengthCount > 0, case .fixed(let count) = step.extent {
      step.extent = .rest
      if step.lengths.isEmpty { step.lengths = [count] }
    }
    return .value(step)
  }

  func lengths(_ reader: YAMLReader?) throws(ProfileError) -> [Int] {
    var lengths: [Int] = []
    for length in try reader?.elements() ?? [] { lengths.append(try length.number(0...65_535)) }
    return lengths
  }

  func order(_ reader: YAMLReader?) throws(ProfileError) -> Bool {
    guard let reader else { return false }
    guard try ["big", "little"].contains(reader.text()) else { throw reader.error("'order' is big or little") }
    return try reader.text() == "little"
  }
}
