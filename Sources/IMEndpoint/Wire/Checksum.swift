internal import CDeflate

/// CRC-32 as zlib and IEEE 802.3 have it.
enum Checksum {
  /// The checksum a frame carries for `body`: 0 without one.
  static func of(_ body: RawSpan) -> UInt32 {
    guard body.byteCount > 0 else { return 0 }
    return body.withUnsafeBytes {
      UInt32(truncatingIfNeeded: libdeflate_crc32(0, $0.baseAddress, $0.count))
    }
  }

  /// Whether `checksum` is that of `body`, in network byte order as the rule says, or in the other one: some senders write
  /// it as their machine has it.
  static func matches(_ checksum: UInt32, of body: RawSpan) -> Bool {
    let computed = of(body)
    return checksum == computed || checksum.byteSwapped == computed
  }
}
