/// What one core has counted, under the article's names and with the meanings those names have.
public struct EndpointMetrics: Hashable, Sendable {
  /// Connections asked for, each attempt of a race counted.
  public var connectionAttempts: UInt64 = 0
  /// Connections that came about.
  public var connectionSuccesses: UInt64 = 0
  /// Bytes written to connections, headers included.
  public var bytesSent: UInt64 = 0
  /// Bytes read from connections.
  public var bytesReceived: UInt64 = 0
  /// Frames read.
  public var framesReceived: UInt64 = 0
  /// Bytes of the bodies of messages that came for the first time.
  public var payloadBytes: UInt64 = 0
  /// Frames with a wrong checksum, and connections whose bytes were not frames.
  public var parseErrors: UInt64 = 0
  /// Connections given up because their bytes were not frames.
  public var parserResets: UInt64 = 0
  /// Nanoseconds that reading frames took, and what their content asked for; and those of reads in which one was no frame or damaged. Zero
  /// under a transport that measures no time.
  public var parseTime: UInt64 = 0, parseErrorTime: UInt64 = 0
  /// Parse errors whose time is in `parseErrorTime`.
  var timedParseErrors: UInt64 = 0
  /// Messages of the application sent, each counted once.
  public var messagesSent: UInt64 = 0
  /// Messages of the application that were acknowledged, each counted once.
  public var messagesAcknowledged: UInt64 = 0
  /// Messages whose answer was overdue, each time it was.
  public var messageTimeouts: UInt64 = 0
  /// Transmissions of messages after the first.
  public var messagesRetried: UInt64 = 0
  /// Messages given up.
  public var messagesFailed: UInt64 = 0
  /// Messages that the application took back.
  public var messagesCancelled: UInt64 = 0
  /// Handshakes and refusals sent.
  public var controlSent: UInt64 = 0
  /// Messages that came for the first time.
  public var messagesReceived: UInt64 = 0
  /// Messages that came once more and were not passed on.
  public var duplicatesReceived: UInt64 = 0
  /// Acknowledgments of what was not waited for any more.
  public var duplicateAcknowledgments: UInt64 = 0
  /// Heartbeats sent, each counted once.
  public var heartbeatsSent: UInt64 = 0
  /// Heartbeats that were answered.
  public var heartbeatsAnswered: UInt64 = 0
  /// Heartbeats that were not answered on the connection they went out on.
  public var heartbeatsLost: UInt64 = 0
  /// Connections lost after they had come about.
  public var disconnects: UInt64 = 0
  /// Times that all connections were lost and a new one came about.
  public var reconnects: UInt64 = 0
  /// Connections opened beside one that was stalled.
  public var racingConnections: UInt64 = 0
  /// Events that a state machine had no answer to.
  public var illegalEvents: UInt64 = 0
  /// Frames read, by kind: data, heartbeat, acknowledgment, control, receipt, others.
  public var framesByKind = [UInt64](repeating: 0, count: 6)
  /// The last round trip of a message sent once, in nanoseconds.
  public var roundTrip: Int64?
  /// The last round trip of a heartbeat, in nanoseconds.
  public var heartbeatRoundTrip: Int64?
  /// The interval between heartbeats, in nanoseconds.
  public var heartbeatInterval: Int64?
  /// How long the answer to a heartbeat is waited for, in nanoseconds.
  public var heartbeatTimeout: Int64?
  /// Bytes of an unfinished frame that waited when a connection was read last.
  public var parserBufferBytes: UInt64?

  /// Nothing counted yet.
  public init() {}

  /// Adds what another core has counted. Of what is no count, the last one known stays.
  public mutating func add(_ other: EndpointMetrics) {
    for count in Self.counts { self[keyPath: count] += other[keyPath: count] }
    for kind in framesByKind.indices { framesByKind[kind] += other.framesByKind[kind] }
    roundTrip = other.roundTrip ?? roundTrip
    heartbeatRoundTrip = other.heartbeatRoundTrip ?? heartbeatRoundTrip
    heartbeatInterval = other.heartbeatInterval ?? heartbeatInterval
    heartbeatTimeout = other.heartbeatTimeout ?? heartbeatTimeout
    parserBufferBytes = other.parserBufferBytes ?? parserBufferBytes
  }

  /// Takes note of what one read of a connection took, in nanoseconds, and how many bytes of an unfinished frame it left.
  mutating func parsed(in nanoseconds: Int64, leaving waiting: Int) {
    let time = UInt64(max(0, nanoseconds))
    if parseErrors > timedParseErrors { parseErrorTime += time } else { parseTime += time }
    timedParseErrors = parseErrors
    parserBufferBytes = UInt64(max(0, waiting))
  }

  static var counts: [WritableKeyPath<EndpointMetrics, UInt64>] {
    [
      \.connectionAttempts, \.connectionSuccesses, \.bytesSent, \.bytesReceived, \.framesReceived, \.payloadBytes,
      \.parseErrors, \.parserResets, \.parseTime, \.parseErrorTime, \.timedParseErrors, \.messagesSent,
      \.messagesAcknowledged, \.messageTimeouts, \.messagesRetried,
      \.messagesFailed, \.messagesCancelled, \.controlSent, \.messagesReceived, \.duplicatesReceived,
      \.duplicateAcknowledgments,
      \.heartbeatsSent, \.heartbeatsAnswered, \.heartbeatsLost, \.disconnects, \.reconnects, \.racingConnections,
      \.illegalEvents,
    ]
  }

  @inline(__always)
  mutating func received(_ kind: FrameKind) {
    framesReceived += 1
    framesByKind[min(5, Int(kind.rawValue))] += 1
  }

  /// All figures that are known, by the article's name; durations in seconds.
  public var values: [(name: String, value: Double)] {
    var values: [(name: String, value: Double)] = [
      ("connection_attempts", Double(connectionAttempts)), ("connection_success", Double(connectionSuccesses)),
      ("bytes_send", Double(bytesSent)), ("bytes_received", Double(bytesReceived)),
      ("parsed_packets_total", Double(framesReceived)), ("payload_bytes_total", Double(payloadBytes)),
      ("parse_errors_total", Double(parseErrors)), ("parser_forced_resets", Double(parserResets)),
      ("parse_packets_time", Double(parseTime) / 1e9), ("parse_error_time", Double(parseErrorTime) / 1e9),
      ("message_send_total", Double(messagesSent)), ("message_acked_total", Double(messagesAcknowledged)),
      ("message_timeout_total", Double(messageTimeouts)), ("message_retried_total", Double(messagesRetried)),
      ("messages_cancelled", Double(messagesCancelled)),
      ("control_message_send", Double(controlSent)), ("normal_message_send", Double(messagesSent)),
      ("error_count", Double(parseErrors + messagesFailed + illegalEvents)),
      ("heartbeat_send", Double(heartbeatsSent)), ("heartbeat_loss", Double(heartbeatsLost)),
      ("session_reconnects", Double(reconnects)), ("session_disconnects", Double(disconnects)),
    ]
    for (kind, count) in framesByKind.enumerated().dropLast() { values.append(("packet_type_\(kind)", Double(count))) }
    func known(_ name: String, _ nanoseconds: Int64?) {
      if let nanoseconds { values.append((name, Double(nanoseconds) / 1e9)) }
    }
    known("rtt", roundTrip)
    known("heartbeat_rtt", heartbeatRoundTrip)
    known("heartbeat_interval", heartbeatInterval)
    known("heartbeat_timeout_interval", heartbeatTimeout)
    if let parserBufferBytes { values.append(("parser_buffer_size", Double(parserBufferBytes))) }
    return values
  }
}
