/// Where a session's connection stands.
public enum ConnectionState: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// There is none, and none is being made.
  case disconnected
  /// One is being made.
  case connecting
  /// Messages can be sent.
  case connected
  /// It is being given up.
  case disconnecting
}

/// What happens to a session's connection.
public enum ConnectionEvent: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// The application wants one.
  case connect
  /// It can carry messages.
  case connectSuccess
  /// It did not come about.
  case connectFailure
  /// It broke.
  case networkError
  /// The application wants it no more.
  case disconnect
  /// It is gone, as wanted.
  case disconnectComplete
  /// It is to go at once, whatever waits.
  case forceDisconnect
  /// Another attempt begins.
  case reconnect
}

/// An event that a session's connection had no answer to.
public typealias IllegalConnectionEvent = IllegalTransition<ConnectionState, ConnectionEvent>

/// The state of one session's connection, and how long it was in each.
public struct ConnectionMachine: Sendable {
  /// All legal transitions: those of the article.
  public static let table = TransitionTable<ConnectionState, ConnectionEvent>([
    (.disconnected, .connect, .connecting),
    (.disconnected, .connectSuccess, .connected),
    (.disconnected, .connectFailure, .disconnected),
    (.disconnected, .disconnectComplete, .disconnected),
    (.disconnected, .reconnect, .connecting),
    (.disconnected, .forceDisconnect, .disconnected),
    (.connecting, .connect, .connecting),
    (.connecting, .connectSuccess, .connected),
    (.connecting, .connectFailure, .disconnected),
    (.connecting, .networkError, .disconnected),
    (.connecting, .disconnect, .disconnecting),
    (.connecting, .forceDisconnect, .disconnected),
    (.connected, .networkError, .disconnected),
    (.connected, .disconnect, .disconnecting),
    (.connected, .forceDisconnect, .disconnected),
    (.disconnecting, .disconnectComplete, .disconnected),
    (.disconnecting, .forceDisconnect, .disconnected),
  ])

  /// The state now.
  public private(set) var state = ConnectionState.disconnected
  private var since: Instant
  private var spent = InlineArray<4, Int64>(repeating: 0)
  private var visits = InlineArray<4, UInt32>(repeating: 0)

  /// A machine that has been disconnected since `now`.
  public init(at now: Instant) {
    since = now
    visits[0] = 1
  }

  /// Goes where `event` leads; an illegal event changes nothing.
  @discardableResult
  public mutating func handle(_ event: ConnectionEvent, at now: Instant) throws(IllegalConnectionEvent)
    -> ConnectionState
  {
    let next = try Self.table.next(state, event)
    guard next != state else { return state }
    spent[Int(state.rawValue)] += max(0, now.nanoseconds(since: since))
    visits[Int(next.rawValue)] += 1
    state = next
    since = now
    return next
  }

  /// How long the machine has been in `state` in all, until `now`.
  public func time(in state: ConnectionState, until now: Instant) -> Duration {
    let current = self.state == state ? max(0, now.nanoseconds(since: since)) : 0
    return .nanoseconds(spent[Int(state.rawValue)] + current)
  }

  /// How often the machine has come to `state`; it began in one.
  public func visits(to state: ConnectionState) -> UInt32 { visits[Int(state.rawValue)] }
}
