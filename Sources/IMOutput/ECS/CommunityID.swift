package import IMWire

/// The name of a connection that every tool gives it: Community ID version 1, seed 0.
///
///     "1:" + base64(SHA-1(seed u16, address, address, protocol u8, 0, port u16, port u16)), the lesser end first
///
/// Source: https://github.com/corelight/community-id-spec and its baseline.
package enum CommunityID {
  /// The id of the TCP connection between two ends, whichever comes first; `nil` when one is IPv4 and the other IPv6.
  package static func tcp(_ a: Endpoint, _ b: Endpoint) -> String? {
    guard a.address.isIPv6 == b.address.isIPv6 else { return nil }
    let (low, high) = isOrdered(a, b) ? (a, b) : (b, a)
    var bytes: [UInt8] = [0, 0]
    bytes += address(low.address) + address(high.address)
    bytes += [6, 0]
    for port in [low.port, high.port] { bytes += [UInt8(port >> 8), UInt8(port & 255)] }
    return "1:" + base64(SHA1.hash(bytes))
  }

  private static func isOrdered(_ a: Endpoint, _ b: Endpoint) -> Bool {
    (a.address.high, a.address.low, a.port) <= (b.address.high, b.address.low, b.port)
  }

  private static func address(_ address: IPAddress) -> [UInt8] {
    let words = address.isIPv6 ? [address.high, address.low] : [address.low << 32]
    let bytes = words.flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
    return address.isIPv6 ? bytes : Array(bytes[..<4])
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let value = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for i in 0..<4 { text.append(i <= group.count ? digits[value >> (18 - 6 * i) & 63] : UInt8(ascii: "=")) }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
