import IMWire

/// Reads one packet down to its TCP segment.
///
/// The only state is fragments that wait for the rest of their datagram. Every length is compared with what is left
/// before a byte is read; a packet that lies gets a `SkipReason`, never a trap.
struct PacketParser: ~Copyable {
  /// Where a parsed segment's bytes stand.
  enum Outcome: Equatable {
    /// In the packet itself.
    case segment
    /// In the fragment table's `datagram`.
    case reassembledSegment
    /// Nowhere: the packet is skipped.
    case skipped(SkipReason)
  }

  /// The limit of VLAN tags and tunnels in one packet.
  static var maximumDepth: Int { 8 }

  var fragments = FragmentTable()
  /// Tunnels entered at the moment.
  var depth = 0
  /// What the packet in hand is, where it is skipped; its lower port, where it is UDP.
  var unreadKind: UnreadKind?
  /// The IP protocol of a packet that is `UnreadKind.otherIP`, where that is what it is.
  var unreadProtocol: UInt8?
  var udpPort: UInt16 = 0
  /// What was skipped so far because it is no TCP.
  var unread = UnreadTraffic()
  /// Bytes of the packet in hand that its capture cut off.
  var cutTail = 0
  /// Whether TCP and IP checksums are verified.
  let verifiesChecksums: Bool
  /// Takes note of the headers on the way, where somebody asks for them.
  var layers: UnsafeMutablePointer<PacketLayers>?

  init(verifiesChecksums: Bool) { self.verifiesChecksums = verifiesChecksums }

  /// Parses the packet that `record` describes into `segment`: any packet, while `readPlain` reads the plainest.
  mutating func parse(_ bytes: borrowing Bytes, _ record: PacketRecord, into segment: inout Segment) -> Outcome {
    let start = Int(record.offset)
    let end = start &+ Int(record.capturedLength)
    segment.timestamp = record.timestamp
    segment.number = record.number
    segment.wireCount = record.originalLength
    unreadKind = nil
    unreadProtocol = nil
    cutTail = Int(record.originalLength) &- min(Int(record.capturedLength), Int(record.originalLength))
    return link(bytes, record.linkType, start, end, into: &segment)
  }

  /// Parses an IPv4 packet at `ip`, 20 bytes of which are there.
  mutating func ipv4(_ bytes: borrowing Bytes, _ ip: Int, _ end: Int, into segment: inout Segment) -> Outcome {
    let first = bytes.u8(ip)
    guard first >> 4 == 4 else { return .skipped(.ipVersion) }
    let header = Int(first & 15) &* 4
    guard header >= 20, end &- ip >= header else { return .skipped(.ipHeader) }
    // A length of 0 is what segmentation offload leaves in the field: the packet is as long as it was on the wire.
    var total = Int(bytes.u16(ip &+ 2))
    if total == 0 { total = max(end &- ip &+ cutTail, header) }
    guard total >= header else { return .skipped(.ipHeader) }
    if verifiesChecksums {
      var sum = InternetChecksum()
      sum.addShort(bytes, ip, header)
      // A checksum of 0 is what offload leaves behind.
      if !sum.isRight, bytes.u16(ip &+ 10) != 0 { return .skipped(.ipChecksum) }
    }
    segment.identification = bytes.u16(ip &+ 4)
    let fragment = bytes.u16(ip &+ 6)
    layers?.pointee.headers.append(.ipv4(at: ip, end: min(end, ip &+ total)))
    if fragment & 0x3fff != 0 {
      return ipv4Fragment(bytes, at: ip, header: header, total: total, end: end, field: fragment, into: &segment)
    }
    let payload = PayloadPlace(start: ip &+ header, wireEnd: ip &+ total, end: min(end, ip &+ total))
    guard bytes.u8(ip &+ 9) == IPProtocol.tcp else {
      if bytes.u8(ip &+ 9) == IPProtocol.authentication {
        return authenticated(bytes, payload, from: bytes.u32(ip &+ 12), to: bytes.u32(ip &+ 16), into: &segment)
      }
      return other(bytes, bytes.u8(ip &+ 9), ip &+ header, payload.end, into: &segment)
    }
    return tcpOverIPv4(
      bytes, payload, from: bytes.u32(ip &+ 12), to: bytes.u32(ip &+ 16), into: &segment)
  }

  /// The payload of an IPv4 datagram that begins with an authentication header (RFC 4302): the next protocol, words of its own less two.
  @inline(never)
  mutating func authenticated(
    _ bytes: borrowing Bytes, _ payload: PayloadPlace, from source: UInt32, to destination: UInt32,
    into segment: inout Segment
  ) -> Outcome {
    guard payload.captured >= 8 else { return .skipped(.ipHeader) }
    let next = bytes.u8(payload.start)
    let inner = payload.from(payload.start &+ (Int(bytes.u8(payload.start &+ 1)) &+ 2) &* 4)
    guard inner.captured >= 0 else { return .skipped(.ipHeader) }
    guard next == IPProtocol.tcp else { return other(bytes, next, inner.start, inner.end, into: &segment) }
    return tcpOverIPv4(bytes, inner, from: source, to: destination, into: &segment)
  }

