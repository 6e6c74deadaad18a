import IMEngine

extension ECSWriter {
  /// `imdump.msg.tlv`: the path of each TLV and its length, `"0xFFFF.0x0020": "1 B"`.
  ///
  /// A list is named by what it holds; an empty one by itself. A tag that stands again in one list gets an index.
  func tlv(_ facts: UnsafePointer<MessageFacts>, digits: Int, _ lines: inout JSONLines) {
    lines.open("tlv")
    // Tags from the body's own list (depth 0, at most 16) to where the walk is, and how often each stood there before.
    var tags = InlineArray<17, UInt32>(repeating: 0)
    var counts = InlineArray<17, UInt32>(repeating: 0)
    var level = 0
    for i in 0..<facts.pointee.named {
      let reference = facts.pointee.tlv(i)
      let depth = Int(reference.depth)
      level = min(level, depth)
      // Only a walk that was cut short could leave a level out.
      guard level == depth, level < tags.count else { continue }
      tags[level] = reference.tag
      counts[level] = UInt32(truncatingIfNeeded: repeats(facts, i))
      level += 1
      let holds = reference.isList && i + 1 < facts.pointee.named && Int(facts.pointee.tlv(i + 1).depth) == depth + 1
      if holds { continue }
      lines.beginKey()
      for i in 0..<level {
        if i > 0 { lines.writer.byte(UInt8(ascii: ".")) }
        tag(tags[i], digits, &lines)
        if counts[i] > 0 {
          lines.writer.byte(UInt8(ascii: "["))
          lines.writer.number(counts[i])
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
  private func repeats(_ facts: UnsafePointer<MessageFacts>, _ place: Int) -> Int {
    let reference = facts.pointee.tlv(place)
    var count = 0
    var i = place - 1
    while i >= 0 {
      let earlier = facts.pointee.tlv(i)
      guard earlier.depth >= reference.depth else { break }
      if earlier.depth == reference.depth, earlier.tag == reference.tag { count += 1 }
      i -= 1
    }
    return count
  }

  private func tag(_ tag: UInt32, _ digits: Int, _ lines: inout JSONLines) {
    lines.writer.literal("0x")
    lines.writer.upperHex(tag, width: digits)
  }
}
