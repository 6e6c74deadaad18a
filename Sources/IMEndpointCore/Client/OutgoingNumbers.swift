/// The numbers of the messages that a client sends: 1, 2, 3 and on, for each user, group and lane.
struct OutgoingNumbers: Sendable {
  private var last: [Conversation: UInt64]

  /// Nothing was sent after these.
  init(last: [Conversation: UInt64] = [:]) { self.last = last }

  /// The number that the next message has, with its lane.
  func upcoming(_ conversation: Conversation) -> UInt64 {
    UInt64(conversation.lane) << 56 | (last[conversation] ?? 0) + 1
  }

  /// The number was given to a message.
  mutating func take(_ conversation: Conversation) { last[conversation, default: 0] += 1 }
}
