import IMEngine
import IMYAML

/// A profile made into something that others read: a dissector, a page.
package enum ProfileExport {
  /// A dissector in Lua for Wireshark 4.0 and later. What it cannot show stands in the comment at its head.
  package static func wireshark(_ text: String, source: String) throws(ProfileError) -> String {
    try LuaDissector(ExportedProfile(text, source: source)).text()
  }

  /// A page in Markdown that describes the protocol.
  package static func markdown(_ text: String, source: String) throws(ProfileError) -> String {
    try MarkdownPage(ExportedProfile(text, source: source)).text()
  }
}

/// What exporters know of a profile: the numbers it was compiled to, and what only readers want.
struct ExportedProfile {
  let profile: CompiledProfile
  let root: YAMLReader
  let title: String
  let description: String?

  var draft: ProtocolPlan.Draft { profile.draft }

  /// Compiles `text`, and refuses what no exporter knows.
  init(_ text: String, source: String) throws(ProfileError) {
    profile = try ProfileCompiler.compiled(text, source: source)
    root = try YAMLReader(text, source: source, subject: "profile")
    title = try root.optional("title")?.text() ?? profile.name
    description = try root.optional("description")?.text()
    try ExportableKeys.check(root)
  }

  /// The fields of the header, in the order of their bytes, with their keys in the profile.
  var fields: [(key: String, field: Field)] {
    [
      ("length", draft.plan.length), ("type", draft.plan.type), ("sequence", draft.plan.sequence),
      ("session", draft.plan.session),
      ("status", draft.plan.status), ("time", draft.plan.time), ("checksum", draft.plan.checksum),
      ("compression", draft.plan.compression), ("encryption", draft.plan.encryption),
      ("duplicate", draft.general?.duplicate ?? draft.plan.duplicate), ("end-to-end", draft.plan.endToEnd),
    ].filter { $0.1.isPresent && !$0.1.isRelative }.sorted { ($0.1.offset, $0.1.shift) < ($1.1.offset, $1.1.shift) }
  }

  /// The fixed bytes of the header's first eight, where `mask` has bits: offset, mask and value of each.
  static func bytes(_ mask: UInt64, _ value: UInt64) -> [(offset: Int, mask: UInt8, value: UInt8)] {
    (0..<8).compactMap { i in
      let shift = UInt64(56 - i * 8)
      let bits = UInt8(truncatingIfNeeded: mask >> shift)
      return bits == 0 ? nil : (i, bits, UInt8(truncatingIfNeeded: value >> shift) & bits)
    }
  }

  /// The steps of a type, without those that read nothing of the body.
  func steps(_ kind: FrameKind, _ draft: ProtocolPlan.Draft) -> [PlanStep] {
    let first = Int(kind.firstStep)
    return draft.steps[first..<first + Int(kind.stepCount)].filter {
      $0.operation != .status && $0.operation != .settle
    }
  }

  /// The types, by index, that answer the type at `index`.
  func answers(to index: Int) -> [Int] {
    draft.kinds.indices.filter { draft.kinds[$0].answers >> UInt64(index) & 1 == 1 }
  }

  /// `text` in one line, without what commands, turns or hides text.
  static func line(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
        line += " "
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line.split(separator: " ").joined(separator: " ")
  }
}

extension Field {
  /// Bytes from `offset` on that hold the field.
  var byteCount: Int {
    let width = 64 - mask.leadingZeroBitCount
    return littleEndian ? (Int(shift) + width + 7) / 8 : 8 - Int(shift) / 8
  }

  /// How far the number in those bytes moves right.
  var lowBit: Int { littleEndian ? Int(shift) : Int(shift) % 8 }
}
