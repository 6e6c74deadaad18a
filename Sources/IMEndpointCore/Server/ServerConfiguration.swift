/// What a server is to do, and how.
public struct ServerConfiguration: Hashable, Sendable {
  /// What happens to messages by themselves, beside being told.
  public enum Service: UInt8, Sendable {
    /// Nothing: the application decides.
    case deliver
    /// They come back to their sender.
    case echo
    /// They go to the user they name, and receipts come back the same way.
    case forward
  }

  /// What happens to messages.
  public var service = Service.deliver
  /// How frames are written.
  public var speech = Speech()
  /// What may wait in each session.
  public var strategy = SessionStrategy(queues: QueueLimits(messages: 1_024, bytes: 1 << 20), windowBytes: 1 << 20)
  /// Sessions that are remembered at once; a new one takes the place of the one that has been without a connection longest.
  public var maximumSessions = 100_000
  /// Sessions on one connection; frames of others are left out.
  public var sessionsPerConnection = 64
  /// A connection for which more bytes wait is given up: its client does not read.
  public var maximumWaitingBytes = 4 << 20
  /// A session without a connection is remembered for so long: then its numbers are not known any more.
  public var memory = Duration.seconds(86_400)
  /// Whether letters are kept by a store: then they are acknowledged once it has them. See `ServerCore.takeOperations`.
  public var isDurable = false
  /// What is kept for users who are away.
  public var mailboxes = MailboxLimits()
  /// The users there are; `nil`: every name that a message is sent to.
  public var users: Set<String>?
  /// A device that asks for it is waited for without a connection, at most for so long.
  public var expiry = Duration.seconds(30 * 86_400)
  /// A device that does not ask is waited for as long as a network may be away for a moment.
  public var grace = Duration.seconds(60)
  /// A connection that carries something unanswered is given up when nothing was heard on it for so long.
  public var answerTimeout = Duration.seconds(60)
  /// Bytes that may wait on all connections together. When it is more, those that take nothing are given up.
  public var maximumWaitingTotal = 64 << 20
  /// Bytes of large messages that have not come in full, of all sessions together; what is more is refused.
  public var maximumIncomingTotal = 256 << 20
  /// The longest body that is taken, in bytes. It is assembled in memory, within `maximumIncomingTotal`, and has to fit into its
  /// recipient's mailbox. A store in SQLite takes a billion bytes at most.
  public var largestBody = 64 << 20
  /// A connection that has sent no good frame for so long since it was opened is given up.
  public var handshakeTimeout = Duration.seconds(15)
  /// A connection on which nothing has been heard for so long is given up: three of the longest intervals between heartbeats.
  public var idleTimeout = Duration.seconds(2_700)
  /// An acknowledgment goes out on so many of its session's connections.
  public var acknowledgmentConnections = 3
  /// A message of the server's whose answer is overdue for so long goes out on another of its session's connections, if
  /// there is one.
  public var resendAfter = Duration.milliseconds(500)
  /// Which states of messages are told.
  public var reports = MessageStates.outcomes
  /// Whether messages are told; a server under load that only acknowledges need not.
  public var tellsMessages = true
  /// What the server does wrong, on purpose.
  public var faults = ServerFaults()
  /// What everything drawn at random follows from.
  public var seed: UInt64

  /// What this library recommends.
  public init(seed: UInt64 = .random(in: 0 ... .max)) { self.seed = seed }
}

/// How much a server keeps for users who are away. What is more is refused; what was accepted is never given up for it.
public struct MailboxLimits: Hashable, Sendable {
  /// Letters of one user.
  public var letters: Int
  /// Bytes of one user's letters.
  public var bytes: Int
  /// Bytes of all letters.
  public var total: Int
  /// Bytes of the letters of one sender.
  public var sender: Int

  /// Limits of their parts. A letter counts 256 bytes beside its body.
  public init(letters: Int = 10_000, bytes: Int = 64 << 20, total: Int = 256 << 20, sender: Int = 32 << 20) {
    self.letters = letters
    self.bytes = bytes
    self.total = total
    self.sender = sender
  }
}

/// What a server does wrong, so that clients and observers can be tested.
public struct ServerFaults: Hashable, Sendable {
  /// From so many frames on, a connection is read and never answered.
  public var silentAfter: Int?
  /// Acknowledgments come so much later.
  public var acknowledgmentDelay: Duration?
  /// Every so-manieth frame has a wrong checksum.
  public var damagesEvery: Int?
  /// Each acknowledgment goes out so many times more.
  public var repeatsAcknowledgments = 0
  /// Handshakes are refused for this reason.
  public var refusal: HandshakeRefusal.Reason?
  /// After so many frames a connection is closed.
  public var closesAfter: Int?

  /// None.
  public init() {}
}
