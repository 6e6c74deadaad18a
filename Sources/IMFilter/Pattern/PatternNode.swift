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
