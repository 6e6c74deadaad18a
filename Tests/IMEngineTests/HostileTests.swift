import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Bytes that somebody has tampered with: no trap, a true ledger, and nothing that came before is touched.
@Suite struct HostileTests {
  /// The samples in the format that `Pcap` reads.
  static let samples = ["mqtt-mosquitto.pcap", "tjp-clean-chat.pcap", "tjp-damage.pcap", "tjp-weak-network.pcap"]

  /// 20,000 mutated packets: a third of each run's packets, from some packet on, are damaged.
  @Test(arguments: samples) func mutatedPackets(_ name: String) throws {
    let packets = try Pcap.packets(name)
    let sound = Run(packets)
    sound.expectLedgerAddsUp("\(name)")
    var random = SeededRandom(UInt64(name.utf8.count))
    var mutated = 0
    var round = 0
    while mutated < 5_000 {
      let first = Int.random(in: 0..<packets.count, using: &random)
      var damaged = packets
      for i in first..<packets.count where i == first || random.next() % 3 == 0 {
        damaged[i] = mutate(damaged[i], packets, &random)
        mutated += 1
      }
      let run = Run(damaged) {
        // DirectionState of the runs believe every packet, so that what is behind the checksums is reached too.
        $0.verifiesChecksums = round % 2 == 0
        $0.exchangeCapacity = 1 << 12
      }
      run.expectLedgerAddsUp("\(name), round \(round)")
      // What the sound capture gave before the first damaged packet: its exchanges may go on differently.
      let before = { (frame: SeenFrame) in frame.number <= UInt64(first) && frame.timestamp < packets[first].timestamp }
      let kept = run.frames.prefix { before($0) }
      let wanted = sound.frames.prefix { before($0) }
      #expect(kept.count >= wanted.count, "\(name), round \(round)")
      for (a, b) in zip(kept, wanted) where a.bytes != b.bytes || a.timestamp != b.timestamp || a.exchange != b.exchange
      {
        Testing.Issue.record("\(name), round \(round): frame \(b.number) has changed")
      }
      round += 1
    }
  }

  /// One packet, damaged in one of the ways in which packets are.
  private func mutate(_ packet: TimedPacket, _ all: [TimedPacket], _ random: inout SeededRandom) -> TimedPacket {
    var packet = packet
    let count = packet.bytes.count
    func place(_ bound: Int) -> Int { Int(random.next() % UInt64(max(1, bound))) }
    switch random.next() % 10 {
    case 0: packet.bytes[place(count)] ^= UInt8(truncatingIfNeeded: 1 << (random.next() % 8))
    case 1: packet.bytes[place(min(count, 66))] = UInt8(truncatingIfNeeded: random.next())
    case 2: for _ in 0..<8 { packet.bytes[place(count)] = UInt8(truncatingIfNeeded: random.next()) }
    case 3:
      packet.originalLength = UInt32(count)
      packet.bytes.removeLast(place(count))
    case 4: packet.bytes += random.bytes(place(200))
    case 5:
      let at = place(count)
      packet.bytes.replaceSubrange(at..<min(count, at + 4), with: [0xff, 0xff, 0xff, 0xff].prefix(min(4, count - at)))
    case 6: packet.bytes = all[place(all.count)].bytes
    case 7: packet.timestamp = packet.timestamp.advanced(by: Int64(bitPattern: random.next()) >> (random.next() % 60))
    case 8: packet.linkType = UInt16(truncatingIfNeeded: random.next() % 300)
    default:
      // The TCP header's numbers, flags and offset.
      let at = 34 + place(20)
      if at < count { packet.bytes[at] = UInt8(truncatingIfNeeded: random.next()) }
    }
    return packet
  }

  /// Random bytes under every link type.
  @Test func noise() {
    var random = SeededRandom(99)
    var packets: [TimedPacket] = []
    for i in 0..<6_000 {
      let linkType = [0, 1, 12, 14, 101, 108, 113, 178, 228, 229, 276][i % 11] as UInt16
      var bytes = random.bytes(Int(random.next() % 120))
      // DirectionState of them begin like something.
      if i % 2 == 0, bytes.count > 40 {
        let start = [1: 14, 113: 16, 276: 20, 0: 4, 108: 4, 178: 8][linkType] ?? 0
        bytes[start] = i % 4 == 0 ? 0x45 : 0x60
        bytes[start + (i % 4 == 0 ? 9 : 6)] = [6, 44, 0, 43][i / 4 % 4]
        if linkType == 178 { bytes.replaceSubrange(0..<4, with: [0x4d, 0x47, 0x43, 2]) }
        if linkType == 1 { bytes.replaceSubrange(12..<14, with: i % 4 == 0 ? [8, 0] : [0x86, 0xdd]) }
      }
      packets.append(OnePacket.timed(bytes, linkType: linkType, 1_700_000_000_000 + Int64(i)))
    }
    for verifies in [true, false] {
      let run = Run(packets) { $0.verifiesChecksums = verifies }
      #expect(run.ledger.packets == 6_000)
      run.expectLedgerAddsUp()
    }
  }

  /// Random bytes as streams, with and without a magic number in them, in random segments and with holes.
  @Test(arguments: [UInt16(8_080), 1_883, 5_222]) func randomStreams(_ port: UInt16) {
    for seed in 0..<150 {
      var random = SeededRandom(UInt64(seed))
      var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(port))
      talk.open(at: Timestamp(milliseconds: 0))
      var dropped: [Int] = []
      for i in 0..<20 {
        var bytes = random.bytes(Int.random(in: 1...400, using: &random))
        if seed % 3 == 0 {
          bytes.replaceSubrange(0..<min(6, bytes.count), with: [0xde, 0xca, 0xfb, 0xad, 1, 0].prefix(bytes.count))
        }
        if seed % 3 == 1 { bytes[0] = UInt8(truncatingIfNeeded: random.next() % 15 << 4) }
        let sent = talk.send(
          bytes, i % 3 == 0 ? .serverToClient : .clientToServer, at: Timestamp(milliseconds: Int64(10 + i * 20)))
        if random.next() % 6 == 0 { dropped += sent }
      }
      dropped.forEach { talk.drop($0) }
      let run = Run(talk.packets)
      run.expectLedgerAddsUp("seed \(seed)")
    }
  }
}
