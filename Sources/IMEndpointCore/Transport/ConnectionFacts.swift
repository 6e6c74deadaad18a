/// The name of one physical connection. A core gives it; a place is used again after its connection was closed, with
/// another generation.
@frozen
public struct ConnectionID: Hashable, Sendable, BitwiseCopyable {
  /// A small number, dense from 0: a transport may use it as the index of an array.
  public var place: UInt32
  /// Which connection of this place, from 0.
  public var generation: UInt32

  /// A name of its parts.
  @inlinable public init(place: UInt32, generation: UInt32) {
    self.place = place
    self.generation = generation
  }
}

/// What the kernel knows about a connection (`TCP_INFO` on Linux). What a platform cannot say is `nil`.
public struct TransportFacts: Equatable, Sendable, BitwiseCopyable {
  /// Segments sent and not acknowledged by the peer's kernel.
  public var unacknowledged: UInt32?
  /// Retransmissions of the segment that is waited for now; 0 when there is no loss at the moment (`tcpi_retransmits`).
  public var retransmits: UInt32?
  /// How often the retransmission timer was doubled since the last progress (`tcpi_backoff`).
  public var backoff: UInt32?
  /// Retransmissions since the connection was opened (`tcpi_total_retrans`).
  public var totalRetransmits: UInt32?
  /// Those of them that the peer had received already, as it says by DSACK (`tcpi_dsack_dups`).
  public var needlessRetransmits: UInt32?
  /// Segments that came out of order, which shows loss on the way here (`tcpi_rcv_ooopack`).
  public var outOfOrder: UInt32?
  /// Smoothed round trip of the transport.
  public var roundTrip: Duration?
  /// The shortest round trip seen lately.
  public var shortestRoundTrip: Duration?

  /// Facts of their parts; what is left out is unknown.
  public init(
    unacknowledged: UInt32? = nil, retransmits: UInt32? = nil, backoff: UInt32? = nil, totalRetransmits: UInt32? = nil,
    needlessRetransmits: UInt32? = nil, outOfOrder: UInt32? = nil, roundTrip: Duration? = nil,
    shortestRoundTrip: Duration? = nil
  ) {
    self.unacknowledged = unacknowledged
    self.retransmits = retransmits
    self.backoff = backoff
    self.totalRetransmits = totalRetransmits
    self.needlessRetransmits = needlessRetransmits
    self.outOfOrder = outOfOrder
    self.roundTrip = roundTrip
    self.shortestRoundTrip = shortestRoundTrip
  }
}

/// Why a connection is gone.
public enum CloseReason: Hashable, Sendable {
  /// The peer closed in order (FIN).
  case finished
  /// The peer reset the connection.
  case reset
  /// No process listens there.
  case refused
  /// The kernel gave up waiting.
  case timedOut
  /// There is no route, or the interface is down.
  case unreachable
  /// TLS could not be agreed on, or broke.
  case secureChannel
  /// The core asked for it, by `close` or `abort`.
  case requested
  /// Another error of the system, by its number.
  case system(Int32)
}

/// How the network is reached.
public struct NetworkPath: Hashable, Sendable, BitwiseCopyable {
  /// Kinds of networks, as far as reconnecting treats them differently.
  public enum Kind: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    /// There is no way to the network.
    case none
    /// A cable, or nothing better is known: treated as Wi-Fi.
    case wired
    /// Wi-Fi.
    case wifi
    /// A cellular network.
    case cellular
  }

  /// The kind of network.
  public var kind: Kind
  /// Another number, another path: connections of the path before are not to be trusted. An index of an interface and its
  /// address, for example.
  public var number: UInt64

  /// A path of its parts.
  @inlinable public init(_ kind: Kind, number: UInt64 = 0) {
    self.kind = kind
    self.number = number
  }

  /// No way to the network.
  public static let none = NetworkPath(.none)
  /// A cable.
  public static let wired = NetworkPath(.wired)
  /// Wi-Fi.
  public static let wifi = NetworkPath(.wifi)
  /// A cellular network.
  public static let cellular = NetworkPath(.cellular)
}

/// How a socket is to be set up. A system that does not know an option leaves it out.
public struct SocketOptions: Hashable, Sendable {
  /// Small writes go at once (`TCP_NODELAY`).
  public var sendsAtOnce = true
  /// Retransmissions of a thin stream do not back off exponentially (`TCP_THIN_LINEAR_TIMEOUTS`). Beside
  /// racing it gains nothing (`docs/weak-network.md`).
  public var retransmitsLinearly = false
  /// The longest retransmission timeout (`TCP_RTO_MAX_MS`); `nil` leaves the system's. It is chosen for each new connection,
  /// and only where the round trip is short.
  public var longestRetransmissionTimeout: Duration?

  /// The options every connection gets.
  public init() {}
}
