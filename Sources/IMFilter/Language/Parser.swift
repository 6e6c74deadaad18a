/// Reads a filter's text and writes its program.
///
///     filter  = or
///     or      = and *( ( "or" / "||" ) and )
///     and     = not *( ( "and" / "&&" ) not )
///     not     = *( "not" / "!" ) ( "(" or ")" / test )
///
/// `Parser+Test.swift` has the grammar of a test. Only parentheses recurse, and their depth is limited.
struct Parser {
  let schema: FilterSchema
  private var lexer: Lexer
  /// The token at hand.
  private(set) var token: Token
  private(set) var program: [Instruction] = []
  private(set) var tests: [FieldTest] = []
  /// States that regular expressions may still take.
  var stateBudget = FilterLimits.stateCount

  /// Words that join tests; neither field names nor bare words.
  static let connectives: Set<String> = ["and", "or", "not"]
  /// Words that are operators of a test. They are no field names, but where a value is expected they are bare words: `le`
  /// is also an outcome of a checksum.
  static let operators: Set<String> = ["in", "contains", "matches", "eq", "ne", "lt", "le", "gt", "ge"]

  init(_ text: String, schema: FilterSchema) throws(FilterError) {
    self.schema = schema
    lexer = Lexer(Array(text.utf8))
    token = Token(kind: .end, bytes: 0..<0)
    guard lexer.bytes.count <= FilterLimits.byteCount else {
      throw FilterError(
        code: .limit, column: 1, message: "the filter is longer than \(FilterLimits.byteCount) bytes")
    }
    token = try lexer.next()
  }

  /// Reads the whole text.
  mutating func parse() throws(FilterError) {
    if token.kind == .end { throw error(.syntax, "the filter is empty; expected a field name, \"not\" or \"(\"") }
    try disjunction(depth: 0)
    if token.kind == .rightParenthesis { throw error(.syntax, "this \")\" closes no \"(\"") }
    if token.kind != .end { throw expected("\"and\", \"or\" or the end of the filter") }
  }

  private mutating func disjunction(depth: Int) throws(FilterError) {
    try conjunction(depth: depth)
    var jumps: [Int] = []
    while try takes(.or, word: "or") {
      jumps.append(program.count)
      program.append(.jumpIfTrue(0))
      try conjunction(depth: depth)
    }
    for jump in jumps { program[jump] = .jumpIfTrue(program.count) }
  }

  private mutating func conjunction(depth: Int) throws(FilterError) {
    try negation(depth: depth)
    var jumps: [Int] = []
    while try takes(.and, word: "and") {
      jumps.append(program.count)
      program.append(.jumpIfFalse(0))
      try negation(depth: depth)
    }
    for jump in jumps { program[jump] = .jumpIfFalse(program.count) }
  }

  private mutating func negation(depth: Int) throws(FilterError) {
    var isInverted = false
    while try takes(.not, word: "not") { isInverted.toggle() }
    if token.kind == .leftParenthesis {
      let start = token
      guard depth < FilterLimits.depth else {
        throw error(.limit, "parentheses may be nested \(FilterLimits.depth) deep")
      }
      try advance()
      try disjunction(depth: depth + 1)
      if token.kind == .end { throw error(.syntax, "this \"(\" is not closed", at: start.bytes.lowerBound) }
      guard token.kind == .rightParenthesis else { throw expected("\"and\", \"or\" or \")\"") }
      try advance()
    } else {
      tests.append(try test())
      program.append(.test(tests.count - 1))
    }
    if isInverted { program.append(.invert) }
  }
}

extension Parser {
  /// Steps to the next token.
  mutating func advance() throws(FilterError) { token = try lexer.next() }

  /// Steps over the token if it is of `kind`, or the keyword `word`.
  mutating func takes(_ kind: Token.Kind, word keyword: String) throws(FilterError) -> Bool {
    guard token.kind == kind || word == keyword else { return false }
    try advance()
    return true
  }

  /// The text of the token at hand when it is written without quotes, or `nil`.
  var word: String? { token.kind == .atom ? text : nil }

  /// The text of the token at hand as written.
  var text: String { lexer.text(token.bytes) }

  /// The filter's bytes.
  var bytes: [UInt8] { lexer.bytes }

  /// The token at hand as a message names it.
  var found: String { token.kind == .end ? "the end of the filter" : lexer.quoted(token.bytes) }

  /// An error at the token at hand, or at the byte `place`.
  func error(_ code: FilterError.Code, _ message: String, at place: Int? = nil) -> FilterError {
    lexer.error(code, at: place ?? token.bytes.lowerBound, message)
  }

  /// The error that something else was expected than the token at hand.
  func expected(_ what: String, _ code: FilterError.Code = .syntax) -> FilterError {
    error(code, "expected \(what), found \(found)")
  }
}
