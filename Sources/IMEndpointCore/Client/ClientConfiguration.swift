public import IMWire

/// What a client is to do, and how.
public struct ClientConfiguration: Hashable, Sendable {
  /// Where the server is.
  public var server: Endpoint
  /// Further addresses of the same server: where one does not answer, the next is tried, 16 in all. See also
  /// `ClientCore.serverResolved`.
  public var alternatives: [Endpoint] = []
  /// Who this client is.
  public var identity: ClientIdentity
  /// What proves that this client is the one its identity names.
  public var secret: DeviceSecret
  /// The name under which others can write to it.
  public var user: String?
  /// The token by which the server's application accepts this client: at most 4,096 bytes, sent on every connection. Without TLS it
  /// can be read on the way.
  public var token: [UInt8]?
  /// What everything drawn at random follows from. Clients that start together need different ones.
  public var seed: UInt64
  /// How frames are written.
  public var speech = Speech()
  /// What happens to messages whose answer is overdue.
  public var resend = ResendPolicy.racing(RacingPolicy())
  /// When heartbeats go out.
  public var heartbeat = HeartbeatPolicy()
  /// Whether the first heartbeat goes out as soon as there is a connection.
  public var beatsOnConnect = false
  /// When a lost connection is made anew.
  public var reconnect = ReconnectPolicy()
  /// How many connections there may be at once, 1 to 8, those being made included.
  public var maximumConnections = 8
  /// While none stands: another attempt begins after so long, and the first that succeeds wins.
  public var connectStagger = Duration.milliseconds(125)
  /// How many sessions of a kind are kept.
  public var pool = PoolLimits()
  /// How long messages that wait may still be sent after `disconnect`.
  public var farewell = Duration.seconds(5)
  /// Messages are given up when they are not acknowledged in this time; `nil`: never.
  public var messageLifetime: Duration?
  /// Which states of messages are told.
  public var reports = MessageStates.all
  /// When senders are told that the application has their messages.
  public var acknowledges = Acknowledgment.onTake
  /// A message that has overtaken others waits for them for so long; then the application is told what is missing.
  public var orderTimeout = Duration.seconds(10)
  /// Longer messages that come are left out, in bytes, where they are kept in memory: see `ClientCore.bodies`.
  public var largestBody = 64 << 20
  /// Whether the application learns how far large messages are.
  public var reportsTransfers = false
  /// Whether a store keeps what waits and what has come: see `ClientCore.takeOperations`.
  public var isKept = false
  /// For how long the server is to wait for this client without a connection, keeping what comes for it: for an application
  /// that keeps its identity and its secret. Zero: as long as a network may be away for a moment.
  public var expiry = Duration.zero

  /// What this library recommends, for a client of `server`.
  public init(
    server: Endpoint, identity: ClientIdentity = .random(), secret: DeviceSecret = .random(), user: String? = nil,
    seed: UInt64 = .random(in: 0 ... .max)
  ) {
    self.server = server
    self.identity = identity
    self.secret = secret
    self.user = user
    self.seed = seed
  }

  /// What the article's code does, to be measured beside: one connection, retries on it after three seconds and given up
  /// after nine, two seconds and more before a new attempt.
  public mutating func useSeedPolicy() {
    speech = .seed
    resend = .sameConnection(after: .seconds(3), transmissions: 3)
    maximumConnections = 1
    heartbeat.rule = .seed
    heartbeat.learnsSilence = false
    heartbeat.restartsOnTraffic = false
    heartbeat.foreground = .init(base: .seconds(15), minimum: .seconds(15), maximum: .seconds(300))
    beatsOnConnect = true
    reconnect.base = .seconds(2)
    reconnect.steadyPart = 1
    reconnect.jitter = .seconds(1)
    reconnect.cellularDelay = .zero
    reconnect.firstIsDelayed = true
  }
}

/// When senders are told that an application has their messages.
public enum Acknowledgment: Hashable, Sendable {
  /// When it has taken them: it comes back for more.
  case onTake
  /// When it says so.
  case manual
}

/// What happens to messages whose answer is overdue.
public enum ResendPolicy: Hashable, Sendable {
  /// They go out over another connection as well, and the first answer counts.
  case racing(RacingPolicy)
  /// They go out on the same connection again, so often in all, and are given up one wait after the last; also when there
  /// is no connection at the time.
  case sameConnection(after: Duration, transmissions: Int)
}

/// When an answer is overdue, and what a race may cost.
///
/// The figures are those of the prototype that was measured: `docs/weak-network.md`.
public struct RacingPolicy: Hashable, Sendable {
  /// An answer is overdue after `factor` short round trips and `margin`, at least after `minimum`.
  public var minimum = Duration.milliseconds(200)
  /// See `minimum`.
  public var factor = 2.0
  /// See `minimum`.
  public var margin = Duration.milliseconds(100)
  /// An answer is overdue after this while no round trip is known.
  public var unknownRoundTrip = Duration.milliseconds(500)
  /// What is overdue is looked at so often.
  public var recheck = Duration.milliseconds(50)
  /// Where nothing was ever lost and only the answer is missing, the server is slow rather than the network bad: this many
  /// times as long, and at least `patience`.
  public var patienceFactor = 4.0
  /// See `patienceFactor`.
  public var patience = Duration.seconds(1)
  /// So many connections are kept after a stall.
  public var warmConnections = 3
  /// For so long.
  public var warmth = Duration.seconds(20)
  /// Longest wait between attempts to open another connection beside one that is stalled, in the first half minute.
  public var longestSpacing = Duration.milliseconds(400)
  /// A connection that is stalled for so long while another one works is dropped.
  public var abandon = Duration.seconds(2)
  /// Resends allowed for each acknowledgment that comes, duplicates included.
  public var resendsPerAcknowledgment = 0.5
  /// Resends allowed for each new connection.
  public var resendsPerConnection = 8.0
  /// Most resends allowed at once.
  public var resendLimit = 32.0
  /// Whether the kernel is asked not to back off on new connections: see `SocketOptions.retransmitsLinearly`.
  public var retransmitsLinearly = false
  /// The longest retransmission timeout asked for where the round trip is below `shortRoundTrip`; `nil`: never.
  public var retransmissionLimit: Duration? = .seconds(1)
  /// See `retransmissionLimit`.
  public var shortRoundTrip = Duration.milliseconds(300)
  /// Where the shortest of the last round trips is this many times the shortest ever, and `queueMargin` more, there is a
  /// queue and not loss: nothing is raced. 0: that is not looked at.
  public var queueFactor = 4.0
  /// See `queueFactor`.
  public var queueMargin = Duration.milliseconds(500)
  /// Acknowledgments go out on so many connections.
  public var acknowledgmentConnections = 3

  /// What this library recommends.
  public init() {}
}
