/// What a client tells its application.
public enum ClientEvent: Sendable {
  /// A message has come. Each comes once, however often it was sent.
  case message(IncomingMessage)
  /// A message that was sent will not arrive, and why. `SentMessage.states` ends with `failed`.
  case failed(MessageID, FailureReason)
  /// Messages of this device, from one number to another, have not come in time. Those after them go on without.
  case gap(ClientIdentity, ClosedRange<UInt64>)
  /// Something has come that is no message: why, and its bytes.
  case unreadable(MessageError, body: [UInt8])
  /// A message that an earlier process of this client's had sent, to this user or group, and that no server had accepted. It goes out now, under
  /// the number that it had. What it says is missing where it cannot be read any more. These come before all other events.
  case restored(SentMessage, to: String, isGroup: Bool, MessageContent?)
  /// The client's store could not keep something, and why. The connection is ended; nothing is sent any more.
  case storeFailed(any Error)
  /// The connection has come to another state, and why it is gone. Messages can be sent in every state.
  case connection(ConnectionState, DisconnectReason?)
  /// A user has read the message with this number. `SentMessage.states` says the same.
  case read(SequenceNumber)
  /// A message that an earlier process of this client's has sent, to this user or group, was delivered or read. It may be told
  /// more than once.
  case earlier(to: String, isGroup: Bool, number: UInt64, MessageState)
  /// The members of a group, which `Client.askMembers` has asked for, in the order of their names; none where this user is none of them.
  case members(of: String, [String])
  /// So much of a large message that comes is here; the number tells those that come at once apart.
  case receiving(UInt64, TransferProgress)
  /// A large message has come damaged, and is left out.
  case damagedContent(UInt64)
  /// A large message that had begun to arrive was withdrawn: its sender gave it up. The number is that of `receiving`.
  case withdrawn(UInt64)
  /// The server does not want sessions of this kind: nothing is sent in them until `connect` is called again.
  case refused(SessionKind, HandshakeRefusal)
  /// So many attempts to connect have failed. Nothing more is tried until `connect` is called or the path changes.
  case gaveUp(attempts: Int)
  /// The network has become better or worse.
  case quality(NetworkQuality)
  /// A queue whose `SendError.queueFull` was thrown has room again.
  case room(SessionKind, Priority)
}

/// A message that has come, with everything in it.
public struct IncomingMessage: Sendable {
  /// What it says. The bytes of a large file, image, sound or film are in `stored` where the client has a store for them.
  public var content: MessageContent
  /// The name of the bytes in the client's `bodies`, and how many there are.
  public var stored: StoredContent?
  /// The user it comes from, as the server says; `nil`: the server itself.
  public var sender: String?
  /// The group it was sent to.
  public var group: String?
  /// When it was sent, by the sender's clock: milliseconds since 1970.
  public var sentAt: UInt64
  /// When the server sent it here, by the server's clock: seconds since 1970.
  public var serverAt: UInt32
  /// The device that it comes from, and its number there; 0: outside the order.
  public var device: ClientIdentity?
  /// See `device`.
  public var number: UInt64
  /// Whether it comes after messages that were sent later.
  public var isLate: Bool
  /// The kind of session it came in.
  public var kind: SessionKind
  /// Its number in that session.
  public var sequence: SequenceNumber
}

/// A message on its way.
public struct SentMessage: Sendable {
  /// Its name within the client.
  public var id: MessageID
  /// The kind of session it is sent in.
  public var kind: SessionKind
  /// The states that it comes to: `created`, `sending`, `sent`, `accepted` by the server, `delivered` to a recipient's
  /// application, `read`, and `retrying` where the network is bad.
  /// The sequence ends behind `read`, `failed` and `cancelled`, and with the client. One task can go through it.
  public var states: AsyncStream<MessageState>
  /// How much of a large message is at the server: nothing for a short one. It keeps the newest alone, and ends when the
  /// message is accepted or fails.
  public var progress: AsyncStream<TransferProgress>
}
