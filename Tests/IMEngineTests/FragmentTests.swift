import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Datagrams that come in pieces.
@Suite struct FragmentTests {
  /// Every order of up to five fragments.
  @Test(arguments: [false, true], [24, 40, 64]) func everyOrder(_ isIPv6: Bool, _ size: Int) {
    let parts = fragments(isIPv6: isIPv6, size: size)
    for order in permutations(Array(parts.indices)).prefix(240) {
      let run = Run(OnePacket.timed(order.map { parts[$0] }))
      #expect(run.frames.map(\.bytes) == [OnePacket.frame], "\(order)")
      #expect(run.skipped == [SkipReason](repeating: .fragmentHeld, count: parts.count - 1), "\(order)")
      #expect(run.frames.map(\.number) == [UInt64(parts.count)], "\(order)")
      run.expectLedgerAddsUp("\(order)")
    }
  }

  /// One fragment never comes: nothing is made up.
  @Test(arguments: [false, true]) func oneMissing(_ isIPv6: Bool) {
    let parts = fragments(isIPv6: isIPv6, size: 32)
    for missing in parts.indices {
      var left = parts
      left.remove(at: missing)
      let run = Run(OnePacket.timed(left))
      #expect(run.frames.isEmpty)
      #expect(run.ledger.segments == 0)
      run.expectLedgerAddsUp()
    }
  }

  /// Every fragment comes twice, and the second copy has other bytes: the first one counts.
  @Test(arguments: [false, true]) func overlapping(_ isIPv6: Bool) {
    let parts = fragments(isIPv6: isIPv6, size: 32)
    var packets: [[UInt8]] = []
    for part in parts {
      var other = part
      for i in part.count - 8..<part.count { other[i] ^= 0xff }
      packets += part == parts.last ? [part] : [part, other]
    }
    let run = Run(OnePacket.timed(packets))
    #expect(run.frames.map(\.bytes) == [OnePacket.frame])
    #expect(run.frames.map(\.status) == [.be])
    run.expectLedgerAddsUp()
  }

  /// A wider fragment overlaps those that are there on both sides.
  @Test func overlapOnBothSides() {
    let narrow = fragments(isIPv6: false, size: 16)
    let wide = fragments(isIPv6: false, size: 48)
    for order in permutations([narrow[1], narrow[4], wide[0], wide[1]]) {
      let run = Run(OnePacket.timed(order))
      #expect(run.frames.map(\.bytes) == [OnePacket.frame])
      run.expectLedgerAddsUp()
    }
  }

  /// Two datagrams that differ in identification, protocol or address do not mix.
  @Test func interleaved() {
    let one = fragments(isIPv6: false, size: 32, identification: 1, sequence: 1_000)
    let two = fragments(isIPv6: false, size: 32, identification: 2, sequence: 1_000 + UInt32(OnePacket.frame.count))
    let run = Run(OnePacket.timed(zip(one, two).flatMap { [$0, $1] }))
    #expect(run.frames.count == 2)
    run.expectLedgerAddsUp()
  }

  /// Lies: (offset in eights, more fragments follow, payload bytes) and what is said of them.
  @Test(
    arguments: [
      ("ends beyond 64 KiB", [(8_191, false, 64)], ["fragment_dropped"]),
      ("two different ends", [(8, false, 8), (16, false, 8)], ["fragment_held", "fragment_dropped"]),
      ("nothing in it", [(8, true, 0)], ["fragment_dropped"]),
      ("too short for TCP", [(0, true, 8), (1, false, 8)], ["fragment_held", "tcp_header"]),
    ] as [(String, [(Int, Bool, Int)], [String])])
  func lies(_ name: String, _ parts: [(Int, Bool, Int)], _ expected: [String]) {
    let packets = parts.map { ipv4(offset: $0.0, more: $0.1, [UInt8](repeating: 0, count: $0.2)) }
    let run = Run(OnePacket.timed(packets))
    #expect(run.skipped.map(\.name).sorted() == expected.sorted())
    run.expectLedgerAddsUp()
  }

  /// A fragment that the snaplen cut cannot be used.
  @Test(arguments: [false, true]) func cut(_ isIPv6: Bool) {
    let run = Run(OnePacket.timed(fragments(isIPv6: isIPv6, size: 32)), snapLength: isIPv6 ? 90 : 60)
    #expect(run.frames.isEmpty)
    #expect(Set(run.skipped).isSubset(of: [.fragmentHeld, .fragmentDropped]))
    run.expectLedgerAddsUp()
  }

  /// More datagrams at once than the limit: the oldest goes, the engine goes on.
  @Test func flood() {
    var packets: [[UInt8]] = []
    for i in 0..<5_000 { packets.append(ipv4(offset: 0, more: true, [1, 2, 3, 4, 5, 6, 7, 8], UInt16(i))) }
    packets.append(OnePacket.bytes(PacketBuilder()))
    let run = Run(OnePacket.timed(packets))
    #expect(run.frames.count == 1)
    #expect(run.skipped.count == 5_000)
    run.expectLedgerAddsUp()
  }

  private func fragments(isIPv6: Bool, size: Int, identification: UInt32 = 9, sequence: UInt32 = 1_000) -> [[UInt8]] {
    var builder = PacketBuilder()
    builder.identification = identification
    let (source, destination) = isIPv6 ? OnePacket.v6 : OnePacket.v4
    return builder.fragments(of: OnePacket.segment(sequence: sequence), from: source, to: destination, size: size)
  }

  /// An IPv4 fragment of any kind, with a header checksum of 0.
  private func ipv4(offset: Int, more: Bool, _ payload: [UInt8], _ identification: UInt16 = 5) -> [UInt8] {
    var bytes = [UInt8](hex: "020000000001 020000000002 0800 4500")
    bytes.append(big: UInt16(20 + payload.count))
    bytes.append(big: identification)
    bytes.append(big: UInt16(offset) | (more ? 0x2000 : 0))
    bytes += [64, 6, 0, 0]
    bytes.append(OnePacket.v4.0)
    bytes.append(OnePacket.v4.1)
    return bytes + payload
  }

  private func permutations<T>(_ items: [T]) -> [[T]] {
    guard items.count > 1 else { return [items] }
    return items.indices.flatMap { i -> [[T]] in
      var rest = items
      let item = rest.remove(at: i)
      return permutations(rest).map { [item] + $0 }
    }
  }
}
