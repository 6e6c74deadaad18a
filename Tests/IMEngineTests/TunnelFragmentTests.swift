import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Tunnels whose outer packets come in fragments: what they carry is read as if they were whole.
@Suite struct TunnelFragmentTests {
  /// The tunnels of `StreamTunnelTests` that run over IP, by protocol number and content.
  static let tunnels: [(name: String, number: UInt8, content: [UInt8])] = StreamTunnelTests.cases.filter {
    $0.linkType == 1
  }.compactMap {
    let packet = $0.packet
    switch (packet[12], packet[13]) {
    case (0x08, 0x00): return ($0.name, packet[23], [UInt8](packet[34...]))
    case (0x86, 0xdd): return ($0.name, packet[20], [UInt8](packet[54...]))
    default: return nil
    }
  }

  static let routers4 = (IPAddress(v4: 0xac10_0001), IPAddress(v4: 0xac10_0002))
  static let routers6 = (
    IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1), IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 2)
  )

  static func fragments(_ number: UInt8, _ content: [UInt8], isIPv6: Bool, size: Int, link: LinkLayer = .ethernet)
    -> [[UInt8]]
  {
    var builder = PacketBuilder(link: link)
    let (source, destination) = isIPv6 ? routers6 : routers4
    return builder.fragments(protocolNumber: number, content, from: source, to: destination, size: size)
  }

  static func payloads(_ packets: [[UInt8]]) -> [[UInt8]] {
    StreamTunnelTests.collected(packets).map { $0.directions[0].content.flatMap { $0 } }
  }

  @Test(arguments: tunnels.indices, [false, true]) func putTogether(_ index: Int, _ isIPv6: Bool) {
    let tunnel = Self.tunnels[index]
    for size in [8, 16, 40, 64] {
      let parts = Self.fragments(tunnel.number, tunnel.content, isIPv6: isIPv6, size: size)
      let swapped = stride(from: 0, to: parts.count, by: 2).flatMap {
        Array(parts[$0..<min($0 + 2, parts.count)].reversed())
      }
      for packets in [parts, parts.reversed(), swapped, parts + parts] {
        #expect(Self.payloads(packets) == [StreamTunnelTests.payload], "\(tunnel.name), \(size)")
      }
      #expect(Self.payloads(Array(parts.dropLast())).isEmpty || parts.count == 1, "\(tunnel.name)")
    }
  }

  /// Fragments in tunnels in fragments, in both families, in order and reversed at each level.
  @Test(arguments: [false, true], [false, true]) func inFragments(_ isIPv6: Bool, _ isReversed: Bool) {
    func turned(_ packets: [[UInt8]]) -> [[UInt8]] { isReversed ? packets.reversed() : packets }
    var builder = PacketBuilder(link: .raw)
    let (source, destination) = isIPv6 ? OnePacket.v6 : OnePacket.v4
    var inner = turned(builder.fragments(of: OnePacket.segment(), from: source, to: destination, size: 24))
    for level in 0..<3 {
      let number: UInt8 = (level == 0 ? isIPv6 : level % 2 == 1) ? 41 : 4
      inner = inner.enumerated().flatMap { i, packet -> [[UInt8]] in
        var builder = PacketBuilder(link: level == 2 ? .ethernet : .raw)
        builder.identification = UInt32(100 * level + i)
        let (source, destination) = level % 2 == 0 ? Self.routers6 : Self.routers4
        return turned(
          builder.fragments(protocolNumber: number, packet, from: source, to: destination, size: 40))
      }
    }
    let run = Run(OnePacket.timed(inner))
    #expect(run.frames.map(\.bytes) == [OnePacket.frame])
    #expect(run.skipped == [SkipReason](repeating: .fragmentHeld, count: inner.count - 1))
    run.expectLedgerAddsUp()
  }

  /// Inner and outer fragments of equal addresses, numbers and protocol are not mixed.
  @Test func equalNames() {
    var builder = PacketBuilder(link: .raw)
    builder.identification = 7
    let (source, destination) = Self.routers4
    let innermost = builder.packet(OnePacket.segment(), from: source, to: destination)
    builder.identification = 7
    let inner = builder.fragments(protocolNumber: 4, innermost, from: source, to: destination, size: 48)
    let outer = inner.flatMap { packet -> [[UInt8]] in
      var builder = PacketBuilder()
      builder.identification = 7
      return builder.fragments(protocolNumber: 4, packet, from: source, to: destination, size: 32)
    }
    let run = Run(OnePacket.timed(outer))
    #expect(run.frames.map(\.bytes) == [OnePacket.frame])
    run.expectLedgerAddsUp()
  }

  /// UDP that is no tunnel is not kept once its first fragment has told so, and takes nobody's place.
  @Test(arguments: [false, true]) func otherDatagrams(_ isReversed: Bool) {
    var content: [UInt8] = []
    content.append(big: UInt16(5_004))
    content.append(big: UInt16(5_004))
    content += [UInt8](repeating: 9, count: 196)
    let parts = Self.fragments(17, content, isIPv6: false, size: 64)
    let run = Run(OnePacket.timed(isReversed ? parts.reversed() : parts))
    #expect(run.skipped.filter { $0 == .notTCP }.count == (isReversed ? 1 : parts.count))
    #expect(run.ledger.segments == 0)
    run.expectLedgerAddsUp()
  }

  /// Fragment headers behind fragment headers end at the limit of nesting, however many there are.
  @Test func fragmentHeadersInARow() {
    for (count, found) in [(8, 1), (9, 0), (8_000, 0)] {
      var builder = PacketBuilder(link: .raw)
      let (source, destination) = OnePacket.v6
      var content: [UInt8] = []
      for i in 0..<count { content += [i + 1 < count ? 44 : 6, 0, 0, 0, 0, 0, 0, 1] }
      content += OnePacket.segment().bytes(from: source, to: destination)
      let run = Run([
        OnePacket.timed(
          builder.packet(protocolNumber: 44, content, from: source, to: destination), linkType: 101)
      ])
      #expect(run.frames.count == found, "\(count)")
      #expect(run.skipped == (found == 1 ? [] : [.tooDeep]))
    }
  }
}
