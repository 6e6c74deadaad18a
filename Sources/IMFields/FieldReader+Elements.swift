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
      let known = table.known[ElementKey(vendor: vendor, tag: tag)]
      if table.lengthCount == 0 {
        // How long the value is only the tag tells.
        guard case .value(let step)? = known else { throw FieldsEnd() }
        try value(step)
        continue
      }
      let range = try take(.fixed(count))
      let fill = (table.padding - (at - from) % table.padding) % table.padding
      at = min(end, at + fill)
      switch known {
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
      case nil: break
      }
    }
  }
}
