internal import IMWire

/// Under what a server finds a client again.
enum ServerPeer: Hashable, Sendable {
  /// A client that has proved who it is.
  case client(DeviceKey)
  /// Anybody: what it is ends with its connection.
  case connection(ConnectionID)
}

/// A hash of a client's identity and its secret: it does not reveal the secret, and a client without the secret has
/// another key.
struct DeviceKey: Hashable, Sendable {
  var high: UInt64
  var low: UInt64

  init(_ identity: ClientIdentity, _ secret: DeviceSecret) {
    let hash = ClientIdentity(SHA256.hash(Array("tjp device".utf8) + identity.bytes + secret.bytes).prefix(16))
    (high, low) = (hash.high, hash.low)
  }

  /// The key in 16 bytes.
  init(_ bytes: [UInt8]) {
    let halves = ClientIdentity(bytes)
    (high, low) = (halves.high, halves.low)
  }

  /// The 16 bytes of the key.
  var bytes: [UInt8] { TLV.bigEndian(high) + TLV.bigEndian(low) }
}

/// The name of a device within a server: a place is used again with another generation.
struct DeviceID: Hashable, Sendable {
  var place: Int32
  var generation: UInt32

  static let none = DeviceID(place: -1, generation: 0)
}

/// Which of its messages a device counts together.
struct Conversation: Hashable, Sendable {
  /// The user or the group that they go to.
  var name: String
  var isGroup: Bool
  var lane: UInt8
}

/// One client of a server, over all its sessions and connections.
struct ServerDevice: Sendable {
  var peer: ServerPeer
  var generation: UInt32 = 0
  var isKnown = true
  /// What recipients of its messages see.
  var identity: ClientIdentity
  /// Which process of the client is here.
  var instance: UInt64?
  /// For how long it is waited for without a connection.
  var expiry = Duration.zero
  var user: String?
  /// The place of its user's mailbox; -1 while it is not waited for there.
  var mailbox: Int32 = -1
  var cursor = MailboxCursor(at: 0)
  /// Letters before this place are its only if no device had them when it came.
  var joinedAt: UInt64 = 0
  /// Bytes of letters under way to it.
  var byteCount = 0
  /// Its sessions, with or without a connection.
  var sessions: [Int32] = []
  var detachedAt: Instant?
  /// The entry in the queue of deadlines.
  var timer: Instant?
  /// Bytes of its letters in mailboxes.
  var stored = 0
  /// Whether it is in the line of those who are to be sent letters.
  var isInLine = false
  /// Receipts for it that came while it was away, and that it has not acknowledged.
  var pendingReceipts = PendingReceipts()
  /// Large messages of it that are not whole and that no session carries, by the names of their transfers.
  var partial: [UInt64: IncomingTransfer] = [:]
  /// Numbers that were refused lately, in their conversations: the recipients of later messages are not to wait for them.
  var withheld: [(conversation: Conversation, counter: UInt64)] = []
  /// Which of its messages have come.
  var conversations: [Conversation: NumberWindow] = [:]

  /// Conversations that are remembered.
  static var mostConversations: Int { 4_096 }
  /// Bytes under way at once; a letter that is longer goes alone.
  static var mostBytes: Int { 1 << 20 }
}
