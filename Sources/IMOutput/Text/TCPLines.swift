import IMEngine
import IMMetrics
import IMWire

extension StatsTextWriter {
  /// What TCP did, a line a direction; and the handshakes.
  func tcp(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    let tcp = metrics.tcp
    if let least = tcp.handshakeMinimum, let mean = tcp.handshakeMean, let most = tcp.handshakeMaximum {
      let line =
        "TCP handshakes: \(grouped(tcp.handshakes)), round trip \(Self.times(least, mean, most)) ms min/mean/max"
      out.text(wrapped(line, width) + "\n")
    }
    for (way, name) in [(0, "client to server"), (1, "server to client")] where metrics.counts[.seen, way] > 0 {
      var parts = FigureWords.parts(.segments, Catalogue.reports, metrics.counts, way: way)
      let trips = tcp.acknowledgments[way]
      if let least = trips.minimum, let mean = trips.mean, let most = trips.maximum {
        parts.append("ACK round trip \(Self.times(least, mean, most)) ms min/mean/max")
      }
      out.text(wrapped("TCP \(name): \(parts.joined(separator: ", "))", width) + "\n")
    }
  }

  private static func times(_ least: Int64, _ mean: Int64, _ most: Int64) -> String {
    var text = ByteWriter(capacity: 64)
    text.milliseconds(least / 1_000)
    text.literal("/")
    text.milliseconds(mean / 1_000)
    text.literal("/")
    text.milliseconds(most / 1_000)
    return text.text
  }
}
