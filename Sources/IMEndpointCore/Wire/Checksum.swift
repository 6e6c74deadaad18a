/// CRC-32 as zlib and IEEE 802.3 have it.
package enum Checksum {
  /// The checksum a frame carries for `body`: 0 without one.
  package static func of(_ body: RawSpan) -> UInt32 {
    guard body.byteCount > 0 else { return 0 }
    return body.withUnsafeBytes { bytes in bytes.baseAddress.map { Codec.checksum(0, $0, bytes.count) } ?? 0 }
  }

  /// Whether `checksum` is that of `body`, in network byte order as the rule says, or in the other one: some senders write
  /// it as their machine has it.
  package static func matches(_ checksum: UInt32, of body: RawSpan) -> Bool {
    let computed = of(body)
    return checksum == computed || checksum.byteSwapped == computed
  }
}
