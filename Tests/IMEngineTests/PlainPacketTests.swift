import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Packets that are read many at a time, against the parser that reads any packet.
@Suite struct PlainPacketTests {
  static let sources = [
    (IPAddress(v4: 0x0a00_0001), IPAddress(v4: 0xc0a8_0102)), (IPAddress(v4: 0xffff_ffff), IPAddress(v4: 0)),
    (IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1), IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 2)),
    (IPAddress(v6High: .max, v6Low: .max), IPAddress(v6High: .max, v6Low: 0)),
  ]

  static func segment(_ payload: [UInt8], options: [UInt8], from source: UInt16, to destination: UInt16) -> TCPSegment {
    var segment = TCPSegment(
      sourcePort: source, destinationPort: destination, sequence: 0xfffe_0102, acknowledgment: 0x8040_2010,
      flags: [.ack, .psh], payload: payload)
    segment.options = options
    return segment
  }

  /// What either reader says of a packet; `nil` where it is not a plain one.
  private func plain(_ bytes: [UInt8], _ record: PacketRecord, verifies: Bool) -> Segment? {
    var segment = Segment()
    let kind = withUnsafeMutablePointer(to: &segment) {
      PlainPacket.read(Bytes(bytes.span.bytes), record, verifiesChecksums: verifies, into: $0)
    }
    #expect(segment.timestamp == record.timestamp && segment.number == record.number)
    return kind == nil ? nil : segment
  }

  private func any(_ bytes: [UInt8], _ record: PacketRecord, verifies: Bool) -> Segment? {
    var parser = PacketParser(verifiesChecksums: verifies)
    var segment = Segment()
    return parser.parse(Bytes(bytes.span.bytes), record, into: &segment) == .segment ? segment : nil
  }

  private func told(_ segment: Segment) -> String {
    var parts = "\(segment.key) side \(segment.side) \(segment.timestamp) #\(segment.number) \(segment.checksum)"
    parts += " seq \(segment.sequence) ack \(segment.acknowledgment) flags \(segment.flags.rawValue)"
    parts += " payload \(segment.payload) \(segment.payloadCount) cut \(segment.cutCount) options \(segment.options)"
    parts += " sum \(segment.payloadSum ?? 1) \(segment.payloadSum == nil) window \(segment.window)"
    return parts + " id \(segment.identification) field \(segment.checksumField) wire \(segment.wireCount)"
  }

  /// Puts a packet in the midst of a batch, where bytes that are not its own stand on both sides.
  private func batch(_ packet: [UInt8], captured: Int? = nil) -> ([UInt8], PacketRecord) {
    let offset = 37
    let bytes =
      [UInt8](repeating: 0x5a, count: offset) + packet + [UInt8](repeating: 0xa5, count: PacketRecord.slack)
    let record = PacketRecord(
      timestamp: Timestamp(nanoseconds: 1_234_567_890_123), number: 7, offset: UInt32(offset),
      capturedLength: UInt32(captured ?? packet.count), originalLength: UInt32(packet.count),
      linkType: LinkType.ethernet, interface: 0)
    return (bytes, record)
  }

  /// Every length of payload and of options is plain, with a right checksum, and read as the other reads it.
  @Test(arguments: sources.indices) func lengths(_ index: Int) throws {
    var random = SeededRandom(3)
    let (source, destination) = Self.sources[index]
    for count in [0..<130, 250..<330, 1_440..<1_460].joined() {
      let payload = count % 7 == 0 ? [UInt8](repeating: count % 2 == 0 ? 0 : 0xff, count: count) : random.bytes(count)
      let options = random.bytes(count % 11 * 4)
      var builder = PacketBuilder()
      let segment = Self.segment(payload, options: options, from: UInt16(count), to: 700)
      let (bytes, record) = batch(builder.packet(segment, from: source, to: destination))
      for verifies in [true, false] {
        let read = try #require(plain(bytes, record, verifies: verifies), "\(count)")
        #expect(read.checksum == .good, "\(count)")
        #expect(read.payloadCount == count)
        #expect([UInt8](bytes[read.payload..<read.payload + count]) == payload)
        #expect([UInt8](bytes[read.options]) == options)
        #expect(told(read) == any(bytes, record, verifies: verifies).map(told))
      }
    }
  }

  /// Of a packet that was damaged anywhere the plain reader says what the other one says, or nothing.
  @Test(arguments: sources.indices) func damage(_ index: Int) {
    var random = SeededRandom(UInt64(index) + 11)
    let (source, destination) = Self.sources[index]
    var plainCount = 0, badCount = 0
    for round in 0..<4_000 {
      var builder = PacketBuilder()
      builder.ipv4Checksum = round % 5 == 0 ? .zero : .correct
      var segment = Self.segment(
        random.bytes(round % 97), options: random.bytes(round % 4 * 4), from: 5_000, to: UInt16(round % 3 + 4_999))
      segment.checksum = round % 3 == 0 ? .zero : .correct
      var packet = builder.packet(segment, from: source, to: destination)
      let place = Int(random.next() % UInt64(packet.count))
      if round % 2 == 0 { packet[place] ^= UInt8(truncatingIfNeeded: 1 << (random.next() % 8)) }
      let captured = round % 13 == 0 ? Int(random.next() % UInt64(packet.count + 1)) : packet.count
      let (bytes, record) = batch(packet, captured: captured)
      for verifies in [true, false] {
        guard let read = plain(bytes, record, verifies: verifies) else { continue }
        plainCount += 1
        badCount += read.checksum == .bad ? 1 : 0
        #expect(told(read) == any(bytes, record, verifies: verifies).map(told), "round \(round), byte \(place)")
      }
    }
    #expect(plainCount > 3_000)
    #expect(badCount > 100)
  }

  /// Either side's packets have one key, and the sender is the side whose address and port are the source's.
  @Test(arguments: sources.indices, [(1, 2), (2, 1), (9, 9)]) func sides(_ index: Int, _ ports: (UInt16, UInt16)) throws
  {
    let (source, destination) = Self.sources[index]
    var builder = PacketBuilder()
    let there = batch(
      builder.packet(Self.segment([1], options: [], from: ports.0, to: ports.1), from: source, to: destination))
    let back = batch(
      builder.packet(Self.segment([1], options: [], from: ports.1, to: ports.0), from: destination, to: source))
    let first = try #require(plain(there.0, there.1, verifies: true))
    let second = try #require(plain(back.0, back.1, verifies: true))
    #expect(first.key == second.key)
    #expect(first.side == 1 - second.side)
    #expect(first.key.endpoint(first.side) == Endpoint(address: source, port: ports.0))
    #expect(first.key.endpoint(second.side) == Endpoint(address: destination, port: ports.1))
  }
}
