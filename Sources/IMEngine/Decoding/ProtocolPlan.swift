import IMWire

/// A protocol that imdump can decode: the compiled plan, and the names that outputs print.
///
/// Made before the first packet; it owns the memory behind its plan. Only `Engine.reload` changes it, between two batches.
package final class ProtocolPlan: @unchecked Sendable {
  /// The profile's name, as `network.protocol` and `--profile` have it.
  package let name: String
  /// The profile's version.
  @exclusivity(unchecked) package private(set) var version: String
  /// The ports on which it usually listens; hints, not conditions.
  @exclusivity(unchecked) package private(set) var ports: [UInt16]
  /// The types' names, by `FrameKind.index`.
  @exclusivity(unchecked) package private(set) var typeNames: [String]
  /// The types' values on the wire, by `FrameKind.index`.
  @exclusivity(unchecked) package private(set) var typeValues: [UInt64]
  /// The types' roles, by `FrameKind.index`.
  @exclusivity(unchecked) package private(set) var typeRoles: [FrameRole]
  /// Names of TLV tags.
  @exclusivity(unchecked) package private(set) var tagNames: [UInt32: String]
  /// TLV tags whose values are not to be shown.
  @exclusivity(unchecked) package private(set) var sensitiveTags: Set<UInt32>
  /// What the values of tags are, where the profile says.
  @exclusivity(unchecked) package private(set) var tagTypes: [UInt32: ValueType]
  /// Names of statuses, by list: the profile's own, that of a second tag, and those of single types.
  @exclusivity(unchecked) package private(set) var statusNames: [[UInt64: String]]
  /// The algorithm of the checksum, as documents name it; `nil` where the protocol has none.
  @exclusivity(unchecked) package private(set) var checksumName: String?
  /// Whether frames carry a sequence number and a session of their own.
  package var hasSession: Bool { pointer.pointee.session.isPresent }

  /// Whether clients' names are not to be shown, but a keyed hash of them.
  package var hidesIdentity: Bool { pointer.pointee.hidesIdentity }

  /// The plan.
  @exclusivity(unchecked) package private(set) var pointer: UnsafePointer<Plan>
  private var kinds: UnsafeMutablePointer<FrameKind>
  /// Places of the table of types, those of the types as pieces included.
  private var kindCount: Int
  private var steps: UnsafeMutablePointer<PlanStep>
  private var nested: UnsafeMutablePointer<UInt32>
  private var unknown: UnsafeMutablePointer<FrameKind>
  private var forms: UnsafeMutablePointer<TLVForm>
  /// The plan of the protocol's variant, where there is one: the same types, with other bodies. A message tells which one a
  /// connection speaks.
  @exclusivity(unchecked) package private(set) var variant: ProtocolPlan?

  /// What `make` fills in; the numbers of a `Plan` without its tables.
  package struct Draft: Sendable {
    /// The bits of the header's first eight bytes, big endian, that are always the same.
    package var magicMask: UInt64 = 0
    /// What those bits are.
    package var magic: UInt64 = 0
    /// The part of `magicMask` that is the magic number; the rest is the version.
    package var signatureMask: UInt64 = 0
    /// How the header gives the body's length.
    package var lengthRule = Plan.LengthRule.field
    /// How the checksum is verified.
    package var checksumRule = Plan.ChecksumRule.none
    /// Whether a checksum in the other byte order counts as right.
    package var checksumEitherOrder = false
    /// Bytes of a header with a `field` length, or the least a `varint` header has.
    package var headerCount = 0
    /// Where a `varint` length begins, from the header's first byte.
    package var lengthOffset = 0
    /// What is added to a `field` length to give the body's.
    package var lengthAdd = 0
    /// The longest body, in bytes.
    package var maximumBody = 16 << 20
    /// The length, in bytes; absent with a `varint` length.
    package var length = Field()
    /// The frame's type.
    package var type = Field()
    /// The sequence number.
    package var sequence = Field()
    /// The session's number.
    package var session = Field()
    /// The checksum.
    package var checksum = Field()
    /// The sender's clock.
    package var time = Field()
    /// How the body is compressed.
    package var compression = Field()
    /// How the body is encrypted.
    package var encryption = Field()
    /// The flag of a frame that is sent again.
    package var duplicate = Field()
    /// The message's number in an acknowledgment's body of `ackBodyCount` bytes, from the body's first byte.
    package var ackBody = Field()
    /// What an acknowledgment's number is more than its message's.
    package var ackPlus: UInt64 = 0
    /// The value of `compression` that says zlib.
    package var zlibValue: UInt64 = 1
    /// The values of `encryption` from this one on mean that the body cannot be read.
    package var encryptedFrom: UInt64 = .max
    /// The length of an acknowledgment's body that names its message; -1 where none does.
    package var ackBodyCount = -1
    /// Whether sequence numbers count; else they are identifiers, free again after the answer.
    package var sequenceCounts = true
    /// How long a number means its message.
    package var numberLife = NumberLife.session
    /// Names of statuses, by list: `FrameKind.statusList` tells a type's. Behind the first, of the profile, stands the one of
    /// a second tag.
    package var statusNames: [[UInt64: String]] = [[:], [:]]
    /// Whether a server numbers what it sends to all its clients with one counter.
    package var serverSharesCounter = false
    /// The bits of a sequence number that count; those above are its category.
    package var counterBits = 32
    /// The counter goes to 0 instead of reaching this.
    package var counterWrap: UInt64 = 1 << 32
    /// The tags by which a frame of the handshake's type asks and answers; `.max` without.
    package var handshakeRequest: UInt32 = .max, handshakeAnswer: UInt32 = .max
    /// The tag by which a receipt names its message; `.max` without.
    package var receiptTag: UInt32 = .max
    /// How long the handshake's answer may take, in nanoseconds.
    package var handshakeLimit: Int64 = 10_000_000_000
    /// How TLV lists are laid out.
    package var tlv = TLVPlan()
    /// Tags whose value is a TLV list again, where there is more than one.
    package var nestedTags: [UInt32] = []
    /// The status in the header, and the statuses that accept.
    package var status = Field(), acceptedStatus: (first: UInt64, last: UInt64) = (0, 0)
    /// The tags of a body's status and of the client's name; `.max` without.
    package var statusTags: (UInt32, UInt32) = (.max, .max), identityTag: UInt32 = .max
    /// The tag of the seconds between heartbeats; `.max` without.
    package var keepAliveTag: UInt32 = .max
    /// How often heartbeats come, in nanoseconds, and how many thousandths of that the client may be silent; 0 without.
    package var heartbeatInterval: Int64 = 0, heartbeatFactor: UInt32 = 0
    /// Whether clients' names are not to be shown.
    package var hidesIdentity = false
    /// Whether the protocol has a variant: this or another one.
    package var hasVariant = false
    /// The forms of values, where tags tell it.
    package var forms: [TLVForm] = []
    /// Another status that accepts; `.max` where there is none.
    package var acceptedToo: UInt64 = .max
    /// Delimiters, trailers, and headers of several layouts.
    package var framing = PlanFraming()
    /// The types, in the order of their indices; their `index` and `evidence` are filled in by the compilation.
    package var kinds: [FrameKind] = []
    /// What holds for types that the profile does not know.
    package var unknownFlags: FrameKind.Flags = []
    /// The steps of all types; each has its own by `firstStep` and `stepCount`.
    package var steps: [PlanStep] = []

    /// An empty draft.
    package init() {}
  }

  /// Compiles `draft`. At most 63 types; their indices are their places in `draft.kinds`.
  package init(
    name: String, version: String, ports: [UInt16], typeNames: [String], tagNames: [UInt32: String],
    sensitiveTags: Set<UInt32> = [], tagTypes: [UInt32: ValueType] = [:], checksumName: String?, draft: Draft,
    variant: Draft? = nil
  ) {
    precondition(draft.kinds.count <= 63, "a plan has at most 63 types")
    self.name = name
    self.version = version
    self.ports = ports
    self.typeNames = typeNames
    self.tagNames = tagNames
    // A name that is not to be shown is not shown as an element either.
    let hidden: Set<UInt32> = draft.hidesIdentity && draft.identityTag != .max ? [draft.identityTag] : []
    self.sensitiveTags = sensitiveTags.union(hidden)
    self.tagTypes = tagTypes
    self.checksumName = checksumName
    statusNames = draft.statusNames
    typeValues = draft.kinds.map(\.value)
    typeRoles = draft.kinds.map(\.role)
    self.variant = variant.map { variant in
      ProtocolPlan(
        name: name, version: version, ports: ports, typeNames: typeNames, tagNames: tagNames,
        sensitiveTags: sensitiveTags, tagTypes: tagTypes, checksumName: checksumName, draft: variant)
    }

    let values = draft.kinds.map(\.value)
    let (multiplier, bits) = Self.perfectHash(values)
    let places = 1 << bits
    kindCount = draft.framing.partCount > 0 ? 2 * places : places
    kinds = .allocate(capacity: kindCount)
    kinds.initialize(repeating: FrameKind(), count: kindCount)
    steps = .allocate(capacity: max(1, draft.steps.count))
    for (i, step) in draft.steps.enumerated() { (steps + i).initialize(to: step) }
    nested = .allocate(capacity: max(1, draft.nestedTags.count))
    for (i, tag) in draft.nestedTags.sorted().enumerated() { (nested + i).initialize(to: tag) }
    unknown = .allocate(capacity: 1)
    var other = FrameKind()
    other.flags = draft.unknownFlags
    unknown.initialize(to: other)

    forms = .allocate(capacity: max(1, draft.forms.count))
    for (i, form) in draft.forms.sorted(by: { $0.tag < $1.tag }).enumerated() { (forms + i).initialize(to: form) }

    // What the variant does not know has an index, but no place.
    var present = draft
    present.kinds.removeAll(where: \.isAbsent)
    let memory = UnsafeMutablePointer<Plan>.allocate(capacity: 1)
    var plan = Plan(kinds: kinds, steps: steps, unknownKind: unknown, nestedTags: nested, forms: forms)
    for (index, kind) in draft.kinds.enumerated() where !kind.isAbsent {
      var entry = kind
      entry.index = UInt8(index)
      entry.evidence = UInt8(
        min(64, kind.headMask.nonzeroBitCount + Self.lengthEvidence(kind.minimumBody, kind.maximumBody)))
      let place = Int(truncatingIfNeeded: (kind.value &* multiplier) >> UInt64(64 - bits))
      kinds[place] = entry
      if draft.framing.partCount > 0 { kinds[place + places] = Self.piece(entry) }
    }
    plan.magicMask = draft.magicMask
    plan.magic = draft.magic
    plan.signatureMask = draft.signatureMask
    plan.magicEvidence = Self.magicEvidence(draft)
    plan.typeEvidence = Self.typeEvidence(draft, plan.magicEvidence)
    (plan.commonMask, plan.common) =
      plan.typeEvidence == 0 ? (draft.magicMask, draft.magic) : Self.commonBits(present)
    plan.checksumEvidence = Self.checksumEvidence(draft)
    plan.kindCount = places
    plan.kindTotal = draft.kinds.count
    plan.framing = draft.framing
    plan.acceptedToo = draft.acceptedToo
    plan.status = draft.status
    plan.acceptedStatus = draft.acceptedStatus
    plan.statusTags = draft.statusTags
    plan.identityTag = draft.identityTag
    plan.keepAliveTag = draft.keepAliveTag
    plan.hasVariant = draft.hasVariant
    plan.heartbeatInterval = draft.heartbeatInterval
    plan.heartbeatFactor = draft.heartbeatFactor
    plan.hidesIdentity = draft.hidesIdentity
    plan.formCount = draft.forms.count
    plan.nestedCount = draft.nestedTags.count
    plan.lengthRule = draft.lengthRule
    plan.checksumRule = draft.checksumRule
    plan.checksumEitherOrder = draft.checksumEitherOrder
    plan.headerCount = Int32(draft.headerCount)
    plan.lengthOffset = Int32(draft.lengthOffset)
    plan.lengthAdd = Int32(draft.lengthAdd)
    plan.maximumBody = Int32(clamping: draft.maximumBody)
    plan.length = draft.length
    plan.type = draft.type
    plan.sequence = draft.sequence
    plan.session = draft.session
    plan.checksum = draft.checksum
    plan.time = draft.time
    plan.compression = draft.compression
    plan.encryption = draft.encryption
    (plan.plainMask, plan.plainOffset) = Self.plainTest(draft)
    plan.duplicate = draft.duplicate
    plan.ackBody = draft.ackBody
    plan.ackPlus = draft.ackPlus
    plan.zlibValue = draft.zlibValue
    plan.encryptedFrom = draft.encryptedFrom
    plan.ackBodyCount = Int32(draft.ackBodyCount)
    plan.sequenceCounts = draft.sequenceCounts
    plan.numberLife = draft.numberLife
    plan.serverSharesCounter = draft.serverSharesCounter
    plan.counterBits = UInt8(draft.counterBits)
    plan.counterWrap = draft.counterWrap
    plan.handshakeRequest = draft.handshakeRequest
    plan.handshakeAnswer = draft.handshakeAnswer
    plan.handshakeLimit = draft.handshakeLimit
    plan.receiptTag = draft.receiptTag
    plan.tlv = draft.tlv
    plan.kindMultiplier = multiplier
    plan.kindShift = UInt8(64 - bits)
    // One header with a magic chooses the profile; after a loss, a second header or a checksum must confirm it.
    plan.confirmEvidence = UInt16(max(32, Int(plan.magicEvidence) + 16))
    plan.firstBytes = Self.firstBytes(present)
    memory.initialize(to: plan)
    pointer = UnsafePointer(memory)
  }

  /// A type as a piece: its body has no layout of its own, and it answers nothing that it could name.
  private static func piece(_ kind: FrameKind) -> FrameKind {
    var piece = kind
    piece.stepCount = 0
    piece.flags.insert(.noTLV)
    piece.flags.remove(.hasOtherSteps)
    piece.minimumBody = 0
    piece.maximumBody = .max
    if kind.role == .acknowledgment {
      piece.role = .other
      piece.answers = 0
    }
    return piece
  }

  /// Bits of proof that a right checksum gives.
  private static func checksumEvidence(_ draft: Draft) -> UInt8 {
    switch draft.checksumRule {
    case .none: 0
    case .crc32: 32
    case .general:
      draft.framing.checksum.isPresent ? UInt8(draft.framing.checksum.algorithm.byteCount * 8) : 0
    }
  }

  /// The bytes that a header may begin with, one bit each: all of them, unless the first one has the type, and there is no
  /// checksum by which also a type that nobody knows is believed.
  private static func firstBytes(_ draft: Draft) -> InlineArray<4, UInt64> {
    let first = UInt64(littleEndian: 0xff)
    guard draft.magicMask == 0, draft.checksumRule == .none, draft.type.offset == 0, draft.type.rawMask & ~first == 0
    else { return InlineArray(repeating: .max) }
    var bits = InlineArray<4, UInt64>(repeating: 0)
    for byte in UInt64(0)...255 {
      let type = draft.type.value(UInt64(littleEndian: byte))
      let isHeader = draft.kinds.contains {
        $0.value == type && (byte ^ $0.headValue >> 56) & $0.headMask >> 56 == 0
      }
      if isHeader { bits[Int(byte >> 6)] |= 1 << (byte & 63) }
    }
    return bits
  }

  /// The name that the profile gives a status of this plan; `nil` where it gives none.
  package func name(of status: StatusCode) -> String? {
    statusNames.indices.contains(Int(status.list)) ? statusNames[Int(status.list)][status.number] : nil
  }

  /// The name of the status that a frame gives; `nil` where it gives none, or the profile has no name for it.
  package func statusName(_ frame: Frame) -> String? {
    guard frame.flags.contains(.status) else { return nil }
    return name(of: StatusCode(frame, plan: 0))
  }

  /// What the type with `index` means; `nil` for an index that no type has.
  package func kind(at index: Int) -> FrameKind? {
    guard typeValues.indices.contains(index) else { return nil }
    let kind = pointer.kind(typeValues[index]).pointee
    return kind.index == FrameKind.unknownIndex ? variant?.kind(at: index) ?? kind : kind
  }

  /// The value that a type has in a plan which was made for `reload` and does not know it any more: no field can have it, and no
  /// word of a line that is text.
  package static func forgotten(_ index: Int) -> UInt64 { 1 << 32 + UInt64(index) }

  /// Whether `value` is such a one; words of lines have no bytes below 0x21.
  private static func isForgotten(_ value: UInt64) -> Bool { value >> 6 == 1 << 26 }

  /// Makes this plan what `other` is, and the other way round; the name stays. A type that is forgotten stays known by its
  /// old value where exchanges of it are told.
  func exchange(with other: ProtocolPlan) {
    for (i, value) in typeValues.enumerated() where other.typeValues.indices.contains(i) {
      if Self.isForgotten(other.typeValues[i]) { other.typeValues[i] = value }
    }
    swap(&version, &other.version)
    swap(&ports, &other.ports)
    swap(&typeNames, &other.typeNames)
    swap(&typeValues, &other.typeValues)
    swap(&typeRoles, &other.typeRoles)
    swap(&tagNames, &other.tagNames)
    swap(&sensitiveTags, &other.sensitiveTags)
    swap(&tagTypes, &other.tagTypes)
    swap(&checksumName, &other.checksumName)
    swap(&statusNames, &other.statusNames)
    swap(&pointer, &other.pointer)
    swap(&kinds, &other.kinds)
    swap(&kindCount, &other.kindCount)
    swap(&steps, &other.steps)
    swap(&nested, &other.nested)
    swap(&unknown, &other.unknown)
    swap(&forms, &other.forms)
    swap(&variant, &other.variant)
  }

  deinit {
    pointer.deallocate()
    kinds.deallocate()
    steps.deallocate()
    nested.deallocate()
    unknown.deallocate()
    forms.deallocate()
  }

  /// Bits of proof that the magic gives. A byte of zeros is so common that it counts half.
  private static func magicEvidence(_ draft: Draft) -> UInt8 {
    var bits = 0
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      let mask = draft.magicMask >> shift & 0xff
      bits += mask == 0xff && draft.magic >> shift & 0xff == 0 ? 4 : mask.nonzeroBitCount
    }
    return UInt8(bits)
  }

  /// Bits of proof that a known type gives, where it has to: how many of its field's bits the types leave, at most 20.
  private static func typeEvidence(_ draft: Draft, _ magicEvidence: UInt8) -> UInt8 {
    let width = draft.type.mask.nonzeroBitCount
    guard magicEvidence < 32, checksumEvidence(draft) < 32, width >= 16 else { return 0 }
    let choice = Int.bitWidth - max(0, draft.kinds.count - 1).leadingZeroBitCount
    return UInt8(min(20, max(0, width - choice)))
  }

  /// The bits of the header's first eight bytes that are the same in all frames whose type is known: the magic, the zeros in
  /// front of a length, and what the types have in common.
  private static func commonBits(_ draft: Draft) -> (mask: UInt64, value: UInt64) {
    var mask = draft.magicMask
    var value = draft.magic
    /// Where a field's bits stand in those eight bytes.
    func placed(_ field: Field, _ bits: UInt64) -> UInt64 {
      var part = field
      part.mask &= bits
      return field.offset < 8 ? UInt64(bigEndian: part.rawMask) >> UInt64(field.offset * 8) : 0
    }
    if draft.length.isPresent {
      let longest = UInt64(max(0, draft.maximumBody - draft.lengthAdd))
      let used = longest == 0 ? 0 : UInt64.max >> UInt64(longest.leadingZeroBitCount)
      mask |= placed(draft.length, ~used)
    }
    let all = draft.kinds.map(\.value)
    if let first = all.first {
      let same = all.reduce(UInt64.max) { $0 & ~($1 ^ first) }
      mask |= placed(draft.type, same)
      value |= placed(draft.type, same & first)
    }
    return (mask, value)
  }

  /// What tells with one load that a body is neither compressed nor encrypted; with every bit set where one load cannot.
  private static func plainTest(_ draft: Draft) -> (mask: UInt64, offset: Int32) {
    var fields: [Field] = []
    if draft.compression.isPresent {
      guard draft.zlibValue != 0 else { return (.max, 0) }
      fields.append(draft.compression)
    }
    if draft.encryption.isPresent {
      // Values below the greatest power of two that is not above `encryptedFrom` are plain for certain.
      guard draft.encryptedFrom > 0 else { return (.max, 0) }
      let plain = UInt64(1) << UInt64(63 - draft.encryptedFrom.leadingZeroBitCount)
      var field = draft.encryption
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
  private static func lengthEvidence(_ minimum: UInt32, _ maximum: UInt32) -> Int {
    maximum == minimum ? 8 : maximum < 256 && maximum - minimum < 16 ? 4 : 0
  }

  /// A multiplier that sends each value to a place of its own, and the table's size in bits.
  private static func perfectHash(_ values: [UInt64]) -> (multiplier: UInt64, bits: Int) {
    for bits in 6...16 {
      var candidate: UInt64 = 0x9E37_79B9_7F4A_7C15
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
