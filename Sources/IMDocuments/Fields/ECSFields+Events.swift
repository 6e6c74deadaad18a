import IMAlerts
extension ECSFields {
  /// Fields of messages.
  static let message: [ECSField] = [
    ECSField(
      "imdump.msg.id", .keyword, [.message], "names the message; a second document of a late answer has the same"),
    ECSField("imdump.msg.type", .keyword, [.message], "the type's name in the profile"),
    ECSField("imdump.msg.type_id", .long, [.message], "the type's number on the wire"),
    ECSField("imdump.msg.version", .keyword, [.message], "the protocol's version in the header"),
    ECSField("imdump.msg.sequence", .long, [.message], "the message's number on the wire"),
    ECSField(
      "imdump.msg.direction", .keyword, [.message], "which way it went",
      values: ["client_to_server", "server_to_client"]),
    ECSField(
      "imdump.msg.fate", .keyword, [.message], "what became of it; unacknowledged where it asks for no answer",
      values: [
        "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unknown", "unacknowledged",
      ]),
    ECSField(
      "imdump.msg.cause", .keyword, [.message], "why it did not succeed",
      values: ["network", "peer", "capture", "status", "checksum"]),
    ECSField("imdump.msg.status", .long, [.message], "the status of its answer, as it is on the wire"),
    ECSField("imdump.msg.status_name", .keyword, [.message], "the profile's name of that status"),
    ECSField("imdump.msg.late", .boolean, [.message], "true in the second document of one that was given up"),
    ECSField("imdump.msg.copies", .long, [.message], "copies seen, the first one included"),
    ECSField("imdump.msg.retries", .long, [.message], "copies after the first, until the fate was decided"),
    ECSField("imdump.msg.duplicates", .long, [.message], "copies that came after the answer"),
    ECSField(
      "imdump.msg.rtt_ms", .double, .milliseconds, [.message], "from message to answer; absent where it was sent twice"),
    ECSField("imdump.msg.bytes", .long, .bytes, [.message], "bytes of the frame"),
    ECSField("imdump.msg.header_bytes", .long, .bytes, [.message], "bytes of its header"),
    ECSField("imdump.msg.body_bytes", .long, .bytes, [.message], "bytes of its body"),
    ECSField("imdump.msg.stream_offset", .long, .bytes, [.message], "where the frame begins in its direction"),
    ECSField("imdump.msg.tlv", .flattened, [.message], "the path of each element and its length, never its content"),
    ECSField("imdump.msg.tlv_count", .long, [.message], "elements in the body"),
    ECSField("imdump.msg.tlv_depth", .long, [.message], "how deep they nest"),
    ECSField("imdump.msg.checksum.algorithm", .keyword, [.message], "the checksum's name"),
    ECSField(
      "imdump.msg.checksum.status", .keyword, [.message], "what the checksum said",
      values: ["be", "le", "bad", "none", "good", "unchecked"]),
    ECSField(
      "imdump.msg.sampled", .double, [.message],
      "the share of the sessions that sample=1/N chose; absent for messages that errors or slow chose"),
  ]

  /// Attributes that only OpenTelemetry's records have, beside the fields of documents: of no dataset.
  package static let telemetry: [ECSField] = [
    ECSField("imdump.event.id", .keyword, [], "OpenTelemetry: event.id of the document that says the same"),
    ECSField("imdump.alert.rule", .keyword, [], "OpenTelemetry: the rule's name"),
    ECSField("imdump.alert.runbook", .keyword, [], "OpenTelemetry: the address of the rule's runbook"),
    ECSField(
      "imdump.connection.outcome", .keyword, [], "OpenTelemetry: how connections began or ended",
      values: ["opened", "closed", "reset", "refused", "timed_out"]),
    ECSField(
      "imdump.heartbeat.outcome", .keyword, [], "OpenTelemetry: what became of heartbeats",
      values: ["answered", "missed", "unknown", "unacknowledged"]),
    ECSField(
      "imdump.capture.outcome", .keyword, [], "OpenTelemetry: where the capture's packets went",
      values: ["received", "dropped_by_kernel", "dropped_by_interface", "processed"]),
  ]

