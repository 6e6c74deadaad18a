import IMMetrics

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
        values: ["proxy_v1", "proxy_v2", "tls", "websocket", "permessage-deflate"], isArray: true),
      ECSField(
        "imdump.conn.carrier.destination.ip", .ip, [.connection], "what the client connected to, by a PROXY header"),
      ECSField("imdump.conn.carrier.destination.port", .long, [.connection], "its port"),
      ECSField(
        "imdump.conn.carrier.tls", .boolean, [.connection],
        "whether the client's own connection was TLS, by a PROXY header"),
      ECSField("tls.version", .keyword, [.connection], "the version of TLS, where it was decrypted, such as 1.3"),
      ECSField("tls.version_protocol", .keyword, [.connection], "the protocol that has it", values: ["tls", "ssl"]),
      ECSField("tls.cipher", .keyword, [.connection], "the cipher suite"),
      ECSField("tls.next_protocol", .keyword, [.connection], "the protocol that ALPN has chosen"),
      ECSField("tls.established", .boolean, [.connection], "whether data came through"),
      ECSField("tls.resumed", .boolean, [.connection], "whether the session was resumed"),
      ECSField("tls.client.server_name", .keyword, [.connection], "the server that the client asks for (SNI)"),
      ECSField("tls.client.ja3", .keyword, [.connection], "JA3 of the ClientHello"),
      ECSField("imdump.conn.tls.ja4", .keyword, [.connection], "JA4 of the ClientHello"),
      ECSField(
        "imdump.conn.tls.client_random", .keyword, [.connection],
        "the first eight digits of the client random, by which key logs name connections"),
      ECSField(
        "imdump.conn.tls.key_by", .keyword, [.connection], "whether the hello named the secrets or trying them did",
        values: ["random", "trial"]),
      ECSField(
        "imdump.conn.tls.handshake_ms", .double, .milliseconds, [.connection],
        "from the ClientHello to the last Finished"),
      ECSField("imdump.conn.tls.alerts.client_to_server", .long, [.connection], "TLS alerts of the client"),
      ECSField("imdump.conn.tls.alerts.server_to_client", .long, [.connection], "TLS alerts of the server"),
      ECSField("imdump.conn.websocket.ping_rtt.count", .long, [.connection], "WebSocket pings that were answered"),
      ECSField(
        "imdump.conn.websocket.ping_rtt.min_ms", .double, .milliseconds, [.connection], "their shortest round trip"),
      ECSField("imdump.conn.websocket.ping_rtt.mean_ms", .double, .milliseconds, [.connection], "the mean"),
      ECSField("imdump.conn.websocket.ping_rtt.max_ms", .double, .milliseconds, [.connection], "the longest"),
      ECSField(
        "imdump.conn.websocket.not_inflated_bytes", .long, .bytes, [.connection],
        "bytes of compressed messages that could not be inflated"),
      ECSField("imdump.conn.websocket.close_status", .long, [.connection], "the reason in the first close frame"),
      ECSField(
        "imdump.conn.handshake.outcome", .keyword, [.connection], "how the protocol's handshake ended",
        values: [
          "success", "failure", "unknown",
        ]),
      ECSField("imdump.conn.handshake.version", .keyword, [.connection], "the protocol's version in the header"),
      ECSField(
        "imdump.conn.handshake.duration_ms", .double, .milliseconds, [.connection],
        "from TCP's handshake to the end of the protocol's"),
    ] + figures(Catalogue.connections.map(\.info), below: "imdump.conn", of: .connection) { $0.connection } + unreadTLS
    + webSocket

  /// Bytes of TLS that were not read, by reason.
  private static let unreadTLS = Dimension.unreadTLS.values.map { reason in
    ECSField(
      "imdump.conn.tls.unread_bytes.\(reason.name)", .long, .bytes, [.connection],
      "bytes of TLS not read: \(reason.help)")
  }

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
}
