extension ECSFields {
  /// Fields of the Elastic Common Schema that tell what a document is and when.
  static let common: [ECSField] = [
    ECSField("@timestamp", .date, ECSDataset.allCases, "packet time of the event, or the end of the period"),
    ECSField("ecs.version", .keyword, ECSDataset.allCases, "the version of the Elastic Common Schema"),
    ECSField(
      "data_stream.type", .keyword, ECSDataset.allCases, "the data stream's type", values: ["logs", "metrics"]),
    ECSField(
      "data_stream.dataset", .keyword, ECSDataset.allCases, "the dataset",
      values: ECSDataset.allCases.map(\.name).sorted()),
    ECSField("data_stream.namespace", .keyword, ECSDataset.allCases, "the data stream's namespace"),
    ECSField("message", .sentence, ECSDataset.allCases, "the document in one sentence"),
    ECSField("tags", .keyword, [.alert], "always imdump and alert", isArray: true),
    ECSField("labels", .object, [.alert], "the labels of the rule and its severity"),

    ECSField(
      "event.id", .keyword, ECSDataset.allCases,
      "unique ID of the document; independent of the run in documents of messages, connections and weird events"),
    ECSField(
      "event.kind", .keyword, ECSDataset.allCases, "the kind of document", values: ["event", "metric", "alert"]),
    ECSField("event.module", .keyword, ECSDataset.allCases, "always imdump"),
    ECSField("event.provider", .keyword, ECSDataset.allCases, "the same as observer.product"),
    ECSField(
      "event.dataset", .keyword, ECSDataset.allCases, "the dataset", values: ECSDataset.allCases.map(\.name).sorted()),
    ECSField("event.category", .keyword, ECSDataset.allCases, "always network", values: ["network"], isArray: true),
    ECSField(
      "event.type", .keyword, ECSDataset.allCases, "the types of the event",
      values: ["connection", "end", "info", "protocol"], isArray: true),
    ECSField(
      "event.action", .keyword, [.message, .connection, .weird, .alert, .capture],
      "the event that the document reports", isDimension: true),
    ECSField(
      "event.outcome", .keyword, [.message, .connection, .weird, .alert], "the outcome of the event",
      values: ["success", "failure", "unknown"]),
    ECSField(
      "event.reason", .keyword, [.message, .connection, .alert],
      "the status of a rejection, the reason why the connection ended, or a description of the alert"),
    ECSField("event.sequence", .long, [.message, .weird], "the sequence number of the message on the wire"),
    ECSField("event.severity", .long, [.alert], "the rule's severity as a number"),
    ECSField(
      "event.start", .date, [.message, .connection, .summary, .alert, .capture, .comparison], "start of the event"),
    ECSField("event.end", .date, [.message, .connection, .summary, .alert, .capture, .comparison], "end of the event"),
    ECSField(
      "event.duration", .long, .nanoseconds, [.message, .connection, .summary, .alert, .capture, .comparison],
      "time from the first copy of a message to its answer, or from start to end"),

    ECSField(
      "error.type", .keyword, [.weird], "the layer in which the problem was found",
      values: ["tcp", "decode", "tracking"]),
    ECSField("error.code", .keyword, [.weird], "the name of the problem"),
    ECSField("error.message", .sentence, [.weird], "a description of the problem"),

    ECSField("observer.vendor", .keyword, ECSDataset.allCases, "always imdump"),
    ECSField(
      "observer.product", .keyword, ECSDataset.allCases, "the program: imdump, or impeer in documents of an endpoint"),
    ECSField("observer.type", .keyword, ECSDataset.allCases, "always sensor"),
    ECSField("observer.name", .keyword, ECSDataset.allCases, "the name of the sensor: --sensor, or the host name"),
    ECSField("observer.version", .keyword, ECSDataset.allCases, "the version of imdump"),
    ECSField("observer.ingress.interface.name", .keyword, .ofCaptures, "the interface of a live capture"),

    ECSField("rule.id", .keyword, [.alert], "the rule's name"),
    ECSField("rule.name", .keyword, [.alert], "the summary of the rule"),
    ECSField("rule.category", .keyword, [.alert], "the rule's metric"),
    ECSField("rule.reference", .keyword, [.alert], "the URL of the rule's runbook"),
    ECSField("rule.ruleset", .keyword, [.alert], "always imdump"),
    ECSField("rule.version", .keyword, [.alert], "the version of the rule language"),
  ]

