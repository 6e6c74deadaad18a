import IMFields
import IMYAML

/// Tables of elements.
extension FieldCompiler {
  /// The table of elements that is called so, with a prefix for its names.
  mutating func elements(_ reader: YAMLReader, _ prefixed: YAMLReader?) throws(ProfileError) -> Int {
    let name = try name(reader)
    guard let table = tables[name] else { throw reader.error("no table '\(name)' in 'elements'") }
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

  mutating func elements(_ reader: YAMLReader) throws(ProfileError) -> ElementTable {
    let parts = try reader.fields("header", "tag", "length", "counts", "vendor", "padding", "order", "known")
    var table = ElementTable()
    let tag = try reader.required("tag")
    if tag.isScalar {
      guard try tag.text() == "varint" else { throw tag.error("a tag must be varint, or have a size") }
      table.hasVarintTag = true
    } else {
      try tag.allow("offset", "size")
      table.tagOffset = try tag.optional("offset")?.number(0...15) ?? 0
      table.tagCount = try tag.required("size").number(1...4)
    }
    table.littleEndian = try order(parts["order"])
    table.headerCount = table.tagOffset + table.tagCount
    if let length = parts["length"] {
      guard !table.hasVarintTag else {
        throw length.error("with a varint tag, the tag determines the length of a value")
      }
      try length.allow("offset", "size")
      table.lengthOffset = try length.optional("offset")?.number(0...15) ?? table.headerCount
      table.lengthCount = try length.required("size").number(1...4)
      table.headerCount = max(table.headerCount, table.lengthOffset + table.lengthCount)
    }
    if let header = parts["header"] { table.headerCount = try header.number(table.headerCount...16) }
    if let counts = parts["counts"] {
      guard try ["value", "all"].contains(counts.text()) else { throw counts.error("'counts' must be value or all") }
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
      guard table.known[element] == nil else { throw key.error("this element is given twice") }
      table.known[element] = try known(value, table)
    }
    return table
  }

  /// A tag, or `VENDOR/TAG`.
  func key(_ reader: YAMLReader) throws(ProfileError) -> ElementKey {
    let parts = try reader.text().split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2, let vendor = UInt32(parts[0]), let tag = UInt32(parts[1]) {
      return ElementKey(vendor: UInt64(vendor), tag: UInt64(tag))
    }
    return ElementKey(tag: UInt64(try reader.number(0...Int(UInt32.max))))
  }

  mutating func known(_ reader: YAMLReader, _ table: ElementTable) throws(ProfileError) -> ElementTable.Known {
    if let group = try reader.optional("group") {
      try reader.allow("field", "group")
      guard try group.flag(), table.lengthCount > 0 else {
        throw group.error("'group' must be true, in elements with a length")
      }
      return .group(field: try id(reader.required("field"), .object))
    }
    if let steps = try reader.optional("steps") {
      try reader.allow("field", "steps", "lengths")
      guard table.lengthCount > 0 else { throw steps.error("steps need elements with a length") }
      let field = try reader.optional("field").map { (field) throws(ProfileError) in try id(field, .object) } ?? -1
      return .steps(field: field, lengths: try lengths(reader.optional("lengths")), FieldSteps(try self.steps(steps)))
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
    guard try ["big", "little"].contains(reader.text()) else { throw reader.error("'order' must be big or little") }
    return try reader.text() == "little"
  }
}
