/// What a plan's description says of how easily something else is taken for it, and how its types are found.
extension ProtocolPlan {
  /// Bits of proof that a right checksum gives.
  static func checksumEvidence(_ draft: Draft) -> UInt8 {
    switch draft.plan.checksumRule {
    case .none: 0
    case .crc32: 32
    case .general:
      draft.plan.framing.checksum.isPresent ? UInt8(draft.plan.framing.checksum.algorithm.byteCount * 8) : 0
    }
  }

  /// The bytes that a header may begin with, one bit each: all of them, unless the first one has the type, and there is no
  /// checksum by which also a type that nobody knows is believed.
  static func firstBytes(_ draft: Draft) -> InlineArray<4, UInt64> {
    let first = UInt64(littleEndian: 0xff)
    guard draft.plan.magicMask == 0, draft.plan.checksumRule == .none, draft.plan.type.offset == 0,
      draft.plan.type.rawMask & ~first == 0
    else { return InlineArray(repeating: .max) }
    var bits = InlineArray<4, UInt64>(repeating: 0)
    for byte in UInt64(0)...255 {
      let type = draft.plan.type.value(UInt64(littleEndian: byte))
      let isHeader = draft.kinds.contains {
        $0.value == type && (byte ^ $0.headValue >> 56) & $0.headMask >> 56 == 0
      }
      if isHeader { bits[Int(byte >> 6)] |= 1 << (byte & 63) }
    }
    return bits
  }

  /// Bits of proof that the magic gives. A byte of zeros is so common that it counts half.
  static func magicEvidence(_ draft: Draft) -> UInt8 {
    var bits = 0
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      let mask = draft.plan.magicMask >> shift & 0xff
      bits += mask == 0xff && draft.plan.magic >> shift & 0xff == 0 ? 4 : mask.nonzeroBitCount
    }
    return UInt8(bits)
  }

  /// Bits of proof that a known type gives, where it has to: how many of its field's bits the types leave, at most 20.
  static func typeEvidence(_ draft: Draft, _ magicEvidence: UInt8) -> UInt8 {
    let width = draft.plan.type.mask.nonzeroBitCount
    guard magicEvidence < 32, checksumEvidence(draft) < 32, width >= 16 else { return 0 }
    let choice = Int.bitWidth - max(0, draft.kinds.count - 1).leadingZeroBitCount
    return UInt8(min(20, max(0, width - choice)))
  }

  /// The bits of the header's first eight bytes that are the same in all frames whose type is known: the magic, the zeros in
  /// front of a length, and what the types have in common.
  static func commonBits(_ draft: Draft) -> (mask: UInt64, value: UInt64) {
    var mask = draft.plan.magicMask
    var value = draft.plan.magic
    /// Where a field's bits stand in those eight bytes.
    func placed(_ field: Field, _ bits: UInt64) -> UInt64 {
      var part = field
      part.mask &= bits
      return field.offset < 8 ? UInt64(bigEndian: part.rawMask) >> UInt64(field.offset * 8) : 0
    }
    if draft.plan.length.isPresent {
      let longest = UInt64(max(0, draft.plan.maximumBody - draft.plan.lengthAdd))
      let used = longest == 0 ? 0 : UInt64.max >> UInt64(longest.leadingZeroBitCount)
      mask |= placed(draft.plan.length, ~used)
    }
    let all = draft.kinds.map(\.value)
    if let first = all.first {
      let same = all.reduce(UInt64.max) { $0 & ~($1 ^ first) }
      mask |= placed(draft.plan.type, same)
      value |= placed(draft.plan.type, same & first)
    }
    return (mask, value)
  }

  /// What tells with one load that a body is neither compressed nor encrypted; with every bit set where one load cannot.
  static func plainTest(_ draft: Draft) -> (mask: UInt64, offset: Int32) {
    var fields: [Field] = []
    if draft.plan.compression.isPresent {
      guard draft.plan.zlibValue != 0 else { return (.max, 0) }
      fields.append(draft.plan.compression)
    }
    if draft.plan.encryption.isPresent {
      // Values below the greatest power of two that is not above `encryptedFrom` are plain for certain.
      guard draft.plan.encryptedFrom > 0 else { return (.max, 0) }
      let plain = UInt64(1) << UInt64(63 - draft.plan.encryptedFrom.leadingZeroBitCount)
      var field = draft.plan.encryption
      field.mask &= ~(plain - 1)
      fields.append(field)
    }
    guard let offset = fields.map(\.offset).min() else { return (0, 0) }
    var mask: UInt64 = 0
    for field in fields {
      let raw = UInt64(littleEndian: field.rawMask)
      let distance = UInt64(field.offset - offset) * 8
      guard distance < 64, (raw << distance) >> distance == raw else { return (.max, offset) }
      mask |= raw << distance
    }
    return (UInt64(littleEndian: mask), offset)
  }

  /// A body whose length is fixed proves something when it is right.
  static func lengthEvidence(_ minimum: UInt32, _ maximum: UInt32) -> Int {
    maximum == minimum ? 8 : maximum < 256 && maximum - minimum < 16 ? 4 : 0
  }

  /// A multiplier that sends each value to a place of its own, and the table's size in bits.
  static func perfectHash(_ values: [UInt64]) -> (multiplier: UInt64, bits: Int) {
    for bits in 6...16 {
      var candidate: UInt64 = GoldenRatio.of64Bits
      // 33 types find a table of 64 places within 400 tries; more of them would take longer than a larger table is worth.
      for _ in 0..<512 where values.count <= 1 << bits {
        if isPerfect(candidate, bits, values) { return (candidate, bits) }
        candidate = candidate &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 | 1
      }
    }
    preconditionFailure("64 values find places of their own in a table of 65,536")
  }

  /// Whether `multiplier` sends each value to a place of its own in a table of `bits` bits.
  private static func isPerfect(_ multiplier: UInt64, _ bits: Int, _ values: [UInt64]) -> Bool {
    // The first 4,096 places have a bit each; a table is hardly ever larger.
    var taken = InlineArray<64, UInt64>(repeating: 0)
    guard bits <= 12 else { return Set(values.map { ($0 &* multiplier) >> UInt64(64 - bits) }).count == values.count }
    for value in values {
      let place = (value &* multiplier) >> UInt64(64 - bits)
      let bit = UInt64(1) << (place & 63)
      guard taken[Int(place >> 6)] & bit == 0 else { return false }
      taken[Int(place >> 6)] |= bit
    }
    return true
  }
}
