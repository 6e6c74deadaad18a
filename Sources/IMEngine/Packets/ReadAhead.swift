import IMWire

extension InternetChecksum {
  /// The part of a TCP pseudo header that does not depend on the segment: IPv4 addresses and protocol.
  @inline(__always)
  init(tcpFrom source: UInt32, to destination: UInt32) {
    sum =
      UInt64(source.bigEndian) &+ UInt64(destination.bigEndian) &+ UInt64(UInt16(IPProtocol.tcp).bigEndian)
  }
}

extension PacketParser {
  /// Reads a packet of the plainest kind, Ethernet with an IPv4 header without options and a whole TCP segment; true when
  /// it is one. Nothing is decided of any other: `parse` does that when its turn has come.
  @inline(__always)
  static func readAhead(
    _ bytes: borrowing Bytes, _ record: PacketRecord, verifiesChecksums: Bool,
    into segment: UnsafeMutablePointer<Segment>
  ) -> Bool {
    let start = Int(record.offset)
    let captured = Int(record.capturedLength)
    // Type IPv4, version 4, header of 20 bytes; then no fragment, protocol TCP.
    guard record.linkType == LinkType.ethernet, captured >= 54,
      bytes.u64(start &+ 12) & 0xffff_ff00_0000_0000 == 0x0800_4500_0000_0000,
      bytes.u32(start &+ 20) & 0x3fff_00ff == 0x0000_0006
    else { return false }
    let tcp = start &+ 34
    let count = Int(bytes.u16(start &+ 16)) &- 20
    let header = Int(bytes.u8(tcp &+ 12) >> 4) &* 4
    guard header >= 20, header <= count, count <= captured &- 34 else { return false }
    let source = bytes.u32(start &+ 26)
    let destination = bytes.u32(start &+ 30)
    let payload = tcp &+ header
    let payloadCount = count &- header
    if verifiesChecksums {
      var sum = InternetChecksum()
      sum.addShort(bytes, start &+ 14, 20)
      guard sum.isRight else { return false }
      var body = InternetChecksum()
      body.addLong(bytes, payload, payloadCount)
      segment.pointee.payloadSum = body.folded32
      let pseudo = InternetChecksum(tcpFrom: source, to: destination)
      body.add(pseudo)
      body.add(UInt16(truncatingIfNeeded: count))
      body.addShort(bytes, tcp, header)
      segment.pointee.checksum = body.isRight ? .good : wrongChecksum(bytes, tcp, count, pseudo)
    } else {
      segment.pointee.payloadSum = nil
      segment.pointee.checksum = .good
    }
    segment.pointee.timestamp = record.timestamp
    segment.pointee.number = record.number
    segment.pointee.wireCount = record.originalLength
    segment.pointee.sequence = bytes.u32(tcp &+ 4)
    segment.pointee.acknowledgment = bytes.u32(tcp &+ 8)
    segment.pointee.flags = TCPFlags(rawValue: bytes.u8(tcp &+ 13))
    segment.pointee.window = bytes.u16(tcp &+ 14)
    segment.pointee.options = (tcp &+ 20)..<payload
    segment.pointee.payload = payload
    segment.pointee.payloadCount = payloadCount
    segment.pointee.cutCount = 0
    segment.pointee.side = segment.pointee.key.set(source, destination, ports: bytes.u32(tcp))
    return true
  }
}
