import Foundation
import IMEngine
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire

/// Runs an engine with an ECS sink over packets, and reads what it wrote.
enum ECSRun {
  /// `tjp` as a plan made by hand, so that these tests need no profile.
  static func plan() -> ProtocolPlan {
    var draft = ProtocolPlan.Draft()
    draft.plan.magicMask = 0xffff_ffff_ff00_0000
    draft.plan.magic = 0xdeca_fbad_0100_0000
    draft.plan.signatureMask = 0xffff_ffff_0000_0000
    draft.plan.headerCount = 28
    draft.plan.length = Field(offset: 20, byteCount: 4)
    draft.plan.maximumBody = 10 << 20
    draft.plan.type = Field(offset: 6, byteCount: 2)
    draft.plan.sequence = Field(offset: 8, byteCount: 4)
    draft.plan.time = Field(offset: 12, byteCount: 4)
    draft.plan.session = Field(offset: 18, byteCount: 2)
    draft.plan.checksum = Field(offset: 24, byteCount: 4)
    draft.plan.checksumRule = .crc32
    draft.plan.checksumEitherOrder = true
    draft.plan.counterBits = 24
    draft.plan.counterWrap = 0xff_0000
    draft.plan.ackBodyCount = 4
    draft.plan.ackBody = Field(offset: 0, byteCount: 4)
    draft.plan.tlv.shape = .tag2Length4
    draft.plan.tlv.tag = Field(offset: 0, byteCount: 2)
    draft.plan.tlv.length = Field(offset: 2, byteCount: 4)
    draft.plan.tlv.headerCount = 6
    draft.plan.tlv.nestedTag = 0xffff
    (draft.plan.handshakeRequest, draft.plan.handshakeAnswer) = (1, 2)
    let roles: [FrameRole] = [.message, .heartbeat, .acknowledgment, .control, .receipt]
    for (value, role) in roles.enumerated() {
      var kind = FrameKind()
      kind.value = UInt64(value)
      kind.role = role
      kind.flags = .numbered
      switch role {
      case .acknowledgment:
        kind.answers = 0b11011
        kind.flags.insert(.noTLV)
      case .heartbeat:
        kind.flags.formUnion([.expectsAck, .echoed, .noTLV, .fromClient])
        kind.maximumBody = 0
      case .control: kind.flags.formUnion([.expectsAck, .handshake])
      case .message, .receipt, .other: kind.flags.insert(.expectsAck)
      }
      draft.kinds.append(kind)
    }
    return ProtocolPlan(
      name: "tjp", version: "1", ports: [8080], typeNames: ["data", "heartbeat", "ack", "control", "receipt"],
      tagNames: [:], checksumName: "crc32", draft: draft)
  }

  /// The documents' bytes, by dataset when `options` separate them, else all under `.message`.
  static func bytes(
    _ packets: [TimedPacket], _ options: ECSOptions, figures: CaptureFigures = CaptureFigures(),
    incidents: [(CaptureIncident, Timestamp)] = []
  ) -> [ECSDataset: [UInt8]] {
    final class Collector {
      var bytes: [ECSDataset: [UInt8]] = [:]
    }
    let collector = Collector()
    let context = ECSContext(
      run: RunIdentity(hashing: ["test"]), sensor: "edge-01", mode: .offline, interface: "eth0", version: "0.1.0")
    let plans = [plan()]
    let sink = ECSSink(context: context, plans: plans, options: options) { dataset, lines in
      collector.bytes[dataset, default: []] += Array(lines)
    }
    sink.figures = figures
    for (incident, time) in incidents { sink.report(incident, at: time) }
    var engineOptions = EngineOptions(plans: plans)
    engineOptions.needs = ECSSink.needs
    var engine = Engine(options: engineOptions, sink: sink)
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    sink.finish()
    return collector.bytes
  }

  /// The documents in the order in which they were written.
  static func documents(
    _ packets: [TimedPacket], log: MessageLog = .all, figures: CaptureFigures = CaptureFigures()
  ) throws -> [Document] {
    var options = ECSOptions()
    options.messageLog = log
    return try documents(bytes(packets, options, figures: figures)[.message] ?? [])
  }

  /// The documents in lines.
  static func documents(_ bytes: [UInt8]) throws -> [Document] {
    try bytes.split(separator: 10).map { line in
      Document(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:])
    }
  }
}

/// A document, read by dotted names.
struct Document {
  let object: [String: Any]

  init(_ object: [String: Any]) { self.object = object }

  /// The value at `path`, `nil` where there is none.
  subscript(path: String) -> Any? {
    var value: Any? = object
    for part in path.split(separator: ".") { value = (value as? [String: Any])?[String(part)] }
    return value
  }

  func text(_ path: String) -> String? { self[path] as? String }
  func number(_ path: String) -> Double? { (self[path] as? NSNumber)?.doubleValue }
  func flag(_ path: String) -> Bool? { self[path] as? Bool }
  var dataset: String? { text("event.dataset") }
}
