package import IMEngine

/// What TCP did on the connections of a server, or of a run, by direction; and their handshakes.
///
/// What only the other side's packets tell (spurious and fast retransmissions, segments lost, bytes not captured) counts
/// connections of which both sides were captured.
package struct TCPMetrics: Equatable, Sendable {
  /// Client to server first.
  package private(set) var ways: InlineArray<2, SegmentFigures> = [SegmentFigures(), SegmentFigures()]
  /// Connections of which packets of that direction were captured.
  package private(set) var seen: InlineArray<2, UInt64> = [0, 0]
  /// Connections of which both directions were.
  package private(set) var seenBoth: UInt64 = 0
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
  /// Packets that were captured twice.
  package var copies: UInt64 { UInt64(ways[0].copies) + UInt64(ways[1].copies) }

  /// Adds a connection.
  package mutating func add(_ report: borrowing ConnectionReport) {
    for way in 0...1 {
      if report.packets[way] > 0 { seen[way] += 1 }
      ways[way].add(report.segments[way])
    }
    if report.sawBothSides { seenBoth += 1 }
    guard let server = report.serverHandshake, let client = report.clientHandshake else { return }
    let nanoseconds = server &+ client
    guard nanoseconds >= 0 else { return }
    handshakes += 1
    least = min(least, nanoseconds)
    most = max(most, nanoseconds)
    sum = sum &+ nanoseconds < sum ? .max : sum &+ nanoseconds
  }

  /// Two that counted the same.
  package static func == (a: TCPMetrics, b: TCPMetrics) -> Bool {
    a.ways[0] == b.ways[0] && a.ways[1] == b.ways[1] && a.seen[0] == b.seen[0] && a.seen[1] == b.seen[1]
      && a.seenBoth == b.seenBoth && a.handshakes == b.handshakes && a.least == b.least && a.most == b.most
      && a.sum == b.sum
  }
}
