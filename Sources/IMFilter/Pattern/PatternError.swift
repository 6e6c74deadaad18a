/// Why a regular expression was refused, with the byte of its text where it went wrong.
struct PatternError: Error, Equatable {
  var offset: Int
  var message: String
  /// Whether a limit was exceeded rather than the grammar broken.
  var isLimit = false
}
