/// A place in the text that a regular expression can ask for.
enum PatternAssertion: Sendable {
  /// `^`
  case start
  /// `$`
  case end
  /// `\b`: a word unit on one side only.
  case wordBoundary
  /// `\B`: on both sides or on neither.
  case insideOrOutside

  /// Whether the place between `previous` and `next` is such a one; `nil` stands for the ends of the text.
  func holds(between previous: UInt32?, and next: UInt32?) -> Bool {
    switch self {
    case .start: previous == nil
    case .end: next == nil
    case .wordBoundary: TextUnit.isWord(previous) != TextUnit.isWord(next)
    case .insideOrOutside: TextUnit.isWord(previous) == TextUnit.isWord(next)
    }
  }
}
