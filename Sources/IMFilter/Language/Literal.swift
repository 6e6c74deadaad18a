import IMWire

/// Reads literals from their text. Everything here answers `nil` for text that is no such literal.
enum Literal {
  /// `42`, `-3`, `0x1001`, within -2⁶³ and 2⁶⁴-1.
  static func whole(_ text: String) -> Int128? {
    var digits = Substring(text)
    let isNegative = digits.hasPrefix("-")
    if isNegative || digits.hasPrefix("+") { digits = digits.dropFirst() }
    let isHex = digits.hasPrefix("0x") || digits.hasPrefix("0X")
    if isHex { digits = digits.dropFirst(2) }
    guard !digits.isEmpty else { return nil }
    var value: UInt64 = 0
    for byte in digits.utf8 {
      guard let digit = HexDigit.value(byte), isHex || digit < 10 else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: isHex ? 16 : 10)
      let (sum, more) = product.addingReportingOverflow(UInt64(digit))
      if overflow || more { return nil }
      value = sum
    }
    let signed = isNegative ? -Int128(value) : Int128(value)
    return signed >= Int128(Int64.min) ? signed : nil
  }

  /// `0.5`, `-2`, `1e-3`, or a whole number in hex.
  static func fractional(_ text: String) -> Double? {
    guard let first = text.utf8.first, first == 0x2d || first == 0x2b || first == 0x2e || (0x30...0x39).contains(first)
    else { return nil }
    if let whole = whole(text) { return Double(whole) }
    let isPlain = text.utf8.allSatisfy {
      (0x30...0x39).contains($0) || [0x2b, 0x2d, 0x2e, 0x45, 0x65].contains($0)
    }
    guard isPlain, let value = Double(text), value.isFinite else { return nil }
    return value
  }

  /// `10.0.0.1`, `2001:db8::1`, or a network such as `10.0.0.0/8`.
  static func addresses(_ text: String) -> (lower: AddressKey, upper: AddressKey)? {
    guard let slash = text.firstIndex(of: "/") else {
      guard let address = IPAddress(text) else { return nil }
      return (AddressKey(address: address), AddressKey(address: address))
    }
    let bits = text[text.index(after: slash)...]
    guard (1...3).contains(bits.utf8.count), bits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int(bits), let address = IPAddress(text[..<slash])
    else { return nil }
    return AddressKey.network(of: address, bits: count)
  }

  /// Bytes as `0a:0b:0c` or `0x0a0b0c`.
  static func bytes(_ text: String) -> [UInt8]? {
    let isJoined = text.hasPrefix("0x") || text.hasPrefix("0X")
    let source = Array(isJoined ? text.utf8.dropFirst(2) : text.utf8[...])
    let stride = isJoined ? 2 : 3
    guard isJoined ? source.count >= 2 && source.count % 2 == 0 : source.count >= 5 && source.count % 3 == 2 else {
      return nil
    }
    var bytes: [UInt8] = []
    for start in Swift.stride(from: 0, to: source.count, by: stride) {
      guard let high = HexDigit.value(source[start]), let low = HexDigit.value(source[start + 1]) else { return nil }
      if start > 0, !isJoined, source[start - 1] != UInt8(ascii: ":") { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}
