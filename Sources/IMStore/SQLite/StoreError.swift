import CSQLite

/// Why a store could not be made, read or written.
///
/// `description` is one line without a program name: `chat.db: open: file is not a database (SQLITE_NOTADB, 26)`.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure, for exit codes.
  package enum Kind: Sendable {
    /// No file of that name.
    case notFound
    /// The file is no store, or one of another format.
    case notAStore
    /// The statement of a user does not compile, or asks for what is refused.
    case badStatement
    /// Somebody wanted it to end.
    case interrupted
    /// Reading or writing failed.
    case failed
  }

  /// The kind of failure.
  package var kind: Kind
  /// SQLite's extended result code; 0 where SQLite was not asked.
  package var code: Int32
  /// The file as it was named.
  package var path: String
  /// What was attempted, in a few words.
  package var attempt: String
  /// What happened, in SQLite's words or ours.
  package var text: String

  /// An error of its parts.
  package init(_ kind: Kind, code: Int32 = 0, path: String, attempt: String, text: String) {
    self.kind = kind
    self.code = code
    self.path = path
    self.attempt = attempt
    self.text = text
  }

  /// What went wrong, with the name of the file in front and SQLite's code behind.
  package var description: String {
    "\(path): \(attempt): \(text)" + (code == 0 ? "" : " (SQLite \(code))")
      + (code == SQLITE_NOTADB ? "; 'imdump index' makes a store from a capture" : "")
  }
}
