extension ECSFields {
  /// Fields of the Elastic Common Schema that tell what a document is and when.
  static let common: [ECSField] = [
    ECSField("@timestamp", .date, ECSDataset.allCases, "packet time: when it happened, or the end of the period"),
    ECSField("ecs.version", .keyword, ECSDataset.allCases, "the version of the Elastic Common Schema"),
    ECSField(
      "data_stream.type", .keyword, ECSDataset.allCases, "the data stream's type", values: ["logs", "metrics"]),
    ECSField(
      "data_stream.dataset", .keyword, ECSDataset.allCases, "the dataset",
      values: ECSDataset.allCases.map(\.name).sorted()),
    ECSField("data_stream.namespace", .keyword, ECSDataset.allCases, "the data stream's namespace"),
    ECSField("message", .sentence, ECSDataset.allCases, "the document in one sentence"),
    ECSField("tags", .keyword, [.alert], "always imdump and alert", isArray: true),
    ECSField("labels", .object, [.alert], "the rule's labels and its severity"),

    ECSField("event.id", .keyword, ECSDataset.allCases, "names the document; the same in a second run over a file"),
    ECSField(
      "event.kind", .keyword, ECSDataset.allCases, "what sort of document it is", values: ["event", "metric", "alert"]),
    ECSField("event.module", .keyword, ECSDataset.allCases, "always imdump"),
    ECSField("event.provider", .keyword, ECSDataset.allCases, "what observer.product says"),
    ECSField(
      "event.dataset", .keyword, ECSDataset.allCases, "the dataset", values: ECSDataset.allCases.map(\.name).sorted()),
    ECSField("event.category", .keyword, ECSDataset.allCases, "always network", values: ["network"], isArray: true),
    ECSField(
      "event.type", .keyword, ECSDataset.allCases, "its types", values: ["connection", "end", "info", "protocol"],
      isArray: true),
    ECSField(
      "event.action", .keyword, [.message, .connection, .weird, .alert, .capture], "what happened", isDimension: true),
    ECSField(
      "event.outcome", .keyword, [.message, .connection, .weird, .alert], "how it ended",
      values: ["success", "failure", "unknown"]),
    ECSField(
      "event.reason", .keyword, [.message, .connection, .alert],
      "the status that refused a message, why the connection ended, or the alert in words"),
    ECSField("event.sequence", .long, [.message, .weird], "the message's number on the wire"),
    ECSField("event.severity", .long, [.alert], "the rule's severity as a number"),
    ECSField("event.start", .date, [.message, .connection, .summary, .alert, .capture, .comparison], "when it began"),
    ECSField("event.end", .date, [.message, .connection, .summary, .alert, .capture, .comparison], "when it ended"),
    ECSField(
      "event.duration", .long, .nanoseconds, [.message, .connection, .summary, .alert, .capture, .comparison],
      "from the first copy to the answer, or from start to end"),

    ECSField("error.type", .keyword, [.weird], "the layer", values: ["tcp", "decode", "tracking"]),
    ECSField("error.code", .keyword, [.weird], "the issue's name"),
    ECSField("error.message", .sentence, [.weird], "what, where and how much"),

    ECSField("observer.vendor", .keyword, ECSDataset.allCases, "always imdump"),
    ECSField("observer.product", .keyword, ECSDataset.allCases, "imdump, or impeer where an endpoint tells of itself"),
    ECSField("observer.type", .keyword, ECSDataset.allCases, "always sensor"),
    ECSField("observer.name", .keyword, ECSDataset.allCases, "the sensor's name: the host's, or --sensor"),
    ECSField("observer.version", .keyword, ECSDataset.allCases, "imdump's version"),
    ECSField("observer.ingress.interface.name", .keyword, .ofCaptures, "the interface of a live capture"),

    ECSField("rule.id", .keyword, [.alert], "the rule's name"),
    ECSField("rule.name", .keyword, [.alert], "the rule in words"),
    ECSField("rule.category", .keyword, [.alert], "the rule's metric"),
    ECSField("rule.reference", .keyword, [.alert], "the address of the rule's runbook"),
    ECSField("rule.ruleset", .keyword, [.alert], "always imdump"),
    ECSField("rule.version", .keyword, [.alert], "the version of the language of rules"),
  ]

