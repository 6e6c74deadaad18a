/// Members of Protocol Buffers, MessagePack and BER.
extension MemberReader {
  // MARK: Protocol Buffers

  mutating func protobuf(_ range: ArraySlice<UInt8>, _ path: String, _ depth: Int) -> Bool {
    var at = range.startIndex
    func varint() -> UInt64? {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while at < range.endIndex, shift < 70 {
        let byte = range[at]
        at += 1
        value |= UInt64(byte & 0x7f) &<< shift
        if byte < 0x80 { return value }
        shift += 7
      }
      return nil
    }
    while at < range.endIndex {
      guard let key = varint(), key >> 3 > 0, key >> 3 < 1 << 20 else { return false }
      let inner = Self.joined(path, String(key >> 3))
      switch key & 7 {
      case 0:
        guard let number = varint() else { return false }
        add(inner, .number(number))
      case 1, 5:
        let width = key & 7 == 1 ? 8 : 4
        guard range.endIndex - at >= width else { return false }
        add(inner, .other)
        at += width
      case 2:
        guard let count = varint(), count <= UInt64(range.endIndex - at) else { return false }
        let value = range[at..<at + Int(count)]
        at += Int(count)
        let isText = value.allSatisfy { (0x20...0x7e).contains($0) }
        if depth < 1, !value.isEmpty, !isText {
          var copy = self
          copy.add(inner, .group)
          if copy.protobuf(value, inner, depth + 1) {
            self = copy
            continue
          }
        }
        add(inner, isText && !value.isEmpty ? text(value.startIndex..<value.endIndex) : .group)
      default: return false
      }
    }
    return true
  }

  // MARK: MessagePack and BER

  mutating func packed() -> Bool {
    guard let first = peek(), (0x80...0x9f).contains(first) || (0xdc...0xdf).contains(first) else { return false }
    return packedValue("", 0)
  }

  mutating func packedNumber(_ size: Int) -> UInt64? {
    guard bytes.endIndex - at >= size else { return nil }
    var value: UInt64 = 0
    for _ in 0..<size {
      value = value << 8 | UInt64(bytes[at])
      at += 1
    }
    return value
  }

  mutating func packedBytes(_ count: UInt64?, _ path: String, isText: Bool) -> Bool {
    guard let count, count <= UInt64(bytes.endIndex - at) else { return false }
    add(path, isText ? text(at..<at + Int(count)) : .group)
    at += Int(count)
    return true
  }

  mutating func packedValue(_ path: String, _ depth: Int) -> Bool {
    guard let first = peek(), depth < 16 else { return false }
    at += 1
    switch first {
    case 0...0x7f: add(path, .number(UInt64(first)))
    case 0x80...0x8f: return packedItems(UInt64(first & 15), path, depth, isMap: true)
    case 0x90...0x9f: return packedItems(UInt64(first & 15), path, depth, isMap: false)
    case 0xa0...0xbf: return packedBytes(UInt64(first & 31), path, isText: true)
    case 0xc0: add(path, .null)
    case 0xc2, 0xc3: add(path, .flag(first == 0xc3))
    case 0xc4, 0xc5, 0xc6: return packedBytes(packedNumber(1 << Int(first - 0xc4)), path, isText: false)
    case 0xc7, 0xc8, 0xc9:
      return packedBytes(packedNumber(1 << Int(first - 0xc7)).map { $0 + 1 }, path, isText: false)
    case 0xca, 0xd2: return packedBytes(4, path, isText: false)
    case 0xcb, 0xd3: return packedBytes(8, path, isText: false)
    case 0xcc...0xcf:
      guard let number = packedNumber(1 << Int(first - 0xcc)) else { return false }
      add(path, .number(number))
    case 0xd0, 0xd1: return packedBytes(UInt64(first - 0xcf), path, isText: false)
    case 0xd4...0xd8: return packedBytes(1 + 1 << UInt64(first - 0xd4), path, isText: false)
    case 0xd9...0xdb: return packedBytes(packedNumber(1 << Int(first - 0xd9)), path, isText: true)
    case 0xdc, 0xdd: return packedItems(packedNumber(first == 0xdc ? 2 : 4), path, depth, isMap: false)
    case 0xde, 0xdf: return packedItems(packedNumber(first == 0xde ? 2 : 4), path, depth, isMap: true)
    case 0xc1: return false
    default: add(path, .other)
    }
    return true
  }

  mutating func packedItems(_ count: UInt64?, _ path: String, _ depth: Int, isMap: Bool) -> Bool {
    guard let count, count <= UInt64(bytes.endIndex - at) else { return false }
    add(path, .group)
    for index in 0..<count {
      var inner = ""
      if isMap {
        guard let key = peek() else { return false }
        let start = at
        guard packedValue("", depth + 1) else { return false }
        let head = (0xa0...0xbf).contains(key) ? 1 : key == 0xd9 ? 2 : 0
        if head > 0, depth < Self.deepest, Self.isStep(bytes[start + head..<at]) {
          inner = Self.joined(path, String(decoding: bytes[start + head..<at], as: UTF8.self))
        }
      } else if index < UInt64(Self.mostElements), depth < Self.deepest, depth == 0 || !path.isEmpty {
        inner = Self.joined(path, String(index))
      }
      guard packedValue(inner, depth + 1) else { return false }
    }
    return true
  }

  /// The elements inside the outermost one, by position, with their identifiers.
  mutating func elements(_ range: ArraySlice<UInt8>, _ path: String, _ depth: Int) -> Bool {
    var at = range.startIndex
    var index = 0
    while at < range.endIndex {
      let tag = range[at]
      at += 1
      guard tag & 0x1f != 0x1f, at < range.endIndex else { return false }
      var count = Int(range[at])
      at += 1
      if count >= 0x80 {
        let more = count & 0x7f
        guard (1...4).contains(more), range.endIndex - at >= more else { return false }
        count = range[at..<at + more].reduce(0) { $0 << 8 | Int($1) }
        at += more
      }
      guard count <= range.endIndex - at else { return false }
      let value = range[at..<at + count]
      at += count
      let inner = Self.joined(path, String(index))
      if index < Int(Self.mostElements) {
        add(Self.joined(inner, "@tag"), .number(UInt64(tag)))
        if tag & 0x20 != 0 {
          guard depth >= 1 || elements(value, inner, depth + 1) else { return false }
        } else if tag & 0xdf == 0x02 || tag & 0xdf == 0x0a, (1...7).contains(count), value.first ?? 0 < 0x80 {
          add(inner, .number(value.reduce(0) { $0 << 8 | UInt64($1) }))
        } else {
          add(inner, value.allSatisfy { (0x20...0x7e).contains($0) } ? text(value.startIndex..<value.endIndex) : .other)
        }
      }
      index += 1
    }
    return index > 0
  }
}
