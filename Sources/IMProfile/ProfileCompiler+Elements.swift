import IMEngine
import IMYAML

/// TLV lists, and what is taken from them.
extension ProfileCompiler {
  /// Tags of lists that a profile may name.
  private static var maximumNested: Int { 1_024 }

  /// Which statuses accept, and where a body has its own.
  mutating func status() throws(ProfileError) {
    guard let reader = try root.optional("status") else { return }
    try reader.allow("tag", "accepted", "also", "names", "other-names")
    if let tag = try reader.optional("tag") {
      guard !draft.plan.status.isPresent else { throw tag.error("'fields' has the status") }
      let tags = try numbers(tag, 2, "a status has one tag, or a list of two")
      draft.plan.statusTags = (tags[0], tags.count > 1 ? tags[1] : .max)
    } else if let also = try reader.optional("also") {
      draft.plan.acceptedToo = UInt64(try also.number(0...Int(UInt32.max)))
    }
    if let accepted = try reader.optional("accepted") { draft.plan.acceptedStatus = try self.accepted(accepted) }
    if let names = try reader.optional("names") { draft.statusNames[0] = try statusNames(names) }
    if let names = try reader.optional("other-names") {
      guard draft.plan.statusTags.1 != .max else { throw names.error("'other-names' are those of a second tag") }
      draft.statusNames[1] = try statusNames(names)
    }
  }

  /// Names by number. Numbers may stand in hexadecimal.
  func statusNames(_ reader: YAMLReader) throws(ProfileError) -> [UInt64: String] {
    var names: [UInt64: String] = [:]
    let entries = try reader.entries()
    guard entries.count <= Self.maximumStatuses else {
      throw reader.error("a list names at most \(Self.maximumStatuses) statuses")
    }
    for (key, value) in entries {
      let number = UInt64(try key.number(0...Int(UInt32.max)))
      guard names[number] == nil else { throw key.error("status \(number) is given twice") }
      names[number] = try name(value)
    }
    return names
  }

  /// Statuses that one list may name.
  private static var maximumStatuses: Int { 1_024 }

  /// A status stands somewhere; types have been read by now.
  func checkStatus() throws(ProfileError) {
    guard let reader = try root.optional("status"), draft.plan.statusTags.0 == .max, !draft.plan.status.isPresent,
      draft.plan.framing.words.status == 0, content?.plan.status ?? -1 < 0
    else { return }
    guard draft.steps.contains(where: { $0.register == .status }) else {
      throw reader.error("a status must have a 'tag', be in 'fields', or be loaded by a step")
    }
  }

  /// The first and the last status that accept.
  func accepted(_ reader: YAMLReader) throws(ProfileError) -> (UInt64, UInt64) {
    let range = try reader.elements()
    guard range.count == 2 else { throw reader.error("'accepted' must be the first and the last of a range") }
    let first = try range[0].number(0...Int(UInt32.max))
    return (UInt64(first), UInt64(try range[1].number(first...Int(UInt32.max))))
  }

  /// A tag, or a list of tags, of which there are at most `count`.
  private func numbers(_ reader: YAMLReader, _ count: Int, _ message: String) throws(ProfileError) -> [UInt32] {
    let list = reader.isScalar ? [reader] : try reader.elements()
    guard (1...count).contains(list.count) else { throw reader.error(message) }
    var tags: [UInt32] = []
    for tag in list { tags.append(UInt32(try tag.number(0...Int(UInt32.max - 1)))) }
    return tags
  }

  mutating func tlv(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow(
      "tag", "length", "header", "counts", "optional", "padding", "repeats", "nested", "depth", "identity", "sensitive",
      "tags", "keep-alive")
    var plan = TLVPlan()
    plan.tag = try part(reader.required("tag"), after: 0)
    let tagEnd = end(plan.tag)
    plan.length = try part(reader.required("length"), after: tagEnd)
    let least = max(tagEnd, end(plan.length))
    plan.headerCount = Int32(try reader.optional("header")?.number(least...16) ?? least)
    let counts = try reader.optional("counts")?.text() ?? "value"
    guard counts == "value" || counts == "all" else { throw reader.error("'counts' must be value or all") }
    plan.lengthCountsHeader = counts == "all"
    if let optional = try reader.optional("optional") {
      try optional.allow("offset", "mask", "adds")
      let offset = try optional.required("offset").number(0...7)
      guard offset < Int(plan.headerCount) else {
        throw optional.error("the flags are at byte \(offset), but the header ends at \(plan.headerCount)")
      }
      plan.optional = Field(offset: offset, byteCount: 1)
      plan.optional.mask = UInt64(try optional.required("mask").number(1...255))
      plan.optionalCount = Int32(try optional.required("adds").number(1...64))
    }
    if let padding = try reader.optional("padding") {
      let count = try padding.number(1...8)
      guard count.nonzeroBitCount == 1 else { throw padding.error("the padding must be to 1, 2, 4 or 8 bytes") }
      plan.paddingMask = Int32(count - 1)
    }
    plan.mayRepeat = try reader.optional("repeats")?.flag() ?? false
    if let nested = try reader.optional("nested") {
      let tags = try numbers(
        nested, Self.maximumNested, "'nested' must be a tag, or a list of at most \(Self.maximumNested)")
      plan.nestedTag = tags.count == 1 ? tags[0] : .max
      if tags.count > 1 { draft.nestedTags = tags }
    }
    if let depth = try reader.optional("depth") { plan.maximumDepth = Int32(try depth.number(0...16)) }
    if let identity = try reader.optional("identity") {
      draft.plan.identityTag = UInt32(try identity.number(0...Int(UInt32.max - 1)))
    }
    if let sensitive = try reader.optional("sensitive") {
      sensitiveTags = Set(try numbers(sensitive, Self.maximumNested, "'sensitive' must be a tag, or a list of them"))
    }
    if let keepAlive = try reader.optional("keep-alive") {
      draft.plan.keepAliveTag = UInt32(try keepAlive.number(0...Int(UInt32.max - 1)))
    }
    for (key, value) in try reader.optional("tags")?.entries() ?? [] {
      try self.tag(UInt32(try key.number(0...Int(UInt32.max))), value, &plan)
    }
    if !draft.forms.isEmpty {
      try checkForms(reader)
      plan.shape = .formed
      plan.headerCount = Int32(tagEnd)
      plan.length = try part(reader.required("length"), after: 0)
      draft.plan.tlv = plan
      return
    }
    plan.shape = isPlain(plan) ? .tag2Length4 : .general
    draft.plan.tlv = plan
  }

