/// What stands for a name that is not to be shown: the first 64 bits of HMAC-SHA-256 by a key, as 16 hexadecimal digits.
///
/// The same name has the same hash while the key is the same. Who has the key can try names; who has not learns which
/// messages have one sender, and nothing of the name.
package struct IdentityHash: Sendable {
  private let key: [UInt8]
  /// Bytes of a name that count.
  package static let maximumCount = 1_024

  /// Hashes by `key`.
  package init(key: [UInt8]) { self.key = key }

  /// Hashes by a key that nobody knows and that is gone with the run.
  package static func random() -> IdentityHash {
    IdentityHash(key: (0..<32).map { _ in UInt8.random(in: 0...255) })
  }

  /// What stands for `name`.
  package func text(_ name: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let hash = SHA256.authenticate([UInt8](name.prefix(Self.maximumCount)), key: key)
    return String(
      decoding: hash.prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
