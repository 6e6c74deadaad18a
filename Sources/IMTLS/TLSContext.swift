import CCrypto
import Glibc
import IMWire

/// What the reading of TLS did.
package struct TLSCounters: Sendable, Equatable {
  /// Records that were opened.
  package internal(set) var records: UInt64 = 0
  /// Bytes of plaintext that were handed on.
  package internal(set) var plaintextBytes: UInt64 = 0
  /// Directions that were found again after a gap.
  package internal(set) var recoveries: UInt64 = 0
  /// Gaps at an unknown place of the records.
  package internal(set) var gaps: UInt64 = 0
  /// Tries of keys and numbers, but for records in their place: the way back.
  package internal(set) var tries: UInt64 = 0
  /// Secrets that were tried for connections without a hello (rules 7 and 8).
  package internal(set) var triedSecrets: UInt64 = 0
  /// Connections whose secrets were found so.
  package internal(set) var foundByTrial: UInt64 = 0
  /// Searches that a bound ended.
  package internal(set) var limitedSearches: UInt64 = 0

  /// Counters of nothing.
  package init() {}
}

/// A record whose tag is right; its plaintext is in the scratch buffer.
struct OpenedRecord {
  var type: UInt8
  /// Where the plaintext is in the scratch buffer, and its bytes without padding and inner type.
  var start: Int
  var count: Int
  /// Index of the ciphertext byte of its first byte, from the record's first byte.
  var ciphertextIndex: Int
  /// Whether CBC's MAC was over the ciphertext.
  var order = TLSKeys.MACOrder.isUnknown
}