  /// Fields of the Elastic Common Schema that tell who talks to whom.
  static let ends: [ECSField] =
    [
      ECSField("source.ip", .ip, .ofConnections, "who sent the message, or opened the connection"),
      ECSField("source.port", .long, .ofConnections, "its port"),
      ECSField("source.bytes", .long, .bytes, [.message, .connection], "bytes of the frame, or of its packets"),
      ECSField("source.packets", .long, [.connection], "its packets"),
      ECSField("destination.ip", .ip, .ofConnections, "who received the message, or accepted the connection"),
      ECSField("destination.port", .long, .ofConnections, "its port"),
      ECSField("destination.bytes", .long, .bytes, [.connection], "bytes of its packets"),
      ECSField("destination.packets", .long, [.connection], "its packets"),
      ECSField(
        "client.ip", .ip, .ofConnections + [.alert],
        "who opened the connection; the one that a PROXY header names, where there is one"),
      ECSField("client.port", .long, .ofConnections + [.alert], "its port"),
      ECSField(
        "client.nat.ip", .ip, .ofConnections, "the load balancer's address, where a PROXY header names the client"),
      ECSField("client.nat.port", .long, .ofConnections, "its port"),
      ECSField("client.bytes", .long, .bytes, [.connection], "bytes of its packets"),
      ECSField("client.packets", .long, [.connection], "its packets"),
      ECSField("client.user.id", .keyword, .ofConnections, "the name that the client gave itself"),
      ECSField(
        "client.user.hash", .keyword, .ofConnections,
        "a keyed hash of that name, where the profile calls it sensitive"),
      ECSField(
        "client.as.number", .long, .ofConnections + [.alert],
        "the autonomous system of the client's network, by --networks"),
      ECSField("client.as.organization.name", .keyword, .ofConnections + [.alert], "whose that is, by --networks"),
      ECSField("client.geo.name", .keyword, .ofConnections + [.alert], "the client's network, as --networks names it"),
      ECSField(
        "service.name", .keyword, [.message, .connection, .alert],
        "live: the systemd unit that has the connection's end of this host; of an alert by owner, also a container"),
      ECSField("container.id", .keyword, [.message, .connection], "live: the container that has it"),
      ECSField("orchestrator.resource.id", .keyword, [.message, .connection], "live: the UID of that container's pod"),
      ECSField("user.id", .keyword, [.message, .connection], "live: the number of the user that made that socket"),
      ECSField("server.ip", .ip, .ofServers, "who accepted the connection"),
      ECSField("server.port", .long, .ofServers, "its port"),
      ECSField("server.bytes", .long, .bytes, [.connection], "bytes of its packets"),
      ECSField("server.packets", .long, [.connection], "its packets"),
      ECSField("network.transport", .keyword, .ofServers, "always tcp", values: ["tcp"]),
      ECSField(
        "network.type", .keyword, [.message, .connection, .weird, .summary, .comparison], "the version of IP",
        values: ["ipv4", "ipv6"]),
      ECSField("network.protocol", .keyword, .ofServers, "the profile's name in lower case"),
      ECSField("network.community_id", .keyword, .ofConnections, "the connection's Community ID, version 1, seed 0"),
      ECSField(
        "network.direction", .keyword, [.message], "as the server's network sees it", values: ["inbound", "outbound"]),
      ECSField("network.bytes", .long, .bytes, [.connection], "bytes of all packets"),
      ECSField("network.packets", .long, [.connection], "all packets"),
      ECSField("related.ip", .ip, [.connection], "both addresses, and a load balancer's", isArray: true),
    ]

  /// Own fields that more than one dataset has.
  static let own: [ECSField] = [
    ECSField("imdump.schema", .keyword, ECSDataset.allCases, "the version of these fields"),
    ECSField(
      "imdump.mode", .keyword, ECSDataset.allCases, "whether packets come from an interface or from files",
      values: ["live", "offline"]),
    ECSField(
      "imdump.run.id", .keyword, ECSDataset.allCases,
      "names the run: at random live, by its input and options over files"),
    ECSField("imdump.sensor.name", .keyword, ECSDataset.allCases, "the sensor's name", isDimension: true),
    ECSField(
      "imdump.interface.name", .keyword, .ofCaptures, "the interface of a live capture", isDimension: true),
    ECSField("imdump.profile.name", .keyword, .ofServers, "the protocol's profile", isDimension: true),
    ECSField("imdump.profile.version", .keyword, .ofServers, "the profile's version"),
    ECSField("imdump.endpoint.key", .keyword, .ofServers, "the server's address and port", isDimension: true),
    ECSField("imdump.endpoint.role", .keyword, .ofServers, "whose endpoint it is", values: ["server"]),
    ECSField("imdump.conn.id", .keyword, .ofConnections + [.alert], "names the connection: the run and a number"),
    ECSField("imdump.app_session.id", .keyword, .ofConnections, "the session's number or name"),
  ]
}
