import IMWire

extension Parser {
  /// The literal at hand, read as `field` wants it.
  mutating func operand(of field: FilterField) throws(FilterError) -> Operand {
    let operand = try value(of: field)
    try advance()
    return operand
  }

  private func value(of field: FilterField) throws(FilterError) -> Operand {
    guard token.kind == .atom || token.kind == .string else { throw expected(wish(of: field.kind)) }
    if let word, Self.connectives.contains(word) {
      throw error(
        .syntax, "expected \(wish(of: field.kind)), found the keyword \(found); put it in quotes to use it as a value")
    }
    let isQuoted = token.kind == .string
    let text = isQuoted ? String(decoding: try unescaped(), as: UTF8.self) : text
    switch field.kind {
    case .integer:
      if !isQuoted, let value = Literal.whole(text) { return .whole(value) }
    case .real:
      if !isQuoted, let value = Literal.fractional(text) { return .fractional(value) }
    case .time:
      if let value = isQuoted ? TimeLiteral.calendar(text, schema.zone) : TimeLiteral.seconds(text) {
        return .whole(value)
      }
      if isQuoted, let begin = schema.begin, let time = readTimeOfDay(text, near: begin, zone: schema.zone) {
        return .whole(Int128(time.nanoseconds))
      }
    case .address:
      if let (lower, upper) = Literal.addresses(text) { return .addresses(lower: lower, upper: upper) }
    case .flag:
      if !isQuoted, text == "true" || text == "false" { return .flag(text == "true") }
    case .word(let words, let groups):
      if let index = words.firstIndex(of: text) { return .whole(Int128(index)) }
      throw unknownWord(text, of: field, among: words + groups.map(\.name))
    case .name(let known):
      let number = Literal.whole(text)
      if number == nil, !known.isEmpty, !known.contains(text) { throw unknownWord(text, of: field, among: known) }
      return .name(isQuoted ? try unescaped() : Array(text.utf8), number)
    case .text:
      return .text(isQuoted ? try unescaped() : Array(text.utf8))
    case .bytes:
      return .text(try fragment(of: field))
    }
    throw expected(wish(of: field.kind) + unitAdvice(text, field.kind), .value)
  }

  /// The values for which the name of a group stands, if it is at hand; `nil` for another literal.
  mutating func group(of field: FilterField) throws(FilterError) -> [Operand]? {
    guard case .word(let words, let groups) = field.kind, token.kind == .atom || token.kind == .string else {
      return nil
    }
    let text = token.kind == .string ? String(decoding: try unescaped(), as: UTF8.self) : text
    guard let group = groups.first(where: { $0.name == text }) else { return nil }
    try advance()
    return group.words.compactMap { words.firstIndex(of: $0) }.map { .whole(Int128($0)) }
  }

  /// Text or bytes to compare with a field of text, bytes or names, or to look for in it.
  func fragment(of field: FilterField) throws(FilterError) -> [UInt8] {
    if token.kind == .string { return try unescaped() }
    guard let word else { throw expected(wish(of: field.kind)) }
    if Self.connectives.contains(word) { throw expected(wish(of: field.kind)) }
    guard case .bytes = field.kind else { return Array(word.utf8) }
    guard let bytes = Literal.bytes(word) else { throw expected(wish(of: field.kind), .value) }
    return bytes
  }

  /// What a literal of `kind` looks like.
  private func wish(of kind: FilterKind) -> String {
    switch kind {
    case .integer: "a whole number"
    case .real: "a number"
    case .time: "a time such as \"2026-11-21T00:11:46Z\" or \"00:11:46\", or seconds since 1970"
    case .text: "text"
    case .bytes: "text in quotes or bytes such as 0a:0b:0c"
    case .address: "an address or a network such as 10.0.0.0/8"
    case .flag: "true or false"
    case .word(let words, let groups): Self.listed(words + groups.map(\.name))
    case .name(let known): known.isEmpty ? "a name or a number" : Self.listed(known + ["a number"])
    }
  }

  /// A hint for `500ms`.
  private func unitAdvice(_ text: String, _ kind: FilterKind) -> String {
    guard kind == .integer || kind == .real, let first = text.utf8.first, (0x30...0x39).contains(first) else {
      return ""
    }
    let unit = text.drop { $0.isASCII && ($0.isNumber || $0 == ".") }
    return ["ns", "us", "ms", "s", "m", "h"].contains(unit) ? " without unit, which is in the field's name" : ""
  }

  private func unknownWord(_ text: String, of field: FilterField, among words: [String]) -> FilterError {
    let advice = Suggestion.nearest(to: text, among: words).map { "; did you mean \"\($0)\"?" } ?? ""
    return error(.value, "expected \(wish(of: field.kind)), found \(found)\(advice)")
  }

  /// `a, b or c`, of at most 20 words.
  private static func listed(_ words: [String]) -> String {
    if words.count > 20 { return words.prefix(20).joined(separator: ", ") + ", …" }
    guard let last = words.last, words.count > 1 else { return words.first ?? "nothing" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }

  /// The bytes that the string at hand stands for.
  private func unescaped() throws(FilterError) -> [UInt8] {
    var result: [UInt8] = []
    var place = token.bytes.lowerBound + 1
    let end = token.bytes.upperBound - 1
    while place < end {
      guard bytes[place] == UInt8(ascii: "\\"), place + 1 < end else {
        result.append(bytes[place])
        place += 1
        continue
      }
      switch bytes[place + 1] {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): result.append(bytes[place + 1])
      case UInt8(ascii: "n"): result.append(0x0a)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "r"): result.append(0x0d)
      case UInt8(ascii: "x"):
        guard place + 3 < end, let high = HexDigit.value(bytes[place + 2]), let low = HexDigit.value(bytes[place + 3])
        else { throw error(.syntax, "expected two hex digits after \\x", at: place) }
        result.append(high << 4 | low)
        place += 2
      default:
        throw error(.syntax, "unknown escape; expected \\\" \\\\ \\n \\t \\r or \\xNN", at: place)
      }
      place += 2
    }
    return result
  }
}
