/// What the first message of a TLS connection tells to anybody.
package struct TLSHello: Sendable, Equatable {
  /// The highest version that the client offers, or the server chose: 0x0303 is TLS 1.2, 0x0304 TLS 1.3.
  package var version: UInt16
  /// The server's name that the client asks for.
  package var serverName: String?
  /// The protocols that the client offers, in its order.
  package var protocols: [String] = []
  /// Whether all of the message was there.
  package var isWhole = false

  /// "TLS 1.3" and its like.
  package var versionName: String {
    switch version {
    case 0: "TLS"
    case 0x0300: "SSL 3.0"
    case 0x0301...0x0304: "TLS 1.\(version - 0x0301)"
    default: "TLS version \(version >> 8).\(version & 255)"
    }
  }

  /// What was read of a hello elsewhere.
  init(version: UInt16, serverName: String?, protocols: [String]) {
    (self.version, self.serverName, self.protocols) = (version, serverName, protocols)
    isWhole = true
  }

  /// The longest record that is not encrypted (RFC 8446, section 5.1).
  private static let longestRecord = 1 << 14

  /// Reads the hello whose record begins at `start`; `nil` when the bytes are not the beginning of one.
  ///
  ///      0      1        3        5      6       9         11
  ///     +------+--------+--------+------+-------+---------+-----------
  ///     | 0x16 | 03 0x  | length | type | size  | version | random, ...
  ///     +------+--------+--------+------+-------+---------+-----------
  init?(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) {
    guard end - start >= 6, bytes.u8(start) == 0x16, bytes.u8(start + 1) == 3, bytes.u8(start + 2) <= 4,
      bytes.u8(start + 5) == 1 || bytes.u8(start + 5) == 2
    else { return nil }
    let recordCount = Int(bytes.u16(start + 3))
    guard recordCount >= 4, recordCount <= Self.longestRecord else { return nil }
    version = bytes.u16(start + 1)
    isWhole = end - start >= 5 + recordCount
    let isClient = bytes.u8(start + 5) == 1
    var at = start + 9
    let limit = min(end, start + 5 + recordCount)
    guard limit - at >= 35 else { return }
    version = bytes.u16(at)
    at += 34
    at += 1 + Int(bytes.u8(at))
    if isClient {
      guard limit - at >= 2 else { return }
      at += 2 + Int(bytes.u16(at))
      guard limit - at >= 1 else { return }
      at += 1 + Int(bytes.u8(at))
    } else {
      at += 3
    }
    guard limit - at >= 2 else { return }
    at += 2
    while limit - at >= 4 {
      let type = bytes.u16(at)
      let count = Int(bytes.u16(at + 2))
      at += 4
      guard limit - at >= count else { return }
      readExtension(type, bytes, at, at + count, isClient: isClient)
      at += count
    }
  }

  private mutating func readExtension(
    _ type: UInt16, _ bytes: borrowing Bytes, _ start: Int, _ end: Int, isClient: Bool
  ) {
    switch type {
    case 0 where end - start >= 5 && bytes.u8(start + 2) == 0:
      let count = min(Int(bytes.u16(start + 3)), end - start - 5)
      serverName = Self.text(bytes, start + 5, count)
    case 16 where end - start >= 2:
      var at = start + 2
      while at < end, protocols.count < 16 {
        let count = min(Int(bytes.u8(at)), end - at - 1)
        protocols.append(Self.text(bytes, at + 1, count))
        at += 1 + count
      }
    case 43:
      if !isClient, end - start >= 2 {
        version = bytes.u16(start)
      } else if isClient, end - start >= 1 {
        var at = start + 1
        while end - at >= 2 {
          // Values of the form 0x?A?A are there to keep servers honest (RFC 8701).
          let offered = bytes.u16(at)
          if offered & 0x0f0f != 0x0a0a { version = max(version, offered) }
          at += 2
        }
      }
    default: break
    }
  }

  private static func text(_ bytes: borrowing Bytes, _ start: Int, _ count: Int) -> String {
    var result: [UInt8] = []
    for i in 0..<max(0, count) {
      let byte = bytes.u8(start + i)
      result.append((0x21...0x7e).contains(byte) ? byte : UInt8(ascii: "?"))
    }
    return String(decoding: result, as: UTF8.self)
  }
}
