extension FieldReader {
  /// Reads elements to the end of the part.
  mutating func elements(_ table: ElementTable) throws(FieldsEnd) {
    while left > 0 {
      var (vendor, tag): (UInt64, UInt64) = (0, 0)
      var count = 0
      let from = at
      if table.hasVarintTag {
        tag = try varint()
      } else {
        guard table.headerCount <= left else { throw FieldsEnd() }
        at = from + table.tagOffset
        tag = try number(table.tagCount, littleEndian: table.littleEndian)
        at = from + table.headerCount
      }
      if table.lengthCount > 0 {
        at = from + table.lengthOffset
        let length = try number(table.lengthCount, littleEndian: table.littleEndian)
        at = from + table.headerCount
        count = Int(clamping: length) - (table.countsAll ? table.headerCount : 0)
        if table.vendorCount > 0, bytes[from + table.vendorFlagOffset] & table.vendorMask != 0 {
          vendor = try number(table.vendorCount, littleEndian: table.littleEndian)
          if table.countsAll { count -= table.vendorCount }
        }
        guard count >= 0 else { throw FieldsEnd() }
      }
      let place = table.known.find(ElementKey(vendor: vendor, tag: tag))
      if table.lengthCount == 0 {
        // How long the value is only the tag tells.
        guard let place, case .value(let step) = table.known.values[place] else { throw FieldsEnd() }
        try value(step)
        continue
      }
      guard count <= left else { throw FieldsEnd() }
      let range = at..<at + count
      at = range.upperBound
      if table.padding > 1 {
        let fill = (table.padding - (at - from) % table.padding) % table.padding
        at = min(end, at + fill)
      }
      guard let place, try !takes(quick: table.known.quick[place], range) else { continue }
      switch table.known.values[place] {
      case .value(let step): try? part(range) { (reader) throws(FieldsEnd) in try reader.value(step) }
      case .group(let field):
        let group = group(range) { (reader) throws(FieldsEnd) in try reader.elements(table) }
        try note(field, .object(group.fields))
      case .steps(let field, let lengths, let steps):
        guard lengths.isEmpty || lengths.contains(count) else { continue }
        if field < 0 {
          try? part(range) { (reader) throws(FieldsEnd) in try reader.run(steps) }
        } else {
          let group = group(range) { (reader) throws(FieldsEnd) in try reader.run(steps) }
          try note(field, .object(group.fields))
        }
      }
    }
  }
  /// Notes the value of an element that is read in a moment; gives false for others, and where it says more than what it is.
  private mutating func takes(quick step: QuickStep, _ range: Range<Int>) throws(FieldsEnd) -> Bool {
    guard marks == nil, step.kind != .other, plan.traits[Int(step.field)].isPlain else { return false }
    switch step.kind {
    case .number:
      let (next, last) = (at, end)
      (at, end) = (range.lowerBound, range.upperBound)
      // One that ends too early is absent.
      try? number(step)
      (at, end) = (next, last)
    case .text: try? note(Int(step.field), .text(text(range, .utf8)), names: Int(step.names))
    case .bytes:
      try? note(Int(step.field), .bytes(Array(bytes[range].prefix(Self.maximumBytes))), names: Int(step.names))
    case .skip, .other: return false
    }
    return true
  }
}
