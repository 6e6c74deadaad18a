package import IMEngine
package import IMWire

/// Times from segments to their acknowledgments, by direction.
package typealias BothWays = InlineArray<2, AckRoundTrips>

/// How long TCP took on the connections of a server, or of a run. What it did is in `ReportCounts`.
package struct TCPMetrics: Sendable {
  /// Times from segments to their acknowledgments, client to server first.
  package private(set) var acknowledgments: BothWays = [AckRoundTrips(), AckRoundTrips()]
  /// Handshakes seen from the SYN to the ACK: how many, and how long they took.
  package private(set) var handshakes: UInt64 = 0
  private var least = Nanoseconds(.max), most = Nanoseconds.zero, sum = Nanoseconds.zero

  /// Nothing counted.
  package init() {}

  /// The shortest, the longest and the mean handshake; `nil` where none was seen.
  package var handshakeMinimum: Nanoseconds? { handshakes == 0 ? nil : least }
  /// The longest.
  package var handshakeMaximum: Nanoseconds? { handshakes == 0 ? nil : most }
  /// The mean.
  package var handshakeMean: Nanoseconds? {
    handshakes == 0 ? nil : Nanoseconds(sum.count / Int64(clamping: handshakes))
  }

  /// Adds what another one counted.
  package mutating func add(_ other: TCPMetrics) {
    for way in 0...1 { acknowledgments[way].add(other.acknowledgments[way]) }
    handshakes += other.handshakes
    least = min(least, other.least)
    most = max(most, other.most)
    sum = sum + other.sum < sum ? Nanoseconds(.max) : sum + other.sum
  }

  /// Adds a connection.
  package mutating func add(_ report: borrowing ConnectionReport) {
    for way in 0...1 { acknowledgments[way].add(report.segments[way].roundTrips) }
    guard let server = report.serverHandshake, let client = report.clientHandshake else { return }
    let time = server + client
    guard time >= .zero else { return }
    handshakes += 1
    least = min(least, time)
    most = max(most, time)
    sum = sum + time < sum ? Nanoseconds(.max) : sum + time
  }
}
