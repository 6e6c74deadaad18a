/// What a core tells the application.
public enum EndpointEvent: Hashable, Sendable, BitwiseCopyable {
  /// A message has come, for the first time.
  case message(ReceivedMessage)
  /// A message of the application's has come to another state.
  case progress(MessageID, SessionID, MessageState)
  /// A message of the application's will not arrive: the reason, which comes before the state `failed`.
  case failure(MessageID, SessionID, FailureReason)
  /// So much of a large message of the application's is at the other end.
  case sending(MessageID, SessionID, TransferProgress)
  /// So much of a large message that comes is here; the number is the transfer's name.
  case receiving(UInt64, SessionID, TransferProgress)
  /// A large message has come whose bytes are not those that were sent; the number is the transfer's name. It is left out, and not
  /// acknowledged as delivered.
  case damagedContent(UInt64, SessionID)
  /// A large message that had begun to arrive was withdrawn: its sender gave it up. The number is the transfer's name.
  case withdrawn(UInt64, SessionID)
  /// Messages of this device, from one number to another, have not come in time: those after them go on without. One that
  /// comes yet is late.
  case gap(SessionID, ClientIdentity, first: UInt64, last: UInt64)
  /// A session's connection has come to another state, and why.
  case connection(SessionID, ConnectionState, ConnectionEvent, DisconnectReason?)
  /// A handshake has ended.
  case handshake(SessionID, HandshakeOutcome)
  /// The other end has read the message with this number. `progress` says the same where the message is still known.
  case read(SessionID, SequenceNumber)
  /// A message that an earlier process of this client's has sent was delivered, or read. It may be told more than once.
  case earlier(EarlierReceipt)
  /// A server has said who is in a group.
  case members(GroupMembers)
  /// Nothing more is tried: so many attempts to connect have failed.
  case gaveUp(attempts: Int)
  /// The network has become better or worse.
  case quality(NetworkQuality)
  /// A queue that was full has room again.
  case room(SessionID, Priority)
  /// A frame came whose checksum is wrong.
  case damaged(SessionID?, ConnectionID)
  /// The bytes of a connection were not frames; it is given up.
  case notFrames(ConnectionID)
  /// A server's session is new, or has another connection.
  case joined(SessionID, isNew: Bool)
  /// A server's session has no connection any more.
  case left(SessionID)
}

/// A message that has come.
public struct ReceivedMessage: Hashable, Sendable, BitwiseCopyable {
  /// The session it came in.
  public var session: SessionID
  /// Its number, by which `markRead` names it.
  public var sequence: SequenceNumber
  /// The connection that brought it first.
  public var connection: ConnectionID
  /// Unix time of its transmission, in seconds, by the sender's clock.
  public var time: UInt32
  /// Where its body stands in `Inbox.bytes`, as it was on the wire.
  public var offset: Int
  /// How long its body was on the wire.
  public var byteCount: Int
  /// The body is labelled as compressed: `Inbox.body` inflates it.
  public var isCompressed: Bool
  /// Where it comes from, end to end, when its server says so.
  public var origin: MessageOrigin?
  /// It comes after messages that were sent later.
  public var isLate: Bool
  /// The bytes of the file, the image, the sound or the film in it, where a store has them: its body says then that there are none.
  public var stored: StoredContent?
  /// The body is labelled as encrypted in a way that no code does: it is as it was on the wire.
  public var isEncrypted: Bool
}

extension HandshakeRefusal.Reason: CustomStringConvertible {
  /// The reason in words.
  public var description: String {
    switch self {
    case .version: "unsupported version"
    case .full: "the server is full"
    case .malformed: "the handshake could not be read"
    case .unwelcome: "unwelcome"
    case .takenOver: "taken over by another process"
    case .other: "unknown reason"
    }
  }
}

/// How a handshake ended.
public enum HandshakeOutcome: Hashable, Sendable, BitwiseCopyable {
  /// Both ends speak this version, and both can do this.
  case agreed(ProtocolVersion, Features)
  /// The other end does not want this session.
  case refused(HandshakeRefusal)
  /// The other end has not answered in time. Messages go on, with nothing but what every version can do.
  case unanswered
}

/// Why a handshake was refused.
public struct HandshakeRefusal: Hashable, Sendable, BitwiseCopyable {
  /// Known reasons, by their number on the wire.
  public enum Reason: UInt16, Sendable, BitwiseCopyable {
    /// Another major version.
    case version = 1
    /// The server has as many sessions as it wants.
    case full = 2
    /// The handshake could not be read.
    case malformed = 3
    /// The application said no.
    case unwelcome = 4
    /// Another process of the same client has taken its place.
    case takenOver = 5
    /// Any other number.
    case other = 0
  }

  /// The reason.
  public var reason: Reason
  /// The version the refusing end speaks.
  public var version: ProtocolVersion

  /// A refusal of its parts.
  public init(_ reason: Reason, version: ProtocolVersion) {
    self.reason = reason
    self.version = version
  }
}

/// What a core has told since it was last asked: events in their order, and the bytes of messages.
///
/// An application keeps one and hands it to `take(_:)` again and again, so that its memory is used anew.
public struct Inbox: Sendable {
  /// What happened.
  public internal(set) var events: [EndpointEvent] = []
  /// The bodies of messages, behind one another.
  public internal(set) var bytes: [UInt8] = []

  /// An empty one.
  public init() {}

  /// The body of a message that is in this inbox, inflated if it was compressed. Some senders label bodies as compressed
  /// that are not: those are as they were on the wire.
  public func body(of message: ReceivedMessage) -> ArraySlice<UInt8> {
    guard message.offset >= 0, message.byteCount >= 0, message.offset <= bytes.count - message.byteCount else {
      return []
    }
    let range = message.offset..<message.offset + message.byteCount
    guard message.isCompressed, !message.isEncrypted,
      let inflated = Deflate.inflated(bytes.span.bytes.extracting(range))
    else { return bytes[range] }
    return inflated[...]
  }

  /// Reads a message that is in this inbox.
  public func content(of message: ReceivedMessage) throws(MessageError) -> Message {
    try Message(decoding: [UInt8](body(of: message)))
  }

  mutating func removeAll() {
    events.removeAll(keepingCapacity: events.count <= 65_536)
    bytes.removeAll(keepingCapacity: bytes.count <= 1 << 20)
  }
}

/// Which states of messages a core tells about.
public struct MessageStates: OptionSet, Hashable, Sendable, BitwiseCopyable {
  /// The number that stands for the value.
  public var rawValue: UInt16

  /// The value with this number.
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The set with `state` alone.
  @inlinable public init(_ state: MessageState) { rawValue = 1 << state.rawValue }

  /// All of them.
  public static let all = MessageStates(rawValue: 0x1ff)
  /// The end of each message, and when it was accepted and delivered: the least an application needs.
  public static let outcomes: MessageStates = [
    MessageStates(.accepted), MessageStates(.delivered), MessageStates(.read), MessageStates(.failed),
    MessageStates(.cancelled),
  ]
}
