import IMEngine
import IMMetrics

extension StatsTextWriter {
  /// What TCP did, a line a direction; and the handshakes.
  func tcp(_ metrics: TCPMetrics, to out: inout ByteWriter) {
    if let least = metrics.handshakeMinimum, let mean = metrics.handshakeMean, let most = metrics.handshakeMaximum {
      let line =
        "TCP handshakes: \(grouped(metrics.handshakes)), round trip \(Self.times(least, mean, most)) ms min/mean/max"
      out.text(wrapped(line, width) + "\n")
    }
    for (way, name) in [(0, "client to server"), (1, "server to client")] where metrics.seen[way] > 0 {
      out.text(
        wrapped("TCP \(name): \(Self.sentence(metrics.ways[way], sawBoth: metrics.seenBoth > 0))", width) + "\n")
    }
  }

  private static func sentence(_ figures: SegmentFigures, sawBoth: Bool) -> String {
    var parts: [String] = []
    var kinds: [String] = []
    func add(_ value: UInt32, _ name: String, to list: inout [String]) {
      if value > 0 { list.append("\(grouped(UInt64(value))) \(name)") }
    }
    if sawBoth {
      add(figures.fast, "fast", to: &kinds)
      add(figures.spurious, "spurious", to: &kinds)
    }
    add(figures.timeouts, "after a timeout", to: &kinds)
    let again = count(UInt64(figures.retransmissions), "retransmission")
    parts.append(again + (kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"))
    if sawBoth { add(figures.lost, figures.lost == 1 ? "segment lost" : "segments lost", to: &parts) }
    add(figures.outOfOrder, "out of order", to: &parts)
    if sawBoth, figures.missedHoles > 0 {
      let holes = count(UInt64(figures.missedHoles), "hole")
      parts.append("\(holes) of \(grouped(figures.missedBytes)) bytes not captured")
    }
    add(figures.duplicateAcks, figures.duplicateAcks == 1 ? "duplicate ACK" : "duplicate ACKs", to: &parts)
    add(figures.keepAlives, figures.keepAlives == 1 ? "keep-alive" : "keep-alives", to: &parts)
    add(figures.keepAliveAcks, figures.keepAliveAcks == 1 ? "keep-alive ACK" : "keep-alive ACKs", to: &parts)
    add(figures.zeroWindows, figures.zeroWindows == 1 ? "zero window" : "zero windows", to: &parts)
    add(figures.copies, "captured twice", to: &parts)
    let trips = figures.roundTrips
    if let least = trips.minimum, let mean = trips.mean, let most = trips.maximum {
      parts.append("ACK round trip \(times(least, mean, most)) ms min/mean/max")
    }
    return parts.joined(separator: ", ")
  }

  private static func times(_ least: Int64, _ mean: Int64, _ most: Int64) -> String {
    var text = ByteWriter(capacity: 64)
    text.thousandths(least / 1_000)
    text.literal("/")
    text.thousandths(mean / 1_000)
    text.literal("/")
    text.thousandths(most / 1_000)
    return text.text
  }
}
