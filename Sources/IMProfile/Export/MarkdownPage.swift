import IMEngine
import IMWire
import IMYAML

/// A profile as a page in Markdown: what stands where, which types there are, who answers whom and how long that may take.
struct MarkdownPage {
  let exported: ExportedProfile
  var profile: CompiledProfile { exported.profile }
  var draft: ProtocolPlan.Draft { exported.draft }

  init(_ exported: ExportedProfile) { self.exported = exported }

  /// The whole page.
  func text() throws(ProfileError) -> String {
    var parts = [head(), header(), types(), bodies(draft), elements(), exchanges(), states(), statuses()]
    if let variant = profile.variant, let name = try exported.root.optional("variable")?.text() {
      let value = profile.variantValue.map(String.init) ?? ""
      parts.insert(bodies(variant, ", where `\(name)` is \(value)"), at: 4)
    }
    return parts.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  // MARK: What it is

  /// What the length counts.
  private var counted: String {
    guard draft.plan.framing.lengthCountsHeader else { return "the body" }
    let from = draft.plan.headerCount + draft.plan.lengthAdd
    return from <= 0 || from == Int(draft.plan.framing.trailerCount)
      ? "the whole frame" : "everything from byte \(from) on"
  }

  private func head() -> String {
    var out = "# \(Self.quoted(profile.name))\n\n\(Self.quoted(exported.title)).\n"
    if let description = exported.description {
      for paragraph in Self.paragraphs(description) { out += "\n\(Self.quoted(paragraph))\n" }
    }
    out += "\n| | |\n|---|---|\n"
    out += "| Profile | `\(profile.name)`, version `\(profile.version)` |\n"
    let ports = profile.ports.map(String.init).joined(separator: ", ")
    out += "| Ports | \(ports.isEmpty ? "none" : "\(ports); a hint") |\n"
    let magic = bytes(draft.plan.signatureMask, draft.plan.magic)
    out += "| Magic | \(magic.isEmpty ? "none" : "`\(magic)`") |\n"
    let longest = "a body has at most \(draft.plan.maximumBody) bytes"
    if draft.plan.framing.kind != .length { out += "| Frames | \(framing()) |\n" }
    switch draft.plan.lengthRule {
    case .field where !draft.plan.length.isPresent: out += "| Length | \(longest) |\n"
    case .field:
      out += "| Length | counts \(counted); \(longest) |\n"
    case .varint: out += "| Length | a number of 1 to 4 bytes of seven bits, least significant first; \(longest) |\n"
    }
    out += "| Checksum | \(checksum()) |\n| Sequence | \(sequence()) |\n"
    if draft.plan.compression.isPresent {
      out += "| Compression | zlib, where `compression` is \(draft.plan.zlibValue) |\n"
    }
    if draft.plan.encryption.isPresent {
      out += "| Encryption | not read, where `encryption` is \(draft.plan.encryptedFrom) or more |\n"
    }
    return out
  }

  private func checksum() -> String {
    switch draft.plan.checksumRule {
    case .none: "none"
    case .general: generalChecksum()
    case .crc32:
      "CRC-32 over the body, 0 without one, \(draft.plan.checksumEitherOrder ? "in either byte order" : "big endian")"
    }
  }

  private func sequence() -> String {
    let life =
      switch draft.plan.numberLife {
      case .session: ", on every connection of its session"
      case .marked: "; on another connection, only a frame that is marked as sent again is a copy"
      case .connection: "; each connection starts anew"
      }
    guard draft.plan.sequenceCounts else {
      return "an identifier, free again after its answer; each side has its own\(life)"
    }
    guard draft.plan.sequence.isPresent else { return "none" }
    var out = "a counter of \(draft.plan.counterBits) bits"
    if draft.plan.counterWrap != 1 << UInt64(draft.plan.counterBits) {
      out += ", which goes to 0 instead of reaching 0x\(Self.hex(draft.plan.counterWrap))"
    }
    if draft.plan.counterBits < draft.plan.sequence.mask.nonzeroBitCount { out += ", with a category above it" }
    if draft.plan.serverSharesCounter { out += "; a server counts for all its clients together" }
    return out + life
  }

  // MARK: The header

  private func header() -> String {
    let more = draft.plan.lengthRule == .varint ? " or more" : ""
    var rows: [(offset: Int, count: Int, text: String)] = []
    func fixed(_ mask: UInt64, _ name: String) {
      let parts = ExportedProfile.bytes(mask, draft.plan.magic)
      guard let first = parts.first, let last = parts.last else { return }
      rows.append((first.offset, last.offset - first.offset + 1, "\(name): always `\(bytes(mask, draft.plan.magic))`"))
    }
    for i in 0..<Int(draft.plan.framing.partCount) where draft.plan.framing.parts[i].count > 0 {
      let part = draft.plan.framing.parts[i]
      rows.append((Int(part.at), 0, "\(part.count) bytes more, where \(bits(part.when)) is not 0"))
    }
    fixed(draft.plan.signatureMask, "magic")
    fixed(draft.plan.magicMask & ~draft.plan.signatureMask, "version")
    if draft.plan.lengthRule == .varint { rows.append((draft.plan.lengthOffset, 1, "`length`, 1 to 4 bytes")) }
    for (key, field) in exported.fields {
      rows.append((Int(field.offset), field.byteCount, "`\(key)`\(part(field))\(meaning(key))"))
    }
    rows.sort { ($0.offset, $0.count) < ($1.offset, $1.count) }
    var out = "## Header: \(draft.plan.headerCount) bytes\(more)\n\n| Offset | Bytes | |\n|---|---|---|\n"
    var end = 0
    for row in rows {
      if row.offset > end { out += "| \(end) | \(row.offset - end) | not read |\n" }
      let isVarint = draft.plan.lengthRule == .varint && row.offset == draft.plan.lengthOffset
      let count = isVarint ? "1-4" : row.count == 0 ? "" : "\(row.count)"
      out += "| \(row.offset) | \(count) | \(row.text) |\n"
      end = max(end, row.offset + row.count)
    }
    if end < draft.plan.headerCount { out += "| \(end) | \(draft.plan.headerCount - end) | not read |\n" }
    if let server = draft.serverSide {
      let count = Self.bytes(server.plan.headerCount)
      out += "\nThe server's frames have a layout of their own, with a header of \(count).\n"
    }
    if draft.plan.framing.trailerCount > 0 {
      out += "\nThe body is followed by a trailer of \(Self.bytes(draft.plan.framing.trailerCount)).\n"
    }
    return out
  }

  /// Which part of its bytes a field is, and in what order they stand.
  private func part(_ field: Field) -> String {
    var out = field.byteCount == 1 ? "" : field.littleEndian ? ", little endian" : ", big endian"
    let width = 64 - field.mask.leadingZeroBitCount
    if field.mask.nonzeroBitCount != width {
      out += ", the bits 0x\(Self.hex(field.mask))"
    } else if field.lowBit > 0 || width < field.byteCount * 8 {
      out += width == 1 ? ", bit \(field.lowBit)" : ", bits \(field.lowBit) to \(field.lowBit + width - 1)"
    }
    return out
  }

  private func meaning(_ key: String) -> String {
    switch key {
    case "length": ": bytes of \(counted)"
    case "session":
      (draft.plan.framing.sessionCoding == .bcd ? ", decimal digits" : "") + ": whose frame it is"
        + (draft.plan.framing.hidesSession ? ", not shown" : "")
    case "sequence": draft.plan.framing.sequenceCoding == .bcd ? ", decimal digits" : ""
    case "time": ": the sender's clock, in seconds"
    case "duplicate": ": not 0 in a retry"
    case "end-to-end": ": the same in a retry, also to another server"
    case "type" where draft.isClosed: ": only those below"
    case "status": ": accepts \(accepted)"
    default: ""
    }
  }

  /// The statuses that accept.
  var accepted: String {
    let (first, last) = draft.plan.acceptedStatus
    let also = draft.plan.acceptedToo == .max ? "" : ", and \(draft.plan.acceptedToo)"
    return (first == last ? "\(first)" : "\(first) to \(last)") + also
  }

  // MARK: Types

  private func types() -> String {
    var out = "## Types\n\n| Value | Name | Role | From | Answered by | Time |\n|---|---|---|---|---|---|\n"
    for (i, kind) in draft.kinds.enumerated() where i != draft.unreadable {
      let from =
        kind.flags.contains(.fromClient) ? "client" : kind.flags.contains(.fromServer) ? "server" : ""
      var answers = kind.flags.contains(.expectsAck) ? exported.answers(to: i).map { "`\(profile.typeNames[$0])`" } : []
      if kind.flags.contains(.echoed) { answers.append("itself, echoed") }
      if i == handshake, draft.plan.handshakeAnswer != .max {
        answers.append("itself, with tag \(tag(draft.plan.handshakeAnswer))")
      }
      let time = answers.isEmpty ? "" : Self.time(kind.timeout)
      out += "| \(label(i) ?? value(kind.value)) | `\(profile.typeNames[i])` | \(kind.role) | \(from) |"
      out += " \(answers.joined(separator: ", ")) | \(time) |\n"
    }
    return out + "\nOther values are shown as `type_N`.\n"
  }

  private var handshake: Int? { draft.kinds.firstIndex { $0.flags.contains(.handshake) } }

  /// How a type is written that is no number of the header.
  private func label(_ index: Int) -> String? {
    guard draft.typeLabels.indices.contains(index) else { return nil }
    return "`\(Self.quoted(draft.typeLabels[index]))`"
  }

  private func value(_ value: UInt64) -> String {
    draft.plan.type.mask.nonzeroBitCount <= 8
      ? "\(value)" : "0x" + Self.hex(value, count: draft.plan.type.byteCount * 2)
  }

  private static func test(_ byte: (offset: Int, mask: UInt8, value: UInt8)) -> String {
    "byte \(byte.offset) & 0x\(hex(UInt64(byte.mask), count: 2)) is 0x\(hex(UInt64(byte.value), count: 2))"
  }

  /// `count` bytes, in words.
  static func bytes(_ count: some BinaryInteger) -> String { count == 1 ? "1 byte" : "\(count) bytes" }

  /// What types fix of their frames, and the fields of bodies that are read.
  private func bodies(_ draft: ProtocolPlan.Draft, _ when: String = "") -> String {
    var rows = ""
    for (i, kind) in draft.kinds.enumerated() where !kind.isAbsent {
      var parts: [String] = []
      if kind.headMask != 0 {
        parts += ExportedProfile.bytes(kind.headMask, kind.headValue).map {
          Self.test($0)
        }
      }
      if kind.minimumBody == kind.maximumBody {
        let count = Int(kind.minimumBody) - Int(draft.plan.framing.trailerCount)
        parts.append(count == 0 ? "no body" : "exactly \(Self.bytes(count))")
      }
      parts += steps(exported.steps(kind, draft))
      if !parts.isEmpty { rows += "| `\(profile.typeNames[i])` | \(parts.joined(separator: "; ")) |\n" }
    }
    return rows.isEmpty ? "" : "## Bodies\(when)\n\n| Type | In this order |\n|---|---|\n" + rows
  }

  private func steps(_ steps: [PlanStep]) -> [String] {
    var parts: [String] = []
    var prefix = ""
    var alternatives: [String] = []
    func flush() {
      if !alternatives.isEmpty { parts.append(prefix + "always \(alternatives.joined(separator: " or "))") }
      if !alternatives.isEmpty { prefix = "" }
      alternatives = []
    }
    for step in steps {
      if step.operation == .expect {
        let digits = Self.hex(step.a, count: Int(step.count) * 2)
        alternatives.append("`\(digits)`\(mask(step))")
        continue
      }
      flush()
      let into = step.register == .none ? "" : ": `\(step.register == .keepAlive ? "keep-alive" : "\(step.register)")`"
      switch step.operation {
      case .end:
        prefix += "the body may end here; "
        continue
      case .unless, .when:
        if step.register == .bits {
          prefix += "\(step.operation) `bits` & 0x\(Self.hex(step.a)) is 0x\(Self.hex(step.b)), "
          continue
        }
        let tests = ExportedProfile.bytes(step.a, step.b).map {
          Self.test($0)
        }
        prefix += "\(step.operation) \(tests.joined(separator: " and ")), "
        continue
      case .skip: parts.append(prefix + "\(Self.bytes(step.count)) not read")
      case .load where step.a != 0:
        let form = step.a == PlanStep.bcd ? "decimal digits" : "a number, little endian,"
        parts.append(prefix + "\(form) of \(Self.bytes(step.count))\(into)")
      case .load: parts.append(prefix + "a number of \(Self.bytes(step.count))\(into)")
      case .text: parts.append(prefix + "a length of \(Self.bytes(step.count)) and that much text\(into)")
      case .string: parts.append(prefix + "a zero-terminated text of at most \(step.count) bytes\(into)")
      case .bytes: parts.append(prefix + "a length of \(Self.bytes(step.count)) and that many bytes")
      case .tlv: parts.append(prefix + "elements")
      case .list:
        let length = step.count == 0 ? "a varint" : Self.bytes(step.count)
        parts.append(prefix + "a length of \(length) and that many bytes of elements")
      case .each: parts.append(prefix + "numbers of \(Self.bytes(step.count)) to the end\(into)")
      case .close: parts.append(prefix + "the end")
      case .digits: parts.append(prefix + "at most \(step.count) decimal digits\(into)")
      case .until: parts.append(prefix + "text up to a byte `\(Self.hex(step.a, count: 2))`\(into)")
      case .refuse: parts.append(prefix + "not 0x\(Self.hex(step.a, count: Int(step.count) * 2))\(mask(step))")
      default: parts.append(prefix + "\(step.operation)")
      }
      prefix = ""
    }
    flush()
    return parts
  }

  /// The bits of `expect` or `refuse` that count, where not all do.
  private func mask(_ step: PlanStep) -> String {
    let all = step.count >= 8 ? UInt64.max : 1 << UInt64(step.count * 8) - 1
    return step.b == all ? "" : " (of the bits 0x\(Self.hex(step.b)))"
  }

  // MARK: Text

  /// `text` in one line, in which nothing is markup.
  static func quoted(_ text: String) -> String {
    var out = ""
    for character in ExportedProfile.line(text) {
      switch character {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\\", "`", "*", "_", "{", "}", "[", "]", "#", "|", "~", "!", "$": out += "\\\(character)"
      // These begin a list or a heading where a line begins.
      case "+", "-", "=": out += out.isEmpty ? "\\\(character)" : "\(character)"
      case ".", ")":
        let isNumbered = !out.isEmpty && out.utf8.allSatisfy { (48...57).contains($0) }
        out += isNumbered ? "\\\(character)" : "\(character)"
      default: out.append(character)
      }
    }
    return out
  }

  private static func paragraphs(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .split { $0.allSatisfy(\.isWhitespace) }.map { $0.joined(separator: " ") }
  }

  static func hex(_ value: UInt64, count: Int = 0) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }

  private func bytes(_ mask: UInt64, _ value: UInt64) -> String {
    ExportedProfile.bytes(mask, value).map { Self.hex(UInt64($0.value), count: 2) }.joined(separator: " ")
  }

  static func time(_ time: Nanoseconds) -> String {
    time.milliseconds % 1_000 == 0 && time == .milliseconds(time.milliseconds)
      ? "\(time.milliseconds / 1_000) s" : "\(time.milliseconds) ms"
  }

  func tag(_ tag: UInt32) -> String {
    "0x\(Self.hex(UInt64(tag), count: draft.plan.tlv.tag.byteCount * 2))"
      + (profile.tagNames[tag].map { " `\($0)`" } ?? "")
  }
}
