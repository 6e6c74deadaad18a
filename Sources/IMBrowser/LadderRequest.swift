package import IMOutput
package import IMStore
package import IMWire

/// A part of a ladder that is wanted.
package struct LadderRequest: Equatable, Sendable {
  /// Which ladder it is for: a part of another one than that shown is dropped.
  package var generation: Int
  /// The session or the connection whose messages are drawn.
  package var choice: PageChoice
  /// Where the part is.
  package var place: PageRequest.Place
}

/// A line of a ladder, and the message that it belongs to.
package struct LadderItem: Equatable, Sendable {
  /// What tells a line from all others of its ladder, whichever part of it is in memory.
  package struct ID: Hashable, Sendable {
    /// What a line tells of.
    enum Kind: Hashable, Sendable {
      /// A copy or an answer of the message with this number, by its place among them.
      case copy(Int), answer(Int)
      /// What went wrong on a stream.
      case issue
      /// Another connection, or a silence, in front of another line, by that line's place.
      case connection(Int), silence(Int)
    }

    let kind: Kind
    let number: Int64
  }

  /// What tells it from others.
  package let id: ID
  /// How it is drawn.
  package let line: LadderLine
  /// When it was; `nil` of a silence.
  package let time: Timestamp?
  /// The message that it is of; of what is no message's, the nearest one.
  package let message: StoredMessage
  /// Whether it is the message's own, so that its bytes may be shown.
  package let isOfMessage: Bool
}

/// A part of a ladder.
package struct LadderAnswer: Equatable, Sendable {
  /// What was wanted.
  package var request: LadderRequest
  /// The lines, top to bottom.
  package var items: [LadderItem]
  /// Whether nothing is above them; whether nothing is beneath.
  package var isFirst: Bool, isLast: Bool
  /// The ends of the connection of the first message.
  package var client: String, server: String
}
