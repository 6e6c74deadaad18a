import IMCommandLine

extension Double: OptionValue {
  /// Reads a number that is finite.
  package init?(word: String) {
    guard let value = Double(word), value.isFinite else { return nil }
    self = value
  }
  package var word: String? { self == rounded() && abs(self) < 1e15 ? String(Int64(self)) : description }
  package static var wanted: String { "a number" }
}
