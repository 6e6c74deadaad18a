import IMEngine
import IMWire

extension ECSWriter {
  /// The document of an issue that `WeirdLimiter` lets through.
  func weird(
    _ issue: Issue, _ admission: WeirdLimiter.Admission, _ record: ConnectionRecord, _ lines: inout JSONLines
  ) -> Bool {
    let info = record.info
    let profile = profile(info.plan)
    let fromClient = issue.direction == .clientToServer
    begin(.weird, at: issue.timestamp, &lines)
    event(.weird, types: "[\"protocol\",\"info\"]", &lines)
    lines.text("action", issue.kind.name)
    lines.members("\"outcome\":\"failure\"")
    lines.text("id", "\(run)-\(info.serial)-w\(admission.number)")
    if issue.isTrouble, issue.b < Self.ownNumbers { lines.number("sequence", issue.b) }
    lines.close()
    lines.open("error")
    lines.text("type", Self.layer(issue.kind))
    lines.text("code", issue.kind.name)
    lines.text("message", detail(issue, profile))
    lines.close()
    open("source", fromClient ? info.client : info.server, &lines)
    lines.close()
    open("destination", fromClient ? info.server : info.client, &lines)
    lines.close()
    lines.open("client")
    lines.members(record.clientMembers)
    user(record, &lines)
    lines.close()
    lines.open("server")
    lines.members(record.serverMembers)
    lines.close()
    lines.open("network")
    lines.members(record.network(protocol: profile?.protocolName))
    lines.close()
    openOwn(info.plan, &lines)
    server(info.server, &lines)
    session(record.session, &lines)
    lines.open("conn")
    lines.key("id")
    connectionID(info.serial, &lines)
    lines.close()
    lines.open("weird")
    lines.text("name", issue.kind.name)
    lines.number("count", admission.count)
    lines.number("suppressed", admission.suppressed)
    if !issue.isTrouble { lines.number("stream_offset", issue.streamOffset) }
    lines.close()
    lines.close()
    lines.text("message", "\(profile?.name ?? "tcp"): \(Self.sentence(issue.kind))")
    return lines.end()
  }

  /// The layer at which it was found.
  private static func layer(_ kind: IssueKind) -> String {
    switch kind {
    case .gap, .inconsistentRetransmission, .ignoredReset: "tcp"
    case .orphanAck, .unanswered, .lateAck, .heartbeatMissed, .timestampWindow: "tracking"
    case .checksumMismatch, .resynchronised, .frameCut, .unsupportedVersion, .incompleteTag, .incompleteLength,
      .incompleteValue, .tlvLimit, .nestedTooDeep, .duplicateTag, .compressLabelOnly, .inflateLimit, .malformedBody,
      .unknownType:
      "decode"
    }
  }

  /// What, where and how much, in numbers of this issue.
  private func detail(_ issue: Issue, _ profile: Profile?) -> String {
    let place = "at stream offset \(issue.streamOffset)"
    switch issue.kind {
    case .checksumMismatch:
      return "\(profile?.checksumName ?? "checksum") \(hex(issue.b)) is wrong for the \(issue.byteCount) bytes \(place)"
    case .gap: return "\(issue.byteCount) bytes are missing \(place): \(issue.gap.name)"
    case .resynchronised: return "\(issue.byteCount) bytes are no frame \(place)"
    case .frameCut: return "a frame is cut after \(issue.byteCount) bytes \(place)"
    case .inconsistentRetransmission: return "\(hex(issue.a)) was kept, \(hex(issue.b)) came again \(place)"
    case .unknownType: return "type \(issue.a) is not in the profile, \(place)"
    case .unanswered: return "\(name(issue, profile)) was not answered"
    case .heartbeatMissed: return "\(name(issue, profile)) was not answered"
    case .lateAck: return "\(name(issue, profile)) was answered after the time for it"
    case .orphanAck where issue.b != 0: return "an answer to \(issue.b), which was not seen, \(place)"
    default: return "\(Self.sentence(issue.kind)), \(issue.byteCount) bytes \(place)"
    }
  }

  /// `data 7`, the message that was not answered.
  private func name(_ issue: Issue, _ profile: Profile?) -> String {
    let kind = Int(truncatingIfNeeded: issue.a)
    let type = profile.map { kind < $0.typeNames.count ? $0.typeNames[kind].description : "a message" } ?? "a message"
    return issue.b < Self.ownNumbers ? "\(type) \(issue.b)" : type
  }

  private func hex(_ value: UInt64) -> String { String(value, radix: 16) }

  private static func sentence(_ kind: IssueKind) -> String {
    switch kind {
    case .checksumMismatch: "checksum does not match"
    case .resynchronised: "bytes that are no frame were skipped"
    case .gap: "bytes are missing from the stream"
    case .frameCut: "a frame was cut"
    case .inconsistentRetransmission: "a retransmission carried other bytes"
    case .unsupportedVersion: "a version that the profile does not describe"
    case .incompleteTag: "a TLV ends inside its tag"
    case .incompleteLength: "a TLV ends inside its length"
    case .incompleteValue: "a TLV ends inside its value"
    case .tlvLimit: "more TLVs than the limit"
    case .nestedTooDeep: "TLV lists nest too deep"
    case .duplicateTag: "a tag stands twice in one list"
    case .compressLabelOnly: "the header says compressed, the body is not"
    case .inflateLimit: "the inflated body passes the limit"
    case .malformedBody: "a body that cannot be of its type"
    case .unknownType: "a type that the profile does not know"
    case .timestampWindow: "the sender's clock is far off"
    case .orphanAck: "an answer that names nothing known"
    case .unanswered: "a message without an answer"
    case .lateAck: "an answer that came too late"
    case .heartbeatMissed: "a heartbeat without an answer"
    case .ignoredReset: "a reset outside the window"
    }
  }
}
