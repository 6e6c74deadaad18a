/// One state of a pattern's automaton. A state that takes a unit goes on to the state after it.
enum PatternState: Sendable {
  /// Takes this unit.
  case unit(UInt32)
  /// Takes any unit; without `newline`, any but a line feed.
  case any(newline: Bool)
  /// Takes a unit of the class with this index.
  case unitClass(Int32)
  /// Goes on if the place is such a one, and takes nothing.
  case assertion(PatternAssertion)
  /// Goes on at both states and takes nothing.
  case split(Int32, Int32)
  /// Goes on at the state and takes nothing.
  case jump(Int32)
  /// The text matches.
  case match
}
