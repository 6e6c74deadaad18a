internal import IMWire

/// One session of a client.
struct ClientSession: Sendable {
  let id: SessionID
  let kind: SessionKind
  var traffic: Traffic
  var machine: ConnectionMachine
  var handshake = HandshakeProgress()
  /// Connections on which the session has introduced itself, one bit for each.
  var announced: UInt8 = 0
  /// Groups that its user is in, as far as the application has said so.
  var groups: [String] = []
  /// Groups of which the application wants to know the members, and no answer has come.
  var memberQuestions: [String] = []
  /// Whether the application wants a connection for it.
  var isWanted = false
  /// When a disconnect is carried out, even if something still waits.
  var farewellEnds: Instant?
  var isOpen: Bool { machine.state == .connected }

  init(id: SessionID, kind: SessionKind, traffic: Traffic, at now: Instant) {
    self.id = id
    self.kind = kind
    self.traffic = traffic
    machine = ConnectionMachine(at: now)
  }
}

/// How far a session's handshake is.
struct HandshakeProgress: Sendable {
  enum Phase: Equatable, Sendable {
    case none
    case asked(at: Instant)
    case agreed(at: Instant)
    case unanswered
    case refused
  }

  var phase = Phase.none
  /// When the session lost its last connection.
  var lostAt: Instant?

  /// An answer is waited for so long.
  static let patience = Duration.seconds(10)

  /// Whether what was agreed on does not count any more: after a day, and after five minutes without a connection.
  func isExpired(at now: Instant) -> Bool {
    guard case .agreed(let agreed) = phase else { return true }
    if now >= agreed.advanced(by: .seconds(86_400)) { return true }
    guard let lostAt else { return false }
    return now >= lostAt.advanced(by: .seconds(300))
  }
}

/// One physical connection of a client.
struct ClientLink: Sendable {
  enum Phase: Sendable { case free, opening, open, closing }

  var generation: UInt32 = 0
  var phase = Phase.free
  var output = OutgoingBytes()
  /// A `write` command is out, or the transport waits until the connection is writable.
  var isWriting = false
  var requestedAt = Instant(nanoseconds: 0)
  /// Where it goes to.
  var remote: Endpoint?
  /// When something was last read.
  var heardAt = Instant(nanoseconds: 0)
  /// Frames that wait for an answer and went out here; pieces of large messages are not among them.
  var outstanding = 0
  /// How much that is not urgent may be under way.
  var window = DelayWindow()
  /// Pieces of large messages that wait for an answer, and when the last went out.
  var pieces = 0
  var pieceAt = Instant(nanoseconds: 0)
  /// Since when something waits without anything being heard.
  var waitingSince = Instant(nanoseconds: 0)
  /// Since when the connection counts as stalled.
  var suspectSince: Instant?
  /// How long nothing had been heard when what has stalled it was sent, in nanoseconds.
  var silence: Int64 = 0
  var facts: TransportFacts?
  /// Segments that came out of order and retransmissions that were needed, as far as they have been taken note of.
  var outOfOrder: UInt32 = 0
  var provenLosses: UInt32 = 0
  /// Since when there have been more retransmissions than the peer has said to be needless.
  var unexplainedSince: Instant?
  var damagedFrames = 0
  /// It was opened on a path that is not the way to the network any more.
  var isStale = false
}
