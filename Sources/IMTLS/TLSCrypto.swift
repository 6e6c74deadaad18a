import CCrypto

/// libcrypto: what is fetched from it once, before privileges are dropped.
package enum TLSCrypto {
  /// Initialises libcrypto without its configuration file and fetches the ciphers. `false` when one of them is missing. Afterwards no
  /// file is opened. Further calls do nothing.
  @discardableResult
  package static func prepare() -> Bool { Ciphers.all.isWhole }
}

/// The ciphers of records, by what a context is keyed for. Raw values index `Ciphers`.
enum CipherKind: Int, CaseIterable, BitwiseCopyable {
  case gcm128, gcm256, chaCha, ccm128, ccm256, shortCCM128, shortCCM256, cbc128, cbc256
  /// Single blocks, for the way back.
  case ecb128, ecb256, chaChaBlock

  /// The kind of records of a cipher with a key of so many bytes.
  init(_ cipher: TLSSuite.Cipher, keyCount: UInt8) {
    let isLong = keyCount == 32
    switch cipher {
    case .gcm: self = isLong ? .gcm256 : .gcm128
    case .ccm: self = isLong ? .ccm256 : .ccm128
    case .ccm8: self = isLong ? .shortCCM256 : .shortCCM128
    case .chaCha: self = .chaCha
    case .cbc: self = isLong ? .cbc256 : .cbc128
    }
  }

  var name: StaticString {
    switch self {
    case .gcm128: "AES-128-GCM"
    case .gcm256: "AES-256-GCM"
    case .chaCha: "ChaCha20-Poly1305"
    case .ccm128, .shortCCM128: "AES-128-CCM"
    case .ccm256, .shortCCM256: "AES-256-CCM"
    case .cbc128: "AES-128-CBC"
    case .cbc256: "AES-256-CBC"
    case .ecb128: "AES-128-ECB"
    case .ecb256: "AES-256-ECB"
    case .chaChaBlock: "ChaCha20"
    }
  }

  /// Whether libcrypto would pad and unpad the data of this kind.
  var isBlockCipher: Bool {
    switch self {
    case .cbc128, .cbc256, .ecb128, .ecb256: true
    default: false
    }
  }

  /// Bytes of CCM's tag, which libcrypto has to know before the key; `nil` of other ciphers.
  var tagCountOfCCM: Int32? {
    switch self {
    case .ccm128, .ccm256: 16
    case .shortCCM128, .shortCCM256: 8
    default: nil
    }
  }
}

/// What libcrypto gave for each kind. Never freed: the process needs them until its end.
struct Ciphers: @unchecked Sendable {
  // SAFETY: written once by the initializer of a static; libcrypto's fetched methods are for all threads.
  private let pointers: [OpaquePointer?]

  static let all = Ciphers()

  private init() {
    _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil)
    pointers = CipherKind.allCases.map { kind in
      // SAFETY: a static string of Swift ends with a zero byte.
      kind.name.utf8Start.withMemoryRebound(to: CChar.self, capacity: kind.name.utf8CodeUnitCount + 1) {
        EVP_CIPHER_fetch(nil, $0, nil)
      }
    }
  }

  var isWhole: Bool { pointers.allSatisfy { $0 != nil } }

  subscript(kind: CipherKind) -> OpaquePointer? { pointers[kind.rawValue] }
}

/// Where a direction's cipher context is in the pool. It is the direction's only while the stamp is the slot's.
struct CipherSlot: BitwiseCopyable {
  var index: Int32 = -1
  var stamp: UInt32 = 0
}

/// libcrypto's contexts, keyed and least recently used out: a context takes over 1 KiB and costs 0.8 us to make, setting another key
/// 0.15 us.
final class CipherPool {
  private struct Slot {
    let context: OpaquePointer
    var stamp: UInt32 = 0
    var before: Int32 = -1
    var after: Int32 = -1
    /// The link count when this slot was last linked.
    var linked: UInt32 = 0
  }

