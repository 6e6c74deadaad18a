import IMAlerts
extension ECSFields {
  /// Fields of messages.
  static let message: [ECSField] = [
    ECSField(
      "imdump.msg.id", .keyword, [.message], "ID of the message; a second document for a late answer has the same ID"),
    ECSField("imdump.msg.type", .keyword, [.message], "the type's name in the profile"),
    ECSField("imdump.msg.type_id", .long, [.message], "the type's number on the wire"),
    ECSField("imdump.msg.version", .keyword, [.message], "the protocol version in the header"),
    ECSField("imdump.msg.sequence", .long, [.message], "the sequence number of the message on the wire"),
    ECSField(
      "imdump.msg.direction", .keyword, [.message], "the direction of the message",
      values: ["client_to_server", "server_to_client"]),
    ECSField(
      "imdump.msg.fate", .keyword, [.message], "the fate of the message; unacknowledged if it asks for no answer",
      values: [
        "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unknown", "unacknowledged",
      ]),
    ECSField(
      "imdump.msg.cause", .keyword, [.message], "why the message did not succeed",
      values: ["network", "peer", "capture", "status", "checksum", "limit"]),
    ECSField("imdump.msg.status", .long, [.message], "the status of the answer, as on the wire"),
    ECSField("imdump.msg.status_name", .keyword, [.message], "the name of the answer's status in the profile"),
    ECSField(
      "imdump.msg.late", .boolean, [.message], "true in the second document of a message, written for a late answer"),
    ECSField("imdump.msg.copies", .long, [.message], "copies seen, including the first"),
    ECSField("imdump.msg.retries", .long, [.message], "copies after the first, until the fate was decided"),
    ECSField("imdump.msg.duplicates", .long, [.message], "copies after the answer"),
    ECSField(
      "imdump.msg.rtt_ms", .double, .milliseconds, [.message],
      "round trip from the message to its answer, if it was sent only once before the answer"),
    ECSField("imdump.msg.bytes", .long, .bytes, [.message], "bytes of the frame"),
    ECSField("imdump.msg.header_bytes", .long, .bytes, [.message], "bytes of the frame's header"),
    ECSField("imdump.msg.body_bytes", .long, .bytes, [.message], "bytes of the frame's body"),
    ECSField(
      "imdump.msg.stream_offset", .long, .bytes, [.message], "offset of the frame in the stream of its direction"),
    ECSField("imdump.msg.tlv", .flattened, [.message], "the path and length of each element, never its content"),
    ECSField("imdump.msg.tlv_count", .long, [.message], "elements in the body"),
    ECSField("imdump.msg.tlv_depth", .long, [.message], "nesting depth of the elements"),
    ECSField("imdump.msg.checksum.algorithm", .keyword, [.message], "the name of the checksum algorithm"),
    ECSField(
      "imdump.msg.checksum.status", .keyword, [.message], "the result of the checksum",
      values: ["be", "le", "bad", "none", "unchecked"]),
    ECSField(
      "imdump.msg.sampled", .double, [.message],
      "the share of sessions that sample=1/N selects; absent for messages that errors or slow selects"),
  ]

  /// Attributes that only OpenTelemetry's records have, beside the fields of documents: of no dataset.
  package static let telemetry: [ECSField] = [
    ECSField("imdump.event.id", .keyword, [], "OpenTelemetry: event.id of the corresponding document"),
    ECSField("imdump.alert.rule", .keyword, [], "OpenTelemetry: the rule's name"),
    ECSField("imdump.alert.runbook", .keyword, [], "OpenTelemetry: the URL of the rule's runbook"),
    ECSField(
      "imdump.connection.outcome", .keyword, [], "OpenTelemetry: how connections began or ended",
      values: ["opened", "closed", "reset", "refused", "timed_out"]),
    ECSField(
      "imdump.heartbeat.outcome", .keyword, [], "OpenTelemetry: the outcome of heartbeats",
      values: ["answered", "missed", "unknown", "unacknowledged"]),
    ECSField(
      "imdump.capture.outcome", .keyword, [], "OpenTelemetry: where the capture's packets went",
      values: ["received", "dropped_by_kernel", "dropped_by_interface", "processed"]),
  ]

  /// Fields of issues.
  static let weird: [ECSField] = [
    ECSField("imdump.weird.name", .keyword, [.weird], "the name of the problem"),
    ECSField("imdump.weird.count", .long, [.weird], "problems of this name on the connection so far"),
    ECSField(
      "imdump.weird.suppressed", .long, [.weird],
      "problems of this name on the connection without a document since the previous one"),
    ECSField(
      "imdump.weird.stream_offset", .long, .bytes, [.weird], "offset of the problem in the stream of its direction"),
  ]

