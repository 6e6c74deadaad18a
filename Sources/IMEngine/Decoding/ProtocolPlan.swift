import IMWire

/// A protocol that imdump can decode: the compiled plan, and the names that outputs print.
///
/// Made once, before the first packet, and never changed; it owns the memory behind its plan.
package final class ProtocolPlan: @unchecked Sendable {
  /// The profile's name, as `network.protocol` and `--profile` have it.
  package let name: String
  /// The profile's version.
  package let version: String
  /// The ports on which it usually listens; hints, not conditions.
  package let ports: [UInt16]
  /// The types' names, by `FrameKind.index`.
  package let typeNames: [String]
  /// The types' values on the wire, by `FrameKind.index`.
  package let typeValues: [UInt64]
  /// The types' roles, by `FrameKind.index`.
  package let typeRoles: [FrameRole]
  /// Names of TLV tags.
  package let tagNames: [UInt32: String]
  /// The algorithm of the checksum, as documents name it; `nil` where the protocol has none.
  package let checksumName: String?
  /// Whether frames carry a sequence number and a session of their own.
  package var hasSession: Bool { pointer.pointee.session.isPresent }

  /// The plan.
  package let pointer: UnsafePointer<Plan>
  private let kinds: UnsafeMutablePointer<FrameKind>
  private let kindCount: Int
  private let steps: UnsafeMutablePointer<PlanStep>
  private let unknown: UnsafeMutablePointer<FrameKind>

  /// What `make` fills in; the numbers of a `Plan` without its tables.
  package struct Draft: Sendable {
    package var magicMask: UInt64 = 0, magic: UInt64 = 0, signatureMask: UInt64 = 0
    package var lengthRule = Plan.LengthRule.field
    package var checksumRule = Plan.ChecksumRule.none
    package var checksumEitherOrder = false
    package var headerCount = 0, lengthOffset = 0, lengthAdd = 0, maximumBody = 16 << 20
    package var length = Field(), type = Field(), sequence = Field(), session = Field()
    package var checksum = Field(), time = Field(), compression = Field(), encryption = Field()
    package var duplicate = Field(), ackBody = Field()
    package var zlibValue: UInt64 = 1, encryptedFrom: UInt64 = .max
    package var ackBodyCount = -1
    package var sequenceCounts = true
    package var counterBits = 32
    package var counterWrap: UInt64 = 1 << 32
    package var heartbeatTimeout: Int64 = 15_000_000_000
    package var tlv = TLVPlan()
    package var kinds: [FrameKind] = []
    package var unknownFlags: FrameKind.Flags = []
    package var steps: [PlanStep] = []

    /// An empty draft.
    package init() {}
  }

  /// Compiles `draft`. At most 63 types; their indices are their places in `draft.kinds`.
  package init(
    name: String, version: String, ports: [UInt16], typeNames: [String], tagNames: [UInt32: String],
    checksumName: String?, draft: Draft
  ) {
    precondition(draft.kinds.count <= 63, "a plan has at most 63 types")
    self.name = name
    self.version = version
    self.ports = ports
    self.typeNames = typeNames
    self.tagNames = tagNames
    self.checksumName = checksumName
    typeValues = draft.kinds.map(\.value)
    typeRoles = draft.kinds.map(\.role)

    let (multiplier, bits) = Self.perfectHash(draft.kinds.map(\.value))
    kindCount = 1 << bits
    kinds = .allocate(capacity: kindCount)
    kinds.initialize(repeating: FrameKind(), count: kindCount)
    steps = .allocate(capacity: max(1, draft.steps.count))
    for (i, step) in draft.steps.enumerated() { (steps + i).initialize(to: step) }
    unknown = .allocate(capacity: 1)
    var other = FrameKind()
    other.flags = draft.unknownFlags
    unknown.initialize(to: other)

    let memory = UnsafeMutablePointer<Plan>.allocate(capacity: 1)
    var plan = Plan(kinds: kinds, steps: steps, unknownKind: unknown)
    plan.magicMask = draft.magicMask
    plan.magic = draft.magic
    plan.signatureMask = draft.signatureMask
    plan.magicEvidence = UInt8(draft.magicMask.nonzeroBitCount)
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
    plan.duplicate = draft.duplicate
    plan.ackBody = draft.ackBody
    plan.zlibValue = draft.zlibValue
    plan.encryptedFrom = draft.encryptedFrom
    plan.ackBodyCount = Int32(draft.ackBodyCount)
    plan.sequenceCounts = draft.sequenceCounts
    plan.counterBits = UInt8(draft.counterBits)
    plan.counterWrap = draft.counterWrap
    plan.heartbeatTimeout = draft.heartbeatTimeout
    plan.tlv = draft.tlv
    plan.kindMultiplier = multiplier
    plan.kindShift = UInt8(64 - bits)
    // One header with a magic chooses the profile; after a loss, a second header or a checksum must confirm it.
    plan.confirmEvidence = UInt16(max(32, Int(plan.magicEvidence) + 16))
    for (index, kind) in draft.kinds.enumerated() {
      var entry = kind
      entry.index = UInt8(index)
      entry.evidence = UInt8(
        min(64, kind.headMask.nonzeroBitCount + Self.lengthEvidence(kind.minimumBody, kind.maximumBody)))
      kinds[Int(truncatingIfNeeded: (kind.value &* multiplier) >> UInt64(64 - bits))] = entry
    }
    memory.initialize(to: plan)
    pointer = UnsafePointer(memory)
  }

  /// What the type with `index` means; `nil` for an index that no type has.
  package func kind(at index: Int) -> FrameKind? {
    typeValues.indices.contains(index) ? pointer.kind(typeValues[index]).pointee : nil
  }

  deinit {
    pointer.deallocate()
    kinds.deallocate()
    steps.deallocate()
    unknown.deallocate()
  }

  /// A body whose length is fixed proves something when it is right.
  private static func lengthEvidence(_ minimum: UInt32, _ maximum: UInt32) -> Int {
    maximum == minimum ? 8 : maximum < 256 && maximum - minimum < 16 ? 4 : 0
  }

  /// A multiplier that sends each value to a place of its own, and the table's size in bits.
  private static func perfectHash(_ values: [UInt64]) -> (multiplier: UInt64, bits: Int) {
    for bits in 6...16 {
      var candidate: UInt64 = 0x9E37_79B9_7F4A_7C15
      for _ in 0..<4_096 {
        let places = Set(values.map { ($0 &* candidate) >> UInt64(64 - bits) })
        if places.count == values.count { return (candidate, bits) }
        candidate = candidate &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 | 1
      }
    }
    preconditionFailure("64 values find places of their own in a table of 65,536")
  }
}
