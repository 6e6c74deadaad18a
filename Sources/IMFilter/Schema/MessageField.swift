/// The fields of a message in `FilterSchema.messages`; the raw value is the index there.
///
/// A frame has `rtt_ms`, and what else needs the answer, only where it is the answer. What becomes of its message (`fate`,
/// `cause`, `retries`, `dup`, `late`) it has only in a file that was read for that before.
package enum MessageField: Int, CaseIterable, Sendable {
  /// When and where the frame was seen.
  case ts, number, conn
  /// The connection's ends, and the frame's way between them.
  case clientIP, clientPort, serverIP, serverPort, ip, port, dir
  /// What its header says.
  case profile, type, seq, session, len, crc, copy, ackOf
  /// What its body holds.
  case tlv, tlvCount
  /// What became of its message.
  case rttMilliseconds, rttMicroseconds, fate, cause, status, statusName, retries, dup, late
  /// What is true of it or not.
  case retry, duplicate, damaged, ack, heartbeat, gap, compressed, encrypted
  /// Everything that is said of it, by name.
  case flags
  /// Whose the connection's end of this host is.
  case owner
  /// What its type is for.
  case role

  /// The words of `dir`, in the order of `Direction`'s raw values.
  package static let directions = ["c2s", "s2c"]
  /// The words of `crc`.
  package static let checksums = ["be", "le", "bad", "none", "unchecked"]
  /// Names for several of `fates`.
  private static let fateGroups = [
    FilterKind.WordGroup("lost", ["unanswered", "damaged"]),
    FilterKind.WordGroup("failed", ["unanswered", "damaged", "rejected"]),
  ]
  /// The words of `fate`.
  package static let fates = [
    "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unacknowledged", "unknown",
  ]
  /// The words of `role`, in the order of `FrameRole`'s raw values.
  package static let roles = ["message", "acknowledgment", "heartbeat", "control", "receipt", "other"]
  /// The words of `cause`.
  package static let causes = ["network", "peer", "capture", "status", "checksum", "limit"]
  /// The words of `flags`, as outputs print them.
  package static let remarks = [
    "retry", "duplicate", "dup_ack", "orphan_ack", "compressed", "compress_label_only", "encrypted", "inflate_limit",
    "malformed", "duplicate_tag", "nested_too_deep", "incomplete_tag", "incomplete_length", "incomplete_value",
    "tlv_limit", "marked_duplicate", "timestamp_window", "after_gap", "oversized",
  ]

  /// The field as the schema describes it.
  package var field: FilterField {
    switch self {
    case .ts: .init("ts", .time, "Capture time of the packet that completed the frame, in seconds since 1970 UTC")
    case .number: .init("number", .integer, "Number in the capture of the packet that completed the frame, from 1")
    case .conn: .init("conn", .integer, "Number of the TCP connection in the capture, as the output shows it")
    case .clientIP: .init("client.ip", .address, "Address of the end that opened the connection")
    case .clientPort: .init("client.port", .integer, "TCP port of the end that opened the connection")
    case .serverIP: .init("server.ip", .address, "Address of the end that accepted the connection")
    case .serverPort: .init("server.port", .integer, "TCP port of the end that accepted the connection")
    case .ip: .init("ip", .address, "Address of either end", isRepeated: true)
    case .port: .init("port", .integer, "TCP port of either end", isRepeated: true)
    case .dir:
      .init("dir", .word(of: Self.directions), "Direction: client to server, or server to client")
    case .profile: .init("profile", .name(known: []), "Name of the protocol profile that decoded the frame")
    case .type:
      .init("type", .name(known: []), "Message type: its name in the profile, or its number on the wire")
    case .seq: .init("seq", .integer, "Sequence number in the frame's header")
    case .session: .init("session", .name(known: []), "Session identity in the frame, a number or text")
    case .len: .init("len", .integer, "Length of the frame's body on the wire, in bytes")
    case .crc:
      .init(
        "crc", .word(of: Self.checksums),
        "Checksum: correct in big-endian or little-endian order, wrong, absent, or not checked")
    case .copy: .init("copy", .integer, "Number of this transmission of the message; the first is 1")
    case .ackOf: .init("ack_of", .integer, "Sequence number of the message that the frame acknowledges")
    case .tlv:
      .init(
        "tlv", .bytes, "Values of the TLV elements at this path or, without a path, of all elements",
        isKeyed: true, isRepeated: true)
    case .tlvCount: .init("tlv_count", .integer, "Number of TLV elements in the body, including nested ones")
    case .rttMilliseconds:
      .init(
        "rtt_ms", .real,
        "Round trip from the message to its first answer, in milliseconds; absent if the message was sent more than"
          + " once before the answer")
    case .rttMicroseconds: .init("rtt_us", .integer, "The round trip of rtt_ms in whole microseconds")
    case .fate:
      .init(
        "fate", .word(of: Self.fates, groups: Self.fateGroups),
        "Fate of the message, see imdump(1); lost is unanswered or damaged, failed is lost or rejected")
    case .cause:
      .init(
        "cause", .word(of: Self.causes),
        "Why the message did not succeed: TCP never acknowledged its last byte; TCP did, but no answer came; bytes are"
          + " missing from the capture; the answer was a rejection; every copy had a wrong checksum; it was evicted to"
          + " stay within a limit")
    case .status: .init("status", .integer, "Status of the answer, as on the wire")
    case .statusName: .init("status_name", .name(known: []), "Status of the answer by its name in the profile")
    case .retries: .init("retries", .integer, "Number of transmissions after the first, up to the answer")
    case .dup: .init("dup", .integer, "Number of copies after the answer")
    case .late: .init("late", .flag, "The answer came after the message had timed out")
    case .retry: .init("retry", .flag, "The frame repeats a message that was not yet answered")
    case .duplicate: .init("duplicate", .flag, "The frame repeats a message that was already answered")
    case .damaged: .init("damaged", .flag, "The frame's checksum or structure is wrong")
    case .ack: .init("ack", .flag, "The frame is an acknowledgment")
    case .heartbeat: .init("heartbeat", .flag, "The frame is a heartbeat")
    case .gap: .init("gap", .flag, "Bytes just before the frame are missing or were skipped")
    case .compressed: .init("compressed", .flag, "The body is compressed")
    case .encrypted: .init("encrypted", .flag, "The body is encrypted")
    case .flags:
      .init(
        "flags", .word(of: Self.remarks), "Flags of the frame, as the output shows them in brackets", isRepeated: true
      )
    case .owner:
      .init(
        "owner", .text,
        "Live only: systemd unit, container or pod that owns the local end of the connection, by name or ID",
        isRepeated: true)
    case .role:
      .init("role", .word(of: Self.roles), "Role of the type in the protocol")
    }
  }
}

extension FilterSchema {
  /// The fields of imdump's messages, in the order of `MessageField`.
  package static let messages = FilterSchema(fields: MessageField.allCases.map(\.field))
}
