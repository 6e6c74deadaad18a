import IMEngine
import IMOutput
import IMWire

extension ECSWriter {
  /// The document of an issue that `WeirdLimiter` lets through.
  func weird(
    _ issue: Issue, _ admission: WeirdLimiter.Admission, _ record: ConnectionRegistry.Record, _ lines: inout JSONLines
  ) -> Bool {
    let info = record.pointee.info
    let profile = profile(info.plan)
    let fromClient = issue.direction == .clientToServer
    begin(.weird, at: issue.timestamp, &lines)
    event(.weird, types: "[\"protocol\",\"info\"]", &lines)
    lines.name("action", issue.kind.name)
    lines.literal("\"outcome\":\"failure\"")
    eventID(&lines) { eventID(issue, admission, record, &$0) }
    if let message = issue.message, message.sequence < Self.ownNumbers { lines.number("sequence", message.sequence) }
    lines.close()
    lines.open("error")
    lines.name("type", Self.layer(issue.kind))
    lines.name("code", issue.kind.name)
    lines.key("message")
    lines.writer.byte(UInt8(ascii: "\""))
    detail(issue, profile, &lines.writer)
    lines.writer.byte(UInt8(ascii: "\""))
    lines.close()
    open("source", fromClient ? info.peer : info.server, &lines)
    lines.close()
    open("destination", fromClient ? info.server : info.peer, &lines)
    lines.close()
    openClient(info, &lines)
    user(record, &lines)
    lines.close()
    open("server", info.server, &lines)
    lines.close()
    lines.open("network")
    network(record, profile, &lines)
    lines.close()
    openOwn(info.plan, &lines)
    server(info.server, &lines)
    session(record.pointee.session, &lines)
    lines.open("conn")
    connectionIDs(info.serial, record.pointee.uid(), &lines)
    lines.close()
    lines.open("weird")
    lines.name("name", issue.kind.name)
    lines.number("count", admission.count)
    lines.number("suppressed", admission.suppressed)
    if !issue.isTrouble { lines.number("stream_offset", issue.streamOffset) }
    lines.close()
    lines.close()
    lines.key("message")
    lines.writer.byte(UInt8(ascii: "\""))
    lines.writer.text(profile?.name ?? "tcp")
    lines.writer.literal(": ")
    lines.writer.literal(Self.sentence(issue.kind))
    lines.writer.byte(UInt8(ascii: "\""))
    return lines.end()
  }

  /// The layer at which it was found.
  private static func layer(_ kind: IssueKind) -> StaticString {
    switch kind {
    case .gap, .inconsistentRetransmission, .ignoredReset, .outOfWindow: "tcp"
    case .orphanAck, .unanswered, .lateAck, .heartbeatMissed, .timestampWindow: "tracking"
    case .checksumMismatch, .resynchronised, .frameCut, .unsupportedVersion, .incompleteTag, .incompleteLength,
      .incompleteValue, .tlvLimit, .nestedTooDeep, .duplicateTag, .compressLabelOnly, .inflateLimit, .malformedBody,
      .unknownType, .proxyHeader, .webSocketFrame, .notInflated, .webSocketMask:
      "decode"
    }
  }

  /// What, where and how much, in numbers of this issue.
  private func detail(_ issue: Issue, _ profile: Profile?, _ out: inout ByteWriter) {
    func place() {
      out.literal(" at stream offset ")
      out.number(issue.streamOffset)
    }
    func count(_ after: StaticString) {
      out.number(issue.byteCount)
      out.literal(after)
    }
    switch issue.details {
    case .checksumMismatch(_, let checksum):
      out.text(profile?.checksumText ?? "checksum")
      out.byte(UInt8(ascii: " "))
      out.hex(checksum)
      out.literal(" is wrong for the ")
      count(" bytes")
      place()
    case .gap(let reason):
      count(" bytes are missing")
      place()
      out.literal(": ")
      out.text(reason.name)
    case .resynchronised:
      count(" bytes are not a frame")
      place()
    case .frameCut:
      out.literal("a frame is cut after ")
      count(" bytes")
      place()
    case .inconsistentRetransmission(let kept, let other):
      out.hex(kept)
      out.literal(" was kept, ")
      out.hex(other)
      out.literal(" came later")
      place()
    case .unknownType(let type):
      out.literal("type ")
      out.number(type)
      out.literal(" is not in the profile,")
      place()
    case .unanswered(let message), .heartbeatMissed(let message):
      name(message, profile, &out)
      out.literal(" was not answered")
    case .lateAck(let message):
      name(message, profile, &out)
      out.literal(" was answered too late")
    case .orphanAck(_, let named?) where named != 0:
      out.literal("an answer to ")
      out.number(named)
      out.literal(", which was not seen,")
      place()
    default:
      out.literal(Self.sentence(issue.kind))
      out.literal(", ")
      count(" bytes")
      place()
    }
  }

  /// `data 7`, the message that was not answered.
  private func name(_ message: IssueDetails.Message, _ profile: Profile?, _ out: inout ByteWriter) {
    let kind = Int(message.kind)
    if let profile, kind < profile.typeNames.count {
      out.raw(profile.typeNames[kind].bytes)
    } else {
      out.literal("a message")
    }
    guard message.sequence < Self.ownNumbers else { return }
    out.byte(UInt8(ascii: " "))
    out.number(message.sequence)
  }

  static func sentence(_ kind: IssueKind) -> StaticString {
    switch kind {
    case .checksumMismatch: "checksum does not match"
    case .resynchronised: "bytes that are not a frame were skipped"
    case .gap: "bytes are missing from the stream"
    case .frameCut: "a frame was cut"
    case .inconsistentRetransmission: "a retransmission carried different bytes"
    case .unsupportedVersion: "a version that the profile does not describe"
    case .incompleteTag: "a TLV ends inside its tag"
    case .incompleteLength: "a TLV ends inside its length"
    case .incompleteValue: "a TLV ends inside its value"
    case .tlvLimit: "more TLVs than the limit"
    case .nestedTooDeep: "TLV lists nest too deep"
    case .duplicateTag: "a tag occurs twice in one list"
    case .compressLabelOnly: "the header says compressed, the body is not"
    case .inflateLimit: "the inflated body exceeds the limit"
    case .malformedBody: "a body that cannot be of its type"
    case .unknownType: "a type that the profile does not know"
    case .timestampWindow: "the sender's clock is far off"
    case .orphanAck: "an answer to an unknown message"
    case .unanswered: "a message without an answer"
    case .lateAck: "an answer that came too late"
    case .heartbeatMissed: "a heartbeat without an answer"
    case .ignoredReset: "a reset outside the window"
    case .outOfWindow: "data outside the window"
    case .proxyHeader: "an implausible PROXY header"
    case .webSocketFrame: "bytes that are not a WebSocket frame were skipped"
    case .notInflated: "a compressed WebSocket message cannot be inflated"
    case .webSocketMask: "WebSocket frames are masked by the server, or not by the client"
    }
  }
}
