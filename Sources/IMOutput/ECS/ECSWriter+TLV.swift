import IMEngine

extension ECSWriter {
  /// `imdump.msg.tlv`: the path of each TLV and its length, `"0xFFFF.0x0020": "1 B"`.
  ///
  /// A list is named by what it holds; an empty one by itself. A tag that stands again in one list gets an index.
  func tlv(_ facts: borrowing MessageFacts, digits: Int, _ lines: inout JSONLines) {
    lines.open("tlv")
    var path: [(tag: UInt32, index: Int)] = []
    for i in 0..<facts.named {
      let reference = facts.tlv(i)
      let depth = Int(reference.depth)
      if path.count > depth { path.removeLast(path.count - depth) }
      // Only a walk that was cut short could leave a level out.
      guard path.count == depth else { continue }
      path.append((reference.tag, repeats(facts, i)))
      let holds = reference.isList && i + 1 < facts.named && Int(facts.tlv(i + 1).depth) == depth + 1
      if holds { continue }
      lines.beginKey()
      for (level, part) in path.enumerated() {
        if level > 0 { lines.writer.byte(UInt8(ascii: ".")) }
        tag(part.tag, digits, &lines)
        if part.index > 0 {
          lines.writer.byte(UInt8(ascii: "["))
          lines.writer.number(UInt64(part.index))
          lines.writer.byte(UInt8(ascii: "]"))
        }
      }
      lines.writer.literal("\":\"")
      lines.writer.number(reference.count)
      lines.writer.literal(" B\"")
    }
    lines.close()
  }

  /// How often the tag of the reference at `place` stood before in the same list.
  private func repeats(_ facts: borrowing MessageFacts, _ place: Int) -> Int {
    let reference = facts.tlv(place)
    var count = 0
    var i = place - 1
    while i >= 0 {
      let earlier = facts.tlv(i)
      guard earlier.depth >= reference.depth else { break }
      if earlier.depth == reference.depth, earlier.tag == reference.tag { count += 1 }
      i -= 1
    }
    return count
  }

  private func tag(_ tag: UInt32, _ digits: Int, _ lines: inout JSONLines) {
    lines.writer.literal("0x")
    let count = max(digits, (32 - tag.leadingZeroBitCount + 3) / 4)
    for i in stride(from: count - 1, through: 0, by: -1) {
      let nibble = i < 8 ? UInt8(truncatingIfNeeded: tag >> UInt32(i * 4)) & 15 : 0
      lines.writer.byte(nibble < 10 ? 48 + nibble : 55 + nibble)
    }
  }
}
