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