  /// A tag's name, or its name and what its value is.
  private mutating func tag(_ tag: UInt32, _ reader: YAMLReader, _ plan: inout TLVPlan) throws(ProfileError) {
    guard !reader.isScalar else {
      tagNames[tag] = try name(reader)
      return
    }
    try reader.allow("name", "type", "order", "sensitive", "value")
    tagNames[tag] = try name(reader.required("name"))
    if try reader.optional("sensitive")?.flag() ?? false { sensitiveTags.insert(tag) }
    if let value = try reader.optional("value") {
      guard try reader.optional("type") == nil else { throw value.error("'value' and 'type' cannot be combined") }
      let form = try form(value, tag)
      draft.forms.append(form)
      tagTypes[tag] = ValueType(form.type)
      return
    }
    guard let type = try reader.optional("type") else {
      if let order = try reader.optional("order") { throw order.error("'order' needs 'type'") }
      return
    }
    let word = try type.text()
    let kinds = ValueType.Kind.allCases.filter { $0 != .varint && $0 != .pair }
    guard let kind = kinds.first(where: { $0.name == word }) else {
      throw type.error("a type must be one of: \(kinds.map(\.name).joined(separator: ", "))")
    }
    let order = try reader.optional("order")
    if let order {
      guard try ["big", "little"].contains(order.text()) else { throw order.error("'order' must be big or little") }
    }
    tagTypes[tag] = ValueType(kind, littleEndian: try order?.text() == "little")
    guard kind == .list, tag != plan.nestedTag, !draft.nestedTags.contains(tag) else { return }
    if plan.nestedTag == .max, draft.nestedTags.isEmpty {
      plan.nestedTag = tag
    } else {
      if draft.nestedTags.isEmpty { draft.nestedTags = [plan.nestedTag] }
      plan.nestedTag = .max
      guard draft.nestedTags.count < Self.maximumNested else {
        throw reader.error("at most \(Self.maximumNested) tags of lists")
      }
      draft.nestedTags.append(tag)
    }
  }

  /// Whether the quickest walk fits: a tag of two bytes, a length of four, both big endian, and nothing special.
  private func isPlain(_ plan: TLVPlan) -> Bool {
    let tag = Field(offset: 0, byteCount: 2)
    let length = Field(offset: 2, byteCount: 4)
    return plan.tag.isSame(tag) && plan.length.isSame(length) && plan.headerCount == 6 && !plan.lengthCountsHeader
      && !plan.optional.isPresent && plan.paddingMask == 0 && !plan.mayRepeat && draft.nestedTags.isEmpty
      && draft.plan.statusTags.0 == .max && draft.plan.identityTag == .max && draft.plan.keepAliveTag == .max
      && !draft.steps.contains { [.tlv, .list].contains($0.operation) }
  }

  /// The tag or the length in a TLV's header: 1 to 4 bytes; without `offset` it begins at byte `after`.
  private func part(_ reader: YAMLReader, after: Int) throws(ProfileError) -> Field {
    try reader.allow("offset", "size", "order")
    let size = try reader.required("size").number(1...4)
    let offset = try reader.optional("offset")?.number(0...12) ?? after
    let order = try reader.optional("order")?.text() ?? "big"
    guard order == "big" || order == "little" else { throw reader.error("'order' must be big or little") }
    return Field(offset: offset, byteCount: size, littleEndian: order == "little")
  }

  private func end(_ field: Field) -> Int { Int(field.offset) + (field.mask.nonzeroBitCount + 7) / 8 }

  /// What is taken from TLV lists wants them.
  func checkLists() throws(ProfileError) {
    guard draft.plan.tlv.shape == .none else {
      if draft.plan.compression.isPresent, draft.plan.statusTags.0 != .max || draft.plan.identityTag != .max {
        throw root.error("a status or an identity from a TLV cannot be combined with compressed bodies")
      }
      return
    }
    if draft.plan.statusTags.0 != .max, let status = try root.optional("status") {
      throw status.error("a tag needs 'tlv'")
    }
  }
}
