public import IMWire

/// What a transport drives: the client's or the server's side of the protocol, without sockets and without a clock.
///
/// A transport owns sockets, buffers and one timer. It tells the core what happened (`opened`, `received`, `closed`, ...)
/// and when, and afterwards does what the core asks for, in this order, until there is nothing left:
///
///  1. each `nextCommand()`: open, write, measure, close or abort a connection;
///  2. look at `deadline` again and wake up by then to call `deadlineReached(at:)`.
///
/// A core is not reentrant and belongs to one thread at a time. Calls for a connection that the core no longer knows are
/// ignored, so a transport need not care in which order the network and the core give a connection up.
/// `now` never goes back from one call to the next.
public protocol EndpointCore {
  /// Says what time of day it is: frames carry it. To be called once at the start, and again when the clock was set.
  mutating func setWallClock(unixSeconds: Int64, at now: Instant)

  /// A connection that the core asked for can carry bytes: TCP is established, and TLS on it if it is used.
  /// `local` is the near end, by which a change of address is seen.
  mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Instant)

  /// A peer has connected. The core gives the connection its name, or `nil`: the transport closes it.
  mutating func accepted(from remote: Endpoint, at now: Instant) -> ConnectionID?

  /// The unread bytes of a connection, in one piece from the first that was not consumed yet. The borrow ends with the call.
  mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake

  /// What the last `received` took, in nanoseconds, and how many bytes of an unfinished frame it left: for the metrics. A transport that
  /// has no clock at hand leaves it out.
  mutating func parsed(in nanoseconds: Int64, leaving waiting: Int)

  /// The system has no descriptors left for a connection that waits to be accepted. A core that can spare some gives them up.
  mutating func descriptorsRanOut(at now: Instant)

  /// A connection is gone, or never came about; also after `abort`, when the transport has let go of it.
  mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant)

  /// The answer to `TransportCommand.measure`.
  mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Instant)

  /// The way to the network is another one: at the start, and whenever an interface or a route comes or goes.
  mutating func pathChanged(to path: NetworkPath, at now: Instant)

  /// The earliest moment at which the core wants `deadlineReached(at:)`; `nil` when only the network can change anything.
  /// It may be earlier than needed, never later.
  var deadline: Instant? { get }

  /// Time has reached `deadline`.
  mutating func deadlineReached(at now: Instant)

  /// Takes the next thing the core wants done; `nil` when there is none.
  mutating func nextCommand() -> TransportCommand?

  /// Writes what waits on a connection. `write` gets as many pieces as one call may write and returns how many bytes it
  /// took: fewer than offered means that the connection takes no more now. Then the transport waits until the connection
  /// is writable and calls `drain` again; no second `write` command comes for it meanwhile.
  /// - Returns: whether all has been written.
  mutating func drain(_ connection: ConnectionID, at now: Instant, _ write: (OutgoingPieces) -> Int) -> Bool
}

extension EndpointCore {
  /// Nothing to spare: what waits to be accepted waits on.
  public mutating func descriptorsRanOut(at now: Instant) {}
}

/// What a core wants its transport to do.
public enum TransportCommand: Equatable, Sendable {
  /// Connect to `to`, and say `opened` or `closed`. Several may be under way at once.
  case open(ConnectionID, to: Endpoint, options: SocketOptions)
  /// Bytes wait on this connection: call `drain`.
  case write(ConnectionID)
  /// Look what the kernel knows about this connection, and say `measured`, at once.
  case measure(ConnectionID)
  /// Write what waits, then close in order (FIN).
  case close(ConnectionID)
  /// Let go of this connection at once (RST: linger of zero), whether it was open or still connecting.
  case abort(ConnectionID)
}

/// What a core read of the bytes it was offered.
public struct Intake: Equatable, Sendable, BitwiseCopyable {
  /// Bytes that need not be offered again.
  public var consumed: Int
  /// Bytes that have to be there from the first unconsumed one before offering them again is of use. A frame may be larger
  /// than the transport's buffer: the buffer has to grow to this, with the bytes that come and not ahead of them.
  public var wanted: Int

  /// An intake of its parts.
  @inlinable public init(consumed: Int, wanted: Int) {
    self.consumed = consumed
    self.wanted = wanted
  }
}

extension EndpointCore {
  /// See `EndpointCore`: a core without metrics has no use for it.
  public mutating func parsed(in nanoseconds: Int64, leaving waiting: Int) {}
}
