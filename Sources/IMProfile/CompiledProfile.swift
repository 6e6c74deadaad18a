import IMEngine

/// What a profile's YAML has become: all that a plan is made of.
///
/// The built-in profiles are kept in this form, because a program that reads YAML first begins several milliseconds later. A
/// test holds what is kept against the YAML, and writes it anew.
struct CompiledProfile {
  var name = "", version = ""
  var ports: [UInt16] = []
  var typeNames: [String] = []
  var tagNames: [UInt32: String] = [:]
  var sensitiveTags: Set<UInt32> = []
  var tagTypes: [UInt32: ValueType] = [:]
  var checksumName: String?
  var draft = ProtocolPlan.Draft()
  /// The same of the protocol's variant, where it has one.
  var variant: ProtocolPlan.Draft?
  /// The value of the profile's variable that means it; known where YAML was compiled.
  var variantValue: UInt64?

  /// The plan, with its tables.
  var plan: ProtocolPlan {
    ProtocolPlan(
      name: name, version: version, ports: ports, typeNames: typeNames, tagNames: tagNames,
      sensitiveTags: sensitiveTags, tagTypes: tagTypes, checksumName: checksumName, draft: draft, variant: variant)
  }

  /// The form in which it is kept.
  var bytes: [UInt8] {
    var coder = ProfileCoder(reading: nil)
    var copy = self
    // The search for a table without collisions is the dearest part of making a plan.
    copy.draft.hash = plan.hash
    copy.variant?.hash = copy.draft.hash
    copy.code(&coder)
    return coder.bytes
  }

  /// Reads what `bytes` gave; `nil` when it is something else.
  init?(_ bytes: [UInt8]) {
    var coder = ProfileCoder(reading: bytes)
    code(&coder)
    guard !coder.isBroken, coder.isAtEnd else { return nil }
  }

  init(
    name: String, version: String, ports: [UInt16], typeNames: [String], tagNames: [UInt32: String],
    sensitiveTags: Set<UInt32>, tagTypes: [UInt32: ValueType], checksumName: String?, draft: ProtocolPlan.Draft
  ) {
    self.name = name
    self.version = version
    self.ports = ports
    self.typeNames = typeNames
    self.tagNames = tagNames
    self.sensitiveTags = sensitiveTags
    self.tagTypes = tagTypes
    self.checksumName = checksumName
    self.draft = draft
  }

  /// Writes or reads everything, in the same order.
  private mutating func code(_ coder: inout ProfileCoder) {
    coder.text(&name)
    coder.text(&version)
    coder.list(&ports, 0) { $0.number(&$1) }
    coder.list(&typeNames, "") { $0.text(&$1) }
    var tags = tagNames.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
    coder.list(&tags, (0, "")) {
      $0.number(&$1.0)
      $0.text(&$1.1)
    }
    if coder.isReading { for (tag, name) in tags { tagNames[tag] = name } }
    var sensitive = sensitiveTags.sorted()
    coder.list(&sensitive, 0) { $0.number(&$1) }
    sensitiveTags = Set(sensitive)
    var types = tagTypes.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
    coder.list(&types, (0, ValueType(.bytes))) {
      $0.number(&$1.0)
      $0.raw(&$1.1.kind)
      $0.flag(&$1.1.littleEndian)
    }
    if coder.isReading { for (tag, type) in types { tagTypes[tag] = type } }
    var checksum = checksumName ?? ""
    coder.text(&checksum)
    checksumName = checksum.isEmpty ? nil : checksum
    draft.code(&coder)
    var variants = variant.map { [$0] } ?? []
    coder.list(&variants, ProtocolPlan.Draft()) { coder, draft in draft.code(&coder) }
    variant = variants.first
  }
}