  /// Fields of the Elastic Common Schema that tell who talks to whom.
  static let ends: [ECSField] =
    [
      ECSField("source.ip", .ip, .ofConnections, "address of the end that sent the message or opened the connection"),
      ECSField("source.port", .long, .ofConnections, "port of the source"),
      ECSField(
        "source.bytes", .long, .bytes, [.message, .connection],
        "bytes of the message's frame, or of all packets from the source"),
      ECSField("source.packets", .long, [.connection], "packets from the source"),
      ECSField(
        "destination.ip", .ip, .ofConnections,
        "address of the end that received the message or accepted the connection"),
      ECSField("destination.port", .long, .ofConnections, "port of the destination"),
      ECSField("destination.bytes", .long, .bytes, [.connection], "bytes of all packets from the destination"),
      ECSField("destination.packets", .long, [.connection], "packets from the destination"),
      ECSField(
        "client.ip", .ip, .ofConnections + [.alert],
        "address of the end that opened the connection, or the client's address from a PROXY header"),
      ECSField("client.port", .long, .ofConnections + [.alert], "port of the client"),
      ECSField(
        "client.nat.ip", .ip, .ofConnections, "address of the load balancer, if a PROXY header names the client"),
      ECSField(
        "client.nat.port", .long, .ofConnections, "port of the load balancer, if a PROXY header names the client"),
      ECSField("client.bytes", .long, .bytes, [.connection], "bytes of all packets from the client"),
      ECSField("client.packets", .long, [.connection], "packets from the client"),
      ECSField("client.user.id", .keyword, .ofConnections, "the name that the client gave"),
      ECSField(
        "client.user.hash", .keyword, .ofConnections,
        "a keyed hash of the client's name, if the profile marks it as sensitive"),
      ECSField(
        "client.as.number", .long, .ofConnections + [.alert],
        "the autonomous system number of the client's network, from --networks"),
      ECSField(
        "client.as.organization.name", .keyword, .ofConnections + [.alert],
        "the organization of the client's autonomous system, from --networks"),
      ECSField(
        "client.geo.name", .keyword, .ofConnections + [.alert], "the name of the client's network, from --networks"),
      ECSField(
        "service.name", .keyword, [.message, .connection, .alert],
        "live only: the systemd unit that owns the connection's local end, or in an alert by owner also a container"),
      ECSField(
        "container.id", .keyword, [.message, .connection],
        "live only: the container that owns the local end of the connection"),
      ECSField(
        "orchestrator.resource.id", .keyword, [.message, .connection], "live only: the UID of that container's pod"),
      ECSField(
        "user.id", .keyword, [.message, .connection], "live only: the ID of the user that created the local socket"),
      ECSField("server.ip", .ip, .ofServers, "address of the end that accepted the connection"),
      ECSField("server.port", .long, .ofServers, "port of the server"),
      ECSField("server.bytes", .long, .bytes, [.connection], "bytes of all packets from the server"),
      ECSField("server.packets", .long, [.connection], "packets from the server"),
      ECSField("network.transport", .keyword, .ofServers, "always tcp", values: ["tcp"]),
      ECSField(
        "network.type", .keyword, [.message, .connection, .weird, .summary, .comparison], "the IP version",
        values: ["ipv4", "ipv6"]),
      ECSField("network.protocol", .keyword, .ofServers, "the profile's name in lower case"),
      ECSField("network.community_id", .keyword, .ofConnections, "the connection's Community ID, version 1, seed 0"),
      ECSField(
        "network.direction", .keyword, [.message], "direction of the message as seen from the server's network",
        values: ["inbound", "outbound"]),
      ECSField("network.bytes", .long, .bytes, [.connection], "bytes of all packets of the connection"),
      ECSField("network.packets", .long, [.connection], "all packets of the connection"),
      ECSField(
        "related.ip", .ip, [.connection], "the addresses of both ends, and of the load balancer if there is one",
        isArray: true),
    ]

  /// Own fields that more than one dataset has.
  static let own: [ECSField] = [
    ECSField("imdump.schema", .keyword, ECSDataset.allCases, "the version of this list of fields"),
    ECSField(
      "imdump.mode", .keyword, ECSDataset.allCases, "whether packets come from an interface or from files",
      values: ["live", "offline"]),
    ECSField(
      "imdump.run.id", .keyword, ECSDataset.allCases,
      "ID of the run: random in a live capture, derived from the input and the options for files", isDimension: true),
    ECSField("imdump.sensor.name", .keyword, ECSDataset.allCases, "the sensor's name", isDimension: true),
    ECSField(
      "imdump.interface.name", .keyword, .ofCaptures, "the interface of a live capture", isDimension: true),
    ECSField("imdump.profile.name", .keyword, .ofServers, "the name of the protocol profile", isDimension: true),
    ECSField("imdump.profile.version", .keyword, .ofServers, "the profile's version"),
    ECSField("imdump.endpoint.key", .keyword, .ofServers, "the server's address and port", isDimension: true),
    ECSField("imdump.endpoint.role", .keyword, .ofServers, "the role of the endpoint", values: ["server"]),
    ECSField(
      "imdump.conn.id", .keyword, .ofConnections + [.alert], "ID of the connection: that of the run, and a number"),
    ECSField(
      "imdump.conn.uid", .keyword, .ofConnections + [.alert],
      "ID of the connection that is the same in every run whose first packet of the connection is the same"),
    ECSField("imdump.app_session.id", .keyword, .ofConnections, "the session's number or name"),
  ]
}
