package import IMContent

/// Named fields that paths lead to.
package struct FieldPaths: Sendable {
  /// One of them.
  package struct Item: Sendable {
    /// The field, and the place of its value; negative for the number in front of the content.
    package var field: Int, slot: Int
    /// The slots of values that count if those before them are absent.
    package var others: [Int] = []
    /// What the values of the field are: text, integers, numbers or flags.
    package var type: FieldType

    /// An item of its parts.
    package init(field: Int, slot: Int, others: [Int] = [], type: FieldType) {
      (self.field, self.slot, self.others, self.type) = (field, slot, others, type)
    }
  }
  /// The paths.
  package var plan: ContentPlan
  /// The fields.
  package var items: [Item]
  /// What precedes the content.
  package var lead: [LeadStep]

  /// Paths of their parts.
  package init(plan: ContentPlan, items: [Item], lead: [LeadStep]) {
    (self.plan, self.items, self.lead) = (plan, items, lead)
  }
}

extension FieldReader {
  /// Reads the values that paths lead to. In lines and in header blocks they are looked for from the frame's first byte on.
  mutating func paths(_ paths: FieldPaths) throws(FieldsEnd) {
    let isWhole = [.headers, .words, .resp].contains(paths.plan.kind)
    // A further step reads the bytes again that earlier paths have read.
    var first = isWhole ? 0 : at == end && contentStart >= 0 ? contentStart : at
    let last = end
    contentStart = first
    at = end
    guard first <= last, last - first <= Self.maximumBytes else { return }
    let hides = isOutermost && paths.items.contains { $0.field >= 0 && plan.hides($0.field) }
    let beginning = first
    var isWholeContent = false
    var number: UInt64?
    var leadText: Range<Int>?
    var values = [ContentValue](repeating: ContentValue(), count: ContentPlan.maximumSlots)
    bytes.withUnsafeBufferPointer { memory in
      guard let base = memory.baseAddress else { return }
      if !paths.lead.isEmpty {
        let lead = ContentLead(base, first, last, paths.lead.count) { paths.lead[$0] }
        number = lead.sequence
        leadText = lead.sequenceText
        first = lead.end
      }
      values.withUnsafeMutableBufferPointer { values in
        guard let target = values.baseAddress else { return }
        if case .whole = paths.plan.scan(base + first, last - first, target) { isWholeContent = true }
      }
    }
    if hides { hide(paths, values, beginning..<last, content: first, isWhole: isWholeContent) }
    if pathNames != nil, isWholeContent { markValues(paths, values, content: first) }
    for item in paths.items {
      if item.slot < 0 {
        if let number {
          try note(item.field, .unsigned(number))
        } else if let text = leadText {
          try note(item.field, .text(String(decoding: bytes[text], as: UTF8.self)))
        }
        continue
      }
      let slot = ([item.slot] + item.others).first { values[$0].kind != .absent } ?? item.slot
      let value = values[slot]
      let range = first + value.offset..<first + value.offset + value.count
      guard value.kind != .absent, value.kind != .null, range.upperBound <= bytes.count else { continue }
      if let read = read(value, Array(bytes[range]), item.type, paths.plan.kind) { try note(item.field, read) }
    }
  }

  /// Marks the texts and numbers that paths lead to, and notes the names in these paths.
  private mutating func markValues(_ paths: FieldPaths, _ values: [ContentValue], content: Int) {
    pathNames?.formUnion(paths.plan.memberNames)
    for item in paths.items where item.slot >= 0 {
      for slot in [item.slot] + item.others where values.indices.contains(slot) && values[slot].count > 0 {
        let value = values[slot]
        let range = content + value.offset..<content + value.offset + value.count
        // A text in digits is a number where its field is one.
        let isInteger = if case .integer = item.type { true } else { false }
        switch value.kind {
        case .text: mark(range, .value(field: item.field, isInteger ? .number : .text(.utf8)))
        case .number: mark(range, .value(field: item.field, .number))
        case .absent, .null, .flag, .group: break
        }
      }
    }
  }

  /// Notes the bytes of values that are not to be shown: every value that their paths lead to, and all of a content that cannot be read to
  /// its end, because the rest of it is unknown. A path leads to the first of several equal names only.
  private mutating func hide(
    _ paths: FieldPaths, _ values: [ContentValue], _ range: Range<Int>, content: Int, isWhole: Bool
  ) {
    guard isWhole else {
      secrets.append(range)
      return
    }
    for item in paths.items where item.field >= 0 && plan.hides(item.field) {
      if item.slot < 0 {
        secrets.append(range.lowerBound..<max(range.lowerBound, content))
        continue
      }
      for slot in [item.slot] + item.others where values.indices.contains(slot) {
        let value = values[slot]
        guard value.kind != .absent, value.kind != .null, secrets.count < Self.maximumValues else { continue }
        let start = content + value.offset
        // The extent of a group may not be known.
        let isKnown = value.count > 0 || value.kind == .text
        let place = isKnown ? start..<start + value.count : content..<range.upperBound
        secrets.append(place.clamped(to: range))
      }
    }
  }

  /// A value as its field's type has it; `nil` where it is none of that type.
  private func read(_ value: ContentValue, _ bytes: [UInt8], _ type: FieldType, _ kind: ContentKind) -> FieldValue? {
    switch type {
    case .integer:
      if value.kind == .text {
        let text = String(decoding: bytes, as: UTF8.self)
        return UInt64(text).map { .unsigned($0) } ?? Int64(text).map { .signed($0) }
      }
      guard value.kind == .number || value.kind == .flag, !value.isInexact else { return nil }
      guard value.isNegative else { return .unsigned(value.number) }
      return Int64(exactly: value.number).map { .signed(-$0) }
    case .boolean: return value.kind == .flag || value.kind == .number ? .flag(value.number != 0) : nil
    case .bytes: return .bytes(bytes)
    default:
      if value.kind == .number, [.protobuf, .messagepack, .ber].contains(kind) {
        // A number of bytes: without its fraction, where it has one.
        return .text((value.isNegative ? "-" : "") + String(value.number))
      }
      guard value.isEscaped else { return .text(String(decoding: bytes, as: UTF8.self)) }
      if kind == .xml { return .text(XMLText.decoded(bytes)) }
      var reader = JSONReader(([0x22] + bytes + [0x22])[...])
      guard case .text(let text)? = reader.document() else { return .text(String(decoding: bytes, as: UTF8.self)) }
      return .text(text)
    }
  }
}
