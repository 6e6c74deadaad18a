import IMEngine
import IMYAML

/// Frames that end at a delimiter, headers with parts, trailers and checksums.
extension ProfileCompiler {
  /// The longest body between delimiters: nothing tells how much of it is still to come.
  private static var maximumDelimited: Int { 1 << 20 }

  /// How the ends of frames are found, where no length tells.
  mutating func framing() throws(ProfileError) {
    guard let reader = try root.optional("framing") else { return }
    if try reader.optional("kind") == nil { try reader.allow("kind", "delimiter", "escape", "maximum") }
    let kind = try reader.required("kind")
    let word = try kind.text()
    switch word {
    case "delimited": draft.plan.framing.kind = .delimited
    case "line":
      draft.plan.framing.kind = .line
      // Lines that contain anything but words end like any frame that a line feed ends.
      if try root.optional("content") != nil { try generalFraming(reader, .terminated) }
    case "message": try generalFraming(reader, .message)
    case "terminated": try generalFraming(reader, .terminated)
    case "headers": try generalFraming(reader, .headers)
    case "resp": try generalFraming(reader, .resp)
    case "xml": try generalFraming(reader, .xml)
    case "pairs": try generalFraming(reader, .pairs)
    default:
      let known = ["delimited", "line", "message", "terminated", "headers", "resp", "xml", "pairs"]
      throw kind.error(
        "the kind of framing must be \(known.dropLast().joined(separator: ", ")) or pairs\(Self.nearest(word, known))")
    }
    draft.plan.maximumBody = try reader.optional("maximum")?.number(1...Self.maximumDelimited) ?? 65_536
    if draft.plan.framing.isGeneral { return }
    try reader.allow("kind", "delimiter", "escape", "maximum")
    guard draft.plan.framing.kind == .delimited else {
      for key in ["delimiter", "escape"] {
        guard let other = try reader.optional(key) else { continue }
        throw other.error("lines end with a line feed: '\(key)' has no effect")
      }
      for key in ["header", "length", "trailer", "checksum"] {
        if let other = try root.optional(key) { throw other.error("lines have words, and no '\(key)'") }
      }
      return
    }
    draft.plan.framing.delimiter = try reader.required("delimiter").bytes(1...1)[0]
    if let escape = try reader.optional("escape") { try self.escape(escape) }
  }

  private mutating func escape(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("byte", "mask", "replaces")
    draft.plan.framing.escapes = true
    draft.plan.framing.escape = try reader.required("byte").bytes(1...1)[0]
    guard draft.plan.framing.escape != draft.plan.framing.delimiter else {
      throw try reader.required("byte").error("the escape must not be the delimiter")
    }
    let replaces = try reader.optional("replaces")
    if let mask = try reader.optional("mask") {
      guard replaces == nil else { throw mask.error("an escape must have a 'mask', or 'replaces'") }
      draft.plan.framing.escapeMask = try mask.bytes(1...1)[0]
      return
    }
    guard let replaces else { throw reader.error("an escape must have a 'mask', or 'replaces'") }
    let entries = try replaces.entries()
    guard (1...4).contains(entries.count) else { throw replaces.error("'replaces' must have 1 to 4 bytes") }
    var seen: Set<UInt8> = []
    for (i, (key, value)) in entries.enumerated() {
      let written = try key.bytes(1...1)[0]
      guard written != draft.plan.framing.delimiter else { throw key.error("the delimiter must not follow an escape") }
      guard seen.insert(written).inserted else { throw key.error("'\(try key.text())' is given twice") }
      draft.plan.framing.written |= UInt32(written) << UInt32(i * 8)
      draft.plan.framing.meant |= UInt32(try value.bytes(1...1)[0]) << UInt32(i * 8)
    }
    draft.plan.framing.replacementCount = UInt8(entries.count)
  }

