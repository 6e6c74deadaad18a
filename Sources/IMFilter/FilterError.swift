/// Why a filter was refused, and where in its text.
package struct FilterError: Error, Equatable, Sendable {
  /// The family of a refusal, for callers that treat them differently.
  package enum Code: Sendable {
    /// The text does not follow the grammar.
    case syntax
    /// A name is not a field of the schema.
    case unknownField
    /// The field's kind does not go with the operator.
    case kind
    /// A literal is not a value that the field can have.
    case value
    /// A regular expression does not follow its grammar.
    case pattern
    /// One of `FilterLimits` is exceeded.
    case limit
  }

  /// The family of the refusal.
  package var code: Code
  /// The first offending character, counted from 1. A character is what a reader sees as one, so `é` and `张` count 1.
  package var column: Int
  /// What is wrong and what was expected, as one line without control characters.
  package var message: String

  /// An error of its parts.
  package init(code: Code, column: Int, message: String) {
    self.code = code
    self.column = column
    self.message = message
  }
}

extension FilterError: CustomStringConvertible {
  /// `column 8: unknown field "rtt"; did you mean "rtt_ms"?`
  package var description: String { "column \(column): \(message)" }
}
