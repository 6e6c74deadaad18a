import IMWire

/// The PROXY protocol's header: the addresses of the connection that a load balancer passes on.
///
/// Version 1 is a line of text, at most 107 bytes long:
///
///     PROXY TCP4 192.0.2.1 198.51.100.1 40000 443 CR LF
///
/// Version 2 is binary. The length, big endian, counts what stands behind it: addresses, then TLVs of one byte's type and
/// two bytes' length.
///
///      0                    12       13          14       16
///     +--------------------+--------+-----------+--------+--------------------------------+------
///     | 0D 0A 0D 0A 00 0D  | version| family and| length | source, destination, ports:    | TLVs
///     | 0A 51 55 49 54 0A  | command| transport |        | IPv4 12, IPv6 36, UNIX 216     |
///     +--------------------+--------+-----------+--------+--------------------------------+------
///
/// Source: "The PROXY protocol", versions 1 and 2, as HAProxy publishes it.
struct ProxyHeader: Equatable {
  /// What stands at the beginning of a connection.
  enum Outcome: Equatable {
    /// Something else.
    case none
    /// As far as it goes, a header.
    case needMore
    /// A whole header of so many bytes.
    case header(ProxyHeader, count: Int)
    /// A header that cannot be believed; so many bytes of it are known to belong to it.
    case damaged(count: Int)
  }

  /// 1 or 2.
  var version: UInt8
  /// Whether the proxy speaks for itself, as health checks do.
  var isLocal = false
  /// The client and what it connected to; `nil` where the header names none, as for sockets of the UNIX family.
  var source: Endpoint?, destination: Endpoint?
  /// Whether the client's own connection was TLS.
  var usesTLS = false

  static let longestLine = 107
  /// The longest header of version 2 that is waited for; certificates in its TLVs have a few KiB.
  static let longest = 16 << 10
  private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
  private static let name = [UInt8]("PROXY ".utf8)

  /// Reads what stands between `start` and `end`, the beginning of a connection.
  static func read(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Outcome {
    if begins(with: name, bytes, start, end) { return end - start < name.count ? .needMore : line(bytes, start, end) }
    guard begins(with: signature, bytes, start, end) else { return .none }
    return end - start < 16 ? .needMore : binary(bytes, start, end)
  }

  private static func begins(with text: [UInt8], _ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Bool {
    for i in 0..<min(text.count, end - start) where bytes.u8(start + i) != text[i] { return false }
    return start < end
  }

  // MARK: Version 1

  private static func line(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Outcome {
    let limit = min(end, start + longestLine)
    var at = start + name.count
    while at < limit, bytes.u8(at) != 0x0a { at += 1 }
    guard at < limit else { return end - start < longestLine ? .needMore : .damaged(count: name.count) }
    let count = at + 1 - start
    guard bytes.u8(at - 1) == 0x0d else { return .damaged(count: count) }
    var text: [UInt8] = []
    for i in start + name.count..<at - 1 { text.append(bytes.u8(i)) }
    let words = text.split(separator: 0x20, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    var header = ProxyHeader(version: 1)
    if words.first == "UNKNOWN" { return .header(header, count: count) }
    guard words.count == 5, words[0] == "TCP4" || words[0] == "TCP6", let source = IPAddress(words[1]),
      let destination = IPAddress(words[2]), source.isIPv6 == (words[0] == "TCP6"),
      destination.isIPv6 == source.isIPv6, let from = port(words[3]), let to = port(words[4])
    else { return .damaged(count: count) }
    header.source = Endpoint(address: source, port: from)
    header.destination = Endpoint(address: destination, port: to)
    return .header(header, count: count)
  }

  /// A decimal number without sign or leading zero.
  private static func port(_ text: String) -> UInt16? {
    guard text == "0" || text.utf8.first.map({ (0x31...0x39).contains($0) }) == true else { return nil }
    return UInt16(text)
  }

  // MARK: Version 2

  /// Bytes of the two addresses and ports, by family.
  private static func addressCount(_ family: UInt8) -> Int? {
    switch family {
    case 0: 0
    case 1: 12
    case 2: 36
    case 3: 216
    default: nil
    }
  }

  private static func binary(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Outcome {
    let command = bytes.u8(start + 12)
    let family = bytes.u8(start + 13) >> 4
    let transport = bytes.u8(start + 13) & 15
    let count = 16 + Int(bytes.u16(start + 14))
    guard command == 0x20 || command == 0x21, transport <= 2, count <= longest, let addresses = addressCount(family)
    else {
      return .damaged(count: 16)
    }
    var header = ProxyHeader(version: 2, isLocal: command == 0x20)
    // What the proxy says for itself may leave the addresses out.
    let list = header.isLocal && count < 16 + addresses ? 16 : 16 + addresses
    guard count >= list else { return .damaged(count: 16) }
    guard let isWhole = walk(bytes, start, end, from: list, to: count, &header) else { return .damaged(count: 16) }
    guard isWhole else { return .needMore }
    guard !header.isLocal, transport != 0 || family == 0 else { return .header(header, count: count) }
    let at = start + 16
    if family == 1 {
      header.source = Endpoint(address: IPAddress(v4: bytes.u32(at)), port: bytes.u16(at + 8))
      header.destination = Endpoint(address: IPAddress(v4: bytes.u32(at + 4)), port: bytes.u16(at + 10))
    } else if family == 2 {
      let source = IPAddress(v6High: bytes.u64(at), v6Low: bytes.u64(at + 8))
      let destination = IPAddress(v6High: bytes.u64(at + 16), v6Low: bytes.u64(at + 24))
      header.source = Endpoint(address: source, port: bytes.u16(at + 32))
      header.destination = Endpoint(address: destination, port: bytes.u16(at + 34))
    }
    return .header(header, count: count)
  }

  /// Walks the TLVs from `first` to `count` bytes of the header as far as they are there. Whether the header is; `nil` when
  /// they do not fit, or their checksum is wrong.
  ///
  /// They are looked at before all of them have come, so that a length which is damaged does not swallow what follows.
  private static func walk(
    _ bytes: borrowing Bytes, _ start: Int, _ end: Int, from first: Int, to count: Int, _ header: inout ProxyHeader
  ) -> Bool? {
    var at = first
    var sum: Int?
    while at < count {
      guard count - at >= 3 else { return nil }
      guard end - start >= at + 3 else { return false }
      let type = bytes.u8(start + at)
      let length = Int(bytes.u16(start + at + 1))
      guard at + 3 + length <= count else { return nil }
      switch type {
      case 0x03:
        guard length == 4, sum == nil else { return nil }
        sum = at + 3
      case 0x20:
        guard length >= 5 else { return nil }
        guard end - start > at + 3 else { return false }
        header.usesTLS = bytes.u8(start + at + 3) & 1 == 1
      default: break
      }
      at += 3 + length
    }
    guard end - start >= count else { return false }
    if let sum, crc32c(bytes, start, count, zero: sum) != bytes.u32(start + sum) { return nil }
    return true
  }

  /// CRC-32C (polynomial 0x1EDC6F41, reflected) of `count` bytes, the four at `zero` taken for zeros. A bit at a time: it
  /// runs once for a connection.
  private static func crc32c(_ bytes: borrowing Bytes, _ start: Int, _ count: Int, zero: Int) -> UInt32 {
    var sum = UInt32.max
    for i in 0..<count {
      sum ^= i >= zero && i < zero + 4 ? 0 : UInt32(bytes.u8(start + i))
      for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82f6_3b78 : 0) }
    }
    return ~sum
  }
}
