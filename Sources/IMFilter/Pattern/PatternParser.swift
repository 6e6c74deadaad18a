/// Reads the text of a regular expression into a tree.
///
///     choice   = sequence *( "|" sequence )
///     sequence = *( atom [ repeat ] )
///     atom     = "(" [ "?:" ] choice ")" / class / "." / "^" / "$" / escape / any other character
///     repeat   = ( "*" / "+" / "?" / "{" m "}" / "{" m "," "}" / "{" m "," n "}" ) [ "?" ]
///
/// A `?` after a repeat asks for the shortest match elsewhere; here, where only yes or no counts, it changes nothing.
struct PatternParser {
  let source: [UInt8]
  var offset = 0
  /// The classes met so far, which nodes name by index.
  var classes: [UnitClass] = []
  /// `(?i)`: case is ignored.
  private(set) var ignoresCase = false
  /// `(?s)`: the dot matches a line feed too.
  private var dotTakesNewline = false

  init(_ source: [UInt8]) { self.source = source }

  /// Reads the whole text.
  mutating func parse() throws(PatternError) -> PatternNode {
    try flags()
    let node = try choice(depth: 0)
    if offset < source.count { throw error("this \")\" closes no group") }
    return node
  }

  /// The byte at hand, or `nil` at the end.
  var next: UInt8? { offset < source.count ? source[offset] : nil }

  /// Steps over `byte` if it is at hand.
  mutating func takes(_ byte: Unicode.Scalar) -> Bool {
    guard let next, next == UInt8(ascii: byte) else { return false }
    offset += 1
    return true
  }

  /// Whether `text` stands at hand.
  func sees(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { source[offset...].starts(with: $0) }
  }

  func error(_ message: String, at place: Int? = nil, isLimit: Bool = false) -> PatternError {
    PatternError(offset: place ?? offset, message: message, isLimit: isLimit)
  }

  /// `(?i)`, `(?s)` or both, which stand only at the beginning.
  private mutating func flags() throws(PatternError) {
    guard sees("(?"), !sees("(?:") else { return }
    offset += 2
    repeat {
      if takes("i") {
        ignoresCase = true
      } else if takes("s") {
        dotTakesNewline = true
      } else {
        throw error("expected (?i), (?s) or (?:", at: 0)
      }
    } while !takes(")")
  }

  private mutating func choice(depth: Int) throws(PatternError) -> PatternNode {
    var branches = [try sequence(depth: depth)]
    while takes("|") { branches.append(try sequence(depth: depth)) }
    return branches.count == 1 ? branches[0] : .choice(branches)
  }

  private mutating func sequence(depth: Int) throws(PatternError) -> PatternNode {
    var items: [PatternNode] = []
    while let byte = next, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
      let atom = try atom(depth: depth)
      items.append(try repetition(of: atom))
    }
    return items.isEmpty ? .empty : items.count == 1 ? items[0] : .sequence(items)
  }

  private mutating func atom(depth: Int) throws(PatternError) -> PatternNode {
    let start = offset
    if takes("(") {
      guard depth < FilterLimits.depth else {
        throw error("groups may be nested \(FilterLimits.depth) deep", at: start, isLimit: true)
      }
      if sees("?:") {
        offset += 2
      } else if next == UInt8(ascii: "?") {
        throw error("of the (? forms only (?:…) is supported, and (?i) and (?s) at the beginning", at: start)
      }
      let node = try choice(depth: depth + 1)
      guard takes(")") else { throw error("this \"(\" is not closed", at: start) }
      return node
    }
    if takes("[") { return try unitClass(from: start) }
    if takes(".") { return .any(newline: dotTakesNewline) }
    if takes("^") { return .assertion(.start) }
    if takes("$") { return .assertion(.end) }
    if takes("\\") { return try escape(from: start) }
    if takes("*") || takes("+") || takes("?") { throw error("nothing to repeat", at: start) }
    if takes("{") { throw error("nothing to repeat; a brace itself is \\{", at: start) }
    let (unit, width) = TextUnit.decode(source.span.bytes, at: offset)
    offset += width
    return .unit(unit)
  }

  /// `atom` with the repeat that follows it, if one does.
  private mutating func repetition(of atom: PatternNode) throws(PatternError) -> PatternNode {
    let bounds: (least: Int, most: Int?)
    if takes("*") {
      bounds = (0, nil)
    } else if takes("+") {
      bounds = (1, nil)
    } else if takes("?") {
      bounds = (0, 1)
    } else if next == UInt8(ascii: "{") {
      bounds = try braces()
    } else {
      return atom
    }
    _ = takes("?")
    if let next, "*+?{".utf8.contains(next) { throw error("two repeats in a row; write (…) around the first") }
    return .repeated(atom, least: bounds.least, most: bounds.most)
  }

  /// `{m}`, `{m,}` or `{m,n}`.
  private mutating func braces() throws(PatternError) -> (least: Int, most: Int?) {
    let start = offset
    offset += 1
    guard let least = try count() else {
      throw error("expected {m}, {m,} or {m,n}; a brace itself is \\{", at: start)
    }
    var most: Int? = least
    if takes(",") { most = try count() }
    guard takes("}") else { throw error("expected {m}, {m,} or {m,n}; a brace itself is \\{", at: start) }
    if let most, most < least { throw error("\(least) to \(most) times is never", at: start) }
    return (least, most)
  }

  /// A count of repeats, or `nil` when no digit is at hand.
  private mutating func count() throws(PatternError) -> Int? {
    let start = offset
    var value: Int?
    while let byte = next, (0x30...0x39).contains(byte) {
      value = (value ?? 0) * 10 + Int(byte - 0x30)
      if let value, value > FilterLimits.stateCount {
        throw error("more than \(FilterLimits.stateCount) times", at: start, isLimit: true)
      }
      offset += 1
    }
    return value
  }
}
