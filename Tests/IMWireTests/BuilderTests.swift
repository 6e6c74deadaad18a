import IMTestSupport
import IMWire
import Testing

/// The builders that other tests stand on, held against vectors from outside this project.
@Suite struct BuilderTests {
  /// The check value of CRC-32/ISO-HDLC in the CRC catalogue; the others are Python's `zlib.crc32`.
  @Test(arguments: [
    ("313233343536373839", UInt32(0xcbf4_3926)), ("", 0), ("00", 0xd202_ef8d),
    ("0000000000000000 0000000000000000 0000000000000000 0000000000000000", 0x190a_55ad),
  ])
  func crc32(hex: String, expected: UInt32) { #expect(CRC32.checksum([UInt8](hex: hex)) == expected) }

  /// RFC 1071, section 3: the sum of these bytes is `ddf2`. The second is a published IPv4 header example.
  @Test(arguments: [
    ("0001 f203 f4f5 f6f7", UInt16(0x220d)),
    ("4500 0073 0000 4000 4011 0000 c0a8 0001 c0a8 00c7", 0xb861),
    ("ab", 0x54ff), ("", 0xffff),
  ])
  func internetSum(hex: String, expected: UInt16) { #expect(internetChecksum([UInt8](hex: hex)) == expected) }

  /// A receiver's rule: with the checksum in place, header and pseudo-header sum up to zero.
  @Test(arguments: [("192.0.2.1", "198.51.100.7"), ("2001:db8::1", "2001:db8:0:ffff::7")])
  func tcpSumsToZero(from: String, to: String) throws {
    let (source, destination) = (try #require(IPAddress(from)), try #require(IPAddress(to)))
    var segment = TCPSegment(
      sourcePort: 40_000, destinationPort: 8_080, sequence: 7, acknowledgment: 9, flags: [.psh, .ack],
      payload: [1, 2, 3])
    segment.options = TCPOption.timestamps(1, echo: 2)
    func sum() -> UInt16 {
      let bytes = segment.bytes(from: source, to: destination)
      return internetChecksum(
        pseudoHeader(from: source, to: destination, protocolNumber: 6, length: bytes.count) + bytes)
    }
    #expect(sum() == 0)
    segment.checksum = .bad
    #expect(sum() != 0)
  }

  @Test(arguments: [
    (LinkLayer.ethernet, 14), (.vlan([42]), 18), (.vlan([1, 2]), 22), (.linuxCooked, 16), (.linuxCooked2, 20),
    (.null, 4), (.raw, 0),
  ])
  func linkHeaders(link: LinkLayer, length: Int) throws {
    let phone = try #require(IPAddress("192.0.2.1"))
    var builder = PacketBuilder(link: link)
    builder.ipv4Options = [1, 1, 1]
    let segment = TCPSegment(sourcePort: 1, destinationPort: 2, sequence: 3, flags: .syn)
    let packet = builder.packet(segment, from: phone, to: phone)
    #expect(packet.count == length + 24 + 20)
    #expect(packet[length] == 0x46)
    #expect(internetChecksum([UInt8](packet[length..<length + 24])) == 0)
  }

  /// Two IPv6 fragments of 40 bytes of TCP behind a hop-by-hop header of eight: offsets 0 and 32, "more" on the first.
  @Test func fragments() throws {
    let phone = try #require(IPAddress("2001:db8::1"))
    var builder = PacketBuilder(link: .raw)
    builder.extensionHeaders = [IPv6ExtensionHeader(kind: 0, content: [1, 4, 0, 0, 0, 0])]
    let segment = TCPSegment(
      sourcePort: 1, destinationPort: 2, sequence: 3, flags: .ack, payload: [UInt8](repeating: 7, count: 20))
    let parts = builder.fragments(of: segment, from: phone, to: phone, size: 32)
    #expect(parts.map(\.count) == [40 + 8 + 8 + 32, 40 + 8 + 8 + 8])
    #expect(parts.map { $0[6] } == [0, 0])
    #expect(parts.map { $0[40] } == [44, 44])
    #expect(parts.map { [UInt8]($0[48..<52]) } == [[6, 0, 0, 1], [6, 0, 0, 32]])
  }

  /// Examples from the MQTT 3.1.1 standard, section 2.2.3, and the packet of its section 3.8.
  @Test(arguments: [
    (0, "00"), (127, "7f"), (128, "8001"), (16_383, "ff7f"), (16_384, "808001"), (268_435_455, "ffffff7f"),
  ])
  func mqttLength(length: Int, expected: String) {
    #expect(MQTTPacketBuilder.remainingLength(length) == [UInt8](hex: expected))
  }

  @Test func mqttSubscribe() {
    let packet = MQTTPacketBuilder.subscribe(10, [("a/b", 1), ("c/d", 2)])
    #expect(packet == [UInt8](hex: "82 0e 000a 0003 612f62 01 0003 632f64 02"))
  }

  /// A frame counted out by hand; its checksum is Python's `zlib.crc32` of the body.
  @Test func tjpFrame() {
    var frame = TJPFrameBuilder(text: "hi", sequence: 0x0000_0102, session: 0x1a2b)
    frame.timestamp = 0x6553_f100
    let expected = "decafbad 01 00 0000 00000102 6553f100 00 00 1a2b 00000008 252009cb 1001 00000002 6869"
    #expect(frame.bytes == [UInt8](hex: expected))
  }

  /// A gap, a swap and a repetition leave the packets a capture would show.
  @Test func mischief() throws {
    let phone = Endpoint(address: try #require(IPAddress("192.0.2.1")), port: 40_000)
    let server = Endpoint(address: try #require(IPAddress("192.0.2.2")), port: 8_080)
    var talk = ConversationBuilder(client: phone, server: server, link: .raw)
    talk.segmentSize = 10
    talk.acknowledges = false
    talk.open(at: Timestamp(milliseconds: 0))
    let sent = talk.send([UInt8](0..<30), .clientToServer, at: Timestamp(milliseconds: 10))
    talk.drop(sent[0])
    talk.swap(sent[1], sent[2])
    talk.duplicate(sent[1], at: Timestamp(milliseconds: 20))
    talk.close(.reset(by: .serverToClient), at: Timestamp(milliseconds: 30))
    // Three of the handshake; then what came second to the capture was sent last; RST last of all.
    #expect(talk.packets.map { $0.bytes.count } == [48, 48, 40, 50, 50, 50, 40])
    #expect(talk.packets[3...5].map { $0.bytes[40] } == [20, 10, 10])
    #expect(talk.packets.map(\.timestamp) == talk.packets.map(\.timestamp).sorted())
    let batch = CaptureBuilder(talk).batch()
    #expect(batch.records.map(\.number) == [1, 2, 3, 4, 5, 6, 7])
    #expect(batch.bytes.count == 326 + PacketRecord.slack)
    let file = CaptureBuilder(talk).pcap()
    #expect(file.count == 24 + 7 * 16 + 326)
  }
}
