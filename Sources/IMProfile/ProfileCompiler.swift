package import IMEngine
import IMYAML

/// Turns a profile's YAML into the engine's plan, checking every number against the header it speaks of.
package struct ProfileCompiler {
  let root: YAMLReader
  var draft = ProtocolPlan.Draft()
  var typeNames: [String] = []
  var tagNames: [UInt32: String] = [:]
  var sensitiveTags: Set<UInt32> = []
  var tagTypes: [UInt32: ValueType] = [:]
  /// Types that answer every type which is answered, by index.
  private var answersAll: Set<Int> = []
  var checksumName: String?
  /// Whether the length counts the trailer, where the profile says.
  var isTrailerCounted: Bool?
  /// The name of the number that tells a connection's variant of the protocol, and the values that steps ask for.
  var variable: String?
  var variableValues: Set<UInt64> = []
  /// The value for which this compiles; `nil` for all that no step asks for.
  private(set) var variant: UInt64?
  private var answerTimeout: Int64 = 6_000_000_000
  private var heartbeatTimeout: Int64 = 15_000_000_000

  /// Compiles the profile in `text`; `source` names it in errors.
  package static func compile(_ text: String, source: String) throws(ProfileError) -> ProtocolPlan {
    try compiled(text, source: source).plan
  }

  /// What a plan is made of, which exporters read as well.
  static func compiled(_ text: String, source: String) throws(ProfileError) -> CompiledProfile {
    let root = try YAMLReader(text, source: source, subject: "profile")
    var first = ProfileCompiler(root: root, values: [])
    var profile = try first.run()
    // Which values are asked for is known when everything was read.
    let values = first.variableValues
    if let named = try root.optional("named") {
      profile.fields = try FieldCompiler.plan(
        named, types: first.typeNames, variable: first.variable, value: values.first,
        hidesIdentity: first.draft.plan.hidesIdentity || first.draft.plan.framing.hidesSession)
    }
    guard !values.isEmpty else { return profile }
    let fields = profile.fields
    first = ProfileCompiler(root: root, values: values)
    profile = try first.run()
    var other = ProfileCompiler(root: root, values: values, variant: values.first)
    profile.fields = fields
    profile.variant = try other.run().draft
    profile.variantValue = values.first
    profile.draft.plan.hasVariant = true
    profile.variant?.plan.hasVariant = true
    return profile
  }

  private init(root: YAMLReader, values: Set<UInt64>, variant: UInt64? = nil) {
    self.root = root
    variableValues = values
    self.variant = variant
  }

  private mutating func run() throws(ProfileError) -> CompiledProfile {
    try root.allow(
      "profile", "version", "title", "description", "ports", "place", "framing", "header", "length", "trailer",
      "fields", "checksum", "sequence", "types", "acknowledgment", "handshake", "receipts", "status", "tlv", "timing",
      "variable", "heartbeat", "identity", "named")
    let name = try root.required("profile").text()
    guard !name.isEmpty, name.count <= 32, name.utf8.allSatisfy(Self.isNameByte) else {
      throw try root.required("profile").error("a profile's name is 1 to 32 of a-z, 0-9, - and _")
    }
    let version = try root.required("version").text()
    guard (1...32).contains(version.utf8.count), version.utf8.allSatisfy({ Self.isNameByte($0) || $0 == 46 }) else {
      throw try root.required("version").error("a profile's version is 1 to 32 of a-z, 0-9, -, _ and .")
    }
    _ = try root.optional("title")?.text()
    _ = try root.optional("description")?.text()
    _ = try root.optional("place")?.number(1...99)
    var ports: [UInt16] = []
    for port in try root.optional("ports")?.elements() ?? [] { ports.append(UInt16(try port.number(1...65_535))) }
    if let variable = try root.optional("variable") { self.variable = try variableName(variable) }
    try timing()
    try heartbeat()
    if let identity = try root.optional("identity") {
      try identity.allow("sensitive")
      draft.plan.hidesIdentity = try identity.required("sensitive").flag()
    }
    try framing()
    if draft.plan.framing.kind == .line {
      try words(root.required("fields"))
      try checksum()
    } else {
      try header(root.required("header"))
      try trailer()
      if draft.plan.framing.kind == .length {
        try length(root.required("length"))
      } else if let length = try root.optional("length") {
        try self.length(length)
      }
      try fields(root.required("fields"))
      try checksum()
    }
    try sequence()
    try status()
    try types(root.required("types"))
    try checkStatus()
    try acknowledgment()
    if let tlv = try root.optional("tlv") { try self.tlv(tlv) }
    try checkLists()
    if let handshake = try root.optional("handshake") { try self.handshake(handshake) }
    if let receipts = try root.optional("receipts") { try self.receipts(receipts) }
    return CompiledProfile(
      name: name, version: version, ports: ports, typeNames: typeNames, tagNames: tagNames,
      sensitiveTags: sensitiveTags, tagTypes: tagTypes, checksumName: checksumName, draft: draft)
  }

  /// The name of a type or a tag: outputs print it as it is.
  func name(_ reader: YAMLReader) throws(ProfileError) -> String {
    let name = try reader.text()
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ Self.isNameByte($0) || (65...90).contains($0) })
    else { throw reader.error("a name is 1 to 64 of a-z, A-Z, 0-9, - and _") }
    return name
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    (97...122).contains(byte) || (48...57).contains(byte) || byte == 45 || byte == 95
  }

  // MARK: Header

  private mutating func header(_ header: YAMLReader) throws(ProfileError) {
    try header.allow("length", "magic", "version", "parts")
    draft.plan.headerCount = try header.required("length").number(1...256)
    try parts(header)
    if let magic = try header.optional("magic") {
      let (mask, value) = try fixedBits(magic)
      draft.plan.magicMask = mask
      draft.plan.magic = value
      draft.plan.signatureMask = mask
    }
    if let version = try header.optional("version") {
      let (mask, value) = try fixedBits(version)
      draft.plan.magicMask |= mask
      draft.plan.magic |= value
    }
  }

  /// Bytes that are always the same, as a mask and a value over the header's first eight bytes, big endian.
  private func fixedBits(_ reader: YAMLReader) throws(ProfileError) -> (UInt64, UInt64) {
    try reader.allow("offset", "bytes")
    let offset = try reader.required("offset").number(0...7)
    let bytes = try reader.required("bytes").bytes(1...8)
    guard offset + bytes.count <= min(8, draft.plan.headerCount) else {
      throw reader.error("magic and version stand in the first eight bytes of the header")
    }
    var mask: UInt64 = 0
    var value: UInt64 = 0
    for (i, byte) in bytes.enumerated() {
      let shift = UInt64(56 - (offset + i) * 8)
      mask |= 0xff << shift
      value |= UInt64(byte) << shift
    }
    return (mask, value)
  }

  private mutating func length(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("offset", "size", "order", "low-bit", "bits", "mask", "encoding", "counts", "maximum")
    if let maximum = try reader.optional("maximum") {
      if draft.plan.framing.isDelimited { throw maximum.error("between delimiters the maximum stands in 'framing'") }
      draft.plan.maximumBody = try maximum.number(0...(1 << 30))
    }
    let from = try countedFrom(reader.optional("counts"))
    let countsBody = from == nil
    if let encoding = try reader.optional("encoding"), try encoding.text() != "integer" {
      guard try encoding.text() == "varint", countsBody, !draft.plan.framing.isDelimited else {
        throw encoding.error("the encoding is integer, or varint with a length that counts the body")
      }
      draft.plan.lengthRule = .varint
      draft.plan.lengthOffset = try reader.required("offset").number(1...7)
      guard draft.plan.headerCount == draft.plan.lengthOffset + 1 else {
        throw encoding.error(
          "a varint length is the header's last part: the header's least length is \(draft.plan.lengthOffset + 1)")
      }
      draft.plan.lengthAdd = isTrailerCounted ?? false ? 0 : Int(draft.plan.framing.trailerCount)
    } else {
      draft.plan.length = try field(reader, "encoding", "counts", "maximum")
      draft.plan.framing.lengthCountsHeader = !countsBody
      draft.plan.lengthAdd = from.map { $0 - draft.plan.headerCount } ?? 0
      if !(isTrailerCounted ?? !countsBody) { draft.plan.lengthAdd += Int(draft.plan.framing.trailerCount) }
    }
  }

  /// The header's first byte that the length counts: 0 where it counts the frame; `nil` where it counts the body alone.
  private func countedFrom(_ reader: YAMLReader?) throws(ProfileError) -> Int? {
    guard let reader else { return nil }
    guard reader.isScalar else {
      try reader.allow("from")
      return try reader.required("from").number(0...draft.plan.headerCount)
    }
    switch try reader.text() {
    case "body": return nil
    case "frame": return 0
    default: throw reader.error("'counts' is body, frame, or the byte that it counts from")
    }
  }

  /// A number in the header. `others` are keys that the caller reads.
  func field(_ reader: YAMLReader, _ others: String...) throws(ProfileError) -> Field {
    for (key, _) in try reader.entries() {
      let name = try key.text()
      guard ["offset", "size", "order", "low-bit", "bits", "mask"].contains(name) || others.contains(name) else {
        throw key.error("'\(name)' is not known in a field")
      }
    }
    let size = try reader.optional("size")?.number(1...8) ?? 1
    let offset = try reader.required("offset").number(0...255)
    guard offset + size <= draft.plan.headerCount else {
      throw reader.error("the field ends at byte \(offset + size), the header at \(draft.plan.headerCount)")
    }
    let order = try reader.optional("order")?.text() ?? "big"
    guard order == "big" || order == "little" else { throw reader.error("'order' is big or little") }
    let low = try reader.optional("low-bit")?.number(0...(size * 8 - 1)) ?? 0
    let bits = try reader.optional("bits")?.number(1...(size * 8 - low)) ?? size * 8 - low
    var field = Field(offset: offset, byteCount: size, littleEndian: order == "little", lowBit: low, bits: bits)
    if let mask = try reader.optional("mask") {
      for key in ["low-bit", "bits"] {
        if let other = try reader.optional(key) { throw other.error("a field has a 'mask', or 'low-bit' and 'bits'") }
      }
      field.mask = UInt64(try mask.number(1...(size >= 8 ? Int.max : 1 << (size * 8) - 1)))
    }
    return field
  }

  private mutating func fields(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow(
      "type", "sequence", "time", "encryption", "compression", "session", "checksum", "duplicate", "status")
    draft.plan.type = try field(reader.required("type"))
    if let f = try reader.optional("sequence") { draft.plan.sequence = try field(f, "encoding") }
    if let f = try reader.optional("time") { draft.plan.time = try field(f) }
    if let f = try reader.optional("session") { draft.plan.session = try field(f, "encoding", "sensitive", "unique") }
    try coding(reader.optional("session"), reader.optional("sequence"))
    if let f = try reader.optional("checksum") { draft.plan.checksum = try field(f) }
    if let f = try reader.optional("duplicate") { draft.plan.duplicate = try field(f) }
    if let f = try reader.optional("status") { draft.plan.status = try field(f) }
    if let f = try reader.optional("encryption") {
      draft.plan.encryption = try field(f, "encrypted-from")
      draft.plan.encryptedFrom = UInt64(try f.optional("encrypted-from")?.number(0...Int(UInt32.max)) ?? 1)
    }
    if let f = try reader.optional("compression") {
      draft.plan.compression = try field(f, "zlib")
      draft.plan.zlibValue = UInt64(try f.optional("zlib")?.number(0...Int(UInt32.max)) ?? 1)
    }
  }

  private mutating func sequence() throws(ProfileError) {
    guard let reader = try root.optional("sequence") else { return }
    try reader.allow("kind", "bits", "wraps-at", "shared-by", "outlives-connection")
    switch try reader.required("kind").text() {
    case "counter": draft.plan.sequenceCounts = true
    case "identifier": draft.plan.sequenceCounts = false
    default: throw try reader.required("kind").error("the kind is counter or identifier")
    }
    draft.plan.numberLife = draft.plan.sequenceCounts ? .session : .connection
    if let life = try reader.optional("outlives-connection") {
      switch try life.text() {
      case "always": draft.plan.numberLife = .session
      case "marked": draft.plan.numberLife = .marked
      case "never": draft.plan.numberLife = .connection
      default: throw life.error("a number outlives its connection always, marked or never")
      }
    }
    if let shared = try reader.optional("shared-by") {
      guard try shared.text() == "server", draft.plan.sequenceCounts else {
        throw shared.error("'shared-by' is server, and of a counter")
      }
      draft.plan.serverSharesCounter = true
    }
    draft.plan.counterBits = try reader.optional("bits")?.number(1...32) ?? 32
    draft.plan.counterWrap = UInt64(
      try reader.optional("wraps-at")?.number(2...(1 << draft.plan.counterBits)) ?? 1 << draft.plan.counterBits)
  }

  private mutating func timing() throws(ProfileError) {
    guard let reader = try root.optional("timing") else { return }
    try reader.allow("answer", "heartbeat")
    if let answer = try reader.optional("answer") { answerTimeout = try answer.duration() }
    if let heartbeat = try reader.optional("heartbeat") { heartbeatTimeout = try heartbeat.duration() }
  }

  // MARK: Types

  private mutating func types(_ reader: YAMLReader) throws(ProfileError) {
    let entries = try reader.entries()
    guard (1...63).contains(entries.count) else { throw reader.error("a profile has 1 to 63 types") }
    var values: Set<UInt64> = []
    for (key, value) in entries {
      let number = try typeValue(key)
      guard values.insert(number).inserted else { throw key.error("type \(number) stands here twice") }
      let name = try self.name(value.required("name"))
      guard !typeNames.contains(name), name != "other" else { throw value.error("the name '\(name)' is taken") }
      typeNames.append(name)
    }
    for (key, value) in entries {
      var kind = try type(value)
      kind.value = try typeValue(key)
      guard draft.plan.framing.kind == .line || kind.value & draft.plan.type.mask == kind.value else {
        throw key.error("the field 'type' cannot have the value \(kind.value)")
      }
      draft.kinds.append(kind)
      draft.kindLines.append(key.line)
      draft.noteLines(key.line)
    }
    var answered: UInt64 = 0
    for (i, kind) in draft.kinds.enumerated() where kind.flags.contains(.expectsAck) { answered |= 1 << UInt64(i) }
    for i in answersAll { draft.kinds[i].answers |= answered }
  }

  private mutating func type(_ reader: YAMLReader) throws(ProfileError) -> FrameKind {
    let fields = try reader.fields(
      "name", "role", "answered", "numbered", "echo", "in-order", "cumulative", "from", "refuses", "opens-session",
      "names-session", "answers", "flags", "length", "body", "timeout", "accepted", "when", "assigns-identity",
      "statuses")
    var kind = FrameKind()
    switch try reader.required("role").text() {
    case "message": kind.role = .message
    case "acknowledgment": kind.role = .acknowledgment
    case "heartbeat": kind.role = .heartbeat
    case "control": kind.role = .control
    case "receipt": kind.role = .receipt
    case "other": kind.role = .other
    default:
      throw try reader.required("role").error("a role is message, acknowledgment, heartbeat, control, receipt or other")
    }
    kind.timeout =
      try fields["timeout"]?.duration() ?? (kind.role == .heartbeat ? heartbeatTimeout : answerTimeout)
    func set(_ key: String, _ flag: FrameKind.Flags) throws(ProfileError) {
      if try fields[key]?.flag() ?? false { kind.flags.insert(flag) }
    }
    try set("answered", .expectsAck)
    try set("numbered", .numbered)
    try set("echo", .echoed)
    try set("in-order", .unnumbered)
    try set("refuses", .refusing)
    try set("cumulative", .cumulative)
    if kind.flags.contains(.cumulative), let cumulative = fields["cumulative"] {
      guard kind.role == .acknowledgment, !kind.flags.contains(.unnumbered), draft.plan.sequenceCounts else {
        throw cumulative.error("'cumulative' is for an acknowledgment with the number of a counter")
      }
    }
    try set("opens-session", .opensSession)
    try set("assigns-identity", .assignsIdentity)
    try set("names-session", [.opensSession, .namesSession])
    if kind.flags.contains(.namesSession), draft.plan.session.isPresent, let names = fields["names-session"] {
      throw names.error("the header has a session of its own: 'fields' has 'session'")
    }
    if let from = fields["from"] {
      switch try from.text() {
      case "client": kind.flags.insert(.fromClient)
      case "server": kind.flags.insert(.fromServer)
      default: throw from.error("'from' is client or server")
      }
    }
    let answers = fields["answers"]
    if let answers, answers.isScalar {
      guard try answers.text() == "all" else { throw answers.error("'answers' is all, or a list of types") }
      answersAll.insert(draft.kinds.count)
    }
    for answered in try answers.map({ (list) throws(ProfileError) in list.isScalar ? [] : try list.elements() }) ?? [] {
      let name = try answered.text()
      if name == "other" {
        kind.answers |= 1 << UInt64(FrameKind.unknownIndex)
        draft.unknownFlags.formUnion([.expectsAck, .numbered])
        continue
      }
      guard let index = typeNames.firstIndex(of: name) else { throw answered.error("there is no type '\(name)'") }
      kind.answers |= 1 << UInt64(index)
    }
    if kind.role == .acknowledgment, kind.answers == 0, answers?.isScalar != true {
      throw reader.error("an acknowledgment needs 'answers'")
    }
    if let flags = fields["flags"] {
      try flags.allow("mask", "value")
      let mask = UInt64(try flags.required("mask").number(1...255))
      kind.headMask = mask << 56
      kind.headValue = (UInt64(try flags.required("value").number(0...255)) & mask) << 56
    }
    if let length = fields["length"] {
      kind.minimumBody = UInt32(try length.number(0...draft.plan.maximumBody)) + UInt32(draft.plan.framing.trailerCount)
      kind.maximumBody = kind.minimumBody
    }
    if let accepted = fields["accepted"] {
      let (first, last) = try self.accepted(accepted)
      guard first <= UInt64(UInt16.max), last < UInt64(UInt32.max) else {
        throw accepted.error("a type's own statuses begin at \(UInt16.max) at most")
      }
      (kind.acceptedFirst, kind.acceptedLast) = (UInt16(first), UInt32(last))
    }
    if let names = fields["statuses"] {
      guard draft.plan.statusTags.0 == .max else {
        throw names.error("statuses that have a tag are named under 'status'")
      }
      guard draft.statusNames.count <= Int(UInt8.max) else { throw names.error("too many lists of statuses") }
      kind.statusList = UInt8(draft.statusNames.count)
      draft.statusNames.append(try statusNames(names))
    }
    try self.body(fields["body"], &kind)
    if let when = fields["when"], try !holds(type: when) { (kind.minimumBody, kind.maximumBody) = (1, 0) }
    return kind
  }

  // MARK: Answers and TLVs

  private mutating func acknowledgment() throws(ProfileError) {
    guard let reader = try root.optional("acknowledgment") else { return }
    try reader.allow("body", "plus")
    if let plus = try reader.optional("plus") {
      draft.plan.ackPlus = UInt64(try plus.number(1...Int(min(draft.plan.counterWrap - 1, 1 << 32))))
    }
    guard let body = try reader.optional("body") else { return }
    try body.allow("length", "offset", "size", "order")
    draft.plan.ackBodyCount = try body.required("length").number(1...256)
    let size = try body.required("size").number(1...8)
    let offset = try body.required("offset").number(0...255)
    guard offset + size <= draft.plan.ackBodyCount else { throw body.error("the number ends behind the body") }
    let order = try body.optional("order")?.text() ?? "big"
    draft.plan.ackBody = Field(offset: offset, byteCount: size, littleEndian: order == "little")
  }

  private mutating func handshake(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("type", "request", "answer", "within")
    let type = try reader.required("type")
    var limits: [Int64] = []
    for type in type.isScalar ? [type] : try type.elements() {
      let name = try type.text()
      guard let index = typeNames.firstIndex(of: name) else { throw type.error("there is no type '\(name)'") }
      guard draft.kinds[index].flags.contains(.expectsAck) else {
        throw type.error("a handshake's type is one that is answered")
      }
      draft.kinds[index].flags.insert(.handshake)
      limits.append(draft.kinds[index].timeout)
    }
    guard let limit = limits.max() else { throw type.error("a type, or a list of types, is wanted here") }
    for (key, place) in [("request", \Plan.handshakeRequest), ("answer", \.handshakeAnswer)] {
      guard let tag = try reader.optional(key) else { continue }
      guard draft.plan.tlv.shape != .none else { throw tag.error("a tag needs 'tlv'") }
      draft.plan[keyPath: place] = UInt32(try tag.number(0...Int(UInt32.max - 1)))
    }
    guard draft.plan.handshakeAnswer == .max || draft.plan.handshakeRequest != .max else {
      throw reader.error("'answer' needs 'request'")
    }
    draft.plan.handshakeLimit = limit
    if let limit = try reader.optional("within") { draft.plan.handshakeLimit = try limit.duration() }
  }

  private mutating func receipts(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("type", "tag")
    let type = try reader.required("type")
    let name = try type.text()
    guard let index = typeNames.firstIndex(of: name) else { throw type.error("there is no type '\(name)'") }
    guard draft.kinds[index].flags.isSuperset(of: .expectsAck), !draft.kinds[index].flags.contains(.handshake) else {
      throw type.error("a receipt's type is one that is answered, and not the handshake's")
    }
    let tag = try reader.required("tag")
    guard draft.plan.tlv.shape != .none else { throw tag.error("a tag needs 'tlv'") }
    draft.kinds[index].flags.insert(.receipt)
    draft.plan.receiptTag = UInt32(try tag.number(0...Int(UInt32.max - 1)))
  }
}
