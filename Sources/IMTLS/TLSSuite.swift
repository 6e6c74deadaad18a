/// How records of one suite are protected.
struct TLSSuite: Equatable, BitwiseCopyable {
  /// The record protection.
  enum Cipher: UInt8, BitwiseCopyable {
    case gcm, ccm, ccm8, chaCha, cbc
  }
  /// A hash of HMAC; raw values are those of the shim.
  enum Hash: UInt8, BitwiseCopyable {
    case sha1 = 1
    case sha256 = 2
    case sha384 = 3
    /// Bytes of a digest.
    var count: Int { self == .sha1 ? 20 : self == .sha256 ? 32 : 48 }
  }

  /// Its IANA number.
  let number: UInt16
  let cipher: Cipher
  /// Bytes of the key.
  let keyCount: UInt8
  /// The hash of the key schedule.
  let hash: Hash
  /// The hash of CBC's MAC.
  let mac: Hash?
  /// The contexts that open its records.
  let kind: CipherKind
  private let shortTagCount: UInt8
  private let shortNonceCount: UInt8

  /// Bytes of an AEAD's tag; 0 for CBC.
  var tagCount: Int { Int(shortTagCount) }
  /// Bytes of the nonce that TLS 1.2 sends in front of each record, without CBC's initialization vector.
  var explicitNonceCount: Int { Int(shortNonceCount) }

  init(number: UInt16, cipher: Cipher, keyCount: UInt8, hash: Hash, mac: Hash?) {
    (self.number, self.cipher, self.keyCount, self.hash, self.mac) = (number, cipher, keyCount, hash, mac)
    kind = CipherKind(cipher, keyCount: keyCount)
    shortTagCount = cipher == .ccm8 ? 8 : cipher == .cbc ? 0 : 16
    shortNonceCount = cipher == .chaCha || cipher == .cbc ? 0 : 8
  }
}