extension ProtocolPlan.Draft {
  fileprivate mutating func code(_ coder: inout ProfileCoder) {
    coder.number(&magicMask)
    coder.number(&magic)
    coder.number(&signatureMask)
    coder.word(&lengthRule, [.field, .varint])
    coder.word(&checksumRule, [.none, .crc32, .general])
    coder.flag(&checksumEitherOrder)
    coder.number(&headerCount)
    coder.number(&lengthOffset)
    coder.number(&lengthAdd)
    coder.number(&maximumBody)
    coder.field(&length)
    coder.field(&type)
    coder.field(&sequence)
    coder.field(&session)
    coder.field(&checksum)
    coder.field(&time)
    coder.field(&compression)
    coder.field(&encryption)
    coder.field(&duplicate)
    coder.field(&ackBody)
    coder.number(&ackPlus)
    coder.field(&status)
    coder.number(&zlibValue)
    coder.number(&encryptedFrom)
    coder.number(&ackBodyCount)
    coder.flag(&sequenceCounts)
    coder.raw(&numberLife)
    coder.flag(&serverSharesCounter)
    coder.number(&counterBits)
    coder.number(&counterWrap)
    coder.number(&handshakeRequest)
    coder.number(&handshakeAnswer)
    coder.number(&receiptTag)
    coder.number(&handshakeLimit)
    coder.number(&acceptedStatus.first)
    coder.number(&acceptedStatus.last)
    coder.number(&acceptedToo)
    coder.list(&statusNames, [:]) { coder, list in
      var names = list.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
      coder.list(&names, (0, "")) {
        $0.number(&$1.0)
        $0.text(&$1.1)
      }
      if coder.isReading { list = Dictionary(names) { $1 } }
    }
    framing.code(&coder)
    coder.number(&statusTags.0)
    coder.number(&statusTags.1)
    coder.number(&identityTag)
    coder.number(&keepAliveTag)
    coder.flag(&hasVariant)
    coder.number(&heartbeatInterval)
    coder.number(&heartbeatFactor)
    coder.flag(&hidesIdentity)
    coder.list(&forms, TLVForm(tag: 0, kind: .integer)) { coder, form in
      coder.number(&form.tag)
      coder.raw(&form.kind)
      coder.number(&form.count)
    }
    coder.list(&nestedTags, 0) { $0.number(&$1) }
    coder.flags(&unknownFlags)
    coder.list(&kinds, FrameKind()) { coder, kind in kind.code(&coder) }
    coder.list(&steps, PlanStep(.skip)) { coder, step in step.code(&coder) }
    tlv.code(&coder)
    var search = hash ?? (0, 0)
    coder.number(&search.multiplier)
    coder.number(&search.bits)
    hash = search.bits == 0 ? nil : search
  }
}

extension FrameKind {
  fileprivate mutating func code(_ coder: inout ProfileCoder) {
    coder.number(&value)
    coder.raw(&role)
    coder.flags(&flags)
    coder.number(&acceptedFirst)
    coder.number(&acceptedLast)
    coder.number(&statusList)
    coder.number(&answers)
    coder.number(&minimumBody)
    coder.number(&maximumBody)
    coder.number(&headMask)
    coder.number(&headValue)
    coder.number(&firstStep)
    coder.number(&stepCount)
    coder.number(&timeout)
  }
}

extension PlanFraming {
  fileprivate mutating func code(_ coder: inout ProfileCoder) {
    coder.raw(&kind)
    coder.number(&delimiter)
    coder.number(&escape)
    coder.flag(&escapes)
    coder.number(&escapeMask)
    coder.number(&replacementCount)
    coder.number(&written)
    coder.number(&meant)
    coder.raw(&checksum.algorithm)
    coder.flag(&checksum.isPresent)
    coder.flag(&checksum.isInTrailer)
    coder.flag(&checksum.littleEndian)
    coder.flag(&checksum.coversBody)
    coder.number(&checksum.from)
    coder.number(&trailerCount)
    coder.flag(&lengthCountsHeader)
    coder.number(&partCount)
    for i in 0..<min(4, Int(partCount)) {
      coder.field(&parts[i].when)
      coder.number(&parts[i].at)
      coder.number(&parts[i].count)
      coder.flag(&parts[i].isRaw)
      coder.field(&parts[i].session)
    }
    coder.number(&words.type)
    coder.number(&words.sequence)
    coder.number(&words.session)
    coder.number(&words.status)
    coder.raw(&sessionCoding)
    coder.raw(&sequenceCoding)
    coder.flag(&hidesSession)
    coder.flag(&sessionIsUnique)
  }
}

extension PlanStep {
  fileprivate mutating func code(_ coder: inout ProfileCoder) {
    coder.raw(&operation)
    coder.raw(&register)
    coder.number(&count)
    coder.number(&a)
    coder.number(&b)
  }
}

extension TLVPlan {
  fileprivate mutating func code(_ coder: inout ProfileCoder) {
    coder.raw(&shape)
    coder.field(&tag)
    coder.field(&length)
    coder.number(&headerCount)
    coder.flag(&lengthCountsHeader)
    coder.field(&optional)
    coder.number(&optionalCount)
    coder.number(&paddingMask)
    coder.flag(&mayRepeat)
    coder.number(&nestedTag)
    coder.number(&maximumDepth)
  }
}
