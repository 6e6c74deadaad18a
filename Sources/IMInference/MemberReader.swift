import IMContent

/// Lists the members of one content, down to three levels, and finds the end of the content.
///
/// Profiles ask for known members; here, none is known yet. A frame lists at most 64 members. Arrays and objects below three levels are skipped by
/// their brackets alone, so recursion goes no deeper.
struct MemberReader {
  static var mostMembers: Int { 64 }
  static var mostElements: UInt32 { 12 }
  static var deepest: Int { 3 }
  static var longestName: Int { 64 }
  /// The maximum length of a text that is kept: longer texts are neither types nor numbers.
  static var longestText: Int { 64 }

  let bytes: ArraySlice<UInt8>
  var at: Int
  private(set) var members: [ContentMember] = []
  var known: Set<String> = []

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    at = bytes.startIndex
  }

  /// The members of `bytes`, which must be exactly one content of that kind; `nil` if they are not.
  static func members(of bytes: ArraySlice<UInt8>, _ kind: ContentKind) -> [ContentMember]? {
    var reader = MemberReader(bytes)
    switch kind {
    case .json:
      guard reader.json() else { return nil }
      reader.skipBlanks()
      return reader.at == bytes.endIndex ? reader.members : nil
    case .protobuf: return reader.protobuf(bytes, "", 0) ? reader.members : nil
    case .headers: return reader.headers() ? reader.members : nil
    case .words: return reader.words(bytes) ? reader.members : nil
    case .resp: return reader.resp() ? reader.members : nil
    case .xml: return reader.xml() ? reader.members : nil
    case .pairs: return reader.pairs() ? reader.members : nil
    case .messagepack: return reader.packed() && reader.at == bytes.endIndex ? reader.members : nil
    case .ber: return reader.elements(bytes, "", 0) ? reader.members : nil
    case .bytes: return []
    }
  }

  /// The end of the JSON text that begins at the first byte; `nil` if it has no end.
  static func endOfJSON(_ bytes: ArraySlice<UInt8>) -> Int? {
    var reader = MemberReader(bytes)
    guard reader.json() else { return nil }
    return reader.at
  }

  mutating func add(_ path: String, _ value: ContentMember.Value) {
    guard !path.isEmpty, members.count < Self.mostMembers, known.insert(path).inserted else { return }
    members.append(ContentMember(path: path, value: value))
  }

  func text(_ range: Range<Int>) -> ContentMember.Value {
    range.count <= Self.longestText ? .text(Array(bytes[range])) : .other
  }

  static func joined(_ path: String, _ step: String) -> String { path.isEmpty ? step : path + "." + step }

  /// Whether a name can be a step of a path.
  static func isStep(_ name: ArraySlice<UInt8>) -> Bool {
    (1...longestName).contains(name.count)
      && name.allSatisfy { $0 > 0x20 && $0 < 0x7f && ![0x2e, 0x22, 0x5c].contains($0) }
      && !name.allSatisfy { $0 &- 0x30 < 10 } && name.first != 0x2a
  }

  func peek() -> UInt8? { at < bytes.endIndex ? bytes[at] : nil }

  // MARK: JSON

  mutating func skipBlanks() {
    while let byte = peek(), [0x20, 0x0a, 0x0d, 0x09].contains(byte) { at += 1 }
  }

  /// Reads one text; only objects and arrays are contents.
  mutating func json() -> Bool {
    skipBlanks()
    guard let first = peek(), first == 0x7b || first == 0x5b else { return false }
    return value("", 0)
  }

  mutating func value(_ path: String, _ depth: Int) -> Bool {
    skipBlanks()
    guard let first = peek() else { return false }
    switch first {
    case 0x22:
      guard let range = string() else { return false }
      add(path, bytes[range].contains(0x5c) ? .other : text(range))
      return true
    case 0x7b, 0x5b:
      add(path, .group)
      return depth < Self.deepest ? container(path, depth) : skipContainer()
    case 0x74:
      add(path, .flag(true))
      return word("true")
    case 0x66:
      add(path, .flag(false))
      return word("false")
    case 0x6e:
      add(path, .null)
      return word("null")
    default: return number(path)
    }
  }

  mutating func container(_ path: String, _ depth: Int) -> Bool {
    let isArray = peek() == 0x5b
    let close: UInt8 = isArray ? 0x5d : 0x7d
    at += 1
    skipBlanks()
    if peek() == close {
      at += 1
      return true
    }
    var index: UInt32 = 0
    while true {
      skipBlanks()
      var inner = ""
      if isArray {
        if index < Self.mostElements { inner = Self.joined(path, String(index)) }
      } else {
        guard peek() == 0x22, let name = string() else { return false }
        if Self.isStep(bytes[name]) { inner = Self.joined(path, String(decoding: bytes[name], as: UTF8.self)) }
        skipBlanks()
        guard peek() == 0x3a else { return false }
        at += 1
      }
      // A member without a path of its own has none below it.
      guard value(inner, inner.isEmpty ? Self.deepest : depth + 1) else { return false }
      index &+= 1
      skipBlanks()
      guard let next = peek() else { return false }
      at += 1
      if next == close { return true }
      guard next == 0x2c else { return false }
    }
  }

  /// Skips a string. Returns the range between its quotes.
  mutating func string() -> Range<Int>? {
    let start = at + 1
    var i = start
    while i < bytes.endIndex {
      switch bytes[i] {
      case 0x22:
        at = i + 1
        return start..<i
      case 0x5c: i += 2
      case 0..<0x20: return nil
      default: i += 1
      }
    }
    return nil
  }

  mutating func skipContainer() -> Bool {
    var open = 0
    while let byte = peek() {
      switch byte {
      case 0x22:
        guard string() != nil else { return false }
        continue
      case 0x7b, 0x5b: open += 1
      case 0x7d, 0x5d: open -= 1
      default: break
      }
      at += 1
      if open == 0 { return true }
    }
    return false
  }

  mutating func word(_ word: String) -> Bool {
    guard bytes[at...].starts(with: word.utf8) else { return false }
    at += word.utf8.count
    return true
  }

  mutating func number(_ path: String) -> Bool {
    let start = at
    var isPlain = true
    var value: UInt64 = 0
    while let byte = peek(), byte &- 0x30 < 10 || [0x2d, 0x2b, 0x2e, 0x45, 0x65].contains(byte) {
      if byte &- 0x30 < 10, at - start < 18 {
        value = value &* 10 &+ UInt64(byte &- 0x30)
      } else {
        isPlain = false
      }
      at += 1
    }
    guard at > start, bytes[start] == 0x2d || bytes[start] &- 0x30 < 10, bytes[at - 1] &- 0x30 < 10 else {
      return false
    }
    add(path, isPlain ? .number(value) : .other)
    return true
  }

  // MARK: Lines

  mutating func words(_ line: ArraySlice<UInt8>) -> Bool {
    var number = 0
    for word in line.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d || $0 == 0x0a }) {
      number += 1
      guard number <= 16 else { break }
      add(String(number), text(word.startIndex..<word.endIndex))
    }
    return number > 0
  }

  /// A first line, whose first word is the member `1`, header lines, and an empty line.
  mutating func headers() -> Bool {
    var isFirst = true
    while at < bytes.endIndex {
      guard let feed = bytes[at...].firstIndex(of: 0x0a) else { return false }
      var line = bytes[at..<feed]
      if line.last == 0x0d { line = line.dropLast() }
      at = feed + 1
      if isFirst {
        guard let word = line.split(separator: 0x20).first else { return false }
        add("1", text(word.startIndex..<word.endIndex))
        isFirst = false
        continue
      }
      if line.isEmpty { return true }
      guard let colon = line.firstIndex(of: 0x3a), colon > line.startIndex else { return false }
      let value = line[(colon + 1)...].drop { $0 == 0x20 }
      let name = line[..<colon]
      if Self.isStep(name) {
        add(String(decoding: name, as: UTF8.self), text(value.startIndex..<value.endIndex))
      }
    }
    return false
  }

  mutating func pairs() -> Bool {
    for pair in bytes.split(separator: 1) {
      guard let equals = pair.firstIndex(of: 0x3d), equals > pair.startIndex,
        pair[..<equals].allSatisfy({ $0 &- 0x30 < 10 })
      else { return false }
      add(String(decoding: pair[..<equals], as: UTF8.self), text(equals + 1..<pair.endIndex))
    }
    return !members.isEmpty
  }

  // MARK: RESP

  mutating func line() -> ArraySlice<UInt8>? {
    guard let feed = bytes[at...].firstIndex(of: 0x0a), feed > at, bytes[feed - 1] == 0x0d else { return nil }
    defer { at = feed + 1 }
    return bytes[at..<feed - 1]
  }

  /// The elements of an array, or the kind of another value.
  mutating func resp() -> Bool {
    guard let first = peek() else { return false }
    guard [0x2a, 0x7e, 0x3e].contains(first) else {
      let names: [UInt8: String] = [0x2b: "simple", 0x2d: "error", 0x3a: "integer", 0x24: "bulk", 0x5f: "null"]
      add("0", .text(Array((names[first] ?? "other").utf8)))
      return true
    }
    guard let head = line(), let count = Int(String(decoding: head.dropFirst(), as: UTF8.self)) else { return false }
    for index in 0..<min(max(0, count), Int(Self.mostElements)) {
      guard peek() == 0x24 else { break }
      guard let head = line(), let size = Int(String(decoding: head.dropFirst(), as: UTF8.self)), size >= 0,
        size <= bytes.endIndex - at - 2
      else { break }
      add(String(index), text(at..<at + size))
      at += size + 2
    }
    return true
  }
}
