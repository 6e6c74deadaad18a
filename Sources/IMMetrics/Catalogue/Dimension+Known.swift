package import IMEngine
import IMTLS

extension Dimension {
  /// The sender's side.
  package static let direction = Dimension(
    "direction", [("client_to_server", "to the server"), ("server_to_client", "from the server")])

  /// What became of messages.
  package static let fate = Dimension(
    "fate", fates.map { ($0.name, $1) })

  /// The fates that exchanges are counted by, the answered ones first.
  package static let fates: [(fate: Fate, help: String)] = [
    (.acked, "answered after one copy"), (.ackedAfterRetry, "answered after more than one copy"),
    (.rejected, "rejected by the other side"), (.unanswered, "not answered in time"),
    (.damaged, "not answered, with every copy damaged"),
    (
      .unknown, "with no known answer: it may be missing from the capture, or they were evicted before it"
    ),
    (.pending, "still pending when the capture or connection ended"),
  ]

  /// The fates of what was answered.
  package static let answer = Dimension("fate", fates.prefix(3).map { ($0.fate.name, $0.help) })

  /// Why messages did not succeed.
  package static let cause = Dimension(
    "cause",
    Cause.allCases.map { cause in
      let help =
        switch cause {
        case .network: "not answered; TCP never acknowledged their last byte"
        case .peer: "not answered, although TCP acknowledged them"
        case .capture: "whose answer may be missing from the capture"
        case .status: "rejected"
        case .checksum: "damaged in every copy"
        case .limit: "evicted while pending, to stay within a limit"
        }
      return (cause.name, help)
    })

  /// Why bytes are missing.
  package static let gap = Dimension(
    "reason",
    GapReason.allCases.map { reason in
      switch reason {
      case .captureLoss: (reason.name, "that the other side acknowledged: the capture lost them")
      case .snaplen: (reason.name, "that the snaplen cut")
      case .unseen: (reason.name, "that were never acknowledged")
      }
    })

  /// Why bytes of TLS records were not read.
  package static let unreadTLS = Dimension(
    "reason",
    TLSUnread.allCases.map { reason in
      let help =
        switch reason {
        case .noKey: "the key log has no secrets for the client random"
        case .keyLate: "the secrets came too late"
        case .noHello: "no ClientHello was captured, and no secrets fit"
        case .noServerHello: "the ServerHello, whose random TLS 1.2 needs, was not captured"
        case .suite: "the version or cipher suite is not supported"
        case .tag: "the secrets do not decrypt the record"
        case .limit: "a search reached its limit"
        case .cut: "bytes of the record are missing"
        case .noRecord: "between a gap and the next record"
        case .earlyRejected: "early data that the server rejected"
        case .beforeTLS: "sent in the clear before TLS began, as before STARTTLS"
        }
      return ("\(reason.name)", help)
    })

  /// Why a packet was of no use.
  package static let skip = Dimension("reason", SkipReason.allCases.map { ($0.name, $0.name) })

  /// What was forgotten.
  package static let eviction = Dimension("what", Eviction.allCases.map { ($0.name, $0.text) })

  /// What a segment was, by Wireshark's rules.
  package static let event = Dimension(
    "event",
    StreamEvent.allCases.map { event in
      let help =
        switch event {
        case .retransmission: "retransmitted, including the next two"
        case .fastRetransmission: "retransmitted after duplicate acknowledgments"
        case .spuriousRetransmission: "retransmitted after its acknowledgment"
        case .outOfOrder: "overtaken by a later one"
        case .captureDuplicate: "captured twice, by imdump's rule"
        case .lostSegment: "after a gap"
        case .ackLostSegment: "acknowledging bytes that were not captured"
        case .duplicateAck: "repeating the last acknowledgment"
        case .keepAlive: "keep-alives"
        case .keepAliveAck: "answers to keep-alives"
        case .zeroWindow: "closing the window"
        case .zeroWindowProbe: "one byte sent into a closed window"
        case .zeroWindowProbeAck: "answers to it, with the window still closed"
        case .windowFull: "filling the receiver's window"
        case .windowUpdate: "repeating the last acknowledgment with another window"
        }
      return (event.name, help)
    })

  /// What a checksum says.
  package static let checksum = Dimension(
    "result",
    ChecksumStatus.allCases.map { status in
      let help =
        switch status {
        case .be: "with a correct big-endian checksum"
        case .le: "with a correct little-endian checksum"
        case .bad: "with a wrong checksum"
        case .none: "without a checksum"
        case .unchecked: "of a protocol that has no checksum"
        }
      return (status.name, help)
    })

  /// The checksums that documents tell of.
  package static let checked = Dimension("result", Array(checksum.values.prefix(4)))

  /// What is not as it should be.
  package static let issue = Dimension("name", IssueKind.allCases.map { ($0.name, $0.name) })

  /// Issues that are found in packets and stay; fates tell the others.
  package static let foundIssues = IssueKind.allCases.filter {
    switch $0 {
    case .unanswered, .lateAck, .heartbeatMissed, .orphanAck: false
    default: true
    }
  }

  /// The same as a dimension.
  package static let foundIssue = Dimension("name", foundIssues.map { ($0.name, $0.name) })

  /// WebSocket's frames.
  package static let webSocket = Dimension("type", WebSocketFrameType.allCases.map { ("\($0.name)", "\($0.name)") })

  /// Why a copy was sent.
  package static let copy = Dimension(
    "kind",
    [
      ("retry", "sent on purpose"), ("immediate", "written at once"), ("after_answer", "that came after the answer"),
    ])
}
