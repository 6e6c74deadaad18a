/// A ClientHello or ServerHello, as far as it is there.
package struct TLSHelloMessage {
  var isClient: Bool
  /// The version that the server chose, or the highest that the client offers: 0x0303 is TLS 1.2, 0x0304 TLS 1.3.
  package private(set) var version: UInt16
  var random = Bytes32()
  /// The suite that the server chose.
  var suite: UInt16 = 0
  /// The server's name that the client asks for.
  package private(set) var serverName: String?
  /// The protocols that the client offers (ALPN), in its order, at most 16; or the one that the server chose.
  package private(set) var protocols: [String] = []
  var hasEncryptThenMAC = false
  var hasEarlyData = false
  var hasPreSharedKey = false
  var hasEncryptedHello = false
  /// Whether a ServerHello is a HelloRetryRequest.
  var isRetry = false
  /// Whether all of the message was there, so that a missing extension means something.
  var isWhole = false
  var fingerprint: TLSFingerprint?

  private static let retry: [UInt8] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a,
    0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
  ]

  /// Whether bytes begin a hello: type, a length, version.
  static func isPossible(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 38 && (bytes[0] == 1 || bytes[0] == 2) && bytes[1] == 0 && bytes[4] == 3 && bytes[5] <= 4
  }

  /// Reads the message at the front of `bytes`, type and length included; `nil` when its random is not there. What is missing after it
  /// is left out.
  ///
  ///      0      1        4         6        38
  ///     +------+--------+---------+--------+------------+-----------
  ///     | type | length | version | random | session id | ...
  ///     +------+--------+---------+--------+------------+-----------
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard Self.isPossible(bytes), let base = bytes.baseAddress else { return nil }
    isClient = bytes[0] == 1
    func u16(_ at: Int) -> UInt16 { UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1]) }
    version = u16(4)
    random = Bytes32(base + 6)
    isRetry = !isClient && bytes[6..<38].elementsEqual(Self.retry)
    let end = min(bytes.count, 4 + (Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3])))
    let isMessageThere = end == 4 + (Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3]))
    var print = TLSFingerprint(version: version)
    var at = 38
    guard at < end else { return }
    at += 1 + Int(bytes[at])
    if isClient {
      guard at + 2 <= end else { return }
      let suites = at + 2..<min(end, at + 2 + Int(u16(at)))
      for i in stride(from: suites.lowerBound, to: suites.upperBound - 1, by: 2) { print.add(suite: u16(i)) }
      at += 2 + Int(u16(at))
      guard at < end else { return }
      at += 1 + Int(bytes[at])
    } else {
      guard at + 3 <= end else { return }
      suite = u16(at)
      // The extension that says so may be cut off.
      if suite >> 8 == 0x13 { version = 0x0304 }
      at += 3
    }
    if at + 2 <= end {
      let last = min(end, at + 2 + Int(u16(at)))
      at += 2
      while at + 4 <= last {
        let type = u16(at)
        let from = at + 4
        let to = from + Int(u16(at + 2))
        guard to <= last else { return }
        at = to
        let value = UnsafeRawBufferPointer(rebasing: bytes[from..<to])
        read(type, value)
        if isClient { print.add(extension: type, value) }
      }
    }
    isWhole = isMessageThere
    if isClient, isMessageThere { fingerprint = print }
  }

  private mutating func read(_ type: UInt16, _ value: UnsafeRawBufferPointer) {
    func u16(_ at: Int) -> UInt16 { UInt16(value[at]) << 8 | UInt16(value[at + 1]) }
    switch type {
    case 0 where isClient && value.count >= 5 && value[2] == 0:
      serverName = Self.text(value, 5, Int(u16(3)))
    case 16: protocols = Self.protocols(value)
    case 22: hasEncryptThenMAC = true
    case 41: hasPreSharedKey = true
    case 42: hasEarlyData = true
    case 43 where !isClient && value.count >= 2: version = u16(0)
    case 43 where isClient && value.count >= 1:
      for at in stride(from: 1, to: value.count - 1, by: 2) {
        let offered = u16(at)
        // Values of the form 0x?A?A are there to keep servers honest (RFC 8701).
        if offered & 0x0f0f != 0x0a0a, offered >> 8 == 3 { version = max(version, offered) }
      }
    case 0xfe0d: hasEncryptedHello = true
    default: break
    }
  }

  /// The names of an ALPN extension, at most 16.
  static func protocols(_ value: UnsafeRawBufferPointer) -> [String] {
    var names: [String] = []
    var at = 2
    while at < value.count, names.count < 16 {
      let count = Int(value[at])
      names.append(text(value, at + 1, count))
      at += 1 + count
    }
    return names
  }

  private static func text(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> String {
    let end = min(bytes.count, start + min(count, 255))
    guard start < end else { return "" }
    return String(
      decoding: bytes[start..<end].map { (0x21...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
