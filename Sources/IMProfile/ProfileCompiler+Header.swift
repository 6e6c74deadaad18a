import IMEngine
import IMWire
import IMYAML

/// The header of frames: its fixed bits, its length, its fields and what they count.
extension ProfileCompiler {
  mutating func header(_ header: YAMLReader) throws(ProfileError) {
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
  func fixedBits(_ reader: YAMLReader) throws(ProfileError) -> (UInt64, UInt64) {
    try reader.allow("offset", "bytes")
    let offset = try reader.required("offset").number(0...7)
    let bytes = try reader.required("bytes").bytes(1...8)
    guard offset + bytes.count <= min(8, draft.plan.headerCount) else {
      throw reader.error("magic and version must be in the first eight bytes of the header")
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

  mutating func length(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("offset", "size", "order", "low-bit", "bits", "mask", "encoding", "counts", "maximum", "after")
    if let maximum = try reader.optional("maximum") {
      if draft.plan.framing.isDelimited { throw maximum.error("between delimiters the maximum must be in 'framing'") }
      draft.plan.maximumBody = try maximum.number(0...(1 << 30))
    }
    let from = try countedFrom(reader.optional("counts"))
    let countsBody = from == nil
    if let encoding = try reader.optional("encoding"), try encoding.text() != "integer" {
      guard try encoding.text() == "varint", countsBody, !draft.plan.framing.isDelimited else {
        throw encoding.error("the encoding must be integer, or varint with a length that counts the body")
      }
      draft.plan.lengthRule = .varint
      draft.plan.lengthOffset = try reader.required("offset").number(1...7)
      guard draft.plan.headerCount == draft.plan.lengthOffset + 1 else {
        throw encoding.error(
          "a varint length must be the header's last part: the header's minimum length is \(draft.plan.lengthOffset + 1)"
        )
      }
      draft.plan.lengthAdd = isTrailerCounted ?? false ? 0 : Int(draft.plan.framing.trailerCount)
    } else {
      draft.plan.length = try field(reader, ["encoding", "counts", "maximum", "after"])
      draft.plan.framing.lengthCountsHeader = !countsBody
      draft.plan.lengthAdd = from.map { $0 - draft.plan.headerCount } ?? 0
      if !(isTrailerCounted ?? !countsBody) { draft.plan.lengthAdd += Int(draft.plan.framing.trailerCount) }
    }
  }

  /// The header's first byte that the length counts: 0 where it counts the frame; `nil` where it counts the body alone.
  func countedFrom(_ reader: YAMLReader?) throws(ProfileError) -> Int? {
    guard let reader else { return nil }
    guard reader.isScalar else {
      try reader.allow("from")
      return try reader.required("from").number(0...draft.plan.headerCount)
    }
    switch try reader.text() {
    case "body": return nil
    case "frame": return 0
    default: throw reader.error("'counts' must be body, frame, or the byte that it counts from")
    }
  }

  /// A number in the header. `others` are keys that the caller reads.
  func field(_ reader: YAMLReader, _ others: String...) throws(ProfileError) -> Field { try field(reader, others) }

  /// A field, with a list of the keys that the caller reads.
  func field(_ reader: YAMLReader, _ others: [String]) throws(ProfileError) -> Field {
    for (key, _) in try reader.entries() {
      let name = try key.text()
      guard ["offset", "size", "order", "low-bit", "bits", "mask"].contains(name) || others.contains(name) else {
        throw key.error("'\(name)' is not known in a field")
      }
    }
    let size = try reader.optional("size")?.number(1...8) ?? 1
    // A field that counts from the end of something else may begin there.
    var given = try reader.optional("offset")
    let after = try others.contains("after") ? reader.optional("after") : nil
    if given == nil, after == nil { given = try reader.required("offset") }
    let offset = try given?.number(0...255) ?? 0
    guard offset + size <= draft.plan.headerCount else {
      throw reader.error("the field ends at byte \(offset + size), but the header at \(draft.plan.headerCount)")
    }
    let order = try reader.optional("order")?.text() ?? "big"
    guard order == "big" || order == "little" else { throw reader.error("'order' must be big or little") }
    let low = try reader.optional("low-bit")?.number(0...(size * 8 - 1)) ?? 0
    let bits = try reader.optional("bits")?.number(1...(size * 8 - low)) ?? size * 8 - low
    var field = Field(offset: offset, byteCount: size, littleEndian: order == "little", lowBit: low, bits: bits)
    if let mask = try reader.optional("mask") {
      for key in ["low-bit", "bits"] {
        if let other = try reader.optional(key) {
          throw other.error("a field must have a 'mask', or 'low-bit' and 'bits'")
        }
      }
      field.mask = UInt64(try mask.number(1...(size >= 8 ? Int.max : 1 << (size * 8) - 1)))
    }
    return field
  }

  mutating func fields(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow(
      "type", "sequence", "time", "encryption", "compression", "session", "checksum", "duplicate", "status",
      "end-to-end")
    draft.plan.type = try field(reader.required("type"), "closed")
    draft.isClosed = try reader.required("type").optional("closed")?.flag() ?? false
    if let f = try reader.optional("sequence") { draft.plan.sequence = try field(f, "encoding") }
    if let f = try reader.optional("time") { draft.plan.time = try field(f) }
    if let f = try reader.optional("session") { draft.plan.session = try field(f, "encoding", "sensitive", "unique") }
    try coding(reader.optional("session"), reader.optional("sequence"))
    if let f = try reader.optional("checksum") { draft.plan.checksum = try field(f) }
    if let f = try reader.optional("duplicate") { draft.plan.duplicate = try field(f) }
    if let f = try reader.optional("status") { draft.plan.status = try field(f) }
    if let f = try reader.optional("end-to-end") {
      guard draft.plan.duplicate.isPresent else {
        throw f.error("'end-to-end' needs 'duplicate', the mark of a retransmission")
      }
      draft.plan.endToEnd = try field(f)
    }
    if let f = try reader.optional("encryption") {
      draft.plan.encryption = try field(f, "encrypted-from")
      draft.plan.encryptedFrom = UInt64(try f.optional("encrypted-from")?.number(0...Int(UInt32.max)) ?? 1)
    }
    if let f = try reader.optional("compression") {
      draft.plan.compression = try field(f, "zlib")
      draft.plan.zlibValue = UInt64(try f.optional("zlib")?.number(0...Int(UInt32.max)) ?? 1)
    }
  }

  mutating func sequence() throws(ProfileError) {
    guard let reader = try root.optional("sequence") else { return }
    try reader.allow("kind", "bits", "wraps-at", "shared-by", "outlives-connection")
    switch try reader.required("kind").text() {
    case "counter": draft.plan.sequenceCounts = true
    case "identifier": draft.plan.sequenceCounts = false
    default: throw try reader.required("kind").error("the kind must be counter or identifier")
    }
    draft.plan.numberLife = draft.plan.sequenceCounts ? .session : .connection
    if let life = try reader.optional("outlives-connection") {
      switch try life.text() {
      case "always": draft.plan.numberLife = .session
      case "marked": draft.plan.numberLife = .marked
      case "never": draft.plan.numberLife = .connection
      default: throw life.error("a number must outlive its connection always, marked or never")
      }
    }
    if let shared = try reader.optional("shared-by") {
      guard try shared.text() == "server", draft.plan.sequenceCounts else {
        throw shared.error("'shared-by' must be server, and is only for a counter")
      }
      draft.plan.serverSharesCounter = true
    }
    draft.plan.counterBits = try reader.optional("bits")?.number(1...32) ?? 32
    draft.plan.counterWrap = UInt64(
      try reader.optional("wraps-at")?.number(2...(1 << draft.plan.counterBits)) ?? 1 << draft.plan.counterBits)
  }

  mutating func timing() throws(ProfileError) {
    guard let reader = try root.optional("timing") else { return }
    try reader.allow("answer", "heartbeat")
    if let answer = try reader.optional("answer") { answerTimeout = Nanoseconds(try answer.duration()) }
    if let heartbeat = try reader.optional("heartbeat") { heartbeatTimeout = Nanoseconds(try heartbeat.duration()) }
  }
}
