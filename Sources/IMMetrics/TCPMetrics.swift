package import IMEngine

/// How long TCP took on the connections of a server, or of a run. What it did is in `ReportCounts`.
package struct TCPMetrics: Sendable {
  /// Times from segments to their acknowledgments, client to server first.
  package private(set) var acknowledgments: BothWays = [AckRoundTrips(), AckRoundTrips()]
  /// Handshakes seen from the SYN to the ACK: how many, and their nanoseconds.
  package private(set) var handshakes: UInt64 = 0
  private var least = Int64.max, most: Int64 = 0, sum: Int64 = 0

  /// Nothing counted.
  package init() {}

  /// The shortest, the longest and the mean handshake in nanoseconds; `nil` where none was seen.
  package var handshakeMinimum: Int64? { handshakes == 0 ? nil : least }
  /// The longest.
  package var handshakeMaximum: Int64? { handshakes == 0 ? nil : most }
  /// The mean.
  package var handshakeMean: Int64? { handshakes == 0 ? nil : sum / Int64(clamping: handshakes) }

  /// Adds what another one counted.
  package mutating func add(_ other: TCPMetrics) {
    for way in 0...1 { acknowledgments[way].add(other.acknowledgments[way]) }
    handshakes += other.handshakes
    least = min(least, other.least)
    most = max(most, other.most)
    sum = sum &+ other.sum < sum ? .max : sum &+ other.sum
  }

  /// Adds a connection.
  package mutating func add(_ report: borrowing ConnectionReport) {
    for way in 0...1 { acknowledgments[way].add(report.segments[way].roundTrips) }
    guard let server = report.serverHandshake, let client = report.clientHandshake else { return }
    let nanoseconds = server &+ client
    guard nanoseconds >= 0 else { return }
    handshakes += 1
    least = min(least, nanoseconds)
    most = max(most, nanoseconds)
    sum = sum &+ nanoseconds < sum ? .max : sum &+ nanoseconds
  }
}
