extension ContentPlan {
  /// Lines that a header block may have.
  package static let maximumLines = 128

  /// Finds the words and headers that paths lead to in a first line, lines of `name: value`, and an empty line; the content ends after
  /// that. Of equal names the first counts. A line without a colon is malformed.
  ///
  /// If something else ends the block (see `isOpen`), its last line needs no line feed, and its first line may be a header, too.
  func scanHeaders(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    var at = 0
    for line in 0..<Self.maximumLines {
      let start = at
      if isOpen, start == count { return line > 0 ? .whole(count) : .malformed(0) }
      while at < count, bytes[at] != 0x0a { at &+= 1 }
      guard at < count || isOpen else { return .cut }
      var end = at
      if end > start, bytes[end &- 1] == 0x0d { end &-= 1 }
      at = min(count, at &+ 1)
      if line == 0 {
        guard end > start else { return .malformed(start) }
        scanWords(bytes, start, end, values)
        guard isOpen else { continue }
      }
      if end == start { return .whole(at) }
      var colon = start
      while colon < end, bytes[colon] != 0x3a { colon &+= 1 }
      if line == 0, colon == end || colon == start { continue }
      guard colon < end, colon > start else { return .malformed(start) }
      let place = node(root, named: bytes + start, colon &- start, ignoresCase: ignoresCase)
      guard place != 0 else { continue }
      noteWhich(place, start, colon &- start, values)
      var value = colon &+ 1
      while value < end, bytes[value] == 0x20 { value &+= 1 }
      note(Self.text(bytes, value, end), nodes[Int(place)], values)
    }
    return .malformed(at)
  }

  /// Finds the words that paths lead to; blanks and tabs stand between words.
  func scanWords(
    _ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) {
    var at = start
    var number: UInt32 = 0
    var end = end
    while end > start, bytes[end &- 1] == 0x0a || bytes[end &- 1] == 0x0d { end &-= 1 }
    // A line ends where the first line feed is.
    var feed = start
    while feed < end, bytes[feed] != 0x0a { feed &+= 1 }
    end = feed > start && feed < end && bytes[feed &- 1] == 0x0d ? feed &- 1 : feed
    while at < end {
      while at < end, bytes[at] == 0x20 || bytes[at] == 0x09 { at &+= 1 }
      guard at < end else { break }
      let first = at
      while at < end, bytes[at] != 0x20, bytes[at] != 0x09 { at &+= 1 }
      number &+= 1
      let place = node(root, number: number, .word)
      if place != 0 { note(Self.text(bytes, first, at), nodes[Int(place)], values) }
      let rest = node(root, number: number &+ ContentWord.rest, .word)
      if rest != 0 {
        let isQuoted = end &- first >= 2 && bytes[first] == bytes[end &- 1] && [0x22, 0x27].contains(bytes[first])
        note(Self.text(bytes, isQuoted ? first &+ 1 : first, isQuoted ? end &- 1 : end), nodes[Int(rest)], values)
      }
      if at == end {
        let last = node(root, number: ContentWord.last, .word)
        if last != 0 { note(Self.text(bytes, first, at), nodes[Int(last)], values) }
      }
    }
  }

