import IMContent
import IMEngine
import IMWire
import IMYAML

/// Headers for the general reader: their parts and lengths may vary, numbers may follow them, and each side may have its own.
extension ProfileCompiler {
  /// The minimum size of a length in that encoding, in bytes; `nil` for a length that is a number.
  private func leastLength(_ reader: YAMLReader) throws(ProfileError) -> Int? {
    guard let encoding = try reader.optional("encoding"), try encoding.text() != "integer" else { return nil }
    guard try encoding.text() == "decimal", let size = try reader.optional("size") else { return 1 }
    return try size.number(1...9)
  }

  /// A header; without one, the length is the whole header.
  mutating func generalHeader(_ reader: YAMLReader?, _ length: YAMLReader) throws(ProfileError) {
    headerLength = length
    if let reader {
      try header(reader)
      if draft.plan.framing.kind != .counted { content?.plan.innerHeader = UInt16(draft.plan.headerCount) }
      return
    }
    let offset = try length.optional("offset")?.number(0...247) ?? 0
    let size = try length.optional("size")?.number(1...8) ?? 1
    draft.plan.headerCount = offset + (try leastLength(length) ?? size)
  }

  /// Parts of a header that depend on a number in it.
  mutating func conditionalParts(_ list: YAMLReader) throws(ProfileError) {
    let parts = try list.elements()
    guard (1...4).contains(parts.count) else { throw list.error("a header must have 1 to 4 parts") }
    var last = 0
    for (i, reader) in parts.enumerated() {
      try reader.allow("when", "at", "length")
      let when = try reader.required("when")
      var part = ConditionalPart()
      part.when = try field(when, "is")
      part.isOfLength = try isLength(when, part.when)
      if let values = try when.optional("is") {
        let list = values.isScalar ? [values] : try values.elements()
        guard (1...8).contains(list.count) else { throw values.error("expected 1 to 8 values") }
        for (k, value) in list.enumerated() {
          let number = UInt64(try value.number(0...Int.max))
          guard part.isOfLength || number & part.when.mask == number else {
            throw value.error("the field cannot have the value \(number)")
          }
          part.values[k] = number
        }
        part.valueCount = UInt8(list.count)
      }
      part.count = UInt16(try reader.required("length").number(1...255))
      last = try reader.optional("at")?.number(last...draft.plan.headerCount) ?? draft.plan.headerCount
      part.at = UInt16(last)
      content?.plan.headerParts[i] = part
    }
    content?.plan.headerPartCount = UInt8(parts.count)
  }

  /// Whether the condition of a part is the frame's length, where that is a varint or a length of BER: its first byte alone says little.
  private func isLength(_ when: YAMLReader, _ field: Field) throws(ProfileError) -> Bool {
    guard let length = headerLength, try length.optional("after") == nil,
      let encoding = try length.optional("encoding"),
      ["varint", "ber"].contains(try encoding.text())
    else { return false }
    let offset = try length.optional("offset")?.number(0...255) ?? 0
    return field.isSame(Field(offset: offset, byteCount: 1))
  }

  /// Throws if a part precedes the length of variable size at `offset`, and a number at or after that length decides whether it is there.
  private func checkParts(_ reader: YAMLReader, _ offset: Int) throws(ProfileError) {
    guard let general = content?.plan else { return }
    for i in 0..<Int(general.headerPartCount) {
      let part = general.headerParts[i]
      guard Int(part.at) > offset || part.when.byteRange.upperBound <= offset else {
        throw reader.error("a part in front of the length depends on a number in front of it, too")
      }
    }
  }

