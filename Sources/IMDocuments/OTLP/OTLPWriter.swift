import IMEngine
import IMMetrics
import IMOTLP
import IMOutput
import IMWire

/// Makes OpenTelemetry's logs, metrics and spans of what `ECSWriter` makes documents of.
///
/// One file for each kind of record: `OTLPWriter+Message.swift` and so on. Names, ids and sentences are those of the documents;
/// docs/otlp.md has the mapping.
final class OTLPWriter {
  /// The version of the semantic conventions whose names are used.
  static let schema = "https://opentelemetry.io/schemas/1.38.0"

  /// Severities, by the numbers of the protocol's enumeration.
  enum Severity: Int {
    case info = 9
    case warning = 13
    case error = 17
    case fatal = 21

    /// `severityText`.
    var name: String {
      switch self {
      case .info: "INFO"
      case .warning: "WARN"
      case .error: "ERROR"
      case .fatal: "FATAL"
      }
    }
  }

  let ecs: ECSWriter
  let options: OTLPOptions
  let lines: OTLPLines
  /// What is counted for points.
  var metrics: OTLPMetrics
  /// A message's record from its second time to its body, by `Fate` and by whether it was answered late.
  let messageHeads: [Piece]
  /// The attributes that tell direction and fate, by direction and `Fate`; the cause, by `Cause`.
  let fateAttributes: [Piece], causeAttributes: [Piece]
  /// Where the texts are put together that ids are hashes of, and sentences.
  var scratch = ByteWriter(capacity: 256)

  init(_ ecs: ECSWriter, _ options: OTLPOptions, handOn: @escaping (OTLPSignal, UnsafeRawBufferPointer) -> Void) {
    self.ecs = ecs
    self.options = options
    metrics = OTLPMetrics(options.temporality)
    let context = ecs.context
    func attribute(_ key: String, _ value: String) -> String {
      "{\"key\":\"\(key)\",\"value\":{\"stringValue\":\"\(JSONLines.escaped(value))\"}}"
    }
    let resource = [
      attribute("service.name", context.product), attribute("service.version", context.version),
      attribute("service.instance.id", context.run.text), attribute("host.name", context.sensor),
      attribute("data_stream.namespace", context.namespace),
    ].joined(separator: ",")
    lines = OTLPLines(
      resource: resource, version: JSONLines.escaped(context.version), schema: Self.schema,
      scope: { signal in
        signal == .metrics ? ",\"attributes\":[\(attribute("data_stream.dataset", ECSDataset.summary.name))]" : ""
      }, handOn: handOn)
    messageHeads = Fate.allCases.flatMap { fate in
      ["", "_late"].map { Self.head("imdump.message.message_\(fate.name)\($0)", Self.severity(fate)) }
    }
    fateAttributes = ["client_to_server", "server_to_client"].flatMap { way in
      Fate.allCases.map {
        Piece("," + attribute("imdump.msg.direction", way) + "," + attribute("imdump.msg.fate", $0.name))
      }
    }
    causeAttributes = Cause.allCases.map { Piece("," + attribute("imdump.msg.cause", $0.name)) }
  }

  static func severity(_ fate: Fate) -> Severity {
    switch fate {
    case .unanswered, .damaged: .error
    case .rejected, .unknown: .warning
    case .acked, .ackedAfterRetry, .unacknowledged, .pending: .info
    }
  }

  /// A record from its second time, whose digits come first, to the first quote of its body.
  static func head(_ name: String, _ severity: Severity) -> Piece {
    Piece(
      "\",\"severityNumber\":\(severity.rawValue),\"severityText\":\"\(severity.name)\",\"eventName\":\"\(name)\","
        + "\"body\":{\"stringValue\":\"")
  }

  /// Begins a record of an event, up to the first quote of its body.
  func begin(
    _ name: String, _ severity: Severity, at time: Timestamp, observedAt: Timestamp, _ out: inout ByteWriter
  ) {
    out.literal("{\"timeUnixNano\":\"")
    out.nanoseconds(time)
    out.literal("\",\"observedTimeUnixNano\":\"")
    out.nanoseconds(max(time, observedAt))
    out.literal("\",\"severityNumber\":")
    out.number(UInt64(severity.rawValue))
    out.literal(",\"severityText\":\"")
    out.text(severity.name)
    out.literal("\",\"eventName\":\"")
    out.text(name)
    out.literal("\",\"body\":{\"stringValue\":\"")
  }

  /// Begins the attributes with the event's id, which `id` writes, and the dataset.
  @inline(__always)
  func attributes(_ dataset: ECSDataset, _ out: inout ByteWriter, id: (inout ByteWriter) -> Void) {
    out.literal("\"},\"attributes\":[{\"key\":\"imdump.event.id\",\"value\":{\"stringValue\":\"")
    id(&out)
    out.literal("\"}},{\"key\":\"data_stream.dataset\",\"value\":{\"stringValue\":\"")
    out.text(dataset.name)
    out.literal("\"}}")
  }
}

extension ECSWriter {
  /// The attributes of OpenTelemetry that tell who talks to whom, each with a comma in front.
  func common(
    _ info: ConnectionInfo, _ uid: ConnectionUID.Text?, _ plan: UInt8, session: ConnectionRecord.SessionLabel,
    _ out: inout ByteWriter
  ) {
    out.attribute("network.transport", "tcp")
    if info.peer.address.isIPv6 {
      out.attribute("network.type", "ipv6")
    } else {
      out.attribute("network.type", "ipv4")
    }
    if let profile = profile(plan) {
      out.attribute("network.protocol.name") { $0.text(profile.name.lowercased()) }
      if let version = profile.versionText { out.attribute("network.protocol.version", text: version) }
    }
    out.attribute("client.address") { $0.address(info.client.address) }
    out.attribute("client.port", number: UInt64(info.client.port))
    server(info.server, attributes: &out)
    // An alert's connection that only an earlier run saw has no number in this one.
    if info.serial > 0 { out.attribute("imdump.conn.id") { connectionID(info.serial, &$0) } }
    if let uid { out.attribute("imdump.conn.uid") { $0.bytes(uid) } }
    switch session {
    case .none: break
    case .number(let number): out.attribute("session.id") { $0.number(number) }
    case .name(let name): out.attribute("session.id", text: String(name.prefix(JSONLines.maximumText)))
    }
  }

  /// A server's address and port.
  func server(_ server: Endpoint, attributes out: inout ByteWriter) {
    out.attribute("server.address") { $0.address(server.address) }
    out.attribute("server.port", number: UInt64(server.port))
  }
}
