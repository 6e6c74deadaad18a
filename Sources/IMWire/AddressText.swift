extension IPAddress: CustomStringConvertible {
  /// The address as text: dotted quad, or RFC 5952 for IPv6.
  public var description: String {
    isIPv6 ? Self.v6Text(high, low) : Self.v4Text(UInt32(truncatingIfNeeded: low))
  }

  static func v4Text(_ v: UInt32) -> String {
    "\(v >> 24).\(v >> 16 & 255).\(v >> 8 & 255).\(v & 255)"
  }

  /// RFC 5952: lower-case hex, no leading zeros, the longest run of two or more zero groups (the first of equals) as `::`,
  /// and IPv4-mapped addresses with a dotted tail.
  static func v6Text(_ high: UInt64, _ low: UInt64) -> String {
    if high == 0, low >> 32 == 0xffff { return "::ffff:" + v4Text(UInt32(truncatingIfNeeded: low)) }
    let groups = (0..<8).map { i -> UInt16 in
      let half = i < 4 ? high : low
      return UInt16(truncatingIfNeeded: half >> UInt64((3 - i % 4) * 16))
    }
    var best = 0..<0
    var start = 0
    while start < 8 {
      guard groups[start] == 0 else {
        start += 1
        continue
      }
      var end = start
      while end < 8, groups[end] == 0 { end += 1 }
      if end - start > best.count { best = start..<end }
      start = end
    }
    func text(_ part: ArraySlice<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    if best.count < 2 { return text(groups[...]) }
    return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
  }
}

extension IPAddress {
  /// Reads an IPv4 dotted quad or an IPv6 address in any RFC 4291 form; `nil` when `text` is neither.
  public init?(_ text: some StringProtocol) {
    if text.utf8.contains(UInt8(ascii: ":")) {
      guard let (high, low) = Self.parseV6(text.utf8.map { $0 }) else { return nil }
      self.init(v6High: high, v6Low: low)
    } else {
      guard let v4 = Self.parseV4(text.utf8.map { $0 }[...]) else { return nil }
      self.init(v4: v4)
    }
  }

  private static func parseV4(_ text: ArraySlice<UInt8>) -> UInt32? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var value: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy({ (48...57).contains($0) }) else { return nil }
      let byte = part.reduce(0) { $0 * 10 + UInt32($1 - 48) }
      guard byte < 256, part.count == 1 || part.first != 48 else { return nil }
      value = value << 8 | byte
    }
    return value
  }

  private static func parseV6(_ text: [UInt8]) -> (UInt64, UInt64)? {
    var head: [UInt16] = []
    var tail: [UInt16]?
    var i = 0
    if text.starts(with: [58, 58]) {
      tail = []
      i = 2
    } else if text.first == 58 {
      return nil
    }
    while i < text.count {
      let end = text[i...].firstIndex(of: 58) ?? text.count
      let group = text[i..<end]
      if group.contains(UInt8(ascii: ".")) {
        guard end == text.count, let v4 = parseV4(group) else { return nil }
        let two = [UInt16(v4 >> 16), UInt16(truncatingIfNeeded: v4)]
        if tail == nil { head += two } else { tail? += two }
        i = end
        break
      }
      guard (1...4).contains(group.count),
        let value = UInt16(String(decoding: group, as: UTF8.self), radix: 16)
      else { return nil }
      if tail == nil { head.append(value) } else { tail?.append(value) }
      i = end
      guard i < text.count else { break }
      i += 1
      if i == text.count { return nil }
      if text[i] == 58 {
        guard tail == nil else { return nil }
        tail = []
        i += 1
      }
    }
    var groups = head
    if let tail {
      guard head.count + tail.count <= 7 else { return nil }
      groups += [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
    }
    guard groups.count == 8 else { return nil }
    let high = groups[..<4].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
    let low = groups[4...].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
    return (high, low)
  }
}

extension Endpoint: CustomStringConvertible {
  /// `192.0.2.1:8080` or `[2001:db8::1]:8080`.
  public var description: String { address.isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)" }
}
