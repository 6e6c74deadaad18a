import IMEngine
import IMOutput

extension ECSWriter {
  /// `imdump.msg.tlv`: the path of each TLV and its length, `"0xFFFF.0x0020": "1 B"`, of a message whose paths are not kept.
  ///
  /// A list is named by what it holds; an empty one by itself. A tag that stands again in one list gets an index.
  func tlv(_ facts: UnsafePointer<MessageFacts>, digits: Int, _ out: inout ByteWriter) {
    out.literal(",\"tlv\":{")
    var isFirst = true
    eachPath(facts) { tags, counts, level, place in
      path(tags, counts, level, digits, isFirst: isFirst, &out)
      isFirst = false
      out.number(facts.pointee.tlv(place).count)
      out.literal(" B\"")
    }
    out.byte(UInt8(ascii: "}"))
  }

  /// The texts of a message's TLVs, as they were made before; `nil` where they cannot be kept.
  @inline(__always)
  func paths(_ facts: UnsafePointer<MessageFacts>, digits: Int) -> UnsafePointer<TLVPaths.Entry>? {
    paths.entry(facts, digits: digits) { body in
      var text = ByteWriter(capacity: 1_024)
      text.literal(",\"tlv\":{")
      var isFirst = true
      eachPath(facts) { tags, counts, level, place in
        path(tags, counts, level, digits, isFirst: isFirst, &text)
        isFirst = false
        body(text, place)
        text.literal(" B\"")
      }
    }
  }

  private typealias Levels = InlineArray<17, UInt32>

  /// Calls `body` for each TLV that holds no other: with the tags from the body's own list (depth 0, at most 16) to it, how
  /// often each stood there before, and its place.
  private func eachPath(
    _ facts: UnsafePointer<MessageFacts>, _ body: (_ tags: Levels, _ counts: Levels, _ level: Int, _ place: Int) -> Void
  ) {
    var tags = Levels(repeating: 0)
    var counts = Levels(repeating: 0)
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
      if !holds { body(tags, counts, level, i) }
    }
  }

  private func path(
    _ tags: Levels, _ counts: Levels, _ level: Int, _ digits: Int, isFirst: Bool, _ out: inout ByteWriter
  ) {
    out.literal(isFirst ? "\"" : ",\"")
    for i in 0..<level {
      if i > 0 { out.byte(UInt8(ascii: ".")) }
      out.literal("0x")
      out.upperHex(tags[i], width: digits)
      if counts[i] > 0 {
        out.byte(UInt8(ascii: "["))
        out.number(counts[i])
        out.byte(UInt8(ascii: "]"))
      }
    }
    out.literal("\":\"")
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
}
