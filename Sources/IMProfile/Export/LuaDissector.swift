import IMEngine
import IMYAML

/// A profile as a table of Lua, in front of the text that reads it (`dissector.lua`).
///
/// Everything that comes from the profile is a number or a quoted text: nothing of it can become a statement.
struct LuaDissector {
  private let exported: ExportedProfile
  private var draft: ProtocolPlan.Draft { exported.draft }

  init(_ exported: ExportedProfile) { self.exported = exported }

  /// The whole dissector.
  func text() throws(ProfileError) -> String {
    try head() + table() + "\n" + String(decoding: PackageResources.dissector_lua, as: UTF8.self)
  }

  // MARK: The comment

  private func head() -> String {
    let profile = exported.profile
    let filter = Self.filter(profile.name)
    var lines = [
      ExportedProfile.line("\(exported.title): profile \(profile.name), version \(profile.version)."),
      "Made by imdump profile export \(profile.name) --wireshark. Do not edit: edit the profile.",
      "",
      "tshark -X lua_script:\(profile.name).lua -r FILE, or put it into Wireshark's folder of personal Lua plugins.",
      "Filters begin with \(filter). Preferences: -o \(filter).ports:7000-7010, -o \(filter).check:FALSE.",
      "",
      "What imdump shows and this does not:",
      "- Frames inside WebSocket, or after a PROXY header: they are not unwrapped.",
      "- Fates, round trips, copies, sessions: a dissector looks at one frame at a time.",
      "- Bytes after a gap: Wireshark stops where a segment is missing; imdump finds the next frame.",
    ]
    let magic = exported.draft.plan.magicMask.nonzeroBitCount
    lines.append(
      magic >= 16
        ? "- A connection on another port is recognised by its magic number only; imdump considers more than that."
        : "- Connections on other ports: without a magic number of 16 bits and more they are not looked for. Name the"
          + " port, or use \"Decode As\".")
    if draft.plan.magicMask == 0 {
      lines.append(
        "- A capture that begins in the middle of a frame: without a magic number the next frame is not found.")
    }
    if draft.plan.checksumRule != .none {
      lines.append("- Checksums of bodies over 1 MiB: Lua takes too long.")
    }
    if draft.plan.compression.isPresent {
      lines.append("- Limits on inflating, other than Wireshark's own.")
    }
    if draft.plan.framing.hidesSession {
      lines.append("- The session's number, which is sensitive: imdump shows a hash of it.")
    }
    if !exported.profile.sensitiveTags.isEmpty {
      lines.append("- Values of sensitive elements are left out of the tree, as imdump does; the bytes show them.")
    }
    if draft.plan.identityTag != .max || draft.plan.statusTags.0 != .max {
      lines.append("- A status or a client's name that is in an element is shown as that element only.")
    }
    return lines.map { $0.isEmpty ? "--" : "-- \($0)" }.joined(separator: "\n") + "\n\n"
  }

  // MARK: The table

