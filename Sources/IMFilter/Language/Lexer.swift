/// Cuts a filter's text into tokens, one at a time.
struct Lexer {
  /// The text as UTF-8.
  let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next token; at the end, `.end` again and again.
  mutating func next() throws(FilterError) -> Token {
    while offset < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[offset]) { offset += 1 }
    let start = offset
    guard start < bytes.count else { return Token(kind: .end, bytes: start..<start) }
    if let width = atomWidth(at: start) {
      while let width = atomWidth(at: offset), !sees("..", at: offset) { offset += width }
      if offset > start { return Token(kind: .atom, bytes: start..<offset) }
      offset += width * 2
      return Token(kind: .range, bytes: start..<offset)
    }
    if bytes[start] == UInt8(ascii: "\"") { return try string() }
    for (text, kind) in Self.symbols where sees(text, at: start) {
      offset += text.utf8CodeUnitCount
      return Token(kind: kind, bytes: start..<offset)
    }
    throw error(.syntax, at: start, advice(at: start))
  }

  /// Longer symbols stand before their beginnings.
  private static let symbols: [(StaticString, Token.Kind)] = [
    ("==", .equal), ("!=", .notEqual), ("<=", .lessOrEqual), (">=", .greaterOrEqual), ("<", .less), (">", .greater),
    ("&&", .and), ("||", .or), ("!", .not), ("(", .leftParenthesis), (")", .rightParenthesis), ("{", .leftBrace),
    ("}", .rightBrace), ("[", .leftBracket), ("]", .rightBracket), (",", .comma),
  ]

  /// Bytes of the atom's character at `place`, or `nil` when no such character stands there: a letter of any script, a
  /// digit of ASCII, or one of `_ . : / + -`.
  private func atomWidth(at place: Int) -> Int? {
    guard place < bytes.count else { return nil }
    let (unit, width) = TextUnit.decode(bytes.span.bytes, at: place)
    switch unit {
    case 0x2b, 0x2d...0x3a, 0x41...0x5a, 0x5f, 0x61...0x7a: return width
    case ..<0x80: return nil
    default: return Unicode.Scalar(unit)?.properties.isAlphabetic == true ? width : nil
    }
  }

  private mutating func string() throws(FilterError) -> Token {
    let start = offset
    offset += 1
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return Token(kind: .string, bytes: start..<offset)
      case UInt8(ascii: "\\"): offset = min(offset + 2, bytes.count)
      default: offset += 1
      }
    }
    throw error(.syntax, at: start, "this quote is not closed")
  }

  private func sees(_ text: StaticString, at place: Int) -> Bool {
    text.withUTF8Buffer { bytes[place...].starts(with: $0) }
  }

  private func advice(at place: Int) -> String {
    switch bytes[place] {
    case UInt8(ascii: "="): return "expected \"==\" for equality, found \"=\""
    case UInt8(ascii: "&"): return "expected \"&&\" or \"and\", found \"&\""
    case UInt8(ascii: "|"): return "expected \"||\" or \"or\", found \"|\""
    case UInt8(ascii: "~"): return "expected \"matches\", found \"~\""
    case UInt8(ascii: "'"): return "expected text in double quotes, found \"'\""
    default:
      let width = TextUnit.decode(bytes.span.bytes, at: place).width
      return "unexpected \(quoted(place..<place + width)); text goes in double quotes"
    }
  }
}

extension Lexer {
  /// An error at the byte `place`.
  func error(_ code: FilterError.Code, at place: Int, _ message: String) -> FilterError {
    FilterError(code: code, column: String(decoding: bytes[..<place], as: UTF8.self).count + 1, message: message)
  }

  /// The text of `range` as written.
  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// The text of `range` in quotes for a message: at most 40 characters, none of them a control or format character.
  func quoted(_ range: Range<Int>) -> String {
    let shown = bytes[range].prefix(400)
    let text = String(decoding: shown, as: UTF8.self)
    var result = ""
    for scalar in text.prefix(40).unicodeScalars.prefix(80) {
      switch scalar.properties.generalCategory {
      case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    let isCut = text.prefix(41).count > 40 || shown.count < range.count
    return bytes[range].first == UInt8(ascii: "\"") && !isCut ? result : "\"\(result)\(isCut ? "…" : "")\""
  }
}
