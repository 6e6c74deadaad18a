/// The forms in which rows of a store are printed.
package enum QueryForm: String, CaseIterable, Sendable {
  /// Columns to read.
  case text
  /// One JSON object a line.
  case json
  /// Comma-separated values, by RFC 4180, with a header.
  case csv
}
