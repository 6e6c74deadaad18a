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
  static func datagram(_ port: UInt16, from source: UInt16 = 40_000, _ content: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: source)
    bytes.append(big: port)
    bytes.append(big: UInt16(8 + content.count))
    bytes.append(big: UInt16(0))
    return carried(17, bytes + content)
  }

  static func hex(_ text: String) -> [UInt8] { [UInt8](hex: text) }

  static func frame(_ type: String, _ rest: String, _ packet: [UInt8]) -> [UInt8] { hex(macs + type + rest) + packet }

  static let cases: [Case] = {
    let (v4, v6) = (inner(isIPv6: false), inner(isIPv6: true))
    let tunnels: [(String, [UInt8])] = [
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
      ("VXLAN on Linux's port", datagram(8_472, hex("08000000 00000700") + frame("86dd", "", v6))),
      ("VXLAN on any port", datagram(18_472, hex("08000000 00000700") + frame("0800", "", v4))),
      (
        "VXLAN on any port, tagged, with a group policy",
        datagram(9, hex("88480007 00000700") + frame("8100", "0005 86dd", v6))
      ),
      ("VXLAN-GPE", datagram(4_790, hex("0c000003 00000700") + frame("0800", "", v4))),
      ("VXLAN-GPE, IPv6", datagram(4_790, hex("0c000002 00000700") + v6)),
      ("VXLAN-GPE without a next protocol", datagram(4_790, hex("08000000 00000700") + frame("0800", "", v4))),
      (
        "service header in VXLAN-GPE",
        datagram(4_790, hex("0c000004 00000700" + "0fc2 0103 000001ff") + frame("0800", "", v4))
      ),
      ("service header on Ethernet", frame("894f", "0fc4 0101 000001ff 0000000000000000", v4)),
      ("MPLS in UDP", datagram(6_635, hex("00010140") + v4)), ("MPLS in IP", carried(137, hex("00010140") + v6)),
      ("Ethernet in IP", carried(97, hex("3000") + frame("0800", "", v4))),
      ("L2TP", datagram(1_701, hex("0002 0001 0002 ff03 0021") + v4)),
      (
        "L2TP with length, sequence and offset", datagram(1_701, hex("4a02 00ff 0001 0002 0000 0000 0002 eeee 57") + v6)
      ),
      ("L2TP from its port", datagram(40_001, from: 1_701, hex("0002 0001 0002 0021") + v4)),
      ("CAPWAP", datagram(5_247, hex("00 100200 0000 0000") + frame("0800", "", v4))),
      (
        "CAPWAP with a radio's address",
        datagram(40_001, from: 5_247, hex("00 200210 0000 0000 0602000000000100") + frame("0800", "", v4))
      ),
      ("CAPWAP with IEEE 802.11", datagram(5_247, hex("00 100300 0000 0000" + wireless + "aaaa03000000 0800") + v4)),
      ("TZSP", datagram(37_008, hex("01 00 0001 01") + frame("0800", "", v4))),
      (
        "TZSP with tags and IEEE 802.11",
        datagram(37_008, hex("01 00 0012 00 0a02beef 29021234 01" + wireless + "aaaa03000000 86dd") + v6)
      ),
      ("metadata with a security group", frame("8909", "01 01 0001 0007 0800", v4)),
      ("metadata between VLAN tags", frame("8100", "0005 8909 01 02 0001 0007 0001 0008 86dd", v6)),
      ("VN-Tag", frame("8926", "00000000 0800", v4)), ("E-Tag", frame("893f", "000000000000 0800", v4)),
      ("backbone tag", frame("88e7", "00000007", frame("0800", "", v4))),
      ("integrity of frames", frame("88e5", "00 00 00000001 0800", v4) + [UInt8](repeating: 0xee, count: 16)),
      (
        "integrity of frames with a channel",
        frame("88e5", "20 00 00000001 0200000000020001 86dd", v6) + [UInt8](repeating: 0xee, count: 16)
      ),
      ("authentication header", authenticated(v4)),
      ("IP called Ethernet", v4), ("IPv6 called Ethernet", v6),
    ]
    let links: [Case] = [
      Case("Ethernet called IP", frame("0800", "", v4) + [0, 0], linkType: 101),
      Case("Ethernet called IPv6", frame("86dd", "", v6), linkType: 229),
      Case("NFLOG", hex("02 00 0001 0800 0100 08000300 0500 0a00 65746800" + lengthOf(v4, "0900")) + v4, linkType: 239),
      Case("NFLOG, big endian", hex("0a 00 0001") + big(v6) + v6, linkType: 239),
      Case("PKTAP", hex("14000000 01000000 01000000" + "656e300000000000") + frame("0800", "", v4), linkType: 258),
      Case("PKTAP, raw IP", hex("0c000000 01000000 0c000000") + v6, linkType: 258),
      Case("wireless", hex(wireless + "aaaa03000000 0800") + v4, linkType: 105),
      Case(
        "wireless between bridges with quality of service",
        hex("8803" + wireless.dropFirst(4) + "020000000004 0000 aaaa03000000 0800") + v4, linkType: 105),
      Case(
        "wireless, high throughput", hex("8881" + wireless.dropFirst(4) + "0000 00000000 aaaa03000000 86dd") + v6,
        linkType: 105),
      Case(
        "wireless, one frame of an aggregate",
        hex(
          "8802" + wireless.dropFirst(4) + "8000 020000000001 020000000002" + bigHex(v4.count + 8) + "aaaa03000000 0800"
        ) + v4, linkType: 105),
      Case(
        "wireless that was deciphered in place", hex("0841" + wireless.dropFirst(4) + "aaaa03000000 0800") + v4,
        linkType: 105),
      Case("radiotap", hex("00 00 0800 00000000" + wireless + "aaaa03000000 0800") + v4, linkType: 127),
      Case(
        "radiotap with time, flags and padding",
        hex(
          "00 00 1900 03000080 00000000 00000000 0000000000000000 20" + "8802" + wireless.dropFirst(4)
            + "0000 0000 aaaa03000000 0800") + v4, linkType: 127),
      Case(
        "Prism",
        hex("44000000 90000000") + [UInt8](repeating: 0, count: 136) + hex(wireless + "aaaa03000000 0800") + v4,
        linkType: 119),
      Case(
        "AVS under either name",
        hex("80211001 00000040") + [UInt8](repeating: 0, count: 56) + hex(wireless + "aaaa03000000 0800") + v4,
        linkType: 119),
      Case(
        "AVS", hex("80211001 00000040") + [UInt8](repeating: 0, count: 56) + hex(wireless + "aaaa03000000 86dd") + v6,
        linkType: 163),
      Case("PPI", hex("00 00 0800 69000000" + wireless + "aaaa03000000 0800") + v4, linkType: 192),
      Case("PFLOG", hex("3d 02 00 00") + [UInt8](repeating: 0, count: 60) + v4, linkType: 117),
      Case("IPsec interface", hex("02000000 00000001 00000000") + v4, linkType: 109),
      Case("LLC over ATM", hex("aaaa03000000 0800") + v4, linkType: 100),
    ]
    return tunnels.map { Case($0.0, $0.1) } + links
  }()

  /// A packet on a link.
  struct Case: Sendable {
    let name: String, packet: [UInt8], linkType: UInt16

    init(_ name: String, _ packet: [UInt8], linkType: UInt16 = 1) {
      (self.name, self.packet, self.linkType) = (name, packet, linkType)
    }
  }

  /// The header of a data frame from an access point.
  static let wireless = "0802 0000 020000000001 020000000002 020000000003 1000"

  /// A value of a packet filter's log that is the packet: its length, little endian, and type.
  static func lengthOf(_ packet: [UInt8], _ type: String) -> String {
    let count = packet.count + 4
    return [UInt8(count & 0xff), UInt8(count >> 8)].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
      .joined() + type
  }

  static func bigHex(_ value: Int) -> String {
    [UInt8(value >> 8), UInt8(value & 0xff)].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  static func big(_ packet: [UInt8]) -> [UInt8] { hex(bigHex(packet.count + 4) + "0009") }

  /// An IPv4 packet with an authentication header in front of its TCP.
  static func authenticated(_ packet: [UInt8]) -> [UInt8] {
    var builder = PacketBuilder()
    return builder.packet(
      protocolNumber: 51, hex("06 04 0000 00000001 00000001 000000000000000000000000") + packet.dropFirst(20),
      from: client.address, to: IPAddress(v4: 0x0a01_0102))
  }

  static func collected(_ packets: [[UInt8]], linkType: UInt16 = 1) -> [CollectedStream] {
    collect(CaptureBuilder(packets.map { TimedPacket(timestamp: time, bytes: $0, linkType: linkType) }))
  }

  @Test(arguments: cases.indices) func entered(index: Int) {
    let streams = Self.collected([Self.cases[index].packet], linkType: Self.cases[index].linkType)
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

  /// What is no tunnel, or cannot be read, is told by what it is.
  static let unreadKinds: [(String, [UInt8], UnreadKind)] = [
    ("UDP", datagram(1_884, hex("0a04 0401 0002 0a 63 31 00")), .udp),
    ("a short datagram", datagram(4_789, hex("0800")), .udp),
    ("no VXLAN", datagram(8_472, hex("0000000000000000") + frame("0800", "", inner(isIPv6: false))), .udp),
    ("VXLAN-GPE for management", datagram(4_790, hex("0d000003 00000700")), .udp),
    ("L2TP, control", datagram(1_701, hex("c802 000c 0000 0000 0000 0000")), .udp),
    ("QUIC", datagram(443, hex("c000000001 08 0102030405060708 00")), .quic),
    ("QUIC, short header", datagram(443, hex("40") + [UInt8](repeating: 7, count: 40)), .quic),
    ("DTLS", datagram(4_433, hex("16 fefd 0000 000000000000 0010")), .dtls),
    ("CAPWAP, encrypted", datagram(5_247, hex("01 000000 16 fefd 0000")), .dtls),
    ("WireGuard", datagram(51_820, hex("01000000") + [UInt8](repeating: 7, count: 144)), .wireGuard),
    ("SCTP", carried(132, [UInt8](repeating: 0, count: 40)), .sctp),
    ("ESP", carried(50, [UInt8](repeating: 0, count: 40)), .esp),
    ("ICMP", carried(1, [UInt8](repeating: 0, count: 40)), .control),
    ("OSPF", carried(89, [UInt8](repeating: 0, count: 40)), .otherIP),
    ("ARP", frame("0806", "0001080006040001", []), .belowIP),
    ("MACsec", frame("88e5", "2c 00 00000001 0200000000020001", [UInt8](repeating: 0x5a, count: 60)), .macSec),
  ]

  @Test(arguments: unreadKinds.indices) func unread(index: Int) {
    let (name, packet, kind) = Self.unreadKinds[index]
    let run = Run([OnePacket.timed(packet)])
    #expect(UnreadKind.allCases.filter { run.unread[$0] != nil } == [kind], "\(name): \(run.unread)")
    run.expectLedgerAddsUp()
  }

  /// IP protocols without a kind of their own are known by their number, the busiest first.
  @Test func otherProtocols() {
    let packets = [89, 103, 89, 200, 89, 103].map {
      OnePacket.timed(Self.carried($0, [UInt8](repeating: 0, count: 40)))
    }
    var engine = Engine(options: EngineOptions(plans: Plans.usual), sink: Recorder())
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    let found = engine.busiestOtherProtocols(2)
    #expect(found.map(\.ipProtocol) == [89, 103] && found.map(\.packets) == [3, 2])
    #expect(engine.unread(.otherIP) == 6)
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
    let linkType = Self.cases[index].linkType
    feed(&collector, CaptureBuilder(packets.map { TimedPacket(timestamp: Self.time, bytes: $0, linkType: linkType) }))
    #expect(collector.packets == UInt64(packets.count))
  }
}
