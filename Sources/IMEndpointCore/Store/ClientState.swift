/// Where the content of a message is that waits to be accepted, as a client's store keeps it.
public struct StoredFile: Hashable, Sendable {
  /// Its path; the next process may have another working folder.
  public var path: String
  /// Its bytes when it was sent.
  public var byteCount: Int
  /// When it had last been modified then: nanoseconds since 1970.
  public var modified: Int64
  /// The name of the transfer, which the core draws.
  public var transfer: UInt64 = 0
  /// How much of `StoredMessage.body` is before the content.
  public var headCount = 0

  /// A file of its parts.
  public init(path: String, byteCount: Int, modified: Int64) {
    self.path = path
    self.byteCount = byteCount
    self.modified = modified
  }
}

/// A message that waits to be accepted, as a client's store keeps it.
public struct StoredMessage: Hashable, Sendable {
  /// The user or the group that it goes to.
  public var conversation: String
  /// Whether that is a group.
  public var isGroup: Bool
  /// Its number there, with its lane.
  public var number: UInt64
  /// The category that numbers its frame.
  public var category: SequenceCategory
  /// How much it matters.
  public var priority: Priority
  /// The body of its frame.
  public var body: [UInt8]
  /// The file that its content is in; `body` is what surrounds it.
  public var file: StoredFile?

  /// A message of its parts.
  public init(
    conversation: String, isGroup: Bool, number: UInt64, category: SequenceCategory, priority: Priority, body: [UInt8],
    file: StoredFile? = nil
  ) {
    self.conversation = conversation
    self.isGroup = isGroup
    self.number = number
    self.category = category
    self.priority = priority
    self.body = body
    self.file = file
  }
}

/// What a client wants kept, in this order. See `ClientCore.takeOperations`.
public enum ClientOperation: Hashable, Sendable {
  /// A message waits to be accepted, and has taken its number.
  case sent(StoredMessage)
  /// The message with this number does not wait any more.
  case settled(conversation: String, isGroup: Bool, number: UInt64)
  /// The application has taken the message with this number, with its lane, of a device's, in a group or to this user.
  case received(device: ClientIdentity, group: String?, number: UInt64)
}

/// All that a client's store has kept.
public struct ClientState: Sendable {
  /// Messages that wait to be accepted, in the order in which they were sent.
  public private(set) var waiting: [StoredMessage] = []
  /// The last number of each conversation and lane.
  private(set) var last: [Conversation: UInt64] = [:]
  private(set) var received: [IncomingConversation: NumberWindow] = [:]

  /// Nothing.
  public init() {}

  /// Takes an operation in.
  public mutating func apply(_ operation: ClientOperation) {
    switch operation {
    case .sent(let message):
      waiting.append(message)
      let conversation = Conversation(
        name: message.conversation, isGroup: message.isGroup, lane: MessageOrigin.lane(of: message.number))
      last[conversation] = max(last[conversation] ?? 0, MessageOrigin.counter(of: message.number))
    case .settled(let name, let isGroup, let number):
      waiting.removeAll { $0.number == number && $0.isGroup == isGroup && $0.conversation == name }
    case .received(let device, let group, let number):
      let key = IncomingConversation(device: device, group: group, lane: MessageOrigin.lane(of: number))
      let counter = MessageOrigin.counter(of: number)
      _ = received[key, default: NumberWindow(floor: counter)].insert(counter)
    }
  }

  /// The operations that lead to the same state, without those that cancel one another.
  public var operations: [ClientOperation] {
    var all: [ClientOperation] = []
    for (conversation, number) in last {
      // The last number stays known by a message that was sent and settled.
      let (name, isGroup) = (conversation.name, conversation.isGroup)
      let full = UInt64(conversation.lane) << 56 | number
      guard !waiting.contains(where: { $0.number == full && $0.isGroup == isGroup && $0.conversation == name }) else {
        continue
      }
      all.append(
        .sent(
          StoredMessage(
            conversation: name, isGroup: isGroup, number: full, category: .normal, priority: .normal, body: [])))
      all.append(.settled(conversation: name, isGroup: isGroup, number: full))
    }
    all += waiting.map { .sent($0) }
    for (key, window) in received {
      // The last of those that came without a gap, and what came after it.
      let numbers = [window.floor &- 1] + window.others
      all += numbers.map {
        .received(device: key.device, group: key.group, number: UInt64(key.lane) << 56 | $0)
      }
    }
    return all
  }
}
