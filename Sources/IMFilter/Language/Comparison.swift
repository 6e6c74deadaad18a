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
