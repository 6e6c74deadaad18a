import IMTestSupport
import IMWire

@testable import IMEngine

/// Single packets with one `tjp` frame, to be dressed in every kind of header.
enum OnePacket {
  static let v4 = (IPAddress(v4: 0xc000_0215), IPAddress(v4: 0xcb00_710a))
  static let v6 = (
    IPAddress(v6High: 0x2001_0db8_0001_0000, v6Low: 0x21), IPAddress(v6High: 0x2001_0db8_0001_0000, v6Low: 0x10)
  )

  static let frame = TJPFrameBuilder(text: "a message that is long enough to be cut", sequence: 7).bytes

  static func segment(_ payload: [UInt8] = frame, sequence: UInt32 = 1_000) -> TCPSegment {
    TCPSegment(sourcePort: 40_001, destinationPort: 8_080, sequence: sequence, flags: [.psh, .ack], payload: payload)
  }

  /// The frame in one packet.
  static func bytes(_ builder: PacketBuilder, isIPv6: Bool = false, _ segment: TCPSegment = segment()) -> [UInt8] {
    var builder = builder
    let (source, destination) = isIPv6 ? v6 : v4
    return builder.packet(segment, from: source, to: destination)
  }

  static func timed(_ bytes: [UInt8], linkType: UInt16 = 1, _ milliseconds: Int64 = 1_700_000_000_000) -> TimedPacket {
    TimedPacket(timestamp: Timestamp(milliseconds: milliseconds), bytes: bytes, linkType: linkType)
  }

  /// Packets of one link, a millisecond apart.
  static func timed(_ packets: [[UInt8]], linkType: UInt16 = 1) -> [TimedPacket] {
    packets.enumerated().map { timed($0.element, linkType: linkType, 1_700_000_000_000 + Int64($0.offset)) }
  }
}

extension TimedPacket {
  /// The same segment in an Ethernet packet of its own, as TCP sends it again: with another identification.
  func sentAgain(at timestamp: Timestamp, _ step: UInt8 = 1) -> TimedPacket {
    var packet = TimedPacket(self, at: timestamp)
    if packet.bytes[14] >> 4 == 4 {
      packet.bytes[18] &+= step
      packet.bytes.refreshIPv4Checksum()
    }
    return packet
  }
}

extension [UInt8] {
  /// Makes the checksum of the IPv4 header right that stands behind an Ethernet header.
  mutating func refreshIPv4Checksum() {
    overwrite(at: 24, big: UInt16(0))
    overwrite(at: 24, big: internetChecksum([UInt8](self[14..<14 + Int(self[14] & 15) * 4])))
  }
}

extension Run {
  /// Reasons of the packets that were skipped, once for each packet.
  var skipped: [SkipReason] {
    SkipReason.allCases.flatMap { [SkipReason](repeating: $0, count: Int(ledger.skipped[Int($0.rawValue)])) }
  }
}
