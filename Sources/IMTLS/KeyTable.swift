/// The secrets of the key logs, by label and client random. It knows no file.
///
/// At the limit the oldest entry that no connection uses makes room.
package final class KeyTable {
  /// Grows with each new secret.
  package private(set) var generation: UInt32 = 0
  /// Secrets in the table.
  package private(set) var count = 0
  /// Secrets that made room for newer ones.
  package private(set) var evicted: UInt64 = 0

  /// A table of at most `byteLimit` bytes; at least one page.
  package init(byteLimit: Int) {}

  /// Takes one line of a key log, without its end.
  @discardableResult
  package func take(line: UnsafeRawBufferPointer) -> KeyLogLine { .malformed }
}

/// What a line of a key log was.
package enum KeyLogLine: Equatable, Sendable {
  /// A secret that is new.
  case secret
  /// A secret that the table has already.
  case duplicate
  /// A label that is not of use here: exporters, QUIC, other tools.
  case foreign
  /// Empty, or a comment.
  case comment
  /// A known label with a random or secret of a wrong form.
  case malformed
}
