/// When a lost connection is made anew.
public struct ReconnectPolicy: Hashable, Sendable {
  /// What a reason for disconnecting leads to.
  public enum Rule: Hashable, Sendable {
    /// Nothing: the application has to ask.
    case never
    /// An attempt at once, then with growing delays.
    case atOnce
    /// Growing delays from the first attempt on: whoever was turned away does not come back at once, and not all together.
    case delayed
    /// Some time drawn between none and this for the first attempt, then growing delays: a server that restarts closes
    /// all its connections in one moment.
    case spread(Duration)
  }

  /// After the server has closed or reset a connection, the first attempt waits for a time drawn between none and this: a
  /// server that restarts sees its clients come back over so long.
  public var spread = Duration.seconds(1)
  /// The first delay; each further one is `growth` times as long.
  public var base = Duration.seconds(1)
  /// See `base`.
  public var growth = 2.0
  /// No delay is longer.
  public var longest = Duration.seconds(30)
  /// A delay is drawn between this part of it and all of it.
  public var steadyPart = 0.5
  /// Added to each delay: drawn between none and this.
  public var jitter = Duration.zero
  /// After so many attempts in a row without success the application is told, and nothing more is tried until it asks,
  /// or the path changes; `nil`: never.
  public var maximumAttempts: Int?
  /// Whether the first attempt waits as well, whatever the reason. The article's code does so.
  public var firstIsDelayed = false
  /// Whether a success lets the delays begin anew. The article's code never does.
  public var resetsAfterSuccess = true
  /// The first attempt over a cellular network waits for this.
  public var cellularDelay = Duration.seconds(1)
  /// Without a path one attempt in this time sees whether there is one after all.
  public var lookInterval = Duration.seconds(5)
  /// How long one attempt may take.
  public var attemptTimeout = Duration.seconds(30)

  /// The policy this library recommends.
  public init() {}

  /// What `reason` leads to.
  public func rule(for reason: DisconnectReason) -> Rule {
    switch reason {
    case .requested, .version, .rejected: .never
    case .network, .heartbeatTimeout, .connectTimeout, .noPath, .pathChanged, .protocolError: .atOnce
    case .closedByPeer: .spread(spread)
    case .refused, .secureChannel: .delayed
    }
  }
}
