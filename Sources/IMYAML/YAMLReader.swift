import Yams

/// One value of a YAML file, with its place, read by the key; every mistake names the place.
///
/// The file is not trusted: its size, its depth and its aliases are looked at before the parser sees it.
package struct YAMLReader {
  /// The most a file may have, in bytes, and how deep it may nest.
  package static let maximumBytes = 256 << 10
  static let maximumDepth = 32

  let node: Node
  let source: String

  /// Parses `text`, which `source` names in errors and `subject` in sentences: "profile", "rules file". Anchors and
  /// aliases are refused: they let a short file stand for a long one.
  package init(_ text: String, source: String, subject: String) throws(SourceError) {
    guard text.utf8.count <= Self.maximumBytes else {
      throw SourceError(source: source, message: "a \(subject) has at most \(Self.maximumBytes) bytes")
    }
    if let line = Self.lineOfAlias(text) {
      throw SourceError(source: source, line: line, message: "anchors and aliases are not allowed in a \(subject)")
    }
    if Self.isTooDeep(text) {
      throw SourceError(source: source, message: "a \(subject) nests at most \(Self.maximumDepth) levels")
    }
    do {
      // Without Yams' own ideas of types: its resolver tries a regular expression after the other at every scalar.
      guard let node = try Yams.compose(yaml: text, .basic) else {
        throw SourceError(source: source, message: "the \(subject) is empty")
      }
      self.node = node
      self.source = source
    } catch let error as SourceError {
      throw error
    } catch let error as YamlError {
      throw Self.error(error, source)
    } catch {
      throw SourceError(source: source, message: "not YAML: \(error)")
    }
  }

  private init(_ node: Node, _ source: String) {
    self.node = node
    self.source = source
  }

  /// An error at this value.
  package func error(_ message: String) -> SourceError {
    SourceError(source: source, line: node.mark?.line, column: node.mark?.column, message: message)
  }

  // MARK: Mappings and lists

  /// The entries of a mapping.
  package func entries() throws(SourceError) -> [(key: YAMLReader, value: YAMLReader)] {
    guard let mapping = node.mapping else { throw error("a mapping is wanted here") }
    return mapping.map { (YAMLReader($0.key, source), YAMLReader($0.value, source)) }
  }

  /// The entries of a list.
  package func elements() throws(SourceError) -> [YAMLReader] {
    guard let sequence = node.sequence else { throw error("a list is wanted here") }
    return sequence.map { YAMLReader($0, source) }
  }

  /// The value of `key`, `nil` when there is none.
  package func optional(_ key: String) throws(SourceError) -> YAMLReader? {
    guard case .mapping(let mapping) = node else { throw error("a mapping is wanted here") }
    for (name, value) in mapping {
      guard case .scalar(let scalar) = name, scalar.string == key else { continue }
      return YAMLReader(value, source)
    }
    return nil
  }

  /// The value of `key`.
  package func required(_ key: String) throws(SourceError) -> YAMLReader {
    guard let value = try optional(key) else { throw error("'\(key)' is missing") }
    return value
  }

  /// Refuses keys that are not in `known`.
  package func allow(_ known: String...) throws(SourceError) {
    var seen: Set<String> = []
    for (key, _) in try entries() {
      let name = try key.text()
      guard known.contains(name) else {
        throw key.error("'\(name)' is not known here; known are: \(known.joined(separator: ", "))")
      }
      guard seen.insert(name).inserted else { throw key.error("'\(name)' stands here twice") }
    }
  }

  /// The entries of a mapping by their keys; keys that are not in `known` are refused. Quicker than asking for many keys
  /// one by one.
  package func fields(_ known: String...) throws(SourceError) -> [String: YAMLReader] {
    var fields: [String: YAMLReader] = [:]
    for (key, value) in try entries() {
      let name = try key.text()
      guard known.contains(name) else {
        throw key.error("'\(name)' is not known here; known are: \(known.joined(separator: ", "))")
      }
      guard fields.updateValue(value, forKey: name) == nil else { throw key.error("'\(name)' stands here twice") }
    }
    return fields
  }

  // MARK: Scalars

  /// The text of a scalar.
  package func text() throws(SourceError) -> String {
    guard let scalar = node.scalar else { throw error("a single value is wanted here") }
    return scalar.string
  }

  /// Whether this is a single value.
  package var isScalar: Bool { node.scalar != nil }

  /// A whole number in decimal or, with 0x, hexadecimal, within `range`.
  package func number(_ range: ClosedRange<Int>) throws(SourceError) -> Int {
    let text = try text()
    let value = text.hasPrefix("0x") || text.hasPrefix("0X") ? Int(text.dropFirst(2), radix: 16) : Int(text)
    guard let value else { throw error("'\(text)' is not a whole number") }
    guard range.contains(value) else {
      throw error("\(text) is not between \(range.lowerBound) and \(range.upperBound)")
    }
    return value
  }

  /// `true` or `false`.
  package func flag() throws(SourceError) -> Bool {
    switch try text() {
    case "true": return true
    case "false": return false
    case let other: throw error("'\(other)' is neither true nor false")
    }
  }

  /// Bytes in hexadecimal.
  package func bytes(_ count: ClosedRange<Int>) throws(SourceError) -> [UInt8] {
    let digits = Array(try text().utf8)
    var result: [UInt8] = []
    var i = 0
    while i + 1 < digits.count {
      guard let byte = UInt8(String(decoding: digits[i...i + 1], as: UTF8.self), radix: 16) else { break }
      result.append(byte)
      i += 2
    }
    guard i == digits.count, count.contains(result.count) else {
      throw error("\(count.lowerBound) to \(count.upperBound) bytes in hexadecimal are wanted here")
    }
    return result
  }

  /// A time such as `6s` or `250ms`, in nanoseconds.
  package func duration() throws(SourceError) -> Int64 {
    let text = try text()
    let (digits, unit): (Substring, Int64) =
      text.hasSuffix("ms") ? (text.dropLast(2), 1_000_000) : (text.dropLast(1), 1_000_000_000)
    guard text.hasSuffix("s"), let value = Int64(digits), (1...86_400_000).contains(value) else {
      throw error("'\(text)' is not a time such as 6s or 250ms")
    }
    return value * unit
  }

  // MARK: Limits

  private static func error(_ error: YamlError, _ source: String) -> SourceError {
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      return SourceError(source: source, line: mark.line, column: mark.column, message: problem)
    case .duplicatedKeysInMapping(let keys, let context):
      return SourceError(
        source: source, line: context.mark.line, column: context.mark.column,
        message: "'\(keys.first ?? "")' stands here and once more in the same mapping")
    case .reader(let problem, let offset, _, let yaml):
      // The offset is of the bytes.
      let before = yaml.utf8.prefix(offset ?? 0)
      let line = before.count { $0 == UInt8(ascii: "\n") } + 1
      let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
      return SourceError(source: source, line: line, column: column, message: problem)
    default:
      let text = "\(error)".split(whereSeparator: \.isNewline).joined(separator: " ")
      return SourceError(source: source, message: "not YAML: \(text)")
    }
  }

  /// The line of the first alias or anchor: `&` or `*` at the beginning of a value.
  private static func lineOfAlias(_ text: String) -> Int? {
    var line = 1
    var previous = UInt8(ascii: " ")
    var isComment = false
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\n") {
        line += 1
        isComment = false
      } else if byte == UInt8(ascii: "#"), previous == UInt8(ascii: " ") || previous == UInt8(ascii: "\n") {
        isComment = true
      } else if !isComment, byte == UInt8(ascii: "&") || byte == UInt8(ascii: "*"),
        [UInt8(ascii: " "), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","), UInt8(ascii: "\n")].contains(
          previous)
      {
        return line
      }
      previous = byte
    }
    return nil
  }

  /// Counts flow brackets and indentation, before the parser's recursion would.
  private static func isTooDeep(_ text: String) -> Bool {
    var depth = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") { depth += 1 }
      if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { depth -= 1 }
      if depth > maximumDepth { return true }
    }
    // `- - - -` and deep indentation nest as well.
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      var dashes = 0
      for byte in line {
        if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "?") { dashes += 1 } else if byte != 32 { break }
      }
      let indentation = line.prefix { $0 == 32 }.count
      if dashes > maximumDepth || indentation > maximumDepth * 8 { return true }
    }
    return false
  }
}
