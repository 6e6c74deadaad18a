/// The grammar of a test:
///
///     test       = field [ "[" path "]" ] [ comparison literal / "in" set / "contains" literal / "matches" string ]
///     comparison = "==" / "!=" / "<" / "<=" / ">" / ">=" / "eq" / "ne" / "lt" / "le" / "gt" / "ge"
///     set        = "{" literal [ ".." literal ] *( "," literal [ ".." literal ] ) "}"
///     path       = number *( "." number )
extension Parser {
  mutating func test() throws(FilterError) -> FieldTest {
    let index = try field()
    let field = schema.fields[index]
    let path = try path(of: field)
    if let comparison = Comparison(token.kind, word: word) {
      let predicate = try comparing(field, comparison)
      return FieldTest(index, field, path, predicate, isNegated: comparison == .notEqual)
    }
    let predicate: Predicate
    switch word {
    case "in": predicate = try membership(field)
    case "contains": predicate = try containing(field)
    case "matches": predicate = try matching(field)
    default:
      try endOfTest()
      if case .flag = field.kind { predicate = .flag(true) } else { predicate = .present }
    }
    return FieldTest(index, field, path, predicate)
  }

  /// The index of the field that the token at hand names.
  private mutating func field() throws(FilterError) -> Int {
    guard let name = word, !Self.connectives.contains(name), !Self.operators.contains(name) else {
      throw expected("a field name, \"not\" or \"(\"")
    }
    guard let index = schema.index(of: name) else {
      let advice =
        Suggestion.nearest(to: name, among: schema.fields.map(\.name)).map { "did you mean \"\($0)\"?" }
        ?? "imdump-filter(7) lists the fields"
      throw error(.unknownField, "unknown field \(found); \(advice)")
    }
    try advance()
    return index
  }

  /// The path in brackets that follows the field, or the empty path.
  private mutating func path(of field: FilterField) throws(FilterError) -> FilterPath {
    guard token.kind == .leftBracket else { return FilterPath() }
    guard field.isKeyed else { throw error(.kind, "\"\(field.name)\" has no elements to pick with \"[\"") }
    try advance()
    guard let text = word else { throw expected("a path such as 0x1001 or 0xFFFF.0x0020") }
    let steps = text.split(separator: ".", omittingEmptySubsequences: false)
    guard steps.count <= FilterLimits.pathCount else {
      throw error(.limit, "a path may have \(FilterLimits.pathCount) steps")
    }
    var keys: [UInt64] = []
    for step in steps {
      guard let key = Literal.whole(String(step)).flatMap({ UInt64(exactly: $0) }) else {
        throw expected("a path such as 0x1001 or 0xFFFF.0x0020", .value)
      }
      keys.append(key)
    }
    try advance()
    guard token.kind == .rightBracket else { throw expected("\"]\"") }
    try advance()
    return FilterPath(keys)
  }

  /// Refuses a field's bare name when what follows can only be meant as an operator.
  private func endOfTest() throws(FilterError) {
    switch (token.kind, word) {
    case (.end, _), (.and, _), (.or, _), (.rightParenthesis, _), (_, "and"), (_, "or"): return
    case (_, "not"): throw expected("a comparison, \"and\", \"or\" or the end; \"not\" goes before a test")
    default: throw expected("a comparison, \"and\", \"or\" or the end of the filter")
    }
  }

  private mutating func comparing(_ field: FilterField, _ comparison: Comparison) throws(FilterError) -> Predicate {
    if comparison.asksOrder, !field.kind.isOrdered { throw misplaced(on: field, needs: "a number or a time") }
    try advance()
    let start = token
    var builder = PredicateBuilder()
    if let members = try group(of: field) {
      for member in members { _ = builder.add(.equal, member) }
      return builder.predicate(for: field.kind)
    }
    let operand = try operand(of: field)
    guard builder.add(comparison, operand) else {
      throw error(.kind, "names have no order; expected a number", at: start.bytes.lowerBound)
    }
    return builder.predicate(for: field.kind)
  }

  private mutating func membership(_ field: FilterField) throws(FilterError) -> Predicate {
    if case .flag = field.kind { throw misplaced(on: field, needs: "a field with more than two values") }
    try advance()
    guard token.kind == .leftBrace else { throw expected("a set such as {1, 5..9}") }
    let start = token
    try advance()
    var builder = PredicateBuilder()
    var count = 0
    while true {
      if count == FilterLimits.setCount { throw error(.limit, "a set may have \(FilterLimits.setCount) members") }
      count += 1
      try member(of: field, into: &builder)
      switch token.kind {
      case .comma: try advance()
      case .rightBrace:
        try advance()
        return builder.predicate(for: field.kind)
      case .end: throw error(.syntax, "this \"{\" is not closed", at: start.bytes.lowerBound)
      default: throw expected("\",\" or \"}\"")
      }
    }
  }

  /// One literal of a set, or one range.
  private mutating func member(of field: FilterField, into builder: inout PredicateBuilder) throws(FilterError) {
    let start = token.bytes.lowerBound
    if let members = try group(of: field) {
      for member in members { _ = builder.add(.equal, member) }
      return
    }
    let lower = try operand(of: field)
    guard token.kind == .range else {
      _ = builder.add(.equal, lower)
      return
    }
    let upper: Operand
    if field.kind.isOrdered || field.kind == .address {
      try advance()
      upper = try operand(of: field)
    } else {
      throw error(.kind, "\"..\" needs a number, a time or an address, and \"\(field.name)\" is \(field.kind.phrase)")
    }
    switch builder.add(lower, through: upper) {
    case .some(true): return
    case .some(false): throw error(.value, "this range is empty: its end is below its beginning", at: start)
    case .none:
      throw error(.kind, "a range goes from a number to a number, or between addresses of one kind", at: start)
    }
  }

  private mutating func containing(_ field: FilterField) throws(FilterError) -> Predicate {
    guard field.kind.isTextual else { throw misplaced(on: field, needs: "text, bytes or a name") }
    try advance()
    let bytes = try fragment(of: field)
    guard !bytes.isEmpty else { throw error(.value, "every text contains the empty text") }
    try advance()
    return Predicate.contains(Needle(bytes)).fitted(to: field.kind)
  }

  private mutating func matching(_ field: FilterField) throws(FilterError) -> Predicate {
    guard field.kind.isTextual else { throw misplaced(on: field, needs: "text, bytes or a name") }
    try advance()
    guard token.kind == .string else { throw expected("a regular expression in quotes") }
    let inside = token.bytes.lowerBound + 1..<token.bytes.upperBound - 1
    let pattern: Pattern
    do {
      pattern = try Pattern(Array(bytes[inside]), budget: stateBudget)
    } catch {
      throw self.error(error.isLimit ? .limit : .pattern, error.message, at: inside.lowerBound + error.offset)
    }
    stateBudget -= pattern.stateCount
    try advance()
    return Predicate.matches(pattern).fitted(to: field.kind)
  }

  /// The error that the operator at hand does not go with `field`.
  private func misplaced(on field: FilterField, needs: String) -> FilterError {
    error(.kind, "\(found) needs \(needs), and \"\(field.name)\" is \(field.kind.phrase)")
  }
}
