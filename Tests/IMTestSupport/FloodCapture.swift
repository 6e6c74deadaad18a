package import IMWire

/// Makes many packets that differ in address, port and numbers only, by changing the bytes of one: a million in seconds,
/// also without the optimizer. Checksums are right.
package struct FloodPacket: Sendable {
  /// The packet's bytes as they are now.
  package private(set) var bytes: [UInt8]
  /// The sums of the headers and the payload without what changes, as RFC 1071 has them.
  private let base: UInt32
  private let ipBase: UInt32

  /// A packet of Ethernet, IPv4 and TCP between two addresses that are filled in by `set`.
  package init(_ flags: TCPFlags, payload: [UInt8] = [], sourcePort: UInt16, destinationPort: UInt16) {
    let zero = IPAddress(v4: 0)
    let segment = TCPSegment(
      sourcePort: sourcePort, destinationPort: destinationPort, sequence: 0, acknowledgment: 0, flags: flags,
      payload: payload)
    var builder = PacketBuilder()
    bytes = builder.packet(segment, from: zero, to: zero)
    bytes.overwrite(at: 24, big: UInt16(0))
    bytes.overwrite(at: 50, big: UInt16(0))
    base = Self.sum(bytes[34...]) + 6 + UInt32(bytes.count - 34)
    ipBase = Self.sum(bytes[14..<34])
  }

  private static func sum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum: UInt32 = 0
    for (i, byte) in bytes.enumerated() { sum += i % 2 == 0 ? UInt32(byte) << 8 : UInt32(byte) }
    return sum
  }

  /// Makes it the packet from `source` to `destination`, IPv4 addresses, with these numbers.
  package mutating func set(
    from source: UInt32, to destination: UInt32, sequence: UInt32, acknowledgment: UInt32 = 0
  ) {
    var addresses: UInt32 = 0
    for (place, value) in [(26, source), (30, destination)] {
      put(value, at: place)
      addresses += value >> 16 + value & 0xffff
    }
    var numbers: UInt32 = 0
    for (place, value) in [(38, sequence), (42, acknowledgment)] {
      put(value, at: place)
      numbers += value >> 16 + value & 0xffff
    }
    put(checksum: ipBase + addresses, at: 24)
    put(checksum: base + addresses + numbers, at: 50)
  }

  private mutating func put(_ value: UInt32, at place: Int) {
    bytes[place] = UInt8(truncatingIfNeeded: value >> 24)
    bytes[place + 1] = UInt8(truncatingIfNeeded: value >> 16)
    bytes[place + 2] = UInt8(truncatingIfNeeded: value >> 8)
    bytes[place + 3] = UInt8(truncatingIfNeeded: value)
  }

  private mutating func put(checksum sum: UInt32, at place: Int) {
    var sum = sum
    while sum > 0xffff { sum = sum & 0xffff + sum >> 16 }
    bytes[place] = UInt8(truncatingIfNeeded: ~sum >> 8)
    bytes[place + 1] = UInt8(truncatingIfNeeded: ~sum)
  }
}

/// A sound conversation among many others: so many `tjp` messages, each answered, as packets in pairs.
package struct HonestChat: Sendable {
  /// The packets, in order; their times do not count.
  package let packets: [[UInt8]]

  /// A chat of `count` messages from a client of its own to `server`.
  package init(_ count: Int, server: Endpoint) {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0263), port: 51_000), server: server)
    talk.acknowledges = false
    talk.open(at: Timestamp(milliseconds: 0))
    for i in 0..<UInt32(count) {
      talk.send(
        TJPFrameBuilder(text: "are you there?", sequence: i + 1).bytes, .clientToServer,
        at: Timestamp(milliseconds: Int64(10 + i * 2)))
      talk.send(
        TJPFrameBuilder.echoACK(of: i + 1).bytes, .serverToClient, at: Timestamp(milliseconds: Int64(11 + i * 2)))
    }
    packets = talk.packets.map(\.bytes)
  }
}
