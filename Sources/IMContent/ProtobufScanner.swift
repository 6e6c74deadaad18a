extension ContentPlan {
  /// Reads a varint of at most ten bytes at `at`, which moves after it; `nil` where it does not end before `end`.
  @inline(__always)
  static func varint(_ bytes: UnsafePointer<UInt8>, _ at: inout Int, _ end: Int) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while at < end, shift < 70 {
      let byte = bytes[at]
      at &+= 1
      value |= UInt64(byte & 0x7f) &<< shift
      if byte < 0x80 { return value }
      shift &+= 7
    }
    return nil
  }

  /// Finds the fields that paths lead to: the last of a number counts, and of several the first one that is present.
  func scanProtobuf(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    var heads = InlineArray<8, UInt8>(repeating: 0)
    var ends = InlineArray<8, Int>(repeating: 0)
    var depth = 0
    (heads[0], ends[0]) = (root, count)
    var at = 0
    while true {
      if at == ends[depth] {
        if depth == 0 { return .whole(at) }
        depth &-= 1
        continue
      }
      let start = at
      let end = ends[depth]
      guard let key = Self.varint(bytes, &at, end) else { return end == count ? .cut : .malformed(start) }
      guard key >> 3 > 0, key >> 3 < 1 << 29 else { return .malformed(start) }
      let place = node(heads[depth], number: UInt32(truncatingIfNeeded: key >> 3))
      var value = ContentValue()
      value.offset = at
      switch key & 7 {
      case 0:
        guard let number = Self.varint(bytes, &at, end) else { return end == count ? .cut : .malformed(start) }
        (value.kind, value.number) = (.number, number)
      case 1, 5:
        let width = key & 7 == 1 ? 8 : 4
        guard end &- at >= width else { return end == count ? .cut : .malformed(start) }
        for i in (0..<width).reversed() { value.number = value.number &<< 8 | UInt64(bytes[at &+ i]) }
        value.kind = .number
        at &+= width
      case 2:
        guard let length = Self.varint(bytes, &at, end) else { return end == count ? .cut : .malformed(start) }
        guard length <= UInt64(end &- at) else { return end == count ? .cut : .malformed(start) }
        value.kind = .text
        value.offset = at
        value.count = Int(length)
        if place != 0, nodes[Int(place)].child != 0, depth < 7 {
          note(last: value, nodes[Int(place)], key >> 3, values)
          depth &+= 1
          (heads[depth], ends[depth]) = (nodes[Int(place)].child, at &+ Int(length))
          continue
        }
        at &+= Int(length)
      default: return .malformed(start)
      }
      if value.count == 0 { value.count = at &- value.offset }
      if value.kind == .text { value.count = at &- value.offset }
      if place != 0 { note(last: value, nodes[Int(place)], key >> 3, values) }
    }
  }

  @inline(__always)
  private func note(
    last value: ContentValue, _ node: ContentNode, _ number: UInt64, _ values: UnsafeMutablePointer<ContentValue>
  ) {
    if node.slot >= 0 { values[Int(node.slot)] = value }
    if node.otherSlot >= 0 { values[Int(node.otherSlot)] = value }
    if node.which >= 0, values[Int(node.which)].kind == .absent {
      values[Int(node.which)] = value
      values[Int(node.which)].kind = .number
      values[Int(node.which)].number = number
    }
  }
}
