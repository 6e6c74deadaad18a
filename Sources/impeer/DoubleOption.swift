import IMCommandLine

extension Double: OptionValue {
  /// Reads a number that is finite.
  package init?(word: String) {
    guard let value = Double(word), value.isFinite else { return nil }
    self = value
  }
  /// The number as a command line has it, without a fraction where it is whole.
  package var word: String? { self == rounded() && abs(self) < 1e15 ? String(Int64(self)) : description }
  /// What is said to be wanted where a word is no number.
  package static var expected: String { "a number" }
}
