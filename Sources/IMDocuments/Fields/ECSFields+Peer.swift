/// The figures that an endpoint counts of itself, under the names that they have in the article.
package enum PeerCounter {
  /// Each with what it says: counts of the period.
  static let meanings: [(name: StaticString, meaning: String)] = [
    ("connection_attempts", "connections asked for, each one of a race counted"),
    ("connection_success", "of them, those that came about"),
    ("session_disconnects", "connections lost after they had come about"),
    ("session_reconnects", "times that all connections were lost and one came about again"),
    ("message_send_total", "messages sent, each counted once"),
    ("normal_message_send", "messages sent, beside control messages and heartbeats; the same as message_send_total"),
    ("message_acked_total", "of them, acknowledged, each counted once"),
    ("message_timeout_total", "times that the answer to a message was overdue"),
    ("message_retried_total", "transmissions of messages after the first"),
    ("messages_cancelled", "messages that the application took back"),
    ("control_message_send", "handshakes and refusals sent"),
    ("heartbeat_send", "heartbeats sent, each counted once"),
    ("heartbeat_loss", "heartbeats not answered on the connection they went out on"),
    ("parsed_packets_total", "frames read"),
    ("packet_type_0", "of them, messages"),
    ("packet_type_1", "of them, heartbeats"),
    ("packet_type_2", "of them, acknowledgments"),
    ("packet_type_3", "of them, handshakes and refusals"),
    ("packet_type_4", "of them, receipts"),
    ("parse_errors_total", "frames with a wrong checksum, and connections whose bytes were no frames"),
    ("parser_forced_resets", "of them, the connections"),
    ("error_count", "errors of parsing, messages given up, and events without an answer"),
  ]

  /// The same, in bytes.
  static let byteMeanings: [(name: StaticString, meaning: String)] = [
    ("bytes_send", "bytes written to connections, headers included"),
    ("bytes_received", "bytes read from connections"),
    ("payload_bytes_total", "bytes of the bodies of messages that came for the first time"),
  ]

  /// The same, in seconds where they are counted and in milliseconds where they are written.
  static let durations: [(name: StaticString, meaning: String)] = [
    ("parse_packets_time", "what reading frames took, and what their content asked for"),
    ("parse_error_time", "what reads took in which a frame was damaged, or was none"),
  ]

  /// The last ones known, in bytes.
  static let sizes: [(name: StaticString, meaning: String)] = [
    ("parser_buffer_size", "bytes of an unfinished frame that waited when a connection was read last")
  ]

  /// The last ones measured, in seconds where they are counted and in milliseconds where they are written: `rtt_ms`.
  static let times: [(name: String, key: StaticString, meaning: String)] = [
    ("rtt", "rtt_ms", "the last round trip of a message sent once"),
    ("heartbeat_rtt", "heartbeat_rtt_ms", "the last round trip of a heartbeat"),
    ("heartbeat_interval", "heartbeat_interval_ms", "the interval between heartbeats"),
    ("heartbeat_timeout_interval", "heartbeat_timeout_interval", "how long the answer to a heartbeat is waited for"),
  ]
}

extension ECSFields {
  /// Fields of what an endpoint, `impeer`, tells of itself.
  static let peer: [ECSField] =
    [
      ECSField(
        "imdump.peer.role", .keyword, [.summary], "which end it is that tells of itself, in documents of impeer",
        values: ["client", "server"])
    ]
    + ECSField.measured(
      .gauge,
      PeerCounter.meanings.map { ECSField("imdump.peer.\($0.name)", .long, [.summary], $0.meaning) }
        + PeerCounter.byteMeanings.map { ECSField("imdump.peer.\($0.name)", .long, .bytes, [.summary], $0.meaning) }
        + PeerCounter.sizes.map { ECSField("imdump.peer.\($0.name)", .long, .bytes, [.summary], $0.meaning) }
        + PeerCounter.durations.map {
          ECSField("imdump.peer.\($0.name)", .double, .milliseconds, [.summary], $0.meaning)
        }
        + PeerCounter.times.map { ECSField("imdump.peer.\($0.key)", .double, .milliseconds, [.summary], $0.meaning) })
}
