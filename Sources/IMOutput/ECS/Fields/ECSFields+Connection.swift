extension ECSFields {
  /// Fields of connections.
  static let connection: [ECSField] =
    [
      ECSField(
        "imdump.conn.state", .keyword, [.connection], "where it stands",
        values: ["established", "half_open", "closed", "reset", "timeout", "evicted", "midstream"]),
      ECSField(
        "imdump.conn.close_reason", .keyword, [.connection], "how it ended; open while it lives",
        values: ["open", "fin", "rst", "refused", "timeout", "reused", "evicted"]),
      ECSField("imdump.conn.final", .boolean, [.connection], "whether this is its last document"),
      ECSField("imdump.conn.report", .long, [.connection], "documents of it before this one"),
      ECSField("imdump.conn.midstream", .boolean, [.connection], "whether the capture began after it"),
      ECSField(
        "imdump.conn.carrier.name", .keyword, [.connection], "what the protocol travels in beside TCP",
        values: ["proxy_v1", "proxy_v2", "websocket", "permessage-deflate"], isArray: true),
      ECSField(
        "imdump.conn.carrier.destination.ip", .ip, [.connection], "what the client connected to, by a PROXY header"),
      ECSField("imdump.conn.carrier.destination.port", .long, [.connection], "its port"),
      ECSField(
        "imdump.conn.carrier.tls", .boolean, [.connection],
        "whether the client's own connection was TLS, by a PROXY header"),
      ECSField("imdump.conn.websocket.ping_rtt.count", .long, [.connection], "WebSocket pings that were answered"),
      ECSField(
        "imdump.conn.websocket.ping_rtt.min_ms", .double, .milliseconds, [.connection], "their shortest round trip"),
      ECSField("imdump.conn.websocket.ping_rtt.mean_ms", .double, .milliseconds, [.connection], "the mean"),
      ECSField("imdump.conn.websocket.ping_rtt.max_ms", .double, .milliseconds, [.connection], "the longest"),
      ECSField(
        "imdump.conn.websocket.not_inflated_bytes", .long, .bytes, [.connection],
        "bytes of compressed messages that could not be inflated"),
      ECSField("imdump.conn.websocket.close_status", .long, [.connection], "the reason in the first close frame"),
      ECSField("imdump.conn.gap.count", .long, [.connection], "holes in its streams"),
      ECSField("imdump.conn.gap.bytes", .long, .bytes, [.connection], "bytes missing in them"),
      ECSField(
        "imdump.conn.handshake.outcome", .keyword, [.connection], "how the protocol's handshake ended",
        values: [
          "success", "failure", "unknown",
        ]),
      ECSField("imdump.conn.handshake.version", .keyword, [.connection], "the protocol's version in the header"),
      ECSField(
        "imdump.conn.handshake.duration_ms", .double, .milliseconds, [.connection],
        "from TCP's handshake to the end of the protocol's"),
      ECSField("imdump.conn.heartbeat.sent", .long, [.connection], "heartbeats, without copies"),
      ECSField("imdump.conn.heartbeat.answered", .long, [.connection], "of them, answered"),
      ECSField("imdump.conn.heartbeat.missed", .long, [.connection], "of them, not answered in time"),
      ECSField("imdump.conn.heartbeat.unknown", .long, [.connection], "of them, whose answer the capture may lack"),
      ECSField("imdump.conn.heartbeat.interval_ms", .double, .milliseconds, [.connection], "the mean between two"),
      ECSField(
        "imdump.conn.heartbeat.jitter_ms", .double, .milliseconds, [.connection],
        "the mean difference of neighbouring intervals"),
      ECSField("imdump.conn.heartbeat.expected_ms", .double, .milliseconds, [.connection], "what the client promised"),
      ECSField("imdump.conn.heartbeat.rtt_ms", .double, .milliseconds, [.connection], "their mean round trip"),
      ECSField(
        "imdump.conn.idle.longest_survived_s", .double, .seconds, [.connection],
        "the longest silence behind which the peer acknowledged what came"),
      ECSField("imdump.conn.tcp.retransmits", .long, [.connection], "segments seen again"),
      ECSField("imdump.conn.tcp.out_of_order", .long, [.connection], "segments out of order"),
      ECSField("imdump.conn.tcp.capture_duplicates", .long, [.connection], "packets that were captured twice"),
      ECSField("imdump.conn.tcp.rtt_ms", .double, .milliseconds, [.connection], "round trip of TCP's handshake"),
      ECSField("imdump.conn.delta.messages", .long, [.connection], "messages since the document before"),
      ECSField("imdump.conn.delta.acked", .long, [.connection], "answered messages since then"),
      ECSField(
        "imdump.conn.delta.unanswered", .long, [.connection],
        "unanswered ones since then; negative when late answers took some back"),
      ECSField("imdump.conn.delta.heartbeats_missed", .long, [.connection], "missed heartbeats since then"),
      ECSField("imdump.conn.delta.bytes", .long, .bytes, [.connection], "bytes of packets since then"),
    ] + fates("imdump.conn", [.connection]) + ratios("imdump.conn", [.connection])
    + checksums("imdump.conn", [.connection]) + roundTrips("imdump.conn", ["p50", "p95", "p99"], [.connection])
    + segments + webSocket

  /// What WebSocket frames of each direction were.
  private static let webSocket: [ECSField] = ["client_to_server", "server_to_client"].flatMap { way in
    let counts = [
      ("messages", "messages in WebSocket frames"), ("compressed", "of them, compressed ones"),
      ("continuation", "frames that go on with a message"), ("text", "frames that begin a text"),
      ("binary", "frames that begin a binary message"), ("close", "close frames"), ("ping", "pings"),
      ("pong", "pongs"), ("pings_answered", "pings that the other side answered"),
    ]
    return counts.map { ECSField("imdump.conn.websocket.\(way).\($0.0)", .long, [.connection], $0.1) }
  }

  /// What segments of each direction were.
  private static let segments: [ECSField] = ["client_to_server", "server_to_client"].flatMap { way in
    let prefix = "imdump.conn.tcp.\(way)"
    let counts = [
      ("retransmits", "segments seen again"), ("fast_retransmits", "of them, after duplicate acknowledgments"),
      ("spurious_retransmits", "of them, of bytes that had been acknowledged"),
      ("timeout_retransmits", "of them, after a timeout"), ("out_of_order", "segments out of order"),
      ("lost_segments", "segments that the network lost"),
      ("not_captured_gaps", "holes that the receiver did not have: the capture lacks them"),
      ("duplicate_acks", "acknowledgments that came again"), ("keep_alives", "TCP keep-alives"),
      ("keep_alive_acks", "answers to them"), ("zero_windows", "times when the receiver had no room"),
      ("capture_duplicates", "packets that were captured twice"),
    ]
    return counts.map { ECSField("\(prefix).\($0.0)", .long, [.connection], $0.1) } + [
      ECSField("\(prefix).not_captured_bytes", .long, .bytes, [.connection], "bytes in such holes"),
      ECSField("\(prefix).ack_rtt.count", .long, [.connection], "segments whose acknowledgment was timed"),
      ECSField("\(prefix).ack_rtt.min_ms", .double, .milliseconds, [.connection], "the shortest time to it"),
      ECSField("\(prefix).ack_rtt.mean_ms", .double, .milliseconds, [.connection], "the mean time to it"),
      ECSField("\(prefix).ack_rtt.max_ms", .double, .milliseconds, [.connection], "the longest time to it"),
    ]
  }
}