  /// The text between two offsets; a decimal number has its value, too.
  static func text(_ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> ContentValue {
    var value = ContentValue()
    value.kind = .text
    value.offset = start
    value.count = end &- start
    if let number = decimalNumber(bytes + start, end &- start) { value.number = number }
    return value
  }

  // MARK: RESP

  /// How deep arrays nest.
  private static var maximumRESPDepth: Int { 8 }

  /// Passes over one value of the Redis serialization protocol, version 2 or 3, and finds the elements that paths lead to: 0 is the
  /// first element of an array, or the value itself where it is no array.
  ///
  /// A line that begins with none of the types' characters is a command in words, as a person types it.
  func scanRESP(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    var left = InlineArray<9, UInt64>(repeating: 0)
    var heads = InlineArray<9, UInt8>(repeating: 0)
    var indices = InlineArray<9, UInt32>(repeating: 0)
    var depth = 0
    (left[0], heads[0]) = (1, root)
    var at = 0
    while true {
      while left[depth] == 0 {
        if depth == 0 { return .whole(at) }
        depth &-= 1
      }
      left[depth] &-= 1
      let start = at
      while at < count, bytes[at] != 0x0a { at &+= 1 }
      guard at < count else { return .cut }
      guard at > start, bytes[at &- 1] == 0x0d else { return .malformed(at) }
      let end = at &- 1
      at &+= 1
      let index = indices[depth]
      indices[depth] = index == .max ? index : index &+ 1
      var place = node(heads[depth], number: index)
      let isOutermost = depth == 0
      var value = Self.text(bytes, start &+ 1, end)
      switch bytes[start] {
      case 0x2b, 0x2d, 0x3a, 0x28, 0x2c, 0x23:  // + - : ( , #
        if bytes[start] == 0x3a { Self.number(&value, bytes) }
      case 0x5f:  // _
        value.kind = .null
      case 0x24, 0x21, 0x3d:  // $ ! =
        if value.count == 2, bytes[start &+ 1] == 0x2d, bytes[start &+ 2] == 0x31 {
          value.kind = .null
          break
        }
        guard let length = decimalNumber(bytes + value.offset, value.count), length <= 1 << 29 else {
          return .malformed(start)
        }
        guard UInt64(count &- at) >= length &+ 2 else { return .cut }
        let stop = at &+ Int(length)
        guard bytes[stop] == 0x0d, bytes[stop &+ 1] == 0x0a else { return .malformed(stop) }
        value = Self.text(bytes, at, stop)
        at = stop &+ 2
      case 0x2a, 0x7e, 0x3e, 0x25, 0x7c:  // * ~ > % |
        if value.count == 2, bytes[start &+ 1] == 0x2d, bytes[start &+ 2] == 0x31 {
          value.kind = .null
          break
        }
        guard var length = decimalNumber(bytes + value.offset, value.count), length <= 1 << 20 else {
          return .malformed(start)
        }
        if bytes[start] == 0x25 || bytes[start] == 0x7c { length &*= 2 }
        // Attributes stand in front of the value that they belong to.
        if bytes[start] == 0x7c { left[depth] &+= 1 }
        guard depth < Self.maximumRESPDepth else { return .malformed(start) }
        // Elements of the outermost array are found by the outermost paths.
        let head = isOutermost ? root : place == 0 ? 0 : nodes[Int(place)].child
        depth &+= 1
        (left[depth], heads[depth], indices[depth]) = (length, head, 0)
        continue
      default:
        guard isOutermost, (0x21...0x7e).contains(bytes[start]) else { return .malformed(start) }
        // Words, of which each is an element.
        var word = start
        var number: UInt32 = 0
        while word < end {
          while word < end, bytes[word] == 0x20 { word &+= 1 }
          guard word < end else { break }
          let first = word
          while word < end, bytes[word] > 0x20, bytes[word] < 0x7f { word &+= 1 }
          guard word == end || bytes[word] == 0x20 else { return .malformed(word) }
          place = node(root, number: number)
          if place != 0 { note(Self.text(bytes, first, word), nodes[Int(place)], values) }
          number &+= 1
        }
        continue
      }
      if place != 0 { note(value, nodes[Int(place)], values) }
    }
  }

  private static func number(_ value: inout ContentValue, _ bytes: UnsafePointer<UInt8>) {
    var (start, count) = (value.offset, value.count)
    if count > 0, bytes[start] == 0x2d {
      value.isNegative = true
      start &+= 1
      count &-= 1
    }
    guard let number = decimalNumber(bytes + start, count) else { return }
    (value.kind, value.number) = (.number, number)
  }
}