  /// Fields of what two captures have in common and where they differ.
  static let comparison: [ECSField] =
    [
      ECSField(
        "imdump.comparison.figure", .keyword, [.comparison], "the metric, as imdump diff names it", isDimension: true),
      ECSField(
        "imdump.comparison.unit", .keyword, [.comparison], "the unit of the values",
        values: ["ratio", "milliseconds", "count"]),
      ECSField(
        "imdump.comparison.more_than_chance", .boolean, [.comparison],
        "whether the difference is significant (p < 0.001)"),
      ECSField(
        "imdump.comparison.failed", .keyword, [.comparison], "the conditions of --fail-on on this metric that hold",
        isArray: true),
    ]
    + ECSField.measured(
      .gauge,
      [
        ECSField("imdump.comparison.old", .double, [.comparison], "the value in the old capture"),
        ECSField("imdump.comparison.new", .double, [.comparison], "the value in the new capture"),
        ECSField("imdump.comparison.change", .double, [.comparison], "the new value minus the old value"),
      ])

  /// Fields of alerts.
  static let alert: [ECSField] =
    [
      ECSField("imdump.alert.id", .keyword, [.alert], "ID of one firing of the alert"),
      ECSField(
        "imdump.alert.fingerprint", .keyword, [.alert],
        "ID of the rule and of what the alert is about, independent of the value"),
      ECSField(
        "imdump.alert.state", .keyword, [.alert], "the state of the alert",
        values: ["firing", "resolved", "held", "released"]),
      ECSField("imdump.alert.metric", .keyword, [.alert], "the rule's metric"),
      ECSField(
        "imdump.alert.direction", .keyword, [.alert],
        "the direction of the messages whose round trips the alert is about",
        values: ["client_to_server", "server_to_client"]),
      ECSField(
        "imdump.alert.operator", .keyword, [.alert], "how the value and the threshold are compared",
        values: [">", ">=", "<", "<=", "==", "absent"]),
      ECSField("imdump.alert.value", .double, [.alert], "the value of the metric, in its own unit"),
      ECSField("imdump.alert.threshold", .double, [.alert], "the threshold beyond which the rule fires"),
      ECSField("imdump.alert.clear_threshold", .double, [.alert], "the threshold beyond which the rule keeps firing"),
      ECSField(
        "imdump.alert.scope", .keyword, [.alert], "the scope of the rule",
        values: AlertScope.allCases.map(\.rawValue)),
      ECSField(
        "imdump.alert.for_s", .long, .seconds, [.alert], "how long the condition must hold before the rule fires"),
      ECSField(
        "imdump.alert.window_s", .long, .seconds, [.alert], "the length of the window from which the value is taken"),
      ECSField("imdump.alert.samples", .long, [.alert], "number of samples in the window"),
      ECSField("imdump.alert.affected", .long, [.alert], "number of samples in the window that failed"),
      ECSField("imdump.alert.since", .date, [.alert], "when the condition began to hold"),
      ECSField("imdump.alert.count", .long, [.alert], "how often this fingerprint has fired"),
      ECSField("imdump.alert.suppressed", .long, [.alert], "earlier alerts of the rule that were not reported"),
      ECSField(
        "imdump.alert.unknown", .long, [.alert], "messages in the window whose fate the capture does not show"),
      ECSField("imdump.alert.dropped", .long, [.alert], "packets dropped, or gaps, because of which the alert is held"),
      ECSField("imdump.alert.evidence", .keyword, [.alert], "the capture file with the packets that led to the alert"),
      ECSField(
        "imdump.alert.group_by", .keyword, [.alert], "how the rule groups within its scope",
        values: ["client", "session", "type", "owner", "network"]),
      ECSField(
        "imdump.alert.group", .keyword, [.alert],
        "the client, session, type, owner or network that the alert is about"),
    ]
    + ["first", "last"].flatMap { which in
      [
        ECSField("imdump.alert.\(which).conn_id", .keyword, [.alert], "ID of the \(which) affected connection"),
        ECSField(
          "imdump.alert.\(which).client", .keyword, [.alert],
          "address and port of the client of the \(which) affected connection"),
        ECSField(
          "imdump.alert.\(which).server", .keyword, [.alert],
          "address and port of the server of the \(which) affected connection"),
        ECSField(
          "imdump.alert.\(which).at", .date, [.alert], "when the \(which) affected connection was affected"),
      ]
    }
}
