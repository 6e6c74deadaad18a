/// What became of the protocol's own handshake of a connection; the first that applies.
package enum HandshakeOutcome: Sendable {
  /// The answer came.
  case answered
  /// Only an acknowledgment came, of a protocol that knows an answer in kind.
  case acknowledged
  /// It was refused.
  case refused
  /// Nothing came, and the time for it has run out or the connection is over.
  case unanswered
  /// Nothing has come yet.
  case pending
}