  private func table() throws(ProfileError) -> String {
    let profile = exported.profile
    var out = "local profile = {\n"
    func line(_ key: String, _ value: String) { out += "  \(key) = \(value),\n" }
    line("filter", Self.quoted(Self.filter(profile.name)))
    line("label", Self.quoted(profile.name.uppercased()))
    line("description", Self.quoted("\(ExportedProfile.line(exported.title)) (imdump profile \(profile.name))"))
    line("ports", Self.quoted(profile.ports.map(String.init).joined(separator: ",")))
    line("header", "\(draft.plan.headerCount)")
    line("magicBits", "\(draft.plan.magicMask.nonzeroBitCount)")
    line("fixed", Self.bytes(draft.plan.magicMask, draft.plan.magic))
    line("framing", try framing())
    line("trailer", "\(draft.plan.framing.trailerCount)")
    line("length", try length())
    line("type", Self.field(draft.plan.type))
    out += "  fields = {\n"
    for (key, field) in exported.fields {
      let isHex = key == "checksum" || key == "session"
      out += "    { key = \(Self.quoted(key)), name = \(Self.quoted(key.prefix(1).uppercased() + key.dropFirst())), "
      out += (isHex ? "hex = true, " : "") + flags(key) + "\(Self.parts(field)) },\n"
    }
    out += "  },\n"
    if let checksum = try checksum() { line("checksum", checksum) }
    if draft.plan.compression.isPresent {
      line("compression", "{ field = \(Self.field(draft.plan.compression)), value = \(draft.plan.zlibValue) }")
    }
    if draft.plan.encryption.isPresent {
      line("encryption", "{ field = \(Self.field(draft.plan.encryption)), from = \(draft.plan.encryptedFrom) }")
    }
    if draft.plan.ackBodyCount >= 0 {
      line("acknowledgment", "{ count = \(draft.plan.ackBodyCount), field = \(Self.field(draft.plan.ackBody)) }")
    }
    if draft.isClosed { line("closed", "true") }
    line("unknownTLV", "\(!draft.unknownFlags.contains(.noTLV))")
    out += try "  types = {\n" + types(draft) + "  },\n"
    if let variant = profile.variant { out += try "  variant = {\n" + types(variant) + "  },\n" }
    out += "  tags = {\n"
    for (tag, name) in profile.tagNames.sorted(by: { $0.key < $1.key }) {
      out += "    [\(tag)] = \(Self.quoted(name)),\n"
    }
    out += "  },\n"
    if draft.plan.tlv.shape != .none { line("tlv", list()) }
    return out + "}\n"
  }

  private func types(_ draft: ProtocolPlan.Draft) throws(ProfileError) -> String {
    var out = ""
    for (i, kind) in draft.kinds.enumerated() where !kind.isAbsent {
      out += try "    [\(kind.value)] = \(type(kind, i, draft)),\n"
    }
    return out
  }

  private func length() throws(ProfileError) -> String {
    var parts = ["add = \(draft.plan.lengthAdd)", "maximum = \(draft.plan.maximumBody)"]
    switch draft.plan.lengthRule {
    case .field:
      parts.append("rule = \"field\"")
      if draft.plan.length.isPresent { parts.append("field = \(Self.field(draft.plan.length))") }
      if draft.plan.framing.lengthCountsHeader { parts.append("countsHeader = true") }
    case .varint: parts += ["rule = \"varint\"", "offset = \(draft.plan.lengthOffset)"]
    }
    return "{ \(parts.joined(separator: ", ")) }"
  }

  private func checksum() throws(ProfileError) -> String? {
    let either = "either = \(draft.plan.checksumEitherOrder)"
    switch draft.plan.checksumRule {
    case .none: return nil
    case .crc32:
      return "{ algorithm = \"crc32\", emptyIsZero = true, \(either), field = \(Self.field(draft.plan.checksum)) }"
    case .general:
      let plan = draft.plan.framing.checksum
      guard plan.isPresent else { return nil }
      let width = plan.algorithm.byteCount
      let field =
        plan.isInTrailer ? Field(offset: 0, byteCount: width, littleEndian: plan.littleEndian) : draft.plan.checksum
      var parts = ["algorithm = \(Self.quoted(plan.algorithm.name))", either, "field = \(Self.field(field))"]
      if plan.isInTrailer { parts.append("trailer = true") }
      if !plan.coversBody { parts.append("from = \(plan.from)") }
      return "{ \(parts.joined(separator: ", ")) }"
    }
  }

