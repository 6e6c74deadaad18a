/// Open containers of a binary content that paths lead into, the innermost last: how many values each still has, and the first node below
/// it.
private struct OpenContainers {
  /// How deep paths reach.
  private var left = InlineArray<6, UInt64>(repeating: 0)
  private var heads = InlineArray<6, UInt8>(repeating: 0)
  private var indices = InlineArray<6, UInt32>(repeating: 0)
  private var maps: UInt8 = 0
  private(set) var depth = 0

  /// Whether another one has room.
  var hasRoom: Bool { depth < 6 }

  mutating func open(_ count: UInt64, _ head: UInt8, isMap: Bool) {
    (left[depth], heads[depth], indices[depth]) = (count, head, 0)
    maps = isMap ? maps | 1 &<< UInt8(depth) : maps & ~(1 &<< UInt8(depth))
    depth &+= 1
  }

  /// Closes those that have no value left; false where none is open.
  mutating func isOpen() -> Bool {
    while depth > 0, left[depth &- 1] == 0 { depth &-= 1 }
    return depth > 0
  }

  var head: UInt8 { heads[depth &- 1] }
  var isMap: Bool { maps &>> UInt8(depth &- 1) & 1 == 1 }

  /// The index of the next value, which is taken from those left.
  mutating func next() -> UInt32 {
    left[depth &- 1] &-= 1
    let index = indices[depth &- 1]
    indices[depth &- 1] = index == .max ? index : index &+ 1
    return index
  }
}

// MARK: MessagePack

/// The beginning of a MessagePack value: what it is, and its content.
private struct PackedHead {
  enum Kind { case integer, float, flag, null, text, bytes, array, map }
  var kind: Kind
  /// The number, the flag, the bytes of a text, the elements of an array or the pairs of a map.
  var number: UInt64 = 0
  var isNegative = false
  /// Bytes of the head.
  var size: Int
}

extension ContentPlan {
  /// Passes over one MessagePack value, and finds what paths lead to: elements of arrays by their number, members of maps by their name
  /// or number. What no path leads into is passed over by counting values, so that no nesting is too deep.
  func scanMessagePack(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    var at = 0
    var open = OpenContainers()
    switch packedValue(bytes, &at, count, node: 0, head: root, &open, values) {
    case nil: break
    case let result?: return result
    }
    while open.isOpen() {
      let index = open.next()
      var place: UInt8 = 0
      if open.isMap {
        // The name of a member.
        switch Self.packedHead(bytes, at, count) {
        case .failure(let result): return result
        case .success(let key):
          switch key.kind {
          case .text:
            guard UInt64(count &- at &- key.size) >= key.number else { return .cut }
            let name = at &+ key.size
            at = name &+ Int(key.number)
            place = node(open.head, named: bytes + name, Int(key.number))
            noteWhich(place, name, Int(key.number), values)
          case .integer:
            at &+= key.size
            if !key.isNegative, key.number <= UInt64(UInt32.max) {
              place = node(open.head, number: UInt32(key.number))
            }
          default:
            if let result = Self.skipPacked(bytes, &at, count) { return result }
          }
        }
      } else {
        place = node(open.head, number: index)
      }
      let head = place == 0 ? 0 : nodes[Int(place)].child
      if let result = packedValue(bytes, &at, count, node: place, head: head, &open, values) { return result }
    }
    return .whole(at)
  }

