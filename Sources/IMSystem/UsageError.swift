/// A usage error: the command line requests something impossible.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  /// One line.
  package var message: String
  /// Lines below it that show the place of the error.
  package var quote: [String]

  /// An error with the given message.
  package init(message: String, quote: [String] = []) {
    self.message = message
    self.quote = quote
  }

  /// The message, and the lines that it quotes.
  package var description: String { ([message] + quote).joined(separator: "\n") }
}
