import Foundation

/// The packets of a little-endian pcap file of Ethernet and IPv4, to be changed.
struct PcapFile {
  /// One packet.
  struct Packet {
    /// Nanoseconds since 1970.
    var time: Int
    /// From the Ethernet header on.
    var bytes: [UInt8]

    /// Where the TCP header begins.
    var tcp: Int { 14 + Int(bytes[14] & 15) * 4 }
    /// Where the payload begins.
    var payload: Int { tcp + Int(bytes[tcp + 12] >> 4) * 4 }
    /// The ports of sender and receiver.
    var ports: (Int, Int) {
      (Int(bytes[tcp]) << 8 | Int(bytes[tcp + 1]), Int(bytes[tcp + 2]) << 8 | Int(bytes[tcp + 3]))
    }

    /// Computes TCP's checksum anew.
    mutating func sum() {
      let end = 14 + (Int(bytes[16]) << 8 | Int(bytes[17]))
      (bytes[tcp + 16], bytes[tcp + 17]) = (0, 0)
      let count = end - tcp
      let covered = Array(bytes[26..<34]) + [0, 6, UInt8(count >> 8), UInt8(count & 255)] + bytes[tcp..<end] + [0]
      var sum = 0
      for i in stride(from: 0, to: covered.count - 1, by: 2) { sum += Int(covered[i]) << 8 | Int(covered[i + 1]) }
      while sum > 0xffff { sum = sum >> 16 + sum & 0xffff }
      (bytes[tcp + 16], bytes[tcp + 17]) = (UInt8(~sum >> 8 & 255), UInt8(~sum & 255))
    }
  }

  /// In the order of the file.
  var packets: [Packet] = []

  /// Reads the file at `path`.
  init(_ path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    func word(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) } }
    let unit = word(0) == 0xa1b2_3c4d ? 1 : 1_000
    var at = 24
    while at + 16 <= bytes.count {
      let count = word(at + 8)
      let time = word(at) * 1_000_000_000 + word(at + 4) * unit
      packets.append(Packet(time: time, bytes: Array(bytes[(at + 16)..<(at + 16 + count)])))
      at += 16 + count
    }
  }

  /// Only the packets of the connection whose client has this port.
  mutating func keep(client port: Int) { packets.removeAll { $0.ports.0 != port && $0.ports.1 != port } }

  /// The first packet whose payload begins with a TLS handshake message of this type: 1 is a ClientHello, 2 a ServerHello.
  func hello(_ type: UInt8) -> Int? {
    packets.firstIndex { packet in
      let at = packet.payload
      return packet.bytes.count > at + 43 && packet.bytes[at] == 22 && packet.bytes[at + 5] == type
    }
  }

  /// As a pcap file with nanoseconds.
  var pcap: [UInt8] {
    var result =
      Self.word(0xa1b2_3c4d) + [2, 0, 4, 0] + Self.word(0) + Self.word(0) + Self.word(262_144) + Self.word(1)
    for packet in packets {
      result += Self.word(packet.time / 1_000_000_000) + Self.word(packet.time % 1_000_000_000)
      result += Self.word(packet.bytes.count) + Self.word(packet.bytes.count) + packet.bytes
    }
    return result
  }

  /// As pcapng, with `secrets` in a block after the first `place` packets.
  func pcapng(secrets: [UInt8], after place: Int) -> [UInt8] {
    func block(_ type: Int, _ body: [UInt8]) -> [UInt8] {
      let padded = body + [UInt8](repeating: 0, count: -body.count & 3)
      return Self.word(type) + Self.word(padded.count + 12) + padded + Self.word(padded.count + 12)
    }
    let section = Self.word(0x1a2b_3c4d) + [1, 0, 0, 0] + [UInt8](repeating: 0xff, count: 8)
    var result = block(0x0a0d_0d0a, section)
    // Time in nanoseconds (option 9).
    result += block(1, Self.word(1) + Self.word(262_144) + [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0])
    for (number, packet) in packets.enumerated() {
      if number == place { result += block(10, Self.word(0x544c_534b) + Self.word(secrets.count) + secrets) }
      let lengths = Self.word(packet.bytes.count) + Self.word(packet.bytes.count)
      result += block(6, Self.word(0) + Self.word(packet.time >> 32) + Self.word(packet.time) + lengths + packet.bytes)
    }
    return result
  }

  private static func word(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
}
