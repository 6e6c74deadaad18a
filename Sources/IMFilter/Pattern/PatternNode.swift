/// A regular expression as a tree. Its depth is bounded by the nesting of groups.
indirect enum PatternNode: Sendable {
  /// Matches the empty text.
  case empty
  /// One unit.
  case unit(UInt32)
  /// Any unit; without `newline`, any but a line feed.
  case any(newline: Bool)
  /// A unit of the class with this index.
  case unitClass(Int)
  /// A place in the text.
  case assertion(PatternAssertion)
  /// One after the other.
  case sequence([PatternNode])
  /// Any one of them.
  case choice([PatternNode])
  /// At least `least` and at most `most` times, without end when `most` is `nil`.
  case repeated(PatternNode, least: Int, most: Int?)
}

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