  /// Reads the value at `at`, which `node` wants, and enters it where there are nodes below it.
  private func packedValue(
    _ bytes: UnsafePointer<UInt8>, _ at: inout Int, _ count: Int, node place: UInt8, head: UInt8,
    _ open: inout OpenContainers, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult? {
    let start = at
    let found: PackedHead
    switch Self.packedHead(bytes, at, count) {
    case .failure(let result): return result
    case .success(let value): found = value
    }
    var value = ContentValue()
    value.offset = start
    switch found.kind {
    case .array, .map:
      value.kind = .group
      if head != 0, open.hasRoom {
        at &+= found.size
        if place != 0 { note(value, nodes[Int(place)], values) }
        open.open(found.number, head, isMap: found.kind == .map)
        return nil
      }
      if let result = Self.skipPacked(bytes, &at, count) { return result }
      value.count = at &- start
    case .text, .bytes:
      guard UInt64(count &- at &- found.size) >= found.number else { return .cut }
      value = Self.text(bytes, at &+ found.size, at &+ found.size &+ Int(found.number))
      at = value.offset &+ value.count
    default:
      at &+= found.size
      value.count = found.size
      value.number = found.number
      value.isNegative = found.isNegative
      value.isInexact = found.kind == .float
      value.kind = found.kind == .null ? .null : found.kind == .flag ? .flag : .number
    }
    if place != 0 { note(value, nodes[Int(place)], values) }
    return nil
  }

  /// Passes over one value and everything in it; a result where that is not possible.
  private static func skipPacked(_ bytes: UnsafePointer<UInt8>, _ at: inout Int, _ count: Int) -> ContentResult? {
    var left: UInt64 = 1
    while left > 0 {
      switch packedHead(bytes, at, count) {
      case .failure(let result): return result
      case .success(let found):
        left &-= 1
        switch found.kind {
        case .array: left &+= found.number
        case .map: left &+= found.number &* 2
        case .text, .bytes:
          guard UInt64(count &- at &- found.size) >= found.number else { return .cut }
          at &+= Int(found.number)
        default: break
        }
        at &+= found.size
      }
      // No value is shorter than a byte.
      if left > UInt64(count &- at) { return .cut }
    }
    return nil
  }

  private enum Outcome { case success(PackedHead), failure(ContentResult) }

  /// The head of the value at `at`.
  private static func packedHead(_ bytes: UnsafePointer<UInt8>, _ at: Int, _ count: Int) -> Outcome {
    guard at < count else { return .failure(.cut) }
    func number(_ width: Int) -> UInt64? {
      guard count &- at > width else { return nil }
      var value: UInt64 = 0
      for i in 1...width { value = value &<< 8 | UInt64(bytes[at &+ i]) }
      return value
    }
    func sized(_ kind: PackedHead.Kind, _ width: Int, extra: Int = 0) -> Outcome {
      guard let value = number(width) else { return .failure(.cut) }
      return .success(PackedHead(kind: kind, number: value &+ UInt64(extra), size: 1 &+ width))
    }
    func signed(_ width: Int) -> Outcome {
      guard let value = number(width) else { return .failure(.cut) }
      let wide = Int64(bitPattern: value &<< UInt64(64 &- width &* 8)) &>> Int64(64 &- width &* 8)
      return .success(PackedHead(kind: .integer, number: wide.magnitude, isNegative: wide < 0, size: 1 &+ width))
    }
    let byte = bytes[at]
    switch byte {
    case 0x00...0x7f: return .success(PackedHead(kind: .integer, number: UInt64(byte), size: 1))
    case 0x80...0x8f: return .success(PackedHead(kind: .map, number: UInt64(byte & 15), size: 1))
    case 0x90...0x9f: return .success(PackedHead(kind: .array, number: UInt64(byte & 15), size: 1))
    case 0xa0...0xbf: return .success(PackedHead(kind: .text, number: UInt64(byte & 31), size: 1))
    case 0xc0: return .success(PackedHead(kind: .null, size: 1))
    case 0xc1: return .failure(.malformed(at))
    case 0xc2, 0xc3: return .success(PackedHead(kind: .flag, number: UInt64(byte & 1), size: 1))
    case 0xc4, 0xc5, 0xc6: return sized(.bytes, 1 &<< Int(byte &- 0xc4))
    // A byte of its type follows the length.
    case 0xc7, 0xc8, 0xc9: return sized(.bytes, 1 &<< Int(byte &- 0xc7), extra: 1)
    case 0xca, 0xcb:
      guard let bits = number(byte == 0xca ? 4 : 8) else { return .failure(.cut) }
      let value = byte == 0xca ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
      return .success(
        PackedHead(
          kind: .float, number: UInt64(exactly: value.magnitude.rounded(.towardZero)) ?? 0, isNegative: value < 0,
          size: byte == 0xca ? 5 : 9))
    case 0xcc...0xcf: return sized(.integer, 1 &<< Int(byte &- 0xcc))
    case 0xd0...0xd3: return signed(1 &<< Int(byte &- 0xd0))
    case 0xd4...0xd8:
      return .success(PackedHead(kind: .bytes, number: 1 &<< UInt64(byte &- 0xd4) &+ 1, size: 1))
    case 0xd9, 0xda, 0xdb: return sized(.text, 1 &<< Int(byte &- 0xd9))
    case 0xdc, 0xdd: return sized(.array, 2 &<< Int(byte &- 0xdc))
    case 0xde, 0xdf: return sized(.map, 2 &<< Int(byte &- 0xde))
    default:
      return .success(PackedHead(kind: .integer, number: 256 &- UInt64(byte), isNegative: true, size: 1))
    }
  }

  // MARK: BER

  /// Passes over elements of BER with definite lengths, and finds what paths lead to: elements by their place, and by `@tag` the
  /// identifier octets of an element.
  func scanBER(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    // Open elements: where each ends, the first node below it, and the index of its next element. The first is the whole content.
    var ends = InlineArray<6, Int>(repeating: count)
    var heads = InlineArray<6, UInt8>(repeating: root)
    var indices = InlineArray<6, UInt32>(repeating: 0)
    var depth = 1
    var at = 0
    while depth > 0 {
      let end = ends[depth &- 1]
      if at == end {
        depth &-= 1
        continue
      }
      guard let found = Self.element(bytes, at, end) else { return .malformed(at) }
      guard found.body > 0, found.end <= UInt64(end) else { return depth == 1 ? .cut : .malformed(at) }
      let index = indices[depth &- 1]
      indices[depth &- 1] = index == .max ? index : index &+ 1
      let place = node(heads[depth &- 1], number: index)
      if place != 0 {
        let below = nodes[Int(place)].child
        noteTag(below, at, found, values)
        note(Self.value(bytes, found), nodes[Int(place)], values)
        if found.isConstructed, below != 0, depth < 6 {
          (ends[depth], heads[depth], indices[depth]) = (Int(found.end), below, 0)
          depth &+= 1
          at = found.body
          continue
        }
      }
      at = Int(found.end)
    }
    return count > 0 ? .whole(count) : .cut
  }

  /// An element of BER: its identifier octets as a number, where its content begins, and where it ends.
  private struct Element {
    var tag: UInt64
    var isConstructed: Bool
    /// The first byte of the content; 0 where the bytes end in front of it.
    var body: Int
    var end: UInt64
  }

  /// The element at `at`; `nil` where there is none. One whose head the bytes end in has no body.
  private static func element(_ bytes: UnsafePointer<UInt8>, _ at: Int, _ end: Int) -> Element? {
    var found = Element(tag: 0, isConstructed: false, body: 0, end: 0)
    var i = at
    guard i < end else { return found }
    found.tag = UInt64(bytes[i])
    found.isConstructed = bytes[i] & 0x20 != 0
    if bytes[i] & 0x1f == 0x1f {
      // At most four more octets.
      repeat {
        i &+= 1
        guard i &- at <= 4 else { return nil }
        guard i < end else { return found }
        found.tag = found.tag &<< 8 | UInt64(bytes[i])
      } while bytes[i] & 0x80 != 0
    }
    i &+= 1
    guard i < end else { return found }
    var length = UInt64(bytes[i])
    if length >= 0x80 {
      let more = Int(length & 0x7f)
      guard (1...4).contains(more) else { return nil }
      guard end &- i > more else { return found }
      length = 0
      for k in 1...more { length = length &<< 8 | UInt64(bytes[i &+ k]) }
      i &+= more
    }
    found.body = i &+ 1
    found.end = UInt64(found.body) &+ length
    return found
  }

  private func noteTag(
    _ head: UInt8, _ at: Int, _ found: Element,
    _ values: UnsafeMutablePointer<ContentValue>
  ) {
    let word: StaticString = "tag"
    let place = node(head, attribute: word.utf8Start, word.utf8CodeUnitCount)
    guard place != 0 else { return }
    var value = ContentValue()
    (value.kind, value.number, value.offset, value.count) = (.number, found.tag, at, 1)
    note(value, nodes[Int(place)], values)
  }

  private static func value(_ bytes: UnsafePointer<UInt8>, _ found: Element) -> ContentValue {
    var value = ContentValue()
    (value.offset, value.count) = (found.body, Int(found.end) &- found.body)
    switch found.tag {
    case 1 where value.count == 1: (value.kind, value.number) = (.flag, bytes[found.body] == 0 ? 0 : 1)
    case 2, 10:
      value.kind = .number
      guard (1...8).contains(value.count) else {
        value.isInexact = true
        break
      }
      var wide: Int64 = bytes[found.body] & 0x80 != 0 ? -1 : 0
      for i in 0..<value.count { wide = wide &<< 8 | Int64(bytes[found.body &+ i]) }
      (value.number, value.isNegative) = (wide.magnitude, wide < 0)
    case 5: value.kind = .null
    default:
      if found.isConstructed {
        value.kind = .group
      } else {
        value = text(bytes, value.offset, value.offset &+ value.count)
      }
    }
    return value
  }

  // MARK: Pairs

  /// How many pairs a content has at most.
  private static var maximumPairs: Int { 256 }

  /// Finds the values of `number=value` pairs that paths lead to; `separator` ends each, and may be absent after the last.
  func scanPairs(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    var at = 0
    var pairs = 0
    while at < count {
      let start = at
      var tag: UInt32 = 0
      while at < count, bytes[at] &- 0x30 < 10 {
        guard at &- start < 9 else { return .malformed(start) }
        tag = tag &* 10 &+ UInt32(bytes[at] &- 0x30)
        at &+= 1
      }
      guard at < count else { return .cut }
      guard at > start, bytes[at] == 0x3d, pairs < Self.maximumPairs else { return .malformed(at) }
      at &+= 1
      let value = at
      while at < count, bytes[at] != separator { at &+= 1 }
      let place = node(root, number: tag)
      noteWhich(place, start, value &- 1 &- start, values)
      if place != 0 { note(Self.text(bytes, value, at), nodes[Int(place)], values) }
      pairs &+= 1
      if at < count { at &+= 1 }
    }
    return pairs > 0 ? .whole(at) : .cut
  }
}
