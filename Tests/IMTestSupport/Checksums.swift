package import IMWire

/// Which checksum a builder writes into a header.
package enum ChecksumKind: Sendable, Equatable {
  /// The right one.
  case correct
  /// One with bits turned over, never equal to the right one.
  case bad
  /// Zero: what a capture on the sending host shows when the network card computes the checksum.
  case zero

  /// The value to write where `sum` is right.
  package func value(_ sum: UInt16) -> UInt16 {
    switch self {
    case .correct: sum
    case .bad: sum ^ 0x5a5a
    case .zero: 0
    }
  }
}

/// The internet checksum of `bytes`: the ones' complement of the ones' complement sum of their 16-bit words.
/// An odd last byte counts as the high half of a word. Source: RFC 1071, section 1.
package func internetChecksum(_ bytes: [UInt8]) -> UInt16 {
  var sum: UInt32 = 0
  for i in stride(from: 0, to: bytes.count, by: 2) {
    sum += UInt32(bytes[i]) << 8 | (i + 1 < bytes.count ? UInt32(bytes[i + 1]) : 0)
    sum = (sum & 0xffff) + (sum >> 16)
  }
  return ~UInt16(truncatingIfNeeded: sum)
}

/// The bytes that TCP and UDP sum before their own header: addresses, protocol and length.
/// Source: RFC 9293, section 3.1 (IPv4), and RFC 8200, section 8.1 (IPv6).
package func pseudoHeader(from source: IPAddress, to destination: IPAddress, protocolNumber: UInt8, length: Int)
  -> [UInt8]
{
  var bytes: [UInt8] = []
  bytes.append(source)
  bytes.append(destination)
  if source.isIPv6 {
    bytes.append(big: UInt32(length))
    bytes.append(big: UInt32(protocolNumber))
  } else {
    bytes += [0, protocolNumber]
    bytes.append(big: UInt16(length))
  }
  return bytes
}

/// CRC-32 as zlib and IEEE 802.3 have it: reflected polynomial `EDB88320`, start and final value `FFFFFFFF`.
///
/// It is a table of its own, so that tests compare the engine's checksum with a second one.
package enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1 }
  }

  /// The checksum of `bytes`; 0 for none.
  package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8
    }
  }
}
