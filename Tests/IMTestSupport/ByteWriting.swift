package import IMWire

extension [UInt8] {
  /// Appends `value` with its most significant byte first: network order.
  package mutating func append(big value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Appends `value` with its least significant byte first.
  package mutating func append(little value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  /// Writes `value` in network order over the bytes at `offset`.
  package mutating func overwrite(at offset: Int, big value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { bytes in
      replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }

  /// The 4 or 16 bytes of `address` in network order.
  package mutating func append(_ address: IPAddress) {
    if address.isIPv6 {
      append(big: address.high)
      append(big: address.low)
    } else {
      append(big: UInt32(truncatingIfNeeded: address.low))
    }
  }

  /// The bytes of a text of hexadecimal digits, in which blanks are free: `"de ca fb ad"`.
  /// A digit too many and anything that is not a digit are errors of the test and stop it.
  package init(hex text: String) {
    let digits = text.filter { !$0.isWhitespace }.map { digit -> UInt8 in
      guard let value = digit.hexDigitValue else { preconditionFailure("'\(digit)' is not a hexadecimal digit") }
      return UInt8(value)
    }
    precondition(digits.count.isMultiple(of: 2), "an odd number of hexadecimal digits")
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