  /// The length of a frame: a number, or digits or bytes of variable count, possibly at the header's beginning or after its parts.
  mutating func generalLength(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("offset", "size", "order", "low-bit", "bits", "mask", "encoding", "counts", "maximum", "after")
    var followsParts = false
    if let after = try reader.optional("after") {
      switch try after.text() {
      case "length": break
      case "parts":
        guard content?.plan.headerPartCount ?? 0 > 0 else { throw after.error("the header has no 'parts'") }
        followsParts = true
      default: throw after.error("'after' must be parts")
      }
    }
    content?.plan.lengthFollowsParts = followsParts
    let partCount = Int(content?.plan.headerPartCount ?? 0)
    let partsEnd = followsParts ? Int(content?.plan.headerParts[partCount - 1].at ?? 0) : 0
    guard let least = try leastLength(reader) else {
      guard followsParts else {
        draft.plan.framing.kind = .length
        defer { draft.plan.framing.kind = .counted }
        return try length(reader)
      }
      if let maximum = try reader.optional("maximum") { draft.plan.maximumBody = try maximum.number(0...(1 << 30)) }
      let field = try anywhere(reader, ["encoding", "counts", "maximum", "after"])
      draft.plan.length = field.moved(by: Field.afterParts)
      let size = try reader.optional("size")?.number(1...8) ?? 1
      return try count(reader, from: partsEnd + Int(field.offset), width: size, varies: false)
    }
    let encoding = try reader.required("encoding")
    let codings = ["varint": LengthCoding.varint, "decimal": .decimal, "coap": .coap, "ber": .ber]
    let word = try encoding.text()
    guard let coding = codings[word] else {
      let meant = Self.nearest(word, ["integer"] + codings.keys.sorted())
      throw encoding.error("the encoding must be integer, varint, decimal, coap or ber\(meant)")
    }
    for key in ["size", "order", "low-bit", "bits", "mask"] {
      guard let other = try reader.optional(key), key != "size" || coding != .decimal else { continue }
      throw other.error("a length in this encoding has no '\(key)'")
    }
    if coding == .decimal, let size = try reader.optional("size") {
      content?.plan.digitCount = UInt8(try size.number(1...9))
    }
    if let maximum = try reader.optional("maximum") { draft.plan.maximumBody = try maximum.number(0...(1 << 30)) }
    draft.plan.lengthOffset = try reader.optional("offset")?.number(0...255) ?? 0
    guard followsParts || draft.plan.lengthOffset < draft.plan.headerCount else {
      throw reader.error(
        "the length begins at byte \(draft.plan.lengthOffset), but the header ends at \(draft.plan.headerCount)")
    }
    content?.plan.coding = coding
    if !followsParts { try checkParts(reader, draft.plan.lengthOffset) }
    if coding == .coap, let counts = try reader.optional("counts") {
      guard counts.isScalar, try counts.text() == "body" else {
        throw counts.error("a length in this encoding must count the body")
      }
    }
    try count(reader, from: partsEnd + draft.plan.lengthOffset, width: least, varies: true)
  }

  /// Throws unless frames of some type may have no length: the type and all fields at fixed offsets of the header must precede it.
  func mayBeAbsent(_ reader: YAMLReader) throws(ProfileError) {
    guard let content, draft.plan.framing.kind == .counted, content.parts.count == 1 else {
      throw reader.error("a length is absent where the type is one number in front of it")
    }
    var layouts = [(draft.plan, content.plan, content.parts[0])]
    if let other = draft.serverSide { layouts.append((other.plan, other.general, other.general.parts[0])) }
    for (plan, general, part) in layouts {
      let length = general.coding == .field ? Int(plan.length.offset) : plan.lengthOffset
      guard case .field(let type) = part, length < Field.afterLength, type.byteRange.upperBound <= length else {
        throw reader.error("a length is absent where the type is one number in front of it")
      }
      guard general.headerPartCount == 0, plan.framing.trailerCount == 0 else {
        throw reader.error("a header with 'parts', and a frame with a trailer, have a length")
      }
      guard plan.time.byteRange.upperBound <= length, plan.checksum.byteRange.upperBound <= length else {
        throw reader.error("a length is absent where 'time' and 'checksum' are in front of it")
      }
    }
  }

  /// The rule for what a length counts that begins at byte `first` of a header without parts and has at least `width` bytes.
  private mutating func count(
    _ reader: YAMLReader, from first: Int, width: Int, varies: Bool
  ) throws(ProfileError) {
    let from = try countedFrom(reader.optional("counts"))
    let header = max(draft.plan.headerCount, first + width)
    draft.plan.framing.lengthCountsHeader = from != nil
    draft.plan.lengthAdd = from.map { $0 - header } ?? 0
    content?.plan.countsLength = varies && from.map { $0 <= first } ?? false
    if !(isTrailerCounted ?? (from != nil)) { draft.plan.lengthAdd += Int(draft.plan.framing.trailerCount) }
  }

  /// A number anywhere in the first 255 bytes; `others` are keys that the caller reads.
  private mutating func anywhere(_ reader: YAMLReader, _ others: [String]) throws(ProfileError) -> Field {
    let header = draft.plan.headerCount
    draft.plan.headerCount = 263
    defer { draft.plan.headerCount = header }
    return try field(reader, others)
  }

  /// A number of a frame. It may follow the header, if the frame reaches that far. Its offset counts from the end of any length of variable size
  /// before it, without the header's parts.
  mutating func generalField(_ reader: YAMLReader, _ others: String...) throws(ProfileError) -> Field {
    try checkHeader(reader)
    return try placed(anywhere(reader, others + ["after"]), reader)
  }

