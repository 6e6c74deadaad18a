import IMTestSupport
import IMWire
import Testing

@testable import IMCapture

/// Packets that a capture filter leaves out because of what stands in front of them.
@Suite struct HiddenTests {
  private static func ip(_ isIPv6: Bool = false, port: UInt16 = 1_883) -> [UInt8] {
    var builder = PacketBuilder(link: .raw)
    let segment = TCPSegment(sourcePort: 40_000, destinationPort: port, sequence: 1, flags: .ack, payload: [1, 2, 3])
    return isIPv6
      ? builder.packet(segment, from: IPAddress(v6High: 1, v6Low: 2), to: IPAddress(v6High: 1, v6Low: 3))
      : builder.packet(segment, from: IPAddress(v4: 0x0a00_0001), to: IPAddress(v4: 0x0a00_0002))
  }

  private static let macs = "020000000001 020000000002"

  private static func frame(_ header: String, _ packet: [UInt8]) -> [UInt8] { [UInt8](hex: macs + header) + packet }

  private static func carried(_ protocolNumber: UInt8, _ content: [UInt8]) -> [UInt8] {
    var builder = PacketBuilder()
    return builder.packet(
      protocolNumber: protocolNumber, content, from: IPAddress(v4: 0xac10_0001), to: IPAddress(v4: 0xac10_0002))
  }

  static let cases: [(name: String, packet: [UInt8], kind: HiddenKind?)] = [
    ("plain, another port", frame("0800", ip(port: 80)), nil), ("VLAN", frame("8100 0005 0800", ip()), .vlan),
    ("VLAN, another port", frame("8100 0005 0800", ip(port: 80)), nil),
    ("QinQ", frame("88a8 0005 8100 0006 86dd", ip(true)), .vlan),
    ("ARP in a VLAN", frame("8100 0005 0806", [0, 1]), nil),
    ("MPLS", frame("8847 00010040 00011140", ip()), .mpls), ("PPPoE", frame("8864 11000001 00ff 0021", ip()), .pppoe),
    ("IP in IP", carried(4, ip()), .tunnel), ("6in4", carried(41, ip(true)), .tunnel),
    ("GRE with a key", carried(47, [UInt8](hex: "2000 0800 00000001") + ip()), .tunnel),
    ("GRE with Ethernet", carried(47, [UInt8](hex: "0000 6558") + frame("0800", ip())), .tunnel),
    ("VXLAN", carried(17, [UInt8](hex: "9c40 12b5 0000 0000 0800000000000700") + frame("0800", ip())), .tunnel),
    (
      "VXLAN in a VLAN",
      frame(
        "8100 0005 0800",
        [UInt8](carried(17, [UInt8](hex: "9c40 2118 0000 0000 0800000000000700") + frame("0800", ip())).dropFirst(14))),
      .vlan
    ),
    (
      "Geneve", carried(17, [UInt8](hex: "9c40 17c1 0000 0000 0100 6558 00000700 00000000") + frame("86dd", ip(true))),
      .tunnel
    ),
  ]

  @Test func everyKind() throws {
    let filter = PacketFilter("tcp port 1883", subject: "test")
    let program = try filter.program(linkType: 1)
    var finder = HiddenFinder()
    for (name, packet, kind) in Self.cases {
      func find(_ packet: [UInt8]) -> HiddenKind? {
        packet.withUnsafeBytes { bytes in
          guard let start = bytes.baseAddress else { return nil }
          return finder.kind(
            start, captured: UInt32(packet.count), original: UInt32(packet.count), linkType: 1, program)
        }
      }
      #expect(find(packet) == kind, "\(name)")
      // Every prefix, and every byte changed: whatever comes of it, nothing behind the packet is read.
      for count in packet.indices { _ = find([UInt8](packet[..<count])) }
      for i in packet.indices {
        for value in [0, 0x45, 0x81, 0xff] as [UInt8] {
          var changed = packet
          changed[i] = value
          _ = find(changed)
        }
      }
    }
  }

  /// The counts of a file, in either form, and of a merge.
  @Test func counts() {
    let packets = Self.cases.enumerated().map {
      TimedPacket(timestamp: Timestamp(milliseconds: Int64($0)), bytes: $1.packet)
    }
    let bytes = CaptureBuilder(packets).pcap()
    var expected = HiddenCounts()
    for kind in Self.cases.compactMap(\.kind) { expected[kind] += 1 }
    #expect(read(bytes, filter: "tcp port 1883").statistics.hidden == expected)
    MergeTests.withFiles([bytes, bytes]) { paths in
      let source = MergedCapture(paths: paths, filter: "tcp port 1883")
      #expect(MergeTests.read(source).packets.isEmpty)
      var twice = expected
      twice.add(expected)
      #expect(source.statistics.hidden == twice)
    }
  }
}