/// What the TLS connections of one engine share: the key table, libcrypto's contexts, the scratch buffer, the budget of trials and
/// the counters. Not for two threads at a time.
package final class TLSContext {
  /// The secrets of the logs.
  package let keys: KeyTable
  /// Records, bytes, tries of all connections.
  @exclusivity(unchecked) package internal(set) var counters = TLSCounters()

  let pool: CipherPool
  /// Plaintext of one record, and in front of it what a context writes in a try.
  let scratch: UnsafeMutableRawPointer
  private static let scratchCount = TLSRecord.longest + 256

  /// Trials of secrets that are left of this minute of packet time (rule 7).
  @exclusivity(unchecked) private var trials = trialsPerMinute
  @exclusivity(unchecked) private var minute = Timestamp.distantPast
  private static let trialsPerMinute = 1_000_000

  /// A context over `keys`, with at most `cipherContextLimit` of libcrypto's contexts. Calls `TLSCrypto.prepare()`.
  package init(keys: KeyTable, cipherContextLimit: Int = 4_096) {
    self.keys = keys
    TLSCrypto.prepare()
    pool = CipherPool(limit: cipherContextLimit)
    scratch = UnsafeMutableRawPointer.allocate(byteCount: Self.scratchCount, alignment: 16)
    scratch.initializeMemory(as: UInt8.self, repeating: 0, count: Self.scratchCount)
  }

  deinit {
    OPENSSL_cleanse(scratch, Self.scratchCount)
    scratch.deallocate()
  }

  /// Trials that may be made at `time`; packet time that goes back brings none.
  func trialsLeft(at time: Timestamp) -> Int {
    if minute == .distantPast || time.nanoseconds(since: minute) >= 60_000_000_000 {
      minute = time
      trials = Self.trialsPerMinute
    }
    return trials
  }

  /// `count` trials were made.
  func spendTrials(_ count: Int) { trials -= count }

  // MARK: records

  /// Opens the record at the front of `record`, header included, with `keys` and a number. `record` has the length that its header
  /// says, and `keys.allows` it.
  @inline(__always)
  func open(_ keys: TLSKeys, _ sequence: UInt64, _ record: UnsafeRawBufferPointer, in place: inout CipherSlot)
    -> OpenedRecord?
  {
    guard let context = pool.context(keys.suite.kind, keys.key, &place) else { return nil }
    return open(context, keys, sequence, record)
  }

  /// The same for a try of keys that no direction has.
  func tryOpen(_ keys: TLSKeys, _ sequence: UInt64, _ record: UnsafeRawBufferPointer) -> OpenedRecord? {
    guard let context = pool.single(keys.suite.kind, keys.key) else { return nil }
    return open(context, keys, sequence, record)
  }

  /// The same with a context that has the key.
  func open(
    _ context: OpaquePointer, _ keys: TLSKeys, _ sequence: UInt64, _ record: UnsafeRawBufferPointer
  ) -> OpenedRecord? {
    guard let base = record.baseAddress, record.count > TLSRecord.headerCount,
      record.count <= TLSRecord.headerCount + TLSRecord.longest
    else { return nil }
    let header = base.assumingMemoryBound(to: UInt8.self)
    let count = record.count - TLSRecord.headerCount
    guard keys.allows(type: header[0], count: count) else { return nil }
    let suite = keys.suite
    if suite.cipher == .cbc { return openCBC(context, keys, sequence, header, count) }
    let aead: imdump_aead =
      switch suite.cipher {
      case .gcm: imdump_aead_gcm
      case .ccm, .ccm8: imdump_aead_ccm
      case .chaCha, .cbc: imdump_aead_any
      }
    let output = scratch.assumingMemoryBound(to: UInt8.self)
    let tagCount = suite.tagCount
    var nonce = keys.iv
    if keys.isTLS13 {
      nonce.xor(sequence)
      let textCount = count - tagCount
      let isRight = withUnsafeBytes(of: nonce) {
        imdump_aead_open(
          context, aead, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), header, 5, header + 5, Int32(textCount),
          header + 5 + textCount, Int32(tagCount), output)
      }
      guard isRight == 1 else { return nil }
      var end = textCount
      while end > 0, output[end - 1] == 0 { end -= 1 }
      // A record of padding alone is not allowed; it is read as one of nothing.
      guard end > 0 else { return OpenedRecord(type: 0, start: 0, count: 0, ciphertextIndex: 5) }
      return OpenedRecord(type: output[end - 1], start: 0, count: end - 1, ciphertextIndex: 5)
    }
    let nonceCount = suite.explicitNonceCount
    let textCount = count - nonceCount - tagCount
    guard textCount >= 0 else { return nil }
    if nonceCount == 0 {
      nonce.xor(sequence)
    } else {
      nonce.setExplicit(UnsafeRawPointer(header + 5))
    }
    let additional = AdditionalData(sequence, header, textCount)
    let isRight = withUnsafeBytes(of: nonce) { nonce in
      withUnsafeBytes(of: additional) {
        imdump_aead_open(
          context, aead, nonce.baseAddress?.assumingMemoryBound(to: UInt8.self),
          $0.baseAddress?.assumingMemoryBound(to: UInt8.self), 13, header + 5 + nonceCount, Int32(textCount),
          header + 5 + nonceCount + textCount, Int32(tagCount), output)
      }
    }
    guard isRight == 1 else { return nil }
    return OpenedRecord(type: header[0], start: 0, count: textCount, ciphertextIndex: 5 + nonceCount)
  }

  // MARK: CBC

  private func openCBC(
    _ context: OpaquePointer, _ keys: TLSKeys, _ sequence: UInt64, _ header: UnsafePointer<UInt8>, _ count: Int
  ) -> OpenedRecord? {
    guard let mac = keys.suite.mac else { return nil }
    if keys.order != .macThenEncrypt, let textCount = Self.cipherCount(beforeMAC: mac, count),
      hasMAC(keys, mac, sequence, header, 16 + textCount, header + 5, 16 + textCount, header + 5 + 16 + textCount)
    {
      guard decryptCBC(context, header + 5, textCount), let end = paddedEnd(textCount) else { return nil }
      return OpenedRecord(type: header[0], start: 0, count: end, ciphertextIndex: 5 + 16, order: .encryptThenMAC)
    }
    guard keys.order != .encryptThenMAC, count & 15 == 0, count >= 32 else { return nil }
    guard decryptCBC(context, header + 5, count - 16) else { return nil }
    return checkMACThenEncrypt(keys, sequence, header, count)
  }

  /// Of a record with the MAC after the ciphertext: the bytes of the ciphertext without the vector.
  private static func cipherCount(beforeMAC mac: TLSSuite.Hash, _ count: Int) -> Int? {
    let textCount = count - mac.count - 16
    return textCount >= 16 && textCount & 15 == 0 ? textCount : nil
  }

  /// Decrypts what follows the vector at `body` into the scratch buffer.
  func decryptCBC(_ context: OpaquePointer, _ body: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    var made: Int32 = 0
    return EVP_DecryptInit_ex(context, nil, nil, nil, body) == 1
      && EVP_DecryptUpdate(context, scratch.assumingMemoryBound(to: UInt8.self), &made, body + 16, Int32(count)) == 1
      && Int(made) == count
  }

  /// Where the text in the scratch buffer ends and its padding begins.
  private func paddedEnd(_ count: Int) -> Int? {
    let text = scratch.assumingMemoryBound(to: UInt8.self)
    let padding = Int(text[count - 1])
    guard padding < count else { return nil }
    for i in (count - 1 - padding)..<count where Int(text[i]) != padding { return nil }
    return count - 1 - padding
  }

  /// The MAC of what `decryptCBC` left in the scratch buffer.
  func checkMACThenEncrypt(
    _ keys: TLSKeys, _ sequence: UInt64, _ header: UnsafePointer<UInt8>, _ count: Int
  ) -> OpenedRecord? {
    guard let mac = keys.suite.mac, let end = paddedEnd(count - 16), end >= mac.count else { return nil }
    let text = scratch.assumingMemoryBound(to: UInt8.self)
    let textCount = end - mac.count
    guard
      hasMAC(keys, mac, sequence, header, textCount, UnsafePointer(text), textCount, UnsafePointer(text) + textCount)
    else {
      return nil
    }
    return OpenedRecord(type: header[0], start: 0, count: textCount, ciphertextIndex: 5 + 16, order: .macThenEncrypt)
  }

  private func hasMAC(
    _ keys: TLSKeys, _ mac: TLSSuite.Hash, _ sequence: UInt64, _ header: UnsafePointer<UInt8>, _ length: Int,
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ expected: UnsafePointer<UInt8>
  ) -> Bool {
    let additional = AdditionalData(sequence, header, length)
    var digest = Bytes48()
    return withUnsafeMutableBytes(of: &digest) { digest in
      guard let made = digest.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
      withUnsafeBytes(of: additional) { additional in
        withUnsafeBytes(of: keys.secret) { key in
          imdump_hmac(
            Int32(mac.rawValue), key.baseAddress, mac.count, additional.baseAddress, 13, bytes, count, made)
        }
      }
      return memcmp(made, expected, mac.count) == 0
    }
  }

  // MARK: the way back

  /// The number of a record of TLS 1.3 with AES-GCM, without a search: GHASH does not depend on the nonce, so what was added to it is
  /// known, and decrypting that block gives the nonce and a 1. `nil` when the key is another. The tag is not proved by that.
  ///
  /// GHASH is taken from one pass over header and ciphertext as additional data alone, which differs from that of the record in the
  /// block of lengths only: the difference times the hash key is added.
  func number(_ keys: TLSKeys, _ record: UnsafeRawBufferPointer) -> UInt64? {
    guard keys.isTLS13, keys.suite.cipher == .gcm, let base = record.baseAddress, record.count > 5 + 16,
      record.count <= 5 + TLSRecord.longest13
    else { return nil }
    let bytes = base.assumingMemoryBound(to: UInt8.self)
    let isLong = keys.suite.keyCount == 32
    guard let gcm = pool.single(isLong ? .gcm256 : .gcm128, keys.key, isEncrypting: true) else { return nil }
    let textCount = record.count - 5 - 16
    return withUnsafeTemporaryAllocation(byteCount: 96, alignment: 16) { room -> UInt64? in
      room.initializeMemory(as: UInt8.self, repeating: 0)
      guard let base = room.baseAddress else { return nil }
      let block = base.assumingMemoryBound(to: UInt8.self)
      // 0: twelve zero bytes, the nonce, and the counter 1; 16: zeros; 32: the tag of the pass; 48: both blocks encrypted; 80: the answer.
      let tag = block + 32
      var made: Int32 = 0
      let padding = -textCount & 15
      guard EVP_EncryptInit_ex(gcm, nil, nil, nil, block) == 1,
        EVP_EncryptUpdate(gcm, nil, &made, bytes, 5) == 1,
        EVP_EncryptUpdate(gcm, nil, &made, block + 16, 11) == 1,
        EVP_EncryptUpdate(gcm, nil, &made, bytes + 5, Int32(textCount)) == 1,
        padding == 0 || EVP_EncryptUpdate(gcm, nil, &made, block + 16, Int32(padding)) == 1,
        EVP_EncryptFinal_ex(gcm, block + 80, &made) == 1,
        EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1
      else { return nil }
      block[15] = 1
      guard let ecb = pool.single(isLong ? .ecb256 : .ecb128, keys.key, isEncrypting: true),
        EVP_EncryptUpdate(ecb, block + 48, &made, block, 32) == 1
      else { return nil }
      func word(_ at: Int) -> UInt64 { base.loadUnaligned(fromByteOffset: at, as: UInt64.self).bigEndian }
      // The hash key is the encrypted zero block, at 64.
      let paddedCount = UInt64(16 + textCount + padding)
      let product = Self.times((word(64), word(72)), (40 ^ paddedCount &* 8, UInt64(textCount) &* 8))
      let last = record.count - 16
      func tagWord(_ at: Int) -> UInt64 {
        UnsafeRawPointer(bytes).loadUnaligned(fromByteOffset: last + at, as: UInt64.self).bigEndian
      }
      let high = tagWord(0) ^ word(32) ^ word(48) ^ product.0
      let low = tagWord(8) ^ word(40) ^ word(56) ^ product.1
      base.storeBytes(of: high.bigEndian, toByteOffset: 32, as: UInt64.self)
      base.storeBytes(of: low.bigEndian, toByteOffset: 40, as: UInt64.self)
      guard let back = pool.single(isLong ? .ecb256 : .ecb128, keys.key, isEncrypting: false),
        EVP_DecryptUpdate(back, block + 80, &made, tag, 16) == 1
      else { return nil }
      guard word(88) & 0xffff_ffff == 1 else { return nil }
      let (first, second) = withUnsafeBytes(of: keys.iv) {
        ($0.loadUnaligned(as: UInt64.self).bigEndian, $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian)
      }
      let sequence = word(80) ^ first
      guard sequence >> 32 == 0 else { return nil }
      return sequence << 32 | (word(88) >> 32 ^ UInt64(second))
    }
  }

  /// The product of `a` and a block of few bits in GCM's field.
  private static func times(_ a: (UInt64, UInt64), _ b: (UInt64, UInt64)) -> (UInt64, UInt64) {
    var (high, low) = a
    var product: (UInt64, UInt64) = (0, 0)
    for i in 0..<128 {
      let bit = i < 64 ? b.0 >> UInt64(63 - i) & 1 : b.1 >> UInt64(127 - i) & 1
      if bit == 1 {
        product.0 ^= high
        product.1 ^= low
      }
      let carry = low & 1
      low = low >> 1 | high << 63
      high >>= 1
      if carry == 1 { high ^= 0xe100_0000_0000_0000 }
    }
    return product
  }

  /// Whether a record of TLS 1.3 may have a number, by one block: its last byte is that of a type or padding. For ChaCha20 and CCM.
  func mayHave(_ context: OpaquePointer, _ keys: TLSKeys, _ sequence: UInt64, _ record: UnsafeRawBufferPointer) -> Bool
  {
    let at = record.count - 5 - keys.suite.tagCount - 1
    guard at >= 0, let bytes = record.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
    var nonce = keys.iv
    nonce.xor(sequence)
    var output: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    return withUnsafeMutableBytes(of: &output) { output in
      guard let stream = output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
      var made: Int32 = 0
      let byte: UInt8
      if keys.suite.cipher == .chaCha {
        // The vector is the counter, little-endian, and the nonce.
        var vector = Bytes16()
        let isMade = withUnsafeMutableBytes(of: &vector) { vector in
          vector.storeBytes(of: UInt32(1 + at / 64).littleEndian, as: UInt32.self)
          withUnsafeBytes(of: nonce) { vector[4..<16].copyBytes(from: $0[0..<12]) }
          let start = vector.baseAddress?.assumingMemoryBound(to: UInt8.self)
          return EVP_EncryptInit_ex(context, nil, nil, nil, start) == 1
            && EVP_EncryptUpdate(context, stream, &made, stream, 64) == 1
        }
        guard isMade else { return false }
        byte = stream[at % 64]
      } else {
        // CCM's counter block: a 2 for the three bytes of the counter, the nonce, the counter.
        stream[0] = 2
        withUnsafeBytes(of: nonce) { output[1..<13].copyBytes(from: $0[0..<12]) }
        let counter = 1 + at / 16
        stream[13] = UInt8(truncatingIfNeeded: counter >> 16)
        stream[14] = UInt8(truncatingIfNeeded: counter >> 8)
        stream[15] = UInt8(truncatingIfNeeded: counter)
        guard EVP_EncryptUpdate(context, stream + 16, &made, stream, 16) == 1 else { return false }
        byte = stream[16 + at % 16]
      }
      let last = bytes[5 + at] ^ byte
      return last == 0 || (21...24).contains(last)
    }
  }
}

