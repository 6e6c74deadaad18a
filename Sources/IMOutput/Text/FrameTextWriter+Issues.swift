package import IMEngine
package import IMWire

extension FrameTextWriter {
  /// Whether an issue has a line of its own among the frames. What is wrong with a frame stands in the frame's line.
  package static func hasLine(_ kind: IssueKind) -> Bool {
    switch kind {
    case .gap, .frameCut, .resynchronised, .inconsistentRetransmission, .unsupportedVersion, .ignoredReset,
      .outOfWindow, .proxyHeader, .webSocketFrame, .notInflated, .webSocketMask:
      true
    default: false
    }
  }

  /// Appends the line of an issue at its place between the frames:
  ///
  ///     08:53:24.610008 #3 203.0.113.10:8080 > 192.0.2.2:41100: tjp -- gap 1448 bytes, lost by the capture (...)
  ///
  /// `cut` are the bytes that were seen of a frame which the gap cuts. `isTCP` says that the protocol was not known yet.
  package mutating func write(
    _ issue: Issue, cut: UInt64 = 0, _ info: ConnectionInfo, isTCP: Bool = false, to out: inout ByteWriter
  ) {
    ends(issue.timestamp, info, issue.direction, to: &out)
    out.text(isTCP ? "tcp" : plans[Int(info.plan)].name)
    out.literal(" ")
    colour(issue.kind == .gap ? 31 : 33, to: &out)
    out.literal("-- ")
    switch issue.details {
    case .gap(let reason):
      out.literal("gap ")
      bytes(issue.byteCount, to: &out)
      switch reason {
      case .captureLoss: out.literal(", lost by the capture (acknowledged, never seen)")
      case .snaplen: out.literal(", cut by the snaplen")
      case .unseen: out.literal(", never seen and not acknowledged")
      }
      if cut > 0 {
        out.literal("; it cuts a frame after ")
        bytes(cut, to: &out)
      }
    case .frameCut:
      out.literal("frame cut after ")
      bytes(issue.byteCount, to: &out)
    case .resynchronised:
      bytes(issue.byteCount, to: &out)
      out.literal(" skipped: not a frame")
    case .inconsistentRetransmission:
      out.literal("retransmission of ")
      bytes(issue.byteCount, to: &out)
      out.literal(" with different bytes than before")
    case .unsupportedVersion: out.literal("a version that the profile does not describe")
    case .proxyHeader:
      out.literal("implausible PROXY header, ")
      bytes(issue.byteCount, to: &out)
      out.literal(" of it skipped")
    case .webSocketFrame:
      bytes(issue.byteCount, to: &out)
      out.literal(" skipped: not a WebSocket frame")
    case .notInflated:
      out.literal("compressed WebSocket message that cannot be inflated, ")
      bytes(issue.byteCount, to: &out)
    case .webSocketMask:
      out.literal(
        issue.direction == .serverToClient
          ? "WebSocket frames masked by the server, contrary to RFC 6455, 5.1; decoded anyway"
          : "WebSocket frames not masked by the client, contrary to RFC 6455, 5.1; decoded anyway")
    case .ignoredReset: out.literal("reset outside the window, ignored")
    case .outOfWindow:
      bytes(issue.byteCount, to: &out)
      out.literal(" outside the window, ignored")
    default: out.text(issue.kind.name)
    }
    colour(0, to: &out)
    if style.verbosity > 1 {
      out.literal(", stream offset ")
      out.number(issue.streamOffset)
    }
    out.literal("\n")
  }

  /// Appends the line of what a carrier told at its place between the frames:
  ///
  ///     08:53:24.610008 #3 192.0.2.77:50110 > 10.0.0.9:1883: PROXY v2 by 10.0.0.5:3456, to 198.51.100.1:443, 28 bytes
  package mutating func write(_ event: CarrierEvent, _ info: ConnectionInfo, to out: inout ByteWriter) {
    ends(event.timestamp, info, event.direction, to: &out)
    switch event.what {
    case .proxy(let version, let isLocal, let source, let destination):
      out.literal("PROXY v")
      out.number(version)
      out.literal(" by ")
      out.endpoint(info.peer)
      if let destination {
        out.literal(", to ")
        out.endpoint(destination)
      } else if isLocal {
        out.literal(", for itself")
      } else if source == nil {
        out.literal(", for a client without an address")
      }
    case .webSocket(let isCompressed, let isMidstream):
      out.literal("WebSocket")
      if isCompressed { out.literal(" with permessage-deflate") }
      if isMidstream { out.literal(", seen from the middle on") }
    case .webSocketClose(let status):
      out.literal("WebSocket close")
      if let status {
        out.literal(" ")
        out.number(status)
      }
    }
    if event.byteCount > 0 {
      out.literal(", ")
      bytes(event.byteCount, to: &out)
    }
    out.literal("\n")
  }

  /// Appends, below a message, when its answers came that stand above it.
  package mutating func write(answers: [Timestamp], to out: inout ByteWriter) {
    for time in answers {
      out.literal("\tanswered at ")
      times.timeOfDay(time, to: &out)
      out.literal(", before it came out\n")
    }
  }

  private func bytes(_ count: UInt64, to out: inout ByteWriter) {
    out.number(count)
    out.literal(count == 1 ? " byte" : " bytes")
  }
}
