import IMTLS

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
    let count = min(end - start - 5, recordCount)
    guard let message = bytes.slice(start + 5, count).withUnsafeBytes({ TLSHelloMessage($0) }) else { return }
    (version, serverName, protocols) = (message.version, message.serverName, message.protocols)
  }
}