  /// Fields of issues.
  static let weird: [ECSField] = [
    ECSField("imdump.weird.name", .keyword, [.weird], "the issue's name"),
    ECSField("imdump.weird.count", .long, [.weird], "issues of this name on the connection so far"),
    ECSField("imdump.weird.suppressed", .long, [.weird], "of them, without a document since the last one"),
    ECSField("imdump.weird.stream_offset", .long, .bytes, [.weird], "where it is in its direction"),
  ]

  /// Fields of what two captures have in common and where they differ.
  static let comparison: [ECSField] =
    [
      ECSField(
        "imdump.comparison.figure", .keyword, [.comparison], "the figure, as imdump diff names it", isDimension: true),
      ECSField(
        "imdump.comparison.unit", .keyword, [.comparison], "what its values are",
        values: ["ratio", "milliseconds", "count"]),
      ECSField(
        "imdump.comparison.more_than_chance", .boolean, [.comparison], "whether chance does not explain the difference"),
      ECSField(
        "imdump.comparison.failed", .keyword, [.comparison], "the conditions of --fail-on about it that hold",
        isArray: true),
    ]
    + ECSField.measured(
      .gauge,
      [
        ECSField("imdump.comparison.old", .double, [.comparison], "its value in the old capture"),
        ECSField("imdump.comparison.new", .double, [.comparison], "its value in the new capture"),
        ECSField("imdump.comparison.change", .double, [.comparison], "the new value less the old one"),
      ])

  /// Fields of alerts.
  static let alert: [ECSField] =
    [
      ECSField("imdump.alert.id", .keyword, [.alert], "names one firing"),
      ECSField("imdump.alert.fingerprint", .keyword, [.alert], "names the rule and what it is about, never its value"),
      ECSField(
        "imdump.alert.state", .keyword, [.alert], "what happened to it",
        values: ["firing", "resolved", "held", "released"]),
      ECSField("imdump.alert.metric", .keyword, [.alert], "the rule's metric"),
      ECSField(
        "imdump.alert.direction", .keyword, [.alert], "the direction of the messages whose round trips it is about",
        values: ["client_to_server", "server_to_client"]),
      ECSField(
        "imdump.alert.operator", .keyword, [.alert], "how value and threshold are compared",
        values: [">", ">=", "<", "<=", "==", "absent"]),
      ECSField("imdump.alert.value", .double, [.alert], "the metric's value, in its own unit"),
      ECSField("imdump.alert.threshold", .double, [.alert], "beyond it the rule fires"),
      ECSField("imdump.alert.clear_threshold", .double, [.alert], "on this side of it the alert is resolved"),
      ECSField(
        "imdump.alert.scope", .keyword, [.alert], "what the rule is about",
        values: AlertScope.allCases.map(\.rawValue)),
      ECSField("imdump.alert.for_s", .long, .seconds, [.alert], "how long it must hold before it fires"),
      ECSField("imdump.alert.window_s", .long, .seconds, [.alert], "the time that the value is taken from"),
      ECSField("imdump.alert.samples", .long, [.alert], "what the value is made of"),
      ECSField("imdump.alert.affected", .long, [.alert], "of them, those that are wrong"),
      ECSField("imdump.alert.since", .date, [.alert], "when it began"),
      ECSField("imdump.alert.count", .long, [.alert], "how often this fingerprint has fired"),
      ECSField("imdump.alert.suppressed", .long, [.alert], "alerts of the rule that were not told before this one"),
      ECSField(
        "imdump.alert.unknown", .long, [.alert], "messages in the window of which the capture cannot tell what became"),
      ECSField("imdump.alert.dropped", .long, [.alert], "packets that the capture lost, for which it is held"),
      ECSField("imdump.alert.evidence", .keyword, [.alert], "the capture file with the packets behind it"),
      ECSField(
        "imdump.alert.group_by", .keyword, [.alert], "what the rule keeps a state for within its scope",
        values: ["client", "session", "type", "owner", "network"]),
      ECSField("imdump.alert.group", .keyword, [.alert], "the client, session, type, owner or network it is about"),
    ]
    + ["first", "last"].flatMap { which in
      [
        ECSField("imdump.alert.\(which).conn_id", .keyword, [.alert], "the \(which) connection that is wrong"),
        ECSField("imdump.alert.\(which).client", .keyword, [.alert], "its client's address and port"),
        ECSField("imdump.alert.\(which).server", .keyword, [.alert], "its server's address and port"),
        ECSField("imdump.alert.\(which).at", .date, [.alert], "when"),
      ]
    }
}