  /// How the ends of frames are found.
  private func framing() throws(ProfileError) -> String {
    let framing = draft.plan.framing
    switch framing.kind {
    case .length: return "{ kind = \"length\" }"
    case .line:
      throw (try exported.root.required("framing")).error("line-based frames cannot be exported yet")
    case .delimited: break
    case .counted, .message, .terminated, .headers, .resp, .xml, .pairs:
      throw (try exported.root.required("fields")).error(
        "types given by a content or several parts cannot be exported yet")
    }
    var fields = ["kind = \"delimited\"", "delimiter = \(framing.delimiter)"]
    if framing.escapes {
      fields.append("escape = \(framing.escape)")
      let pairs = (0..<UInt32(framing.replacementCount)).map {
        "[\(framing.written >> ($0 * 8) & 255)] = \(framing.meant >> ($0 * 8) & 255)"
      }
      fields.append(pairs.isEmpty ? "mask = \(framing.escapeMask)" : "replaces = { \(pairs.joined(separator: ", ")) }")
    }
    let parts = (0..<Int(framing.partCount)).map { i in
      let part = framing.parts[i]
      let session = part.session.isPresent ? ", session = \(Self.field(part.session))" : ""
      return
        "{ when = \(Self.field(part.when)), at = \(part.at), count = \(part.count), raw = \(part.isRaw)\(session) }"
    }
    fields.append("parts = { \(parts.joined(separator: ", ")) }")
    return "{ \(fields.joined(separator: ", ")) }"
  }

  /// How a number of the header is written, and whether it is shown.
  private func flags(_ key: String) -> String {
    let coding =
      key == "session"
      ? draft.plan.framing.sessionCoding : key == "sequence" ? draft.plan.framing.sequenceCoding : .binary
    return (coding == .bcd ? "bcd = true, " : "")
      + (key == "session" && draft.plan.framing.hidesSession ? "hidden = true, " : "")
  }

  private func type(_ kind: FrameKind, _ index: Int, _ draft: ProtocolPlan.Draft) throws(ProfileError) -> String {
    let least = max(kind.minimumBody, UInt32(draft.plan.framing.trailerCount))
    var parts = [
      "name = \(Self.quoted(exported.profile.typeNames[index]))", "role = \"\(kind.role)\"",
      "fixed = \(Self.bytes(kind.headMask, kind.headValue))", "minimum = \(least)",
      "tlv = \(!kind.flags.contains(.noTLV))",
    ]
    if kind.flags.contains(.tellsVariant) { parts.append("tells = true") }
    if kind.maximumBody != .max { parts.append("maximum = \(kind.maximumBody)") }
    var steps: [String] = []
    var alternatives: [String] = []
    func flush() {
      guard !alternatives.isEmpty else { return }
      steps.append("{ op = \"expect\", bytes = { \(alternatives.joined(separator: ", ")) } }")
      alternatives = []
    }
    for step in exported.steps(kind, draft) {
      if step.operation == .expect {
        alternatives += try values(step).map { Self.quoted(MarkdownPage.hex($0, count: Int(step.count) * 2)) }
        continue
      }
      flush()
      if step.operation == .refuse {
        steps += try values(step).map { "{ op = \"refuse\", count = \(step.count), value = \($0) }" }
        continue
      }
      steps.append(try self.step(step))
    }
    flush()
    return "{ \(parts.joined(separator: ", ")),\n      steps = { \(steps.joined(separator: ", ")) } }"
  }

  /// The values that an `expect` or a `refuse` means, where some of their bits do not count.
  private func values(_ step: PlanStep) throws(ProfileError) -> [UInt64] {
    let free = ~step.b & (step.count >= 8 ? .max : 1 << UInt64(step.count * 8) - 1)
    guard free.nonzeroBitCount <= 4 else {
      throw exported.root.error("a mask that leaves more than four bits out cannot be exported yet")
    }
    var values = [step.a]
    for bit in 0..<UInt64(64) where free >> bit & 1 == 1 { values += values.map { $0 | 1 << bit } }
    return values
  }

