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

  /// What stands for numbers, by the same key.
  package var numbers: NumberHash { numbers(for: "session numbers") }

  /// A hash of numbers by a key that is made of this one for one purpose alone.
  package func numbers(for purpose: String) -> NumberHash {
    let bytes = SHA256.authenticate([UInt8](purpose.utf8), key: key)
    func word(_ from: Int) -> UInt64 { bytes[from..<from + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    return NumberHash(key: (word(0), word(8)))
  }

  /// What stands for `name`.
  package func text(_ name: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let hash = SHA256.authenticate([UInt8](name.prefix(Self.maximumCount)), key: key)
    return String(
      decoding: hash.prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// What stands for a number that is not to be shown: 53 bits, so that JSON can hold them, of SipHash-2-4 over its eight bytes.
/// It is made for each frame, where HMAC-SHA-256 would cost more than the frame.
package struct NumberHash: Sendable, BitwiseCopyable {
  private let key: (UInt64, UInt64)

  /// Hashes by `key`.
  package init(key: (UInt64, UInt64)) { self.key = key }

  /// What stands for `number`.
  package func hidden(_ number: UInt64) -> UInt64 { sipHash(number) >> 11 }

  /// SipHash-2-4 of the eight bytes of `number`, little endian (Aumasson and Bernstein, 2012).
  package func sipHash(_ number: UInt64) -> UInt64 {
    var a = key.0 ^ 0x736f_6d65_7073_6575
    var b = key.1 ^ 0x646f_7261_6e64_6f6d
    var c = key.0 ^ 0x6c79_6765_6e65_7261
    var d = key.1 ^ 0x7465_6462_7974_6573
    func round() {
      a = a &+ b
      c = c &+ d
      b = (b << 13 | b >> 51) ^ a
      d = (d << 16 | d >> 48) ^ c
      a = a << 32 | a >> 32
      c = c &+ b
      a = a &+ d
      b = (b << 17 | b >> 47) ^ c
      d = (d << 21 | d >> 43) ^ a
      c = c << 32 | c >> 32
    }
    // The number, then a block that says how many bytes there were.
    for block in [number, 8 << 56] {
      d ^= block
      round()
      round()
      a ^= block
    }
    c ^= 0xff
    for _ in 0..<4 { round() }
    return a ^ b ^ c ^ d
  }
}
