import IMEngine
import IMTestSupport
import IMWire
import Testing

/// A stream is found through whatever carries its packets, and bytes that only look like a tunnel do not trap.
@Suite struct StreamTunnelTests {
  static let client = Endpoint(address: IPAddress(v4: 0x0a01_0101), port: 11_001)
  static let server = Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 23), port: 23)
  static let payload = Array("through the tunnel".utf8)
  static let macs = "02 00 00 00 00 01 02 00 00 00 00 02"
  static let time = Timestamp(milliseconds: 1)

  /// The inner packet from its IP header on, IPv4 or IPv6.
  static func inner(isIPv6: Bool) -> [UInt8] {
    let segment = TCPSegment(
      sourcePort: client.port, destinationPort: server.port, sequence: 100, acknowledgment: 1, flags: .ack,
      payload: payload)
    var builder = PacketBuilder(link: .raw)
    guard !isIPv6 else { return builder.packet(segment, from: server.address, to: server.address) }
    return builder.packet(segment, from: client.address, to: IPAddress(v4: 0x0a01_0102))
  }

  /// `content` of an IP protocol between two routers, on Ethernet.
  static func carried(_ protocolNumber: UInt8, _ content: [UInt8]) -> [UInt8] {
    var builder = PacketBuilder()
    return builder.packet(
      protocolNumber: protocolNumber, content, from: IPAddress(v4: 0xac10_0001), to: IPAddress(v4: 0xac10_0002))
  }

  /// The same over IPv6.
  static func carried6(_ protocolNumber: UInt8, _ content: [UInt8]) -> [UInt8] {
    var builder = PacketBuilder()
    return builder.packet(protocolNumber: protocolNumber, content, from: server.address, to: server.address)
  }

  /// `content` sent to a UDP port of a router.
  static func datagram(_ port: UInt16, _ content: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt16(40_000))
    bytes.append(big: port)
    bytes.append(big: UInt16(8 + content.count))
    bytes.append(big: UInt16(0))
    return carried(17, bytes + content)
  }

  static func hex(_ text: String) -> [UInt8] { [UInt8](hex: text) }

  static func frame(_ type: String, _ rest: String, _ packet: [UInt8]) -> [UInt8] { hex(macs + type + rest) + packet }

  static let cases: [(name: String, packet: [UInt8])] = {
    let (v4, v6) = (inner(isIPv6: false), inner(isIPv6: true))
    return [
      ("MPLS, one label", frame("8847", "00010140", v4)),
      ("MPLS, two labels, IPv6", frame("8847", "00010040 00011140", v6)),
      ("MPLS pseudowire", frame("8848", "00010140 00000000", frame("0800", "", v4))),
      ("MPLS pseudowire without control word", frame("8847", "00010140", frame("0800", "", v4))),
      (
        "MPLS pseudowire without control word, to a low address",
        frame("8847", "00010140 000000000001 020000000002 86dd", v6)
      ),
      ("MPLS in GRE", carried(47, hex("0000 8847 00010140") + v4)),
      ("4in6", carried6(4, v4)), ("GRE over IPv6", carried6(47, hex("0000 86dd") + v6)),
      ("PPPoE", frame("8864", "11 00 0001" + "00ff" + "0021", v4)),
      ("PPPoE, short number, IPv6", frame("8864", "11 00 0001" + "00ff" + "57", v6)),
      ("PPPoE in QinQ", frame("88a8", "0007 8100 0008 8864 11 00 0001 00ff 0021", v4)),
      ("IPv4 in IP", carried(4, v4)),
      ("6in4", carried(41, v6)),
      ("GRE", carried(47, hex("0000 0800") + v4)),
      ("GRE with sum, key and sequence", carried(47, hex("b000 86dd 00000000 00000001 00000002") + v6)),
      ("GRE, Ethernet", carried(47, hex("2000 6558 00000001") + frame("0800", "", v4))),
      ("PPTP", carried(47, hex("3081 880b 0000 0000 00000001 00000001 ff03 0021") + v4)),
      ("ERSPAN I", carried(47, hex("0000 88be") + frame("0800", "", v4))),
      ("ERSPAN II", carried(47, hex("1000 88be 00000001 1000000000000000") + frame("8100", "00050800", v4))),
      ("ERSPAN III", carried(47, hex("1000 22eb 00000001 200000000000000000000000") + frame("0800", "", v4))),
      ("VXLAN", datagram(4_789, hex("08000000 00000700") + frame("0800", "", v4))),
      ("Geneve with an option", datagram(6_081, hex("0100 6558 00000700 00000000") + frame("86dd", "", v6))),
      ("GTP-U", datagram(2_152, hex("30ff 0000 00000001") + v4)),
      ("GTP-U with an extension", datagram(2_152, hex("34ff 0000 00000001 0000 00 85 01 1000 00") + v4)),
      (
        "VXLAN in GRE",
        carried(47, hex("0000 0800") + datagram(4_789, hex("0800000000000700") + frame("0800", "", v4)).dropFirst(14))
      ),
    ]
  }()

  static func collected(_ packets: [[UInt8]]) -> [CollectedStream] {
    collect(CaptureBuilder(packets.map { TimedPacket(timestamp: time, bytes: $0) }))
  }

  @Test(arguments: cases.indices) func entered(index: Int) {
    let streams = Self.collected([Self.cases[index].packet])
    #expect(streams.map { $0.directions[0].content.flatMap { $0 } } == [Self.payload], "\(Self.cases[index].name)")
    #expect(streams.first?.client.port == 11_001)
  }

  @Test func tunnelDoesNotSplit() {
    let v4 = Self.inner(isIPv6: false)
    let streams = Self.collected([Self.frame("0800", "", v4), Self.carried(4, v4)])
    #expect(streams.count == 1)
    #expect(streams.first?.directions[0].packets == 2)
    // The same packet inside and outside of a tunnel is one that was captured twice.
    #expect(streams.first?.analysis[.captureDuplicate] == 1)
    #expect(streams.first?.analysis[.retransmission] == 0)
  }

  @Test(arguments: [(8, 1), (9, 0)]) func atMostEight(depth: Int, found: Int) {
    var packet = Self.inner(isIPv6: false)
    for _ in 0..<depth { packet = Array(Self.carried(4, packet).dropFirst(14)) }
    #expect(Self.collected([Self.frame("0800", "", packet)]).count == found)
  }

  @Test(arguments: cases.indices) func everyPrefixAndEveryByte(index: Int) {
    let whole = Self.cases[index].packet
    var packets = (0..<whole.count).map { Array(whole.prefix($0)) }
    for i in whole.indices {
      for value in [0, 1, 0x7f, 0xff] as [UInt8] {
        var packet = whole
        packet[i] = value
        packets.append(packet)
      }
    }
    // Whatever comes of them, each is looked at.
    var collector = StreamCollector(options: StreamOptions())
    feed(&collector, CaptureBuilder(packets.map { TimedPacket(timestamp: Self.time, bytes: $0) }))
    #expect(collector.packets == UInt64(packets.count))
  }
}
