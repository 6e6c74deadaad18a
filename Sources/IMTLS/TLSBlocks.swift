import CCrypto

/// Bytes that are kept in place, without storage of their own.
struct Bytes16: BitwiseCopyable { var words: (UInt64, UInt64) = (0, 0) }
struct Bytes32: BitwiseCopyable { var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0) }
struct Bytes48: BitwiseCopyable { var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0) }

extension Bytes32 {
  /// The 32 bytes at `bytes`.
  init(_ bytes: UnsafeRawPointer) { self = bytes.loadUnaligned(as: Bytes32.self) }
}

extension Bytes48 {
  /// At most 48 of `bytes`; the rest is zero.
  init(_ bytes: UnsafeRawBufferPointer) {
    withUnsafeMutableBytes(of: &self) { own in
      for i in 0..<min(48, bytes.count) { own[i] = bytes[i] }
    }
  }
}

/// The keys of one direction and epoch.
struct TLSKeys: BitwiseCopyable {
  /// Whether CBC's MAC is over the ciphertext; of hellos that were cut it is not known, and the MAC decides.
  enum MACOrder: UInt8, BitwiseCopyable {
    case isUnknown, encryptThenMAC, macThenEncrypt
  }

  /// TLS 1.3: the traffic secret, of `suite.hash.count` bytes. TLS 1.2 with CBC: the MAC key.
  var secret = Bytes48()
  var key = Bytes32()
  /// The nonce's fixed part: 12 bytes, or 4 of AES-GCM and CCM in TLS 1.2.
  var iv = Bytes16()
  var suite: TLSSuite
  var isTLS13: Bool
  var order = MACOrder.isUnknown

  /// Bytes of the shortest record with its header.
  var shortestRecord: Int {
    if isTLS13 { return 5 + 1 + suite.tagCount }
    guard suite.cipher == .cbc, let mac = suite.mac else { return 5 + suite.explicitNonceCount + suite.tagCount }
    // The vector, then blocks: of encrypt-then-MAC one and the MAC, else what MAC and one byte of padding fill.
    return order == .macThenEncrypt ? 5 + 16 + (mac.count / 16 + 1) * 16 : 5 + 16 + 16 + mac.count
  }

  /// Whether a record of `type` and `count` bytes after the header is possible.
  func allows(type: UInt8, count: Int) -> Bool {
    if isTLS13 { return type == 23 && count > suite.tagCount && count <= TLSRecord.longest13 }
    guard (20...24).contains(type), count <= TLSRecord.longest else { return false }
    guard suite.cipher == .cbc, let mac = suite.mac else { return count >= suite.explicitNonceCount + suite.tagCount }
    let isWhole = count & 15 == 0 && count >= 32 && count > mac.count
    let rest = count - mac.count
    let isWholeBeforeMAC = rest & 15 == 0 && rest >= 32
    switch order {
    case .macThenEncrypt: return isWhole
    case .encryptThenMAC: return isWholeBeforeMAC
    case .isUnknown: return isWhole || isWholeBeforeMAC
    }
  }
}

/// Limits of records (RFC 5246 and 8446).
enum TLSRecord {
  static let headerCount = 5
  static let longest13 = 16_384 + 256
  static let longest = 16_384 + 2_048

