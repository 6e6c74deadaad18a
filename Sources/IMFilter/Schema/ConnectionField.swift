/// A field of a connection; the raw value is its index in `FilterSchema.connections`.
///
/// Fields have the names of the objects of `imdump streams --json`, except times, which are in milliseconds here.
package enum ConnectionField: Int, CaseIterable, Sendable {
  /// Which one, and when.
  case conn, start, durationMilliseconds
  /// Its ends.
  case clientIP, clientPort, serverIP, serverPort, ip, port
  /// What it carries.
  case profile, tls, sni
  /// How it began and ended.
  case sawSyn, end, resetBy
  /// What crossed.
  case packets, packetsToServer, packetsToClient, bytes, bytesToServer, bytesToClient
  /// How TCP fared.
  case handshakeMilliseconds, ackToServer, ackToClient, retransmissions, gaps, gapBytes
  /// What became of its messages.
  case messages, lost, retries, rejected

  /// The words of `end`, in the order of the engine's reasons.
  package static let ends = ["open", "fin", "rst", "refused", "timeout", "reused", "evicted"]

  /// The field as the schema describes it.
  package var field: FilterField {
    switch self {
    case .conn: .init("conn", .integer, "Number of the connection in the capture, shown after # in lines")
    case .start: .init("start", .time, "Capture time of its first packet, in seconds since 1970 UTC")
    case .durationMilliseconds: .init("duration_ms", .real, "Milliseconds from its first packet to its end")
    case .clientIP: .init("client.ip", .address, "Address of the end that opened the connection")
    case .clientPort: .init("client.port", .integer, "TCP port of the end that opened the connection")
    case .serverIP: .init("server.ip", .address, "Address of the end that accepted the connection")
    case .serverPort: .init("server.port", .integer, "TCP port of the end that accepted the connection")
    case .ip: .init("ip", .address, "Address of either end", isRepeated: true)
    case .port: .init("port", .integer, "TCP port of either end", isRepeated: true)
    case .profile:
      .init("profile", .name(known: []), "Name of the protocol profile that decodes it; absent if none does")
    case .tls: .init("tls", .flag, "It carries TLS that was not decrypted")
    case .sni: .init("sni", .text, "Server name (SNI) in the client's TLS handshake")
    case .sawSyn: .init("saw_syn", .flag, "The capture contains its SYN or SYN+ACK")
    case .end:
      .init(
        "end", .word(of: Self.ends),
        "How it ended: still open at the end of the capture, FINs from both sides, a reset, a reset in answer to the"
          + " SYN, no answer to the SYN, replaced by a new connection with the same addresses and ports, or evicted to"
          + " stay within --mem")
    case .resetBy: .init("rst_by", .word(of: MessageField.directions), "Direction of the reset that ended it")
    case .packets: .init("packets", .integer, "Packets in both directions")
    case .packetsToServer: .init("c2s.packets", .integer, "Packets to the server")
    case .packetsToClient: .init("s2c.packets", .integer, "Packets to the client")
    case .bytes: .init("bytes", .integer, "Bytes of its packets on the wire, in both directions")
    case .bytesToServer: .init("c2s.bytes", .integer, "Bytes of packets to the server")
    case .bytesToClient: .init("s2c.bytes", .integer, "Bytes of packets to the client")
    case .handshakeMilliseconds:
      .init("handshake_ms", .real, "Round trip of TCP's handshake, from the SYN to the client's ACK, in milliseconds")
    case .ackToServer:
      .init("c2s.ack_rtt_ms", .real, "Mean time from a segment to the server until its acknowledgment, in milliseconds")
    case .ackToClient:
      .init("s2c.ack_rtt_ms", .real, "Mean time from a segment to the client until its acknowledgment, in milliseconds")
    case .retransmissions: .init("retransmissions", .integer, "TCP retransmissions in both directions")
    case .gaps: .init("gaps", .integer, "Gaps: ranges of bytes missing from its streams")
    case .gapBytes: .init("gap_bytes", .integer, "Bytes missing in the gaps")
    case .messages: .init("messages", .integer, "Messages; this and the next three are absent if nothing was decoded")
    case .lost: .init("lost", .integer, "Lost messages: unanswered or damaged")
    case .retries: .init("retries", .integer, "Retries: further transmissions of a message by its application")
    case .rejected: .init("rejected", .integer, "Messages that were rejected")
    }
  }
}

extension FilterSchema {
  /// The fields of connections, in the order of `ConnectionField`.
  package static let connections = FilterSchema(fields: ConnectionField.allCases.map(\.field))
}