  private func step(_ step: PlanStep) throws(ProfileError) -> String {
    let into = step.register == .none ? "" : ", into = \"\(step.register)\""
    switch step.operation {
    case .tlv, .end, .close: return "{ op = \"\(step.operation)\" }"
    case .unless, .when:
      // Each skips as many as stand behind it, an `expect` of several alternatives counted as one.
      let test =
        step.register == .bits ? "bits = { \(step.a), \(step.b) }" : "fixed = \(Self.bytes(step.a, step.b))"
      return "{ op = \"\(step.operation)\", \(test) }"
    case .load where step.a != 0:
      let order = step.a == PlanStep.bcd ? "bcd" : "little"
      return "{ op = \"load\", count = \(step.count), order = \"\(order)\"\(into) }"
    case .text where step.a > 0: return "{ op = \"text\", count = \(step.count), minimum = \(step.a)\(into) }"
    case .skip, .load, .text, .string, .bytes, .list, .each:
      return "{ op = \"\(step.operation)\", count = \(step.count)\(into) }"
    default: throw exported.root.error("the step '\(step.operation)' cannot be exported yet")
    }
  }

  private func list() -> String {
    let tlv = draft.plan.tlv
    let nested = tlv.nestedTag == .max ? draft.nestedTags : [tlv.nestedTag]
    let types = exported.profile.tagTypes.sorted { $0.key < $1.key }.map {
      "[\($0.key)] = { \(Self.quoted($0.value.kind.name)), \($0.value.littleEndian) }"
    }
    var parts = [
      "header = \(tlv.headerCount)", "tag = \(Self.field(tlv.tag))", "length = \(Self.field(tlv.length))",
      "all = \(tlv.lengthCountsHeader)", "padding = \(tlv.paddingMask + 1)", "repeats = \(tlv.mayRepeat)",
      "depth = \(tlv.maximumDepth)", "single = \(draft.nestedTags.isEmpty)",
      "types = { \(types.joined(separator: ", ")) }", "nested = \(Self.set(nested))",
      "sensitive = \(Self.set(exported.profile.sensitiveTags.sorted()))",
    ]
    if tlv.shape == .formed {
      let forms = draft.forms.map { "[\($0.tag)] = { \"\($0.kind)\", \($0.count) }" }
      parts.append("forms = { \(forms.joined(separator: ", ")) }")
    }
    if tlv.optional.isPresent {
      parts.append("optional = { \(tlv.optional.offset), \(tlv.optional.mask), \(tlv.optionalCount) }")
    }
    return "{ \(parts.joined(separator: ", ")) }"
  }

  // MARK: Text

  /// The name that filters begin with: Wireshark has protocols of its own, and takes `-` for a minus.
  private static func filter(_ name: String) -> String { "imdump_" + name.replacing("-", with: "_") }

  private static func field(_ field: Field) -> String { "{ \(parts(field)) }" }

  private static func parts(_ field: Field) -> String {
    let mask = "{ \(field.mask & 0xffff_ffff), \(field.mask >> 32) }"
    return "offset = \(field.offset), size = \(field.byteCount), shift = \(field.lowBit), mask = \(mask)"
      + (field.littleEndian ? ", little = true" : "")
  }

  private static func bytes(_ mask: UInt64, _ value: UInt64) -> String {
    let bytes = ExportedProfile.bytes(mask, value).map { "{ \($0.offset), \($0.mask), \($0.value) }" }
    return bytes.isEmpty ? "{}" : "{ \(bytes.joined(separator: ", ")) }"
  }

  private static func set(_ tags: [UInt32]) -> String {
    tags.isEmpty ? "{}" : "{ \(tags.map { "[\($0)] = true" }.joined(separator: ", ")) }"
  }

  /// `text` as Lua has it between quotes: what is not plain ASCII stands as the numbers of its bytes.
  static func quoted(_ text: String) -> String {
    var out = "\""
    for byte in text.utf8 {
      if (32...126).contains(byte), byte != 34, byte != 92 {
        out.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte)
        out += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      }
    }
    return out + "\""
  }
}
