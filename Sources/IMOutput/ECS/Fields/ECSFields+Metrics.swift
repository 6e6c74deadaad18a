import IMEngine

extension ECSFields {
  /// Fields of a server's minutes. All count what came in the period.
  static let summary: [ECSField] = ECSField.measured(
    .gauge,
    [
      ECSField("imdump.summary.period_s", .long, .seconds, [.summary], "the length of a whole period"),
      ECSField("imdump.summary.partial", .boolean, [.summary], "whether the period is shorter: the first or the last"),
      ECSField("imdump.summary.lossy", .boolean, [.summary], "whether the capture lost packets: counts are too low"),
      ECSField("imdump.summary.capture_loss_ratio", .double, [.summary], "packets that the kernel dropped; 0 to 1"),
      ECSField("imdump.summary.connections.attempts", .long, [.summary], "connections that were tried"),
      ECSField("imdump.summary.connections.succeeded", .long, [.summary], "of them, those that carried a frame"),
      ECSField("imdump.summary.connections.refused", .long, [.summary], "of them, refused"),
      ECSField("imdump.summary.connections.timed_out", .long, [.summary], "of them, not answered"),
      ECSField("imdump.summary.connections.active", .long, [.summary], "connections open at the period's end"),
      ECSField("imdump.summary.connections.opened", .long, [.summary], "connections that began to carry frames"),
      ECSField("imdump.summary.connections.closed", .long, [.summary], "connections that ended"),
      ECSField("imdump.summary.connections.reset", .long, [.summary], "of them, by a reset"),
      ECSField("imdump.summary.connections.reconnects", .long, [.summary], "sessions that came back on another one"),
      ECSField("imdump.summary.ratio.connection_success", .double, [.summary], "attempts that succeeded; 0 to 1"),
      ECSField("imdump.summary.heartbeat.sent", .long, [.summary], "heartbeats, without copies"),
      ECSField("imdump.summary.heartbeat.answered", .long, [.summary], "heartbeats answered"),
      ECSField("imdump.summary.heartbeat.missed", .long, [.summary], "heartbeats not answered in time"),
      ECSField("imdump.summary.heartbeat.unknown", .long, [.summary], "heartbeats whose answer the capture may lack"),
      ECSField("imdump.summary.heartbeat.interval_ms", .double, .milliseconds, [.summary], "the mean between two"),
      ECSField(
        "imdump.summary.heartbeat.jitter_ms", .double, .milliseconds, [.summary],
        "the mean difference of neighbouring intervals"),
      ECSField("imdump.summary.heartbeat.expected_ms", .double, .milliseconds, [.summary], "what clients promised"),
      ECSField(
        "imdump.summary.heartbeat.rtt_p95_ms", .double, .milliseconds, [.summary],
        "their round trip that 95 % do not exceed"),
      ECSField(
        "imdump.summary.rtt.histogram", .histogram, .milliseconds, [.summary],
        "round trips on boundaries that all sensors share, 1.05 apart: histograms add up"),
      ECSField("imdump.summary.bytes.client_to_server", .long, .bytes, [.summary], "bytes of frames to the server"),
      ECSField("imdump.summary.bytes.server_to_client", .long, .bytes, [.summary], "bytes of frames from the server"),
      ECSField("imdump.summary.tcp.retransmits", .long, [.summary], "segments seen again"),
      ECSField("imdump.summary.tcp.out_of_order", .long, [.summary], "segments out of order"),
    ] + fates("imdump.summary", [.summary]) + ratios("imdump.summary", [.summary])
      + checksums("imdump.summary", [.summary])
      + roundTrips("imdump.summary", ["p50", "p90", "p95", "p99", "p999"], [.summary]))

  /// Fields of the capture. Counters count from its start.
  static let capture: [ECSField] =
    ECSField.measured(
      .counter,
      [
        ECSField("imdump.capture.packets.received", .long, [.capture], "packets that the kernel saw"),
        ECSField("imdump.capture.packets.dropped", .long, [.capture], "packets that the kernel dropped"),
        ECSField("imdump.capture.packets.if_dropped", .long, [.capture], "packets that the interface dropped"),
        ECSField("imdump.capture.packets.processed", .long, [.capture], "packets that imdump read"),
        ECSField("imdump.capture.packets.ignored", .long, [.capture], "of them, those without a TCP segment"),
        ECSField("imdump.capture.packets.truncated", .long, [.capture], "of them, cut by the snaplen"),
        ECSField("imdump.capture.packets.duplicates", .long, [.capture], "of them, captured twice"),
        ECSField("imdump.capture.bytes.processed", .long, .bytes, [.capture], "captured bytes of the packets read"),
        ECSField("imdump.capture.reassembly.gaps", .long, [.capture], "holes in streams"),
        ECSField("imdump.capture.reassembly.gap_bytes", .long, .bytes, [.capture], "bytes missing in them"),
        ECSField("imdump.capture.reassembly.evicted", .long, [.capture], "connections forgotten to save memory"),
        ECSField("imdump.capture.output.written", .long, [.capture], "documents made"),
        ECSField("imdump.capture.output.sampled_out", .long, [.capture], "messages that the sample leaves out"),
        ECSField("imdump.capture.output.failed", .long, [.capture], "times when output could not be written"),
        ECSField("imdump.capture.output.dropped", .long, [.capture], "documents lost because of that"),
        ECSField("imdump.capture.process.cpu_ms", .double, .milliseconds, [.capture], "CPU time of the process"),
      ]
        + Eviction.allCases.map {
          ECSField(
            "imdump.capture.reassembly.evictions.\($0.name)", .long, [.capture], "forgotten to save memory: \($0.text)")
        })
    + ECSField.measured(
      .gauge,
      [
        ECSField("imdump.capture.delta.received", .long, [.capture], "packets received since the document before"),
        ECSField("imdump.capture.delta.dropped", .long, [.capture], "packets dropped by the kernel since then"),
        ECSField("imdump.capture.delta.if_dropped", .long, [.capture], "packets dropped by the interface since then"),
        ECSField("imdump.capture.ratio.dropped", .float, [.capture], "dropped of received since then; 0 to 1"),
        ECSField("imdump.capture.reassembly.memory_bytes", .long, .bytes, [.capture], "memory held for connections"),
        ECSField("imdump.capture.reassembly.connections", .long, [.capture], "connections known"),
        ECSField("imdump.capture.process.rss_bytes", .long, .bytes, [.capture], "the most memory of the process"),
        ECSField("imdump.capture.process.uptime_s", .long, .seconds, [.capture], "time since the capture's start"),
      ])
    + [
      ECSField("imdump.log.file", .keyword, [.capture], "the name of the file that this document begins"),
      ECSField("imdump.capture.filter", .keyword, [.capture], "the capture filter"),
      ECSField("imdump.capture.snaplen", .long, .bytes, [.capture], "bytes captured of a packet, 0 for all"),
      ECSField("imdump.capture.link_type", .keyword, [.capture], "the link type's name"),
    ]
}
