/// One word of a filter's text.
struct Token: Equatable {
  enum Kind: Equatable {
    /// A field name, keyword, number, address or bare word: whatever is written without quotes.
    case atom
    /// Text in quotes, quotes included in `bytes`.
    case string
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    case and, or, not
    case leftParenthesis, rightParenthesis
    case leftBrace, rightBrace
    case leftBracket, rightBracket
    case comma
    /// `..` between the ends of a range.
    case range
    /// After the last word.
    case end
  }

  var kind: Kind
  /// Where the token stands in the filter's bytes.
  var bytes: Range<Int>
}

/// The operators of a test that take a literal.
enum Comparison {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual

  /// The operator that `kind` or the keyword `word` stands for.
  init?(_ kind: Token.Kind, word: String?) {
    switch (kind, word) {
    case (.equal, _), (.atom, "eq"): self = .equal
    case (.notEqual, _), (.atom, "ne"): self = .notEqual
    case (.less, _), (.atom, "lt"): self = .less
    case (.lessOrEqual, _), (.atom, "le"): self = .lessOrEqual
    case (.greater, _), (.atom, "gt"): self = .greater
    case (.greaterOrEqual, _), (.atom, "ge"): self = .greaterOrEqual
    default: return nil
    }
  }

  /// Whether it asks which of two values is larger.
  var asksOrder: Bool {
    switch self {
    case .equal, .notEqual: false
    case .less, .lessOrEqual, .greater, .greaterOrEqual: true
    }
  }
}
