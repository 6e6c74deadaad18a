import IMEngine
package import IMMetrics
package import IMWire

/// What the TCP connections of a stretch of time came to.
package struct TransportBucket: Additive {
  /// Connections that were opened with a SYN; that a FIN closed; that a reset ended; attempts that were refused or not answered.
  package fileprivate(set) var opened: UInt32 = 0, closed: UInt32 = 0, reset: UInt32 = 0, failed: UInt32 = 0
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
    handshakes.add(other.handshakes)
  }
}

extension TimeBuckets<TransportBucket> {
  /// Counts a connection that is over, or was open when the capture ended: when it was opened, and when it ended.
  package mutating func count(_ connection: ListedConnection, closedAt: Timestamp?) {
    let isFailure = connection.reason == .refused || connection.reason == .timeout
    if isFailure {
      change(connection.firstSeen) { $0.failed &+= 1 }
    } else if connection.sawSyn {
      change(connection.firstSeen) { bucket in
        bucket.opened &+= 1
        if let handshake = connection.handshake { bucket.handshakes.record(handshake) }
      }
    }
    switch connection.reason {
    case .fin: change(closedAt ?? connection.end) { $0.closed &+= 1 }
    case .reset: change(closedAt ?? connection.end) { $0.reset &+= 1 }
    case .open, .refused, .timeout, .reused, .evicted: break
    }
  }
}
