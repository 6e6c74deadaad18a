import Testing

@testable import IMEngine

/// The hash of the flow table: a sender who knows the collisions of one run must not know those of another.
@Suite struct FlowHasherTests {
  /// Clients of one server whose hashes collide in the lowest 12 bits under one seed, and spread under another.
  @Test func anotherSeedSpreadsWhatCollides() {
    let mask: UInt64 = 0xFFF
    let known = FlowHasher(seed: 1), other = FlowHasher(seed: 0x5EED_0000_0000_0002)
    var colliding: [FlowKey] = []
    var key = FlowKey(v4: 0, server: 0xC0A8_0001)
    let slot = known.hash(key) & mask
    for client in 0..<(1 << 20) as Range<UInt32> {
      key = FlowKey(v4: client, server: 0xC0A8_0001)
      if known.hash(key) & mask == slot { colliding.append(key) }
    }
    // One in 4,096 of 2^20 clients is expected in any slot.
    #expect((150...400).contains(colliding.count))
    #expect(Set(colliding.map { other.hash($0) & mask }).count > colliding.count * 9 / 10)
    #expect(colliding.allSatisfy { known.hash(v4: $0) == known.hash($0) })
  }
}

extension FlowKey {
  /// A connection from port 40000 of an IPv4 client to port 8080 of a server.
  fileprivate init(v4 client: UInt32, server: UInt32) {
    self.init()
    a = UInt64(client) << 32 | UInt64(server)
    ports = 40_000 << 16 | 8_080
  }
}
