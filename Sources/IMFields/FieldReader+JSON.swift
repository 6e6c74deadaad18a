extension FieldReader {
  /// Reads the rest as a JSON object and notes the members that are known and of their kind. What is no JSON has none.
  mutating func json(_ members: [(field: Int, key: String, kind: JSONKind)]) throws(FieldsEnd) {
    let text = bytes[at..<end]
    mark(at..<end, .json(members.map { ($0.field, $0.key) }))
    at = end
    guard text.count <= Self.maximumBytes else { return }
    var reader = JSONReader(text)
    guard case .object(let found)? = reader.document() else { return }
    for (field, key, kind) in members {
      // Of a name that stands twice the last counts, as JSON's readers have it.
      guard let value = found.last(where: { $0.key == key })?.value else { continue }
      switch (kind, value) {
      case (.integer, .integer(let number)): try note(field, .signed(number))
      case (.text, .text(let text)): try note(field, .text(text))
      case (.integers, .list(let list)):
        try note(
          field,
          .list(
            list.compactMap {
              if case .integer(let number) = $0 { .signed(number) } else { nil }
            }))
      default: break
      }
    }
  }
}

/// A value of JSON, as far as fields need it.
indirect enum JSONValue {
  case integer(Int64), text(String), list([JSONValue]), object([(key: String, value: JSONValue)])
  /// Anything else: a number with a fraction, true, false, null.
  case other
}

/// Reads JSON (RFC 8259): at most 32 levels and 4,096 values.
struct JSONReader {
  private let bytes: ArraySlice<UInt8>
  private var at: Int
  private var valueCount = 0

  init(_ bytes: ArraySlice<UInt8>) { (self.bytes, at) = (bytes, bytes.startIndex) }

  /// The value that all of the bytes are; `nil` where they are none.
  mutating func document() -> JSONValue? {
    guard let value = value(0) else { return nil }
    space()
    return at == bytes.endIndex ? value : nil
  }

  private var next: UInt8? { at < bytes.endIndex ? bytes[at] : nil }

  private mutating func space() {
    while let byte = next, byte == 32 || (9...10).contains(byte) || byte == 13 { at += 1 }
  }

  private mutating func takes(_ byte: UInt8) -> Bool {
    space()
    guard next == byte else { return false }
    at += 1
    return true
  }

  private mutating func value(_ depth: Int) -> JSONValue? {
    valueCount += 1
    guard depth < 32, valueCount <= 4_096 else { return nil }
    space()
    switch next {
    case UInt8(ascii: "{"): return object(depth)
    case UInt8(ascii: "["): return list(depth)
    case UInt8(ascii: "\""): return string().map { .text($0) }
    case UInt8(ascii: "t"): return word("true")
    case UInt8(ascii: "f"): return word("false")
    case UInt8(ascii: "n"): return word("null")
    default: return number()
    }
  }

  private mutating func word(_ word: String) -> JSONValue? {
    guard bytes[at...].starts(with: word.utf8) else { return nil }
    at += word.utf8.count
    return .other
  }

  private mutating func object(_ depth: Int) -> JSONValue? {
    at += 1
    var members: [(key: String, value: JSONValue)] = []
    if takes(UInt8(ascii: "}")) { return .object([]) }
    repeat {
      space()
      guard next == UInt8(ascii: "\""), let key = string(), takes(UInt8(ascii: ":")), let value = value(depth + 1)
      else { return nil }
      members.append((key, value))
    } while takes(UInt8(ascii: ","))
    return takes(UInt8(ascii: "}")) ? .object(members) : nil
  }

  private mutating func list(_ depth: Int) -> JSONValue? {
    at += 1
    var values: [JSONValue] = []
    if takes(UInt8(ascii: "]")) { return .list([]) }
    repeat {
      guard let value = value(depth + 1) else { return nil }
      values.append(value)
    } while takes(UInt8(ascii: ","))
    return takes(UInt8(ascii: "]")) ? .list(values) : nil
  }

  private mutating func number() -> JSONValue? {
    let from = at
    while let byte = next, (48...57).contains(byte) || [43, 45, 46, 69, 101].contains(byte) { at += 1 }
    let digits = String(decoding: bytes[from..<at], as: UTF8.self)
    guard let first = digits.utf8.first, first != 43, Double(digits) != nil else { return nil }
    return Int64(digits).map { .integer($0) } ?? .other
  }

  private mutating func string() -> String? {
    at += 1
    var units: [UInt8] = []
    while let byte = next {
      at += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        units.append(contentsOf: String(scalar).utf8)
      case 0..<32: return nil
      default: units.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      guard let high = unit() else { return nil }
      guard (0xD800..<0xDC00).contains(high) else { return Unicode.Scalar(high) ?? "\u{FFFD}" }
      let before = at
      if bytes[at...].starts(with: [92, 117]) {
        at += 2
        if let low = unit(), (0xDC00..<0xE000).contains(low) {
          return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
        }
        at = before
      }
      return "\u{FFFD}"
    default: return nil
    }
  }

  /// Four hexadecimal digits.
  private mutating func unit() -> UInt32? {
    guard bytes.endIndex - at >= 4 else { return nil }
    defer { at += 4 }
    let digits = bytes[at..<at + 4]
    return digits.allSatisfy { $0 != 43 } ? UInt32(String(decoding: digits, as: UTF8.self), radix: 16) : nil
  }
}