  /// Rejects a number at an offset in frames that have none.
  func checkHeader(_ reader: YAMLReader) throws(ProfileError) {
    let kind = draft.plan.framing.kind
    let isOpen = kind == .counted || content?.plan.innerHeader ?? 0 > 0 || content?.kind == .bytes
    guard isOpen, [.counted, .message, .terminated].contains(kind) else {
      throw reader.error("these frames have no header: a part has a path 'at', or a 'word'")
    }
  }

  /// A field whose offset counts from the right base.
  private func placed(_ field: Field, _ reader: YAMLReader) throws(ProfileError) -> Field {
    let kind = draft.plan.framing.kind
    if let after = try reader.optional("after") {
      guard kind == .counted else { throw after.error("these frames have no length") }
      switch try after.text() {
      case "length": return field.moved(by: Field.afterLength)
      case "parts":
        guard content?.plan.headerPartCount ?? 0 > 0 else { throw after.error("the header has no 'parts'") }
        return field.moved(by: Field.afterParts)
      default: throw after.error("'after' must be length or parts")
      }
    }
    guard kind == .counted, content?.plan.coding ?? .field != .field, content?.plan.lengthFollowsParts != true else {
      return field
    }
    let end = draft.plan.lengthOffset + max(1, Int(content?.plan.digitCount ?? 0))
    if content?.plan.headerPartCount ?? 0 > 0 {
      // Parts may be between the length and the field, too.
      return draft.plan.lengthOffset == 0 ? field.moved(by: end) : field
    }
    if draft.plan.lengthOffset == 0 { return field.moved(by: Field.afterLength) }
    return Int(field.offset) >= end ? field.moved(by: Field.afterLength - end) : field
  }

  /// The offset of a number of more than eight bytes, in the encoding of `Field`.
  mutating func wideOffset(_ reader: YAMLReader) throws(ProfileError) -> UInt16 {
    let offset = try reader.required("offset").number(0...255)
    return UInt16(try placed(Field(offset: offset, byteCount: 1), reader).offset)
  }

  /// The properties of the server's frames that differ from the client's.
  mutating func serverSide() throws(ProfileError) {
    guard let reader = try root.optional("from-server") else { return }
    try reader.allow("header", "length", "fields")
    guard let client = content else { return }
    var plan = draft.plan
    let isClosed = draft.isClosed
    let isCounted = plan.framing.kind == .counted
    if !isCounted {
      for key in ["header", "length"] {
        guard let other = try reader.optional(key) else { continue }
        throw other.error("frames of this kind have no '\(key)': they end where 'framing' says")
      }
    }
    content?.parts = []
    content?.plan.forgetLayout()
    draft.plan.forgetLayout()
    if !isCounted { draft.plan.maximumBody = plan.maximumBody }
    if isCounted {
      let ownLength = try reader.optional("length")
      let ownHeader = try reader.optional("header")
      let length = if let ownLength { ownLength } else { try root.required("length") }
      let header = if let ownHeader { ownHeader } else { try root.optional("header") }
      try generalHeader(header, length)
      try generalLength(length)
    } else if let header = try root.optional("header") {
      try generalHeader(header, header)
    }
    let ownFields = try reader.optional("fields")
    let fields = if let ownFields { ownFields } else { try root.required("fields") }
    try generalFields(fields)
    guard var server = content else { return }
    guard server.parts.count == client.parts.count else {
      throw reader.error("the types of both sides must have the same number of parts")
    }
    for (i, part) in server.parts.enumerated() { server.plan.parts[i] = part }
    server.plan.partCount = UInt8(server.parts.count)
    guard ![plan, draft.plan].contains(where: { $0.time.isPresent || $0.checksum.isPresent }) else {
      throw reader.error("'time' and 'checksum' are for fields that both sides' frames have at one place")
    }
    let (own, other) = (plan.framing, draft.plan.framing)
    guard own.sessionCoding == other.sessionCoding, own.sequenceCoding == other.sequenceCoding,
      own.sessionIsUnique == other.sessionIsUnique
    else { throw fields.error("'encoding' and 'unique' must be alike on both sides") }
    // A value that one side's fields hide is not shown for the other side either.
    plan.framing.hidesSession = own.hidesSession || other.hidesSession
    if server.plan.wideCount > 0 { (plan.sequenceCounts, plan.numberLife) = (false, .connection) }
    draft.serverSide = (draft.plan, server.plan)
    // One scan finds the values of both sides' paths.
    content = client
    content?.builder = server.builder
    content?.plan.alternatives = server.plan.alternatives
    content?.plan.alternativeCount = server.plan.alternativeCount
    (draft.plan, draft.isClosed) = (plan, isClosed)
    // The steps of a type may read a status if either side's header has one.
    serverHasStatus = draft.serverSide?.plan.status.isPresent ?? false
  }
}
