import IMMetrics

extension StatsTextWriter {
  /// What TCP did: the handshakes, and a line for each direction that was captured.
  func tcp(_ metrics: EndpointMetrics, to out: inout ByteWriter) {
    line("TCP handshakes: ", MetricSentences.parts(.tcp, Catalogue.servers, ServerSnapshot(metrics)), to: &out)
    for (way, name) in Self.ways.enumerated() {
      let segments = MetricSentences.parts(.segments, Catalogue.reports, metrics.counts, way: way)
      let times = MetricSentences.parts(.segments, Catalogue.acknowledgmentTimes, metrics.tcp.acknowledgments, way: way)
      line("TCP \(name): ", segments + times, to: &out)
    }
  }
}
