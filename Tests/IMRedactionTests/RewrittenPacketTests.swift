import IMEngine
import IMTestSupport
import IMWire
import Testing

@testable import IMRedaction

/// Packets with other bytes, and bytes that are made known long before or behind their packets.
@Suite struct RewrittenPacketTests {
  private let names = Pseudonyms(IdentityHash(key: [UInt8](1...32)))

  /// Of TCP a checksum of zeros is as good as any other (RFC 9293), and one packet in 65,536 has it.
  @Test(arguments: [(0, 0), (0, 1), (1, 0), (7, 3)]) func checksumsSayTheSameOfTheNewBytes(
    _ wrongBy: Int, _ odd: Int
  ) throws {
    let (source, destination) = (IPAddress(v4: 0x0a00_0001), IPAddress(v4: 0x0a00_0002))
    var segment = TCPSegment(sourcePort: 40_000, destinationPort: 443, sequence: 1, flags: .ack)
    segment.payload = [UInt8](repeating: 7, count: 30) + [0, 0] + [UInt8](repeating: 9, count: odd)
    let sum = segment.bytes(from: source, to: destination)
    // What the checksum is, put into the payload, makes it zeros.
    (segment.payload[30], segment.payload[31]) = (sum[16], sum[17])
    var builder = PacketBuilder(link: .raw)
    var packet = builder.packet(segment, from: source, to: destination)
    #expect(packet[36] == 0 && packet[37] == 0)
    packet[37] = UInt8(wrongBy)
    func batch(_ packet: [UInt8]) -> Batch {
      CaptureBuilder([TimedPacket(timestamp: Timestamp(seconds: 1, fraction: 0), bytes: packet, linkType: 101)]).batch()
    }
    let old = batch(packet)
    var finder = EndpointFinder()
    let layers = try #require(finder.layers(old.bytes.span.bytes, old.records[0]).layers)
    var redactor = PacketRedactor(names)
    let payload = (0..<32 + odd).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    let made = redactor.rewrite(old.bytes.span.bytes, old.records[0], layers, payload: payload)
    #expect(Array(made[40...]) == payload && made.count == packet.count)
    // The sum over the pseudo header, the segment and its checksum, as RFC 9293 has it.
    var words: UInt32 = 6 + UInt32(made.count - 20)
    let summed = Array(made[12...]) + (made.count % 2 == 1 ? [0] : [])
    for i in stride(from: 0, to: summed.count, by: 2) { words += UInt32(summed[i]) << 8 | UInt32(summed[i + 1]) }
    while words >> 16 != 0 { words = words & 0xffff + words >> 16 }
    #expect(Int(words) % 0xffff == wrongBy)
  }

  /// Three generations of new bytes are kept; of two for one place the older one counts.
  @Test func theOldestBytesGoFirst() {
    let sink = RedactionSink(names, plans: [], memory: 1 << 20, isWanted: { _ in true })
    let end = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 9_001)
    let way = RedactionSink.Way(serial: 1, isBack: false)
    func tell(_ byte: UInt8, at offset: UInt64) {
      sink.undecoded(
        UndecodedChunk(.webSocketHeader, at: offset), ConnectionInfo(told: 1, client: end, server: end),
        .clientToServer,
        bytes: [byte, byte].span.bytes)
    }
    func stands(at offset: Int64, _ count: Int) -> [UInt8] {
      sink.resolve()
      let old = [UInt8](repeating: 1, count: count + 2)
      var new = old
      sink.apply(old, to: &new, 1..<count + 1, at: offset, way)
      #expect(new.first == 1 && new.last == 1)
      return Array(new[1...count])
    }
    tell(65, at: 0)
    sink.turn()
    tell(66, at: 1)
    tell(66, at: 4)
    #expect(stands(at: 0, 7) == [65, 65, 66, 0xf7, 66, 66, 0xf7])
    sink.turn()
    tell(67, at: 4)
    tell(67, at: 6)
    #expect(stands(at: 0, 8) == [65, 65, 66, 0xf7, 66, 66, 67, 67])
    sink.turn()
    #expect(stands(at: 0, 8) == [0xf7, 66, 66, 0xf7, 66, 66, 67, 67])
    sink.turn()
    #expect(stands(at: 0, 8) == [0xf7, 0xf7, 0xf7, 0xf7, 67, 67, 67, 67])
    sink.window = 100
    #expect(!sink.isFull)
    tell(68, at: 100)
    #expect(sink.isFull)
  }
}