/// The suites of TLS by number, with their IANA names.
package enum TLSSuites {
  private struct Entry: Sendable {
    let number: UInt16
    let name: StaticString
    let suite: TLSSuite?

    init(_ number: UInt16, _ name: StaticString) {
      (self.number, self.name, suite) = (number, name, nil)
    }

    init(
      _ number: UInt16, _ name: StaticString, _ cipher: TLSSuite.Cipher, _ keyCount: UInt8, _ hash: TLSSuite.Hash,
      mac: TLSSuite.Hash? = nil
    ) {
      (self.number, self.name) = (number, name)
      suite = TLSSuite(number: number, cipher: cipher, keyCount: keyCount, hash: hash, mac: mac)
    }
  }

  /// The IANA name of a suite; "0x1a2b" where this list has none.
  package static func name(_ number: UInt16) -> String {
    if let entry = entry(number) { return entry.name.description }
    let digits = String(number, radix: 16)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// Whether the list contains a suite, whether it can be decrypted or is only named.
  static func isKnown(_ number: UInt16) -> Bool { entry(number) != nil }

  /// The suites of TLS 1.3 whose secrets have `count` bytes, likeliest first.
  static func ofSecret(count: Int) -> [TLSSuite] { count == 48 ? longSecrets : shortSecrets }
  private static let shortSecrets = [0x1301, 0x1303, 0x1304, 0x1305].compactMap { suite($0) }
  private static let longSecrets = [0x1302].compactMap { suite($0) }

  /// How a suite protects records; `nil` for those that are named only.
  static func suite(_ number: UInt16) -> TLSSuite? { entry(number)?.suite }

  private static func entry(_ number: UInt16) -> Entry? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].number == number ? entries[low] : nil
  }

  /// By number.
  private static let entries: [Entry] = [
    Entry(0x0001, "TLS_RSA_WITH_NULL_MD5"),
    Entry(0x0002, "TLS_RSA_WITH_NULL_SHA"),
    Entry(0x0003, "TLS_RSA_EXPORT_WITH_RC4_40_MD5"),
    Entry(0x0004, "TLS_RSA_WITH_RC4_128_MD5"),
    Entry(0x0005, "TLS_RSA_WITH_RC4_128_SHA"),
    Entry(0x0007, "TLS_RSA_WITH_IDEA_CBC_SHA"),
    Entry(0x0009, "TLS_RSA_WITH_DES_CBC_SHA"),
    Entry(0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
    Entry(0x0016, "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    Entry(0x0018, "TLS_DH_anon_WITH_RC4_128_MD5"),
    Entry(0x002c, "TLS_PSK_WITH_NULL_SHA"),
    Entry(0x002d, "TLS_DHE_PSK_WITH_NULL_SHA"),
    Entry(0x002e, "TLS_RSA_PSK_WITH_NULL_SHA"),
    Entry(0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0030, "TLS_DH_DSS_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0031, "TLS_DH_RSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0032, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0034, "TLS_DH_anon_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x0036, "TLS_DH_DSS_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x0037, "TLS_DH_RSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x0038, "TLS_DHE_DSS_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x003a, "TLS_DH_anon_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x003b, "TLS_RSA_WITH_NULL_SHA256"),
    Entry(0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256", .cbc, 32, .sha256, mac: .sha256),
    Entry(0x0040, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x0041, "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA"),
    Entry(0x0044, "TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA"),
    Entry(0x0045, "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA"),
    Entry(0x0046, "TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA"),
    Entry(0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x006a, "TLS_DHE_DSS_WITH_AES_256_CBC_SHA256", .cbc, 32, .sha256, mac: .sha256),
    Entry(0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", .cbc, 32, .sha256, mac: .sha256),
    Entry(0x006c, "TLS_DH_anon_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x006d, "TLS_DH_anon_WITH_AES_256_CBC_SHA256", .cbc, 32, .sha256, mac: .sha256),
    Entry(0x0084, "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA"),
    Entry(0x0087, "TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA"),
    Entry(0x0088, "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA"),
    Entry(0x0089, "TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA"),
    Entry(0x008c, "TLS_PSK_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x008d, "TLS_PSK_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x0090, "TLS_DHE_PSK_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0091, "TLS_DHE_PSK_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x0094, "TLS_RSA_PSK_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0x0095, "TLS_RSA_PSK_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00a0, "TLS_DH_RSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x00a1, "TLS_DH_RSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00a2, "TLS_DHE_DSS_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x00a3, "TLS_DHE_DSS_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00a6, "TLS_DH_anon_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x00a7, "TLS_DH_anon_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00a8, "TLS_PSK_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x00a9, "TLS_PSK_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00aa, "TLS_DHE_PSK_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x00ab, "TLS_DHE_PSK_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00ac, "TLS_RSA_PSK_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x00ad, "TLS_RSA_PSK_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x00ae, "TLS_PSK_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x00af, "TLS_PSK_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0x00b0, "TLS_PSK_WITH_NULL_SHA256"),
    Entry(0x00b1, "TLS_PSK_WITH_NULL_SHA384"),
    Entry(0x00b2, "TLS_DHE_PSK_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x00b3, "TLS_DHE_PSK_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0x00b4, "TLS_DHE_PSK_WITH_NULL_SHA256"),
    Entry(0x00b5, "TLS_DHE_PSK_WITH_NULL_SHA384"),
    Entry(0x00b6, "TLS_RSA_PSK_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0x00b7, "TLS_RSA_PSK_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0x00b8, "TLS_RSA_PSK_WITH_NULL_SHA256"),
    Entry(0x00b9, "TLS_RSA_PSK_WITH_NULL_SHA384"),
    Entry(0x00ba, "TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0x00bd, "TLS_DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0x00be, "TLS_DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0x00bf, "TLS_DH_anon_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0x00c0, "TLS_RSA_WITH_CAMELLIA_256_CBC_SHA256"),
    Entry(0x00c3, "TLS_DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256"),
    Entry(0x00c4, "TLS_DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256"),
    Entry(0x00c5, "TLS_DH_anon_WITH_CAMELLIA_256_CBC_SHA256"),
    Entry(0x1301, "TLS_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0x1302, "TLS_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0x1303, "TLS_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0x1304, "TLS_AES_128_CCM_SHA256", .ccm, 16, .sha256),
    Entry(0x1305, "TLS_AES_128_CCM_8_SHA256", .ccm8, 16, .sha256),
    Entry(0xc004, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc005, "TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc006, "TLS_ECDHE_ECDSA_WITH_NULL_SHA"),
    Entry(0xc007, "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA"),
    Entry(0xc008, "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA"),
    Entry(0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc00e, "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc00f, "TLS_ECDH_RSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc010, "TLS_ECDHE_RSA_WITH_NULL_SHA"),
    Entry(0xc011, "TLS_ECDHE_RSA_WITH_RC4_128_SHA"),
    Entry(0xc012, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    Entry(0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc015, "TLS_ECDH_anon_WITH_NULL_SHA"),
    Entry(0xc018, "TLS_ECDH_anon_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc019, "TLS_ECDH_anon_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc01d, "TLS_SRP_SHA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc01e, "TLS_SRP_SHA_RSA_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc01f, "TLS_SRP_SHA_DSS_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc020, "TLS_SRP_SHA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc021, "TLS_SRP_SHA_RSA_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc022, "TLS_SRP_SHA_DSS_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0xc025, "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0xc026, "TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0xc029, "TLS_ECDH_RSA_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0xc02a, "TLS_ECDH_RSA_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0xc02d, "TLS_ECDH_ECDSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0xc02e, "TLS_ECDH_ECDSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0xc031, "TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256", .gcm, 16, .sha256),
    Entry(0xc032, "TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384", .gcm, 32, .sha384),
    Entry(0xc035, "TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA", .cbc, 16, .sha256, mac: .sha1),
    Entry(0xc036, "TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA", .cbc, 32, .sha256, mac: .sha1),
    Entry(0xc037, "TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA256", .cbc, 16, .sha256, mac: .sha256),
    Entry(0xc038, "TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA384", .cbc, 32, .sha384, mac: .sha384),
    Entry(0xc039, "TLS_ECDHE_PSK_WITH_NULL_SHA"),
    Entry(0xc03a, "TLS_ECDHE_PSK_WITH_NULL_SHA256"),
    Entry(0xc03b, "TLS_ECDHE_PSK_WITH_NULL_SHA384"),
    Entry(0xc050, "TLS_RSA_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc051, "TLS_RSA_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc052, "TLS_DHE_RSA_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc053, "TLS_DHE_RSA_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc056, "TLS_DHE_DSS_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc057, "TLS_DHE_DSS_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc05c, "TLS_ECDHE_ECDSA_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc05d, "TLS_ECDHE_ECDSA_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc060, "TLS_ECDHE_RSA_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc061, "TLS_ECDHE_RSA_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc06a, "TLS_PSK_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc06b, "TLS_PSK_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc06c, "TLS_DHE_PSK_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc06d, "TLS_DHE_PSK_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc06e, "TLS_RSA_PSK_WITH_ARIA_128_GCM_SHA256"),
    Entry(0xc06f, "TLS_RSA_PSK_WITH_ARIA_256_GCM_SHA384"),
    Entry(0xc072, "TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0xc073, "TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384"),
    Entry(0xc076, "TLS_ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0xc077, "TLS_ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384"),
    Entry(0xc094, "TLS_PSK_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0xc095, "TLS_PSK_WITH_CAMELLIA_256_CBC_SHA384"),
    Entry(0xc096, "TLS_DHE_PSK_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0xc097, "TLS_DHE_PSK_WITH_CAMELLIA_256_CBC_SHA384"),
    Entry(0xc098, "TLS_RSA_PSK_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0xc099, "TLS_RSA_PSK_WITH_CAMELLIA_256_CBC_SHA384"),
    Entry(0xc09a, "TLS_ECDHE_PSK_WITH_CAMELLIA_128_CBC_SHA256"),
    Entry(0xc09b, "TLS_ECDHE_PSK_WITH_CAMELLIA_256_CBC_SHA384"),
    Entry(0xc09c, "TLS_RSA_WITH_AES_128_CCM", .ccm, 16, .sha256),
    Entry(0xc09d, "TLS_RSA_WITH_AES_256_CCM", .ccm, 32, .sha256),
    Entry(0xc09e, "TLS_DHE_RSA_WITH_AES_128_CCM", .ccm, 16, .sha256),
    Entry(0xc09f, "TLS_DHE_RSA_WITH_AES_256_CCM", .ccm, 32, .sha256),
    Entry(0xc0a0, "TLS_RSA_WITH_AES_128_CCM_8", .ccm8, 16, .sha256),
    Entry(0xc0a1, "TLS_RSA_WITH_AES_256_CCM_8", .ccm8, 32, .sha256),
    Entry(0xc0a2, "TLS_DHE_RSA_WITH_AES_128_CCM_8", .ccm8, 16, .sha256),
    Entry(0xc0a3, "TLS_DHE_RSA_WITH_AES_256_CCM_8", .ccm8, 32, .sha256),
    Entry(0xc0a4, "TLS_PSK_WITH_AES_128_CCM", .ccm, 16, .sha256),
    Entry(0xc0a5, "TLS_PSK_WITH_AES_256_CCM", .ccm, 32, .sha256),
    Entry(0xc0a6, "TLS_DHE_PSK_WITH_AES_128_CCM", .ccm, 16, .sha256),
    Entry(0xc0a7, "TLS_DHE_PSK_WITH_AES_256_CCM", .ccm, 32, .sha256),
    Entry(0xc0a8, "TLS_PSK_WITH_AES_128_CCM_8", .ccm8, 16, .sha256),
    Entry(0xc0a9, "TLS_PSK_WITH_AES_256_CCM_8", .ccm8, 32, .sha256),
    Entry(0xc0aa, "TLS_PSK_DHE_WITH_AES_128_CCM_8", .ccm8, 16, .sha256),
    Entry(0xc0ab, "TLS_PSK_DHE_WITH_AES_256_CCM_8", .ccm8, 32, .sha256),
    Entry(0xc0ac, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM", .ccm, 16, .sha256),
    Entry(0xc0ad, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM", .ccm, 32, .sha256),
    Entry(0xc0ae, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", .ccm8, 16, .sha256),
    Entry(0xc0af, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8", .ccm8, 32, .sha256),
    Entry(0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0xccab, "TLS_PSK_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0xccac, "TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0xccad, "TLS_DHE_PSK_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
    Entry(0xccae, "TLS_RSA_PSK_WITH_CHACHA20_POLY1305_SHA256", .chaCha, 32, .sha256),
  ]
}
