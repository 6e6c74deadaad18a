/// CRC-32 as zlib and IEEE 802.3 have it, eight bytes at a time ("slicing by 8").
enum PortableChecksum {
  /// For each of eight places, what a byte there adds: 256 numbers each.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var rest = UInt32(byte)
      for _ in 0..<8 { rest = rest & 1 == 1 ? rest >> 1 ^ 0xedb8_8320 : rest >> 1 }
      tables[byte] = rest
    }
    for place in 256..<8 * 256 {
      let before = tables[place - 256]
      tables[place] = before >> 8 ^ tables[Int(before & 0xff)]
    }
    return tables
  }()

  /// Continues `checksum`, 0 at first, over so many bytes.
  static func continued(_ checksum: UInt32, _ bytes: UnsafeRawPointer, _ count: Int) -> UInt32 {
    // SAFETY: `bytes` has `count` bytes; places in the tables are a byte plus a multiple of 256 below 2,048.
    tables.withUnsafeBufferPointer { tables in
      var rest = ~checksum
      var at = 0
      while count - at >= 8 {
        let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)) ^ UInt64(rest)
        rest = 0
        for place in 0..<8 {
          rest ^= tables[(7 - place) << 8 | Int(truncatingIfNeeded: word >> (8 * UInt64(place)) & 0xff)]
        }
        at += 8
      }
      while at < count {
        let byte = bytes.load(fromByteOffset: at, as: UInt8.self)
        rest = rest >> 8 ^ tables[Int((rest ^ UInt32(byte)) & 0xff)]
        at += 1
      }
      return ~rest
    }
  }
}