  /// Parts that some headers have. What is said of fields is said of the header without them.
  mutating func parts(_ header: YAMLReader) throws(ProfileError) {
    guard let list = try header.optional("parts") else { return }
    if draft.plan.framing.kind == .counted { return try conditionalParts(list) }
    guard draft.plan.framing.kind == .delimited else {
      throw list.error(
        "parts of a header need frames that end at a delimiter; in others, steps with 'unless' read them")
    }
    let parts = try list.elements()
    guard (1...4).contains(parts.count) else { throw list.error("a header must have 1 to 4 parts") }
    var last = 0
    for (i, reader) in parts.enumerated() {
      try reader.allow("when", "at", "length", "session", "body")
      var part = HeaderPart()
      let when = try reader.required("when")
      _ = try when.required("mask")
      part.when = try field(when)
      part.count = Int32(try reader.optional("length")?.number(1...64) ?? 0)
      if part.count > 0 {
        last = try reader.required("at").number(last...draft.plan.headerCount)
        part.at = Int32(last)
      } else if let at = try reader.optional("at") {
        throw at.error("'at' needs 'length'")
      }
      if let session = try reader.optional("session") {
        try session.allow("offset", "size")
        let offset = try session.required("offset").number(0...255)
        let size = try session.required("size").number(1...8)
        guard offset + size <= draft.plan.headerCount + Int(part.count) else {
          throw session.error(
            "the field ends at byte \(offset + size), but the header at \(draft.plan.headerCount + Int(part.count))")
        }
        part.session = Field(offset: offset, byteCount: size)
      }
      if let body = try reader.optional("body") {
        guard try body.text() == "raw" else { throw body.error("the body of a frame with such a part must be raw") }
        part.isRaw = true
      }
      draft.plan.framing.parts[i] = part
    }
    draft.plan.framing.partCount = UInt8(parts.count)
  }

  /// Which words of a line are its fields.
  mutating func words(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("type", "sequence", "session", "status")
    func word(_ key: String) throws(ProfileError) -> UInt8 {
      guard let field = try reader.optional(key) else { return 0 }
      if key == "session" { try field.allow("word", "sensitive", "unique") } else { try field.allow("word") }
      return UInt8(try field.required("word").number(1...16))
    }
    _ = try reader.required("type")
    draft.plan.framing.words.type = try word("type")
    draft.plan.framing.words.sequence = try word("sequence")
    draft.plan.framing.words.session = try word("session")
    draft.plan.framing.words.status = try word("status")
    // Outputs ask whether there are such fields; a line's are read by their words.
    if draft.plan.framing.words.session > 0 { draft.plan.session = Field(offset: 0, byteCount: 1) }
    if let session = try reader.optional("session") { try sessionFlags(session) }
  }

  /// How a number is written, and what the session's means.
  mutating func coding(_ session: YAMLReader?, _ sequence: YAMLReader?) throws(ProfileError) {
    if let session {
      draft.plan.framing.sessionCoding = try coding(session)
      try sessionFlags(session)
    }
    if let sequence { draft.plan.framing.sequenceCoding = try coding(sequence) }
  }

  private mutating func sessionFlags(_ session: YAMLReader) throws(ProfileError) {
    draft.plan.framing.hidesSession = try session.optional("sensitive")?.flag() ?? false
    draft.plan.framing.sessionIsUnique = try session.optional("unique")?.flag() ?? false
  }

  private func coding(_ reader: YAMLReader) throws(ProfileError) -> NumberCoding {
    guard let encoding = try reader.optional("encoding") else { return .binary }
    switch try encoding.text() {
    case "binary": return .binary
    case "bcd": return .bcd
    default: throw encoding.error("the encoding must be binary or bcd")
    }
  }

