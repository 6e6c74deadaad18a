import IMOutput

extension Words {
  /// A length of time for a column, given in microseconds: below a millisecond as these, `51 µs`.
  static func shortLength(_ microseconds: Int64) -> String {
    (0..<1_000).contains(microseconds) ? "\(microseconds) µs" : length(microseconds)
  }
}
