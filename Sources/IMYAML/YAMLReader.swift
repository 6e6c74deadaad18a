/// One value of a YAML file, with its place, read by the key; every mistake names the place.
///
/// The file is not trusted: its size is looked at before it is read, its depth and its aliases while it is.
package struct YAMLReader {
  /// The most a file may have, in bytes.
  package static let maximumBytes = 256 << 10

  let node: YAMLNode
  let source: String

  /// Parses `text`, which `source` names in errors and `subject` in sentences: "profile", "rules file". Anchors and
  /// aliases are refused: they let a short file stand for a long one.
  package init(_ text: String, source: String, subject: String) throws(SourceError) {
    guard text.utf8.count <= Self.maximumBytes else {
      throw SourceError(source: source, message: "a \(subject) has at most \(Self.maximumBytes) bytes")
    }
    let bytes = Array(text.utf8)
    let root = try bytes.withUnsafeBufferPointer { bytes throws(SourceError) in
      try YAMLComposer.compose(bytes, source: source, subject: subject)
    }
    guard let root else { throw SourceError(source: source, message: "the \(subject) is empty") }
    node = root
    self.source = source
  }

  private init(_ node: YAMLNode, _ source: String) {
    self.node = node
    self.source = source
  }

  /// The line in which this value begins, from 1.
  package var line: Int { node.mark.line }

  /// An error at this value.
  package func error(_ message: String) -> SourceError {
    SourceError(source: source, line: node.mark.line, column: node.mark.column, message: message)
  }

  // MARK: Mappings and lists

  /// The entries of a mapping.
  package func entries() throws(SourceError) -> [(key: YAMLReader, value: YAMLReader)] {
    try mapping().map { (YAMLReader($0.key, source), YAMLReader($0.value, source)) }
  }

  /// The entries of a list.
  package func elements() throws(SourceError) -> [YAMLReader] {
    guard case .sequence(let elements) = node.content else { throw error("expected a list") }
    return elements.map { YAMLReader($0, source) }
  }

  /// The value of `key`, `nil` when there is none.
  package func optional(_ key: String) throws(SourceError) -> YAMLReader? {
    let entries = try mapping()
    return entries.first { $0.key.text == key }.map { YAMLReader($0.value, source) }
  }

  /// The value of `key`.
  package func required(_ key: String) throws(SourceError) -> YAMLReader {
    guard let value = try optional(key) else { throw error("'\(key)' is missing") }
    return value
  }

  /// Refuses keys that are not in `known`.
  package func allow(_ known: String...) throws(SourceError) {
    for entry in try mapping() { _ = try name(entry.key, known) }
  }

  /// The entries of a mapping by their keys; keys that are not in `known` are refused. Quicker than asking for many keys
  /// one by one.
  package func fields(_ known: String...) throws(SourceError) -> [String: YAMLReader] {
    let entries = try mapping()
    var fields = [String: YAMLReader](minimumCapacity: entries.count)
    for entry in entries { fields[try name(entry.key, known)] = YAMLReader(entry.value, source) }
    return fields
  }

  private func mapping() throws(SourceError) -> [YAMLNode.Entry] {
    guard case .mapping(let entries) = node.content else { throw error("expected a mapping") }
    return entries
  }

  /// The text of `key`, which is one of `known`.
  private func name(_ key: YAMLNode, _ known: [String]) throws(SourceError) -> String {
    let key = YAMLReader(key, source)
    let name = try key.text()
    guard known.contains(name) else {
      throw key.error("'\(name)' is not known here; expected one of: \(known.joined(separator: ", "))")
    }
    return name
  }

  // MARK: Scalars

  /// The text of a scalar.
  package func text() throws(SourceError) -> String {
    guard let text = node.text else { throw error("expected a single value") }
    return text
  }

  /// Whether this is a single value.
  package var isScalar: Bool { node.text != nil }

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
      throw error("expected \(count.lowerBound) to \(count.upperBound) bytes in hexadecimal")
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
}
