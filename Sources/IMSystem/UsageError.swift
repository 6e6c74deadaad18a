/// The command line asks for something that cannot be.
package struct UsageError: Error, Equatable, CustomStringConvertible {
  /// One line.
  package var message: String
  /// Lines beneath it that show what is meant.
  package var quote: [String]

  /// An error that says `message`.
  package init(message: String, quote: [String] = []) {
    self.message = message
    self.quote = quote
  }

  /// The message, and what it quotes.
  package var description: String { ([message] + quote).joined(separator: "\n") }
}
