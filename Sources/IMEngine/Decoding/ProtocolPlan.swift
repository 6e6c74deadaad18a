package import IMFields
import IMWire

/// A protocol that imdump can decode: the compiled plan, and the names that outputs print.
///
/// Made before the first packet; it owns the memory behind its plan. Only `Engine.reload` changes it, between two batches.
package final class ProtocolPlan: @unchecked Sendable {
  /// The profile's name, as `network.protocol` and `--profile` have it.
  package let name: String
  /// Whether frames are recognized by what they contain, and not by offsets alone. Such bodies cannot be rewritten in place.
  package var readsContents: Bool { general != nil }
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
  @exclusivity(unchecked) private var stepLines: [Int]
  @exclusivity(unchecked) private var kindLines: [Int]
  private var stepCount: Int
  /// Places of the table of types, those of the types as pieces included.
  private var kindCount: Int
  private var steps: UnsafeMutablePointer<PlanStep>
  private var nested: UnsafeMutablePointer<UInt32>
  private var unknown: UnsafeMutablePointer<FrameKind>
  private var forms: UnsafeMutablePointer<TLVForm>
  private var general: (plan: UnsafeMutablePointer<GeneralPlan>, extras: UnsafeMutablePointer<KindExtra>)?
  /// The layout of the server's frames, if they have their own.
  private var serverSide: (plan: UnsafeMutablePointer<Plan>, general: UnsafeMutablePointer<GeneralPlan>)?
  /// The plan of the protocol's variant, where there is one: the same types, with other bodies. A message tells which one a
  /// connection speaks.
  @exclusivity(unchecked) package private(set) var variant: ProtocolPlan?

  /// The named fields of its messages, where the profile has some. They are read when they are asked for first.
  package var fields: FieldPlan? {
    if let loader = fieldLoader {
      fieldLoader = nil
      loaded = loader()
    }
    return loaded
  }
  /// Whether there are some, which need not be read to know that.
  package var hasFields: Bool { fieldLoader != nil || loaded != nil }
  @exclusivity(unchecked) private var loaded: FieldPlan?
  /// What reads them; `nil` once that was done.
  @exclusivity(unchecked) private var fieldLoader: (@Sendable () -> FieldPlan?)?

  /// A plan, and the tables that `ProtocolPlan` puts behind it.
  package struct Draft {
    /// The plan; what follows from tables is filled in by the compilation.
    package var plan = Plan()
    /// The types, in the order of their indices; their `index` and `evidence` are filled in by the compilation.
    package var kinds: [FrameKind] = []
    /// The steps of all types; each has its own by `firstStep` and `stepCount`.
    package var steps: [PlanStep] = []
    /// The lines of the profile in which the steps stand, and the types, where they are known.
    package var stepLines: [Int] = [], kindLines: [Int] = []
    /// What holds for types that the profile does not know.
    package var unknownFlags: FrameKind.Flags = []
    /// Whether there are no such types: a header with another value is none.
    package var isClosed = false
    /// Names of statuses, by list: `FrameKind.statusList` tells a type's. Behind the first, of the profile, stands the one of
    /// a second tag.
    package var statusNames: [[UInt64: String]] = [[:], [:]]
    /// Tags whose value is a TLV list again, where there is more than one.
    package var nestedTags: [UInt32] = []
    /// The forms of values, where tags tell it.
    package var forms: [TLVForm] = []
    /// What the general reader needs; `nil` in plans that are read without it.
    package var general: GeneralPlan?
    /// The layout of the server's frames: header, length and fields of the plan, and what the general reader needs of them. `nil` if both sides'
    /// frames have the same one.
    package var serverSide: (plan: Plan, general: GeneralPlan)?
    /// What types have beyond `FrameKind`, by index, where `general` is there.
    package var extras: [KindExtra] = []
    /// Further values of types, by index.
    package var otherValues: [(value: UInt64, index: Int)] = []
    /// How types are written, by index, where their values are no numbers of the header.
    package var typeLabels: [String] = []
    /// The index of the type of frames whose content cannot be read.
    package var unreadable: Int?

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
    let hidden: Set<UInt32> = draft.plan.hidesIdentity && draft.plan.identityTag != .max ? [draft.plan.identityTag] : []
    self.sensitiveTags = sensitiveTags.union(hidden)
    self.tagTypes = tagTypes
    self.checksumName = checksumName
    statusNames = draft.statusNames
    (stepLines, kindLines, stepCount) = (draft.stepLines, draft.kindLines, draft.steps.count)
    typeValues = draft.kinds.map(\.value)
    typeRoles = draft.kinds.map(\.role)
    self.variant = variant.map { variant in
      ProtocolPlan(
        name: name, version: version, ports: ports, typeNames: typeNames, tagNames: tagNames,
        sensitiveTags: sensitiveTags, tagTypes: tagTypes, checksumName: checksumName, draft: variant)
    }

    let values = draft.kinds.map(\.value) + draft.otherValues.map(\.value)
    let (multiplier, bits) = Self.perfectHash(values)
    let places = 1 << bits
    let hasTwins = draft.plan.framing.partCount > 0 || draft.general != nil
    kindCount = hasTwins ? 2 * places : places
    kinds = .allocate(capacity: kindCount)
    kinds.initialize(repeating: FrameKind(), count: kindCount)
    steps = .allocate(capacity: max(1, draft.steps.count))
    for (i, step) in draft.steps.enumerated() { (steps + i).initialize(to: step) }
    nested = .allocate(capacity: max(1, draft.nestedTags.count))
    for (i, tag) in draft.nestedTags.sorted().enumerated() { (nested + i).initialize(to: tag) }
    unknown = .allocate(capacity: 1)
    var other = FrameKind()
    other.flags = draft.unknownFlags
    // Where a length counts the trailer, a frame whose length is below it is none.
    let least = draft.general == nil ? UInt32(truncatingIfNeeded: draft.plan.framing.trailerCount) : 0
    other.minimumBody = least
    if draft.isClosed { (other.minimumBody, other.maximumBody) = (1, 0) }
    unknown.initialize(to: other)

    forms = .allocate(capacity: max(1, draft.forms.count))
    for (i, form) in draft.forms.sorted(by: { $0.tag < $1.tag }).enumerated() { (forms + i).initialize(to: form) }

    // What the variant does not know has an index, but no place.
    var present = draft
    present.kinds.removeAll(where: \.isAbsent)
    let memory = UnsafeMutablePointer<Plan>.allocate(capacity: 1)
    var plan = draft.plan
    plan.kinds = UnsafePointer(kinds)
    plan.steps = UnsafePointer(steps)
    plan.unknownKind = UnsafePointer(unknown)
    plan.nestedTags = UnsafePointer(nested)
    plan.forms = UnsafePointer(forms)
    let orders = Self.orders(draft.kinds)
    for (index, kind) in draft.kinds.enumerated() where !kind.isAbsent {
      var entry = kind
      entry.minimumBody = max(kind.minimumBody, least)
      entry.order = orders[index]
      entry.index = UInt8(index)
      entry.evidence = UInt8(
        min(64, kind.headMask.nonzeroBitCount + Self.lengthEvidence(kind.minimumBody, kind.maximumBody)))
      for value in [kind.value] + draft.otherValues.filter({ $0.index == index }).map(\.value) {
        let place = Int(truncatingIfNeeded: (value &* multiplier) >> UInt64(64 - bits))
        entry.value = value
        kinds[place] = entry
        if hasTwins { kinds[place + places] = draft.general == nil ? Self.piece(entry) : Self.oneWay(entry) }
      }
    }
    if var general = draft.general {
      if let index = draft.unreadable {
        general.unreadable = Int32(
          truncatingIfNeeded: (draft.kinds[index].value &* multiplier) >> UInt64(64 - bits))
      }
      let extras = UnsafeMutablePointer<KindExtra>.allocate(capacity: 64)
      extras.initialize(repeating: KindExtra(), count: 64)
      for (i, extra) in draft.extras.prefix(64).enumerated() { extras[i] = extra }
      general.extras = UnsafePointer(extras)
      if draft.serverSide != nil {
        serverSide = (.allocate(capacity: 1), .allocate(capacity: 1))
        general.serverSide = serverSide.map { UnsafePointer($0.plan) }
      }
      let place = UnsafeMutablePointer<GeneralPlan>.allocate(capacity: 1)
      place.initialize(to: general)
      plan.general = UnsafePointer(place)
      self.general = (place, extras)
    }
    plan.magicEvidence = Self.magicEvidence(draft)
    plan.typeEvidence = Self.typeEvidence(draft, plan.magicEvidence)
    (plan.commonMask, plan.common) =
      plan.typeEvidence == 0 ? (draft.plan.magicMask, draft.plan.magic) : Self.commonBits(present)
    plan.checksumEvidence = Self.checksumEvidence(draft)
    plan.kindCount = places
    plan.kindTotal = draft.kinds.count
    plan.formCount = draft.forms.count
    plan.nestedCount = draft.nestedTags.count
    (plan.plainMask, plan.plainOffset) = Self.plainTest(draft)
    plan.kindMultiplier = multiplier
    plan.kindShift = UInt8(64 - bits)
    // One header with a magic chooses the profile; after a loss, a second header or a checksum must confirm it.
    plan.confirmEvidence = UInt16(max(32, Int(plan.magicEvidence) + 16))
    plan.firstBytes = Self.firstBytes(present)
    memory.initialize(to: plan)
    pointer = UnsafePointer(memory)
    if let side = serverSide, let layout = draft.serverSide, var general = plan.general?.pointee {
      general.takeLayout(of: layout.general)
      general.serverSide = nil
      side.general.initialize(to: general)
      plan.takeLayout(of: layout.plan)
      var other = draft
      other.plan = plan
      plan.magicEvidence = Self.magicEvidence(other)
      plan.general = UnsafePointer(side.general)
      side.plan.initialize(to: plan)
    }
  }

  /// The first type, by index, of those that wait for the same answers in order, by the index of each type: an answer in order belongs
  /// to the oldest open one of all that it answers.
  private static func orders(_ kinds: [FrameKind]) -> [UInt8] {
    var orders = kinds.indices.map { UInt8(truncatingIfNeeded: $0) }
    let answers = kinds.filter { $0.role == .acknowledgment && $0.flags.contains(.unnumbered) }.map(\.answers)
    // Answers that share a type share all of theirs.
    var isChanged = true
    while isChanged {
      isChanged = false
      for mask in answers {
        let members = kinds.indices.filter { mask >> UInt64($0) & 1 == 1 && kinds[$0].flags.contains(.unnumbered) }
        guard let first = members.map({ orders[$0] }).min() else { continue }
        for member in members where orders[member] != first {
          orders[member] = first
          isChanged = true
        }
      }
    }
    for (i, kind) in kinds.enumerated() where kind.role == .acknowledgment && kind.flags.contains(.unnumbered) {
      let first = kind.answers.trailingZeroBitCount
      orders[i] = orders.indices.contains(first) ? orders[first] : UInt8(truncatingIfNeeded: first)
    }
    return orders
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

  /// A type whose answers its connection did not ask for.
  private static func oneWay(_ kind: FrameKind) -> FrameKind {
    var kind = kind
    kind.flags.remove(.expectsAck)
    return kind
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

  /// The names of the types that answer the one with `index`. Types that answer the fewest types come first: a dedicated answer precedes one that
  /// rejects anything.
  package func answerTypes(of index: Int) -> [[String]] {
    guard typeNames.indices.contains(index), index < 64, let kind = kind(at: index) else { return [] }
    var groups: [Int: [String]] = [:]
    for (i, name) in typeNames.enumerated() {
      guard let answer = self.kind(at: i), answer.answers >> UInt64(index) & 1 == 1 else { continue }
      let sides: FrameKind.Flags = [.fromClient, .fromServer]
      let side = answer.flags.intersection(sides)
      guard side.isEmpty || side != kind.flags.intersection(sides) else { continue }
      groups[answer.answers.nonzeroBitCount, default: []].append(name)
    }
    return groups.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The value that a type has in a plan which was made for `reload` and does not know it any more: no field can have it, and no
  /// word of a line that is text.
  package static func forgotten(_ index: Int) -> UInt64 { 1 << 32 + UInt64(index) }

  /// Names the fields of its messages.
  package func name(fields loader: @escaping @Sendable () -> FieldPlan?) { fieldLoader = loader }

  /// Whether the connection of `frame` speaks the protocol's variant.
  package func isVariant(_ frame: Frame) -> Bool {
    guard let variant else { return false }
    let place = UnsafeRawPointer(frame.kind)
    let first = UnsafeRawPointer(variant.kinds)
    let isKnown = place >= first && place < UnsafeRawPointer(variant.kinds + variant.kindCount)
    return isKnown || place == UnsafeRawPointer(variant.unknown)
  }

  /// The step with the index `index`; one that does nothing where there is none.
  func steps(_ index: Int) -> PlanStep { (0..<stepCount).contains(index) ? steps[index] : PlanStep(.end) }

  /// The line of the profile in which that step stands; `nil` where it is not known.
  func stepLine(_ index: Int) -> Int? { stepLines.indices.contains(index) ? stepLines[index] : nil }

  /// The line of the profile in which a type stands; `nil` where it is not known.
  func line(ofType kind: FrameKind) -> Int? {
    kindLines.indices.contains(Int(kind.index)) ? kindLines[Int(kind.index)] : nil
  }

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
    swap(&stepLines, &other.stepLines)
    swap(&kindLines, &other.kindLines)
    swap(&stepCount, &other.stepCount)
    swap(&nested, &other.nested)
    swap(&unknown, &other.unknown)
    swap(&forms, &other.forms)
    swap(&general, &other.general)
    swap(&serverSide, &other.serverSide)
    swap(&variant, &other.variant)
    swap(&loaded, &other.loaded)
    swap(&fieldLoader, &other.fieldLoader)
  }

  deinit {
    pointer.deallocate()
    kinds.deallocate()
    steps.deallocate()
    nested.deallocate()
    unknown.deallocate()
    forms.deallocate()
    general?.plan.deallocate()
    general?.extras.deallocate()
    serverSide?.plan.deallocate()
    serverSide?.general.deallocate()
  }
}
