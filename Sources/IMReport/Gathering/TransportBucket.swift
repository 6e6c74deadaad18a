import IMEngine
package import IMMetrics
package import IMWire

/// What the TCP connections of a stretch of time came to.
package struct TransportBucket: Additive {
  /// Connections that were opened with a SYN; that a FIN closed; that a reset ended; attempts that were refused or not answered.
  package fileprivate(set) var opened: UInt32 = 0, closed: UInt32 = 0, reset: UInt32 = 0, failed: UInt32 = 0
  /// The bytes of all packets on the wire.
  package fileprivate(set) var bytes: UInt64 = 0
  /// Round trips of TCP handshakes, by the time of the SYN.
  package fileprivate(set) var handshakes = RTTHistogram()

  /// Nothing counted.
  package init() {}

  /// Adds what another one counted.
  package mutating func add(_ other: TransportBucket) {
    opened &+= other.opened
    closed &+= other.closed
    reset &+= other.reset
    failed &+= other.failed
    bytes &+= other.bytes
    handshakes.add(other.handshakes)
  }
}

extension TimeBuckets<TransportBucket> {
  /// Counts the bytes of packets in one second.
  package mutating func count(bytes: UInt64, at time: Timestamp) { change(time) { $0.bytes &+= bytes } }

  /// Counts a connection that a SYN opens, before its end is known.
  package mutating func open(at time: Timestamp) { change(time) { $0.opened &+= 1 } }

  /// Counts a connection that has ended, or was open when the capture ended: the times when it was opened and when it ended, as far as they are not
  /// before `begin`. `isOpened` is whether `open` has counted it.
  package mutating func count(
    _ connection: ListedConnection, closedAt: Timestamp?, isOpened: Bool = false, from begin: Timestamp = .distantPast
  ) {
    let isFailure = connection.reason == .refused || connection.reason == .timeout
    if connection.firstSeen >= begin, isFailure || connection.sawSyn {
      change(connection.firstSeen) { bucket in
        if isFailure {
          bucket.failed &+= 1
          if isOpened, connection.sawSyn, bucket.opened > 0 { bucket.opened &-= 1 }
        } else {
          if !isOpened { bucket.opened &+= 1 }
          if let handshake = connection.handshake { bucket.handshakes.record(handshake) }
        }
      }
    }
    let end = closedAt ?? connection.end
    guard end >= begin else { return }
    switch connection.reason {
    case .fin: change(end) { $0.closed &+= 1 }
    case .reset: change(end) { $0.reset &+= 1 }
    case .open, .refused, .timeout, .reused, .evicted: break
    }
  }
}
