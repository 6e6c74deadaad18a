import CMachine
import IMWire

extension InternetChecksum {
  /// The part of a TCP pseudo header that does not depend on the segment: IPv4 addresses and protocol.
  @inline(__always)
  init(tcpFrom source: UInt32, to destination: UInt32) {
    sum =
      UInt64(source.bigEndian) &+ UInt64(destination.bigEndian) &+ UInt64(UInt16(IPProtocol.tcp).bigEndian)
  }

  /// The sum of TCP's pseudo header without the length, of addresses of either version.
  init(tcpFrom source: IPAddress, to destination: IPAddress) {
    sum = UInt64(UInt16(IPProtocol.tcp).bigEndian)
    for word in [source.high, source.low, destination.high, destination.low] {
      sum &+= UInt64(UInt32(truncatingIfNeeded: word >> 32).bigEndian)
      sum &+= UInt64(UInt32(truncatingIfNeeded: word).bigEndian)
    }
  }

  /// The sum of addresses with the protocol TCP.
  var withTCP: InternetChecksum {
    var sum = self
    sum.add(UInt16(IPProtocol.tcp))
    return sum
  }

  /// Adds a TCP header of `count` bytes, at least 20 and a multiple of four, and what its pseudo header has beside the
  /// addresses; the caller has proved that it is there.
  @inline(__always)
  mutating func addTCP(_ bytes: borrowing Bytes, _ tcp: Int, header count: Int, segment: Int) {
    // Words of 32 bits and fewer, whose sum carries nothing.
    var short =
      UInt64(UInt16(truncatingIfNeeded: segment).bigEndian) &+ UInt64(UInt16(IPProtocol.tcp).bigEndian)
      &+ UInt64(bytes.load(tcp &+ 16, as: UInt32.self))
    if count == 32 {
      // Times, as most stacks send them.
      short &+= UInt64(bytes.load(tcp &+ 20, as: UInt32.self))
      add(bytes.load(tcp &+ 24, as: UInt64.self))
    } else if count > 20 {
      short &+= bytes.sum(tcp &+ 20, count &- 20) { imdump_sum_words($0, (count &- 20) / 4) }
    }
    add(bytes.load(tcp, as: UInt64.self))
    add(bytes.load(tcp &+ 8, as: UInt64.self))
    add(short)
  }
}

/// Packets of the plainest kind: Ethernet with IPv4 without options, or IPv6 without extension headers, and a whole TCP
/// segment. They need no state, so they are read many at a time.
enum PlainPacket {
  case ipv4, ipv6

  /// Reads a packet of that kind; `nil` when it is none. Nothing is decided of any other: `PacketParser.parse` does that
  /// when its turn has come. The segment's time and number are set either way.
  @inline(__always)
  static func read(
    _ bytes: borrowing Bytes, _ record: PacketRecord, verifiesChecksums: Bool,
    into segment: UnsafeMutablePointer<Segment>
  ) -> PlainPacket? {
    segment.pointee.timestamp = record.timestamp
    segment.pointee.number = record.number
    segment.pointee.wireCount = record.originalLength
    let captured = Int(record.capturedLength)
    guard record.linkType == LinkType.ethernet, captured >= 54 else { return nil }
    let packet = bytes.from(record.offset)
    // The type, the version, and IPv4's header length.
    let kind = packet.u32(12)
    if kind & 0xffff_ff00 == 0x0800_4500 {
      let isPlain = ipv4(packet, Int(record.offset), captured, verifiesChecksums: verifiesChecksums, into: segment)
      return isPlain ? .ipv4 : nil
    }
    guard kind & 0xffff_f000 == 0x86dd_6000, captured >= 74 else { return nil }
    let isPlain = ipv6(packet, Int(record.offset), captured, verifiesChecksums: verifiesChecksums, into: segment)
    return isPlain ? .ipv6 : nil
  }

