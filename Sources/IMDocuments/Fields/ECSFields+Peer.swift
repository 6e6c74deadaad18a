/// The figures that an endpoint counts of itself, under the names that they have in the article.
package enum PeerCounter {
  /// Each with what it says: counts of the period.
  static let meanings: [(name: StaticString, meaning: String)] = [
    ("connection_attempts", "connection attempts, counting each one of a race"),
    ("connection_success", "connections established"),
    ("session_disconnects", "established connections that were lost"),
    ("session_reconnects", "times that all connections were lost and one was established again"),
    ("message_send_total", "messages sent, each counted once"),
    ("normal_message_send", "messages sent, without control messages and heartbeats; equal to message_send_total"),
    ("message_acked_total", "messages acknowledged, each counted once"),
    ("message_timeout_total", "times that the answer to a message was overdue"),
    ("message_retried_total", "transmissions of messages after the first"),
    ("messages_cancelled", "messages that the application canceled"),
    ("control_message_send", "handshakes and refusals sent"),
    ("heartbeat_send", "heartbeats sent, each counted once"),
    ("heartbeat_loss", "heartbeats not answered on the connection on which they were sent"),
    ("parsed_packets_total", "frames read"),
    ("packet_type_0", "frames read that were messages"),
    ("packet_type_1", "frames read that were heartbeats"),
    ("packet_type_2", "frames read that were acknowledgments"),
    ("packet_type_3", "frames read that were handshakes or refusals"),
    ("packet_type_4", "frames read that were receipts"),
    ("parse_errors_total", "frames with a wrong checksum, and connections whose bytes were not frames"),
    ("parser_forced_resets", "connections whose bytes were not frames"),
    ("error_count", "parse errors, messages given up, and events without an answer"),
  ]

  /// The same, in bytes.
  static let byteMeanings: [(name: StaticString, meaning: String)] = [
    ("bytes_send", "bytes written to connections, headers included"),
    ("bytes_received", "bytes read from connections"),
    ("payload_bytes_total", "bytes of the bodies of messages received for the first time"),
  ]

  /// The same, in seconds where they are counted and in milliseconds where they are written.
  static let durations: [(name: StaticString, meaning: String)] = [
    ("parse_packets_time", "time spent reading frames and handling their content"),
    ("parse_error_time", "time spent on reads in which a frame was damaged or bytes were not a frame"),
  ]

  /// The last ones known, in bytes.
  static let sizes: [(name: StaticString, meaning: String)] = [
    ("parser_buffer_size", "bytes of an unfinished frame that were buffered after the latest read of a connection")
  ]

  /// The last ones measured, in seconds where they are counted and in milliseconds where they are written: `rtt_ms`.
  static let times: [(name: String, key: StaticString, meaning: String)] = [
    ("rtt", "rtt_ms", "the latest round trip of a message sent once"),
    ("heartbeat_rtt", "heartbeat_rtt_ms", "the latest round trip of a heartbeat"),
    ("heartbeat_interval", "heartbeat_interval_ms", "the interval between heartbeats"),
    ("heartbeat_timeout_interval", "heartbeat_timeout_interval", "the timeout for the answer to a heartbeat"),
  ]
}

extension ECSFields {
  /// Fields of what an endpoint, `impeer`, tells of itself.
  static let peer: [ECSField] =
    [
      ECSField(
        "imdump.peer.role", .keyword, [.summary], "the role of the endpoint, in documents of impeer",
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