  private let limit: Int
  @exclusivity(unchecked) private var slots: [Slot] = []
  /// Most and least recently used slots of each kind.
  @exclusivity(unchecked) private var first = [Int32](repeating: -1, count: CipherKind.allCases.count)
  @exclusivity(unchecked) private var last = [Int32](repeating: -1, count: CipherKind.allCases.count)
  @exclusivity(unchecked) private var stamp: UInt32 = 0
  /// The number of times that slots were linked as the most recently used ones of their kinds.
  @exclusivity(unchecked) private var links: UInt32 = 0
  /// Contexts for one try each, one for every kind.
  @exclusivity(unchecked) private var single = [OpaquePointer?](repeating: nil, count: CipherKind.allCases.count)

  init(limit: Int) {
    self.limit = max(limit, 64)
  }

  deinit {
    for slot in slots { EVP_CIPHER_CTX_free(slot.context) }
    for context in single { EVP_CIPHER_CTX_free(context) }
  }

  private static func make(_ kind: CipherKind, isEncrypting: Bool) -> OpaquePointer? {
    guard let cipher = Ciphers.all[kind], let context = EVP_CIPHER_CTX_new() else { return nil }
    var isMade = EVP_CipherInit_ex(context, cipher, nil, nil, nil, isEncrypting ? 1 : 0) == 1
    if let count = kind.tagCountOfCCM {
      isMade =
        isMade && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 12, nil) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, count, nil) == 1
    }
    // Those that are made for encryption as well: for a single try they may change to decryption.
    if kind == .gcm128 || kind == .gcm256 { isMade = isMade && imdump_aead_prepare_gcm(context) == 1 }
    // If set for AEAD ciphers as well, it would be set again with each nonce.
    if kind.isBlockCipher { EVP_CIPHER_CTX_set_padding(context, 0) }
    guard isMade else {
      EVP_CIPHER_CTX_free(context)
      return nil
    }
    return context
  }

  /// The context of a direction with `key` set.
  func context(_ kind: CipherKind, _ key: Bytes32, _ place: inout CipherSlot) -> OpaquePointer? {
    let index = Int(place.index)
    if index >= 0, index < slots.count, slots[index].stamp == place.stamp {
      // Each link of its kind moves a slot back by one: a slot in the front half stays where it is.
      if links &- slots[index].linked > UInt32(limit / 2) {
        unlink(place.index, kind)
        link(place.index, kind)
      }
      return slots[index].context
    }
    var slot = last[kind.rawValue]
    // Past the limit a kind makes one context at most; else it takes its own least recently used one.
    if slots.count < limit || slot < 0 {
      guard let context = Self.make(kind, isEncrypting: false) else { return nil }
      slots.append(Slot(context: context))
      slot = Int32(slots.count - 1)
    } else {
      unlink(slot, kind)
    }
    link(slot, kind)
    stamp &+= 1
    slots[Int(slot)].stamp = stamp
    place = CipherSlot(index: slot, stamp: stamp)
    let context = slots[Int(slot)].context
    return Self.setKey(context, key, isEncrypting: false) ? context : nil
  }

  /// A context with `key` for one try; of the block ciphers the direction is the caller's choice.
  func single(_ kind: CipherKind, _ key: Bytes32, isEncrypting: Bool = false) -> OpaquePointer? {
    if single[kind.rawValue] == nil { single[kind.rawValue] = Self.make(kind, isEncrypting: isEncrypting) }
    guard let context = single[kind.rawValue], Self.setKey(context, key, isEncrypting: isEncrypting) else { return nil }
    return context
  }

  private static func setKey(_ context: OpaquePointer, _ key: Bytes32, isEncrypting: Bool) -> Bool {
    withUnsafeBytes(of: key) {
      EVP_CipherInit_ex(
        context, nil, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, isEncrypting ? 1 : 0) == 1
    }
  }

  private func unlink(_ slot: Int32, _ kind: CipherKind) {
    let (before, after) = (slots[Int(slot)].before, slots[Int(slot)].after)
    if before >= 0 { slots[Int(before)].after = after } else { first[kind.rawValue] = after }
    if after >= 0 { slots[Int(after)].before = before } else { last[kind.rawValue] = before }
  }

  private func link(_ slot: Int32, _ kind: CipherKind) {
    let head = first[kind.rawValue]
    links &+= 1
    slots[Int(slot)].linked = links
    slots[Int(slot)].before = -1
    slots[Int(slot)].after = head
    if head >= 0 { slots[Int(head)].before = slot } else { last[kind.rawValue] = slot }
    first[kind.rawValue] = slot
  }
}