  /// Reads a packet that begins at `start` of the batch, with an IPv4 header of 20 bytes and 20 bytes behind it.
  @inline(__always)
  private static func ipv4(
    _ packet: borrowing Bytes, _ start: Int, _ captured: Int, verifiesChecksums: Bool,
    into segment: UnsafeMutablePointer<Segment>
  ) -> Bool {
    // No fragment, protocol TCP.
    guard packet.u32(20) & 0x3fff_00ff == 0x0000_0006 else { return false }
    let addresses = packet.load(26, as: UInt64.self)
    var pseudo = InternetChecksum()
    pseudo.sum = addresses
    if verifiesChecksums {
      var sum = pseudo
      sum.add(packet.load(14, as: UInt64.self))
      sum.add(UInt64(packet.load(22, as: UInt32.self)))
      guard sum.isRightNonzero else { return false }
    }
    guard
      tcp(
        packet, at: 34, count: Int(packet.u16(16)) &- 20, captured: captured &- 34, packetStart: start, pseudo,
        verifiesChecksums: verifiesChecksums, into: segment)
    else { return false }
    segment.pointee.identification = packet.u16(18)
    segment.pointee.sender = segment.pointee.key.set(v4: addresses.bigEndian, ports: packet.u32(34))
    return true
  }

  /// The same with an IPv6 header.
  @inline(never)
  private static func ipv6(
    _ packet: borrowing Bytes, _ start: Int, _ captured: Int, verifiesChecksums: Bool,
    into segment: UnsafeMutablePointer<Segment>
  ) -> Bool {
    guard packet.u8(20) == IPProtocol.tcp else { return false }
    var pseudo = InternetChecksum()
    pseudo.add(packet.load(22, as: UInt64.self))
    pseudo.add(packet.load(30, as: UInt64.self))
    pseudo.add(packet.load(38, as: UInt64.self))
    pseudo.add(packet.load(46, as: UInt64.self))
    guard
      tcp(
        packet, at: 54, count: Int(packet.u16(18)), captured: captured &- 54, packetStart: start, pseudo,
        verifiesChecksums: verifiesChecksums, into: segment)
    else { return false }
    segment.pointee.identification = 0
    segment.pointee.sender = segment.pointee.key.set(
      UInt128(_low: packet.u64(30), _high: packet.u64(22)), UInt128(_low: packet.u64(46), _high: packet.u64(38)),
      ports: packet.u32(54))
    return true
  }

  /// Reads the segment of `count` bytes at `tcp`, where `captured` bytes are, at least 20. The packet begins at
  /// `packetStart` of the batch; `pseudo` is the sum of the addresses.
  @inline(__always)
  private static func tcp(
    _ packet: borrowing Bytes, at tcp: Int, count: Int, captured: Int, packetStart start: Int,
    _ pseudo: InternetChecksum, verifiesChecksums: Bool, into segment: UnsafeMutablePointer<Segment>
  ) -> Bool {
    let header = Int(packet.u8(tcp &+ 12) >> 4) &* 4
    guard header >= 20, header <= count, count <= captured else { return false }
    segment.pointee.payload = start &+ tcp &+ header
    segment.pointee.payloadCount = count &- header
    segment.pointee.cutCount = 0
    segment.pointee.optionCount = UInt8(truncatingIfNeeded: header &- 20)
    segment.pointee.checksum = .good
    if verifiesChecksums {
      var body = InternetChecksum()
      body.addLong(packet, tcp &+ header, count &- header)
      segment.pointee.payloadSum = body.folded32
      body.add(pseudo)
      body.addTCP(packet, tcp, header: header, segment: count)
      if !body.isRightNonzero {
        segment.pointee.checksum = PacketParser.wrongChecksum(packet, tcp, count, pseudo.withTCP)
      }
    } else {
      segment.pointee.payloadSum = nil
    }
    segment.pointee.sequence = packet.u32(tcp &+ 4)
    segment.pointee.acknowledgment = packet.u32(tcp &+ 8)
    segment.pointee.flags = TCPFlags(rawValue: packet.u8(tcp &+ 13))
    segment.pointee.window = packet.u16(tcp &+ 14)
    segment.pointee.checksumField = packet.u16(tcp &+ 16)
    return true
  }
}