  /// The header at `at` of `bytes`, which has five bytes there.
  static func header(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> (type: UInt8, count: Int) {
    (bytes[at], Int(bytes[at + 3]) << 8 | Int(bytes[at + 4]))
  }

  /// Whether the five bytes at `at` can be a header.
  static func isPossible(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> Bool {
    let type = bytes[at]
    guard type >= 20, type <= 24, bytes[at + 1] == 3, bytes[at + 2] == 3 || bytes[at + 2] == 1 && type != 23 else {
      return false
    }
    let count = Int(bytes[at + 3]) << 8 | Int(bytes[at + 4])
    return count > 0 && count <= longest
  }

  /// Whether what is at `at` supports that a record ends there: the data's end, or a possible header, as far as it is there.
  static func endsWell(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> Bool {
    let count = bytes.count - at
    if count >= headerCount { return isPossible(bytes, at) }
    if count == 0 { return true }
    return (20...24).contains(bytes[at]) && (count < 2 || bytes[at + 1] == 3)
      && (count < 3 || bytes[at + 2] == 3 || bytes[at + 2] == 1)
  }
}

/// HKDF of TLS 1.3 and the PRF of TLS 1.2.
enum TLSDerivation {
  /// HKDF-Expand-Label (RFC 8446, section 7.1) with an empty context; `count` is at most that of a digest.
  static func expand(
    _ hash: TLSSuite.Hash, _ secret: UnsafeRawPointer, _ label: StaticString, count: Int,
    into result: UnsafeMutableRawPointer
  ) {
    withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { room in
      guard let base = room.baseAddress else { return }
      let info = base.assumingMemoryBound(to: UInt8.self)
      let labelCount = label.utf8CodeUnitCount
      info[0] = 0
      info[1] = UInt8(count)
      info[2] = UInt8(6 + labelCount)
      base.advanced(by: 3).copyMemory(from: ("tls13 " as StaticString).utf8Start, byteCount: 6)
      base.advanced(by: 9).copyMemory(from: label.utf8Start, byteCount: labelCount)
      info[9 + labelCount] = 0
      info[10 + labelCount] = 1
      let digest = info + 64
      imdump_hmac(Int32(hash.rawValue), secret, hash.count, info, 11 + labelCount, nil, 0, digest)
      result.copyMemory(from: digest, byteCount: count)
      OPENSSL_cleanse(digest, 48)
    }
  }

  /// The keys of a traffic secret of TLS 1.3.
  static func keys13(_ suite: TLSSuite, _ secret: Bytes48) -> TLSKeys {
    var keys = TLSKeys(suite: suite, isTLS13: true)
    keys.secret = secret
    withUnsafeBytes(of: secret) { secret in
      guard let secret = secret.baseAddress else { return }
      withUnsafeMutableBytes(of: &keys.key) {
        guard let key = $0.baseAddress else { return }
        expand(suite.hash, secret, "key", count: Int(suite.keyCount), into: key)
      }
      withUnsafeMutableBytes(of: &keys.iv) {
        guard let iv = $0.baseAddress else { return }
        expand(suite.hash, secret, "iv", count: 12, into: iv)
      }
    }
    return keys
  }

  /// The secret after a KeyUpdate.
  static func updated(_ keys: TLSKeys) -> TLSKeys {
    var secret = Bytes48()
    withUnsafeBytes(of: keys.secret) { old in
      withUnsafeMutableBytes(of: &secret) { new in
        guard let old = old.baseAddress, let new = new.baseAddress else { return }
        expand(keys.suite.hash, old, "traffic upd", count: keys.suite.hash.count, into: new)
      }
    }
    return keys13(keys.suite, secret)
  }

  /// The keys of one side of TLS 1.2 (RFC 5246, section 6.3).
  static func keys12(
    _ suite: TLSSuite, master: UnsafeRawPointer, clientRandom: Bytes32, serverRandom: Bytes32, isServer: Bool,
    order: TLSKeys.MACOrder
  ) -> TLSKeys {
    var keys = TLSKeys(suite: suite, isTLS13: false)
    keys.order = order
    let macCount = suite.cipher == .cbc ? suite.mac?.count ?? 0 : 0
    let keyCount = Int(suite.keyCount)
    let ivCount = suite.cipher == .chaCha ? 12 : suite.cipher == .cbc ? 0 : 4
    let total = 2 * (macCount + keyCount + ivCount)
    withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { room in
      guard let base = room.baseAddress else { return }
      // "key expansion" and both randoms, 77 bytes; A(i); the block, up to 160 bytes and what the last digest is longer.
      let seed = base
      let chain = (base + 128).assumingMemoryBound(to: UInt8.self)
      let block = (base + 192).assumingMemoryBound(to: UInt8.self)
      seed.copyMemory(from: ("key expansion" as StaticString).utf8Start, byteCount: 13)
      withUnsafeBytes(of: serverRandom) {
        (seed + 13).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(seed), byteCount: 32)
      }
      withUnsafeBytes(of: clientRandom) {
        (seed + 45).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(seed), byteCount: 32)
      }
      let hash = Int32(suite.hash.rawValue)
      let digestCount = suite.hash.count
      imdump_hmac(hash, master, 48, seed, 77, nil, 0, chain)
      var made = 0
      while made < total {
        imdump_hmac(hash, master, 48, chain, digestCount, seed, 77, block + made)
        made += digestCount
        let next = block + made
        imdump_hmac(hash, master, 48, chain, digestCount, nil, 0, next)
        (UnsafeMutableRawPointer(chain)).copyMemory(from: next, byteCount: digestCount)
      }
      let side = isServer ? 1 : 0
      withUnsafeMutableBytes(of: &keys.secret) {
        $0.copyMemory(from: UnsafeRawBufferPointer(start: block + side * macCount, count: macCount))
      }
      withUnsafeMutableBytes(of: &keys.key) {
        $0.copyMemory(from: UnsafeRawBufferPointer(start: block + 2 * macCount + side * keyCount, count: keyCount))
      }
      withUnsafeMutableBytes(of: &keys.iv) {
        $0.copyMemory(
          from: UnsafeRawBufferPointer(start: block + 2 * (macCount + keyCount) + side * ivCount, count: ivCount))
      }
      OPENSSL_cleanse(base, 512)
    }
    return keys
  }
}