  func tcpOverIPv4(
    _ bytes: borrowing Bytes, _ payload: PayloadPlace, from source: UInt32, to destination: UInt32,
    into segment: inout Segment
  ) -> Outcome {
    let pseudo = InternetChecksum(tcpFrom: source, to: destination)
    guard tcp(bytes, payload, pseudo, into: &segment) else { return .skipped(.tcpHeader) }
    segment.sender = segment.key.set(
      v4: UInt64(source) << 32 | UInt64(destination), ports: bytes.u32(payload.start))
    return .segment
  }

  /// Parses the TCP header at the beginning of `payload` and verifies the checksum; false when the header is impossible.
  ///
  /// `pseudo` is the sum of addresses and protocol.
  func tcp(
    _ bytes: borrowing Bytes, _ payload: PayloadPlace, _ pseudo: InternetChecksum, into segment: inout Segment
  ) -> Bool {
    guard payload.captured >= 20 else { return false }
    let tcp = payload.start
    let header = Int(bytes.u8(tcp &+ 12) >> 4) &* 4
    guard header >= 20, payload.captured >= header else {
      return cutOptions(bytes, payload, header: header, into: &segment)
    }
    segment.sequence = bytes.u32(tcp &+ 4)
    segment.acknowledgment = bytes.u32(tcp &+ 8)
    segment.flags = TCPFlags(rawValue: bytes.u8(tcp &+ 13))
    segment.window = bytes.u16(tcp &+ 14)
    segment.checksumField = bytes.u16(tcp &+ 16)
    segment.optionCount = UInt8(truncatingIfNeeded: header &- 20)
    segment.payload = tcp &+ header
    segment.payloadCount = payload.end &- segment.payload
    segment.cutCount = payload.wireEnd &- payload.end
    segment.payloadSum = nil
    guard verifiesChecksums else {
      segment.checksum = .good
      return true
    }
    guard payload.wireEnd == payload.end else {
      segment.checksum = .unknown
      return true
    }
    let count = payload.wireEnd &- tcp
    var sum = InternetChecksum()
    sum.addLong(bytes, segment.payload, segment.payloadCount)
    segment.payloadSum = sum.folded32
    sum.add(pseudo)
    sum.add(length: count)
    sum.addShort(bytes, tcp, header)
    segment.checksum = sum.isRight ? .good : Self.wrongChecksum(bytes, tcp, count, pseudo)
    return true
  }

  /// What a sum that is not right means: Linux leaves the pseudo header's sum in the field, with the length (one packet)
  /// or without (segmentation), where the network card is to do the rest.
  @inline(never)
  static func wrongChecksum(
    _ bytes: borrowing Bytes, _ tcp: Int, _ count: Int, _ pseudo: InternetChecksum
  ) -> SegmentChecksum {
    let field = bytes.u16(tcp &+ 16)
    var partial = pseudo
    partial.add(length: count)
    return field == partial.folded || field == pseudo.folded ? .offloaded : .bad
  }

  /// A TCP header of which the fixed part is there and the options are not: the snaplen cut them, and all payload. False
  /// when its length is impossible.
  @inline(never)
  func cutOptions(
    _ bytes: borrowing Bytes, _ payload: PayloadPlace, header: Int, into segment: inout Segment
  ) -> Bool {
    let tcp = payload.start
    guard header >= 20, payload.wireEnd &- tcp >= header else { return false }
    segment.sequence = bytes.u32(tcp &+ 4)
    segment.acknowledgment = bytes.u32(tcp &+ 8)
    segment.flags = TCPFlags(rawValue: bytes.u8(tcp &+ 13))
    segment.window = bytes.u16(tcp &+ 14)
    segment.checksumField = bytes.u16(tcp &+ 16)
    segment.optionCount = UInt8(truncatingIfNeeded: payload.captured &- 20)
    segment.payload = payload.end
    segment.payloadCount = 0
    segment.cutCount = payload.wireEnd &- tcp &- header
    segment.payloadSum = nil
    segment.checksum = verifiesChecksums ? .unknown : .good
    return true
  }
}

/// IP protocol numbers (IANA).
enum IPProtocol {
  static let hopByHop: UInt8 = 0
  static let tcp: UInt8 = 6
  static let routing: UInt8 = 43
  static let fragment: UInt8 = 44
  static let authentication: UInt8 = 51
  static let noNext: UInt8 = 59
  static let destinationOptions: UInt8 = 60
  static let mobility: UInt8 = 135
  static let control: UInt8 = 1, groups: UInt8 = 2, control6: UInt8 = 58
  static let encrypted: UInt8 = 50
  static let sctp: UInt8 = 132

  /// Whether it is an IPv6 extension header that may stand behind a fragment header.
  static func isExtension(_ value: UInt8) -> Bool {
    [hopByHop, routing, fragment, authentication, destinationOptions, mobility].contains(value)
  }
}
