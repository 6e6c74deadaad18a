/// One step of a compiled filter. The program works on a single truth value, the outcome of the last test, so it needs no
/// stack: `a and b` is a, leave if false, b.
enum Instruction: Sendable {
  /// Sets the outcome to that of the test with this index.
  case test(Int)
  /// Turns the outcome round.
  case invert
  /// Goes on at the index when the outcome is false.
  case jumpIfFalse(Int)
  /// Goes on at the index when the outcome is true.
  case jumpIfTrue(Int)
}
