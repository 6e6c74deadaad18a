/// How large a filter may be. A filter beyond a limit is refused with `FilterError.Code.limit`.
package enum FilterLimits {
  /// Bytes of the text.
  package static let byteCount = 65_536
  /// Parentheses inside parentheses, and groups inside groups of a regular expression.
  package static let depth = 64
  /// Members of one `{…}` set.
  package static let setCount = 4_096
  /// States of all regular expressions of a filter together; their matching time per character is bounded by it.
  package static let stateCount = 4_096
  /// Steps of a path such as `tlv[0xFFFF.0x0020]`.
  package static let pathCount = 16
}