/// What the tag of TLS 1.2 covers besides the text: number, type, version, length; 13 bytes.
struct AdditionalData: BitwiseCopyable {
  private var bytes: (UInt64, UInt64)

  init(_ sequence: UInt64, _ header: UnsafePointer<UInt8>, _ count: Int) {
    bytes = (
      sequence.bigEndian,
      (UInt64(header[0]) << 56 | UInt64(header[1]) << 48 | UInt64(header[2]) << 40
        | UInt64(UInt16(truncatingIfNeeded: count)) << 24).bigEndian
    )
  }
}

extension Bytes16 {
  /// Adds a record's number to the last eight of twelve bytes.
  mutating func xor(_ sequence: UInt64) {
    withUnsafeMutableBytes(of: &self) {
      let old = $0.loadUnaligned(fromByteOffset: 4, as: UInt64.self)
      $0.storeBytes(of: old ^ sequence.bigEndian, toByteOffset: 4, as: UInt64.self)
    }
  }

  /// Sets the last eight of twelve bytes to those at `bytes`.
  mutating func setExplicit(_ bytes: UnsafeRawPointer) {
    let value = bytes.loadUnaligned(as: UInt64.self)
    withUnsafeMutableBytes(of: &self) { $0.storeBytes(of: value, toByteOffset: 4, as: UInt64.self) }
  }
}
