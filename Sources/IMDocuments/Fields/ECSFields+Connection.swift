import IMMetrics

extension ECSFields {
  /// Fields of connections.
  static let connection: [ECSField] =
    [
      ECSField(
        "imdump.conn.state", .keyword, [.connection], "the state of the connection",
        values: ["established", "half_open", "closed", "reset", "timeout", "evicted", "midstream"]),
      ECSField(
        "imdump.conn.close_reason", .keyword, [.connection], "how the connection ended; open until then",
        values: ["open", "fin", "rst", "refused", "timeout", "reused", "evicted"]),
      ECSField("imdump.conn.final", .boolean, [.connection], "whether this is the last document of the connection"),
      ECSField("imdump.conn.report", .long, [.connection], "number of earlier documents of the connection"),
      ECSField("imdump.conn.midstream", .boolean, [.connection], "whether the connection began before the capture"),
      ECSField(
        "imdump.conn.carrier.name", .keyword, [.connection], "the layers that carry the protocol on top of TCP",
        values: ["proxy_v1", "proxy_v2", "tls", "websocket", "permessage-deflate"], isArray: true),
      ECSField(
        "imdump.conn.carrier.destination.ip", .ip, [.connection],
        "the address to which the client connected, from a PROXY header"),
      ECSField(
        "imdump.conn.carrier.destination.port", .long, [.connection],
        "the port to which the client connected, from a PROXY header"),
      ECSField(
        "imdump.conn.carrier.tls", .boolean, [.connection],
        "whether the client's own connection used TLS, from a PROXY header"),
      ECSField("tls.version", .keyword, [.connection], "the TLS version, such as 1.3, if it is known"),
      ECSField(
        "tls.version_protocol", .keyword, [.connection], "the protocol of that version", values: ["tls", "ssl"]),
      ECSField("tls.cipher", .keyword, [.connection], "the cipher suite"),
      ECSField("tls.next_protocol", .keyword, [.connection], "the protocol selected by ALPN"),
      ECSField("tls.established", .boolean, [.connection], "whether data was transferred"),
      ECSField("tls.resumed", .boolean, [.connection], "whether the session was resumed"),
      ECSField("tls.client.server_name", .keyword, [.connection], "the server name in the ClientHello (SNI)"),
      ECSField("tls.client.ja3", .keyword, [.connection], "JA3 of the ClientHello"),
      ECSField("imdump.conn.tls.ja4", .keyword, [.connection], "JA4 of the ClientHello"),
      ECSField(
        "imdump.conn.tls.client_random", .keyword, [.connection],
        "the first eight digits of the client random, by which key logs identify connections"),
      ECSField(
        "imdump.conn.tls.key_by", .keyword, [.connection],
        "whether the client random or a trial found the secrets in the key log", values: ["random", "trial"]),
      ECSField(
        "imdump.conn.tls.handshake_ms", .double, .milliseconds, [.connection],
        "time from the ClientHello to the last Finished"),
      ECSField("imdump.conn.tls.alerts.client_to_server", .long, [.connection], "TLS alerts sent by the client"),
      ECSField("imdump.conn.tls.alerts.server_to_client", .long, [.connection], "TLS alerts sent by the server"),
      ECSField("imdump.conn.websocket.ping_rtt.count", .long, [.connection], "WebSocket pings that were answered"),
      ECSField(
        "imdump.conn.websocket.ping_rtt.min_ms", .double, .milliseconds, [.connection],
        "the shortest round trip of WebSocket pings"),
      ECSField(
        "imdump.conn.websocket.ping_rtt.mean_ms", .double, .milliseconds, [.connection],
        "the mean round trip of WebSocket pings"),
      ECSField(
        "imdump.conn.websocket.ping_rtt.max_ms", .double, .milliseconds, [.connection],
        "the longest round trip of WebSocket pings"),
      ECSField(
        "imdump.conn.websocket.not_inflated_bytes", .long, .bytes, [.connection],
        "bytes of compressed WebSocket messages that could not be inflated"),
      ECSField(
        "imdump.conn.websocket.close_status", .long, [.connection],
        "the status code in the first WebSocket close frame"),
      ECSField(
        "imdump.conn.handshake.outcome", .keyword, [.connection], "the outcome of the protocol's handshake",
        values: [
          "success", "failure", "unknown",
        ]),
      ECSField("imdump.conn.handshake.version", .keyword, [.connection], "the protocol version in the header"),
      ECSField(
        "imdump.conn.handshake.duration_ms", .double, .milliseconds, [.connection],
        "time from TCP's handshake to the end of the protocol's handshake"),
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
      ("messages", "messages in WebSocket frames"),
      ("compressed", "compressed WebSocket messages"),
      ("continuation", "WebSocket frames that continue a message"),
      ("text", "WebSocket frames that begin a text message"),
      ("binary", "WebSocket frames that begin a binary message"),
      ("close", "WebSocket close frames"),
      ("ping", "WebSocket pings"),
      ("pong", "WebSocket pongs"),
      ("pings_answered", "WebSocket pings that the other side answered"),
    ]
    return counts.map { ECSField("imdump.conn.websocket.\(way).\($0.0)", .long, [.connection], $0.1) }
  }
}