  /// The value of a type: a number, or the word that begins a line.
  mutating func typeValue(_ key: YAMLReader) throws(ProfileError) -> UInt64 {
    if content != nil { return try generalTypeValue(key).value }
    guard draft.plan.framing.kind == .line else { return UInt64(try key.number(0...Int(UInt32.max))) }
    let word = Array(try key.text().utf8)
    guard (1...32).contains(word.count), word.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw key.error("a line's type must be a word of 1 to 32 printable characters")
    }
    return LineWords.value(word)
  }

  // MARK: Trailer and checksum

  /// What stands behind the body.
  mutating func trailer() throws(ProfileError) {
    guard let reader = try root.optional("trailer") else { return }
    try reader.allow("length", "counted", "bytes")
    draft.plan.framing.trailerCount = Int32(try reader.required("length").number(1...64))
    if let bytes = try reader.optional("bytes") {
      guard content != nil else { throw bytes.error("'bytes' needs frames with a length") }
      let pattern = try bytes.bytes(1...4)
      guard pattern.count <= Int(draft.plan.framing.trailerCount) else {
        throw bytes.error("the trailer is shorter than these bytes")
      }
      content?.plan.trailerBytes = pattern.reduce(0) { $0 << 8 | UInt32($1) }
      content?.plan.trailerCount = UInt8(pattern.count)
    }
    isTrailerCounted = try reader.optional("counted")?.flag()
    if draft.plan.framing.kind == .delimited, let counted = try reader.optional("counted"),
      draft.plan.lengthRule == .varint
    {
      throw counted.error("between delimiters no length has to count it")
    }
  }

  mutating func checksum() throws(ProfileError) {
    guard let reader = try root.optional("checksum") else {
      if needsGeneral { draft.plan.checksumRule = .general }
      return
    }
    try reader.allow("algorithm", "covers", "order", "in")
    let name = try reader.required("algorithm")
    let text = try name.text()
    guard let algorithm = ChecksumAlgorithm.allCases.first(where: { $0.name == text }) else {
      let names = ChecksumAlgorithm.allCases.map(\.name).joined(separator: ", ")
      throw name.error("the algorithm must be one of: \(names)")
    }
    var plan = ChecksumPlan()
    plan.isPresent = true
    plan.algorithm = algorithm
    if let place = try reader.optional("in") {
      let word = try place.text()
      guard word == "header" || word == "trailer" else {
        throw place.error("a checksum must be in the header or trailer")
      }
      plan.isInTrailer = word == "trailer"
      guard !plan.isInTrailer || Int(draft.plan.framing.trailerCount) >= algorithm.byteCount else {
        throw place.error(
          "a trailer for \(text) needs at least \(algorithm.byteCount) bytes, but this one has \(draft.plan.framing.trailerCount)"
        )
      }
    }
    if let covers = try reader.optional("covers") { try self.covers(covers, &plan) }
    let order = try reader.optional("order")
    switch try order?.text() ?? "big" {
    case "big": break
    case "either": draft.plan.checksumEitherOrder = true
    case "little" where plan.isInTrailer: plan.littleEndian = true
    default: throw reader.error("'order' must be big or either, and little in a trailer")
    }
    if plan.isInTrailer {
      guard !draft.plan.checksum.isPresent else {
        throw reader.error("the checksum is in the trailer, and also in 'fields'")
      }
    } else {
      guard draft.plan.checksum.isPresent else { throw reader.error("'fields' has no checksum") }
      guard draft.plan.checksum.mask.nonzeroBitCount == algorithm.byteCount * 8 else {
        throw reader.error("\(text) has \(algorithm.byteCount) bytes, but the field does not")
      }
    }
    let isQuick =
      algorithm == .crc32 && plan.coversBody && !plan.isInTrailer && !draft.plan.checksum.littleEndian && !needsGeneral
      && !draft.plan.framing.isDelimited
    draft.plan.checksumRule = isQuick ? .crc32 : .general
    if !isQuick { draft.plan.framing.checksum = plan }
    checksumName = text
  }

  private func covers(_ reader: YAMLReader, _ plan: inout ChecksumPlan) throws(ProfileError) {
    if reader.isScalar {
      switch try reader.text() {
      case "body": break
      case "frame": plan.coversBody = false
      default: throw reader.error("a checksum must cover the body, the frame, or everything from a byte on")
      }
      return
    }
    try reader.allow("from")
    plan.coversBody = false
    plan.from = Int32(try reader.required("from").number(0...draft.plan.headerCount))
  }

  /// Whether numbers want more than a load.
  private var needsGeneral: Bool {
    draft.plan.framing.sessionCoding != .binary || draft.plan.framing.sequenceCoding != .binary
      || draft.plan.framing.hidesSession || draft.plan.endToEnd.isPresent
  }
}
