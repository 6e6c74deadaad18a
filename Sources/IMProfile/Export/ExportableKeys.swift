import IMYAML

/// The keys of the language that exporters know. A key that is added to the language is refused here, at its line, until
/// the exporters can say it: a dissector that leaves something out without a word would be wrong.
enum ExportableKeys {
  private static let field: Set<String> = ["offset", "size", "order", "low-bit", "bits", "mask"]

  /// By the path of a mapping, in which `*` stands for any key or element; a `.` stands between keys.
  private static let known: [String: Set<String>] = [
    "": [
      "profile", "version", "title", "description", "ports", "place", "framing", "header", "length", "trailer",
      "fields", "checksum", "sequence", "types", "acknowledgment", "handshake", "receipts", "status", "tlv", "timing",
      "variable", "heartbeat", "identity", "named", "content", "counters", "preface", "from-server",
      "compression",
    ],
    "compression": ["kind", "sized", "after"],
    "from-server": ["header", "length", "fields"],
    "framing": [
      "kind", "delimiter", "escape", "maximum", "records", "begins", "ends", "body", "beat", "lines", "case", "stream",
      "separator", "length", "checksum",
    ],
    "framing.body": ["header", "word", "of"],
    "content": ["kind", "lead", "case", "separator"],
    "content.lead.*": ["digits", "until", "into", "when"],
    "content.lead.*.digits": ["maximum", "into"],
    "content.lead.*.until": ["byte", "into"],
    "content.lead.*.when": ["next"],
    "fields.*.*": field.union(["at", "which", "word", "element", "after"]),
    "fields.*.text": [],
    "framing.escape": ["byte", "mask", "replaces"],
    "heartbeat": ["interval", "factor"],
    "identity": ["sensitive"],
    "header": ["length", "magic", "version", "parts"],
    "header.parts.*": ["when", "at", "length", "session", "body"],
    "header.parts.*.when": field.union(["is"]),
    "header.parts.*.session": ["offset", "size"],
    "trailer": ["length", "counted", "bytes"],
    "preface": ["client", "server"],
    "preface.client.*": ["bytes", "length", "until", "name"],
    "preface.server.*": ["bytes", "length", "until", "name"],
    "counters.*": ["starts", "continues", "by", "first", "counts"],
    "counters.*.starts": ["client", "server"],
    "header.magic": ["offset", "bytes"],
    "header.version": ["offset", "bytes"],
    "length": field.union(["encoding", "counts", "maximum", "after"]),
    "length.counts": ["from"],
    "fields": [
      "type", "sequence", "time", "encryption", "compression", "session", "checksum", "duplicate", "status",
      "end-to-end", "channel",
    ],
    "fields.*": field.union([
      "encrypted-from", "zlib", "encoding", "sensitive", "unique", "closed", "at", "which", "word", "element", "text",
      "present", "after",
    ]),
    "checksum": ["algorithm", "covers", "order", "in"],
    "checksum.covers": ["from"],
    "sequence": ["kind", "bits", "wraps-at", "shared-by", "outlives-connection"],
    "status": ["tag", "accepted", "also", "names", "other-names"],
    "types.*": [
      "name", "role", "answered", "numbered", "echo", "in-order", "cumulative", "from", "refuses", "opens-session",
      "names-session", "answers", "flags", "length", "body", "timeout", "accepted", "assigns-identity", "when",
      "statuses", "copies", "outlives-connection", "also", "number", "acknowledges", "plus", "through",
    ],
    "types.*.answered": ["when"],
    "types.*.answered.when": ["variable", "counter"],
    "types.*.numbered": ["counter"],
    "types.*.cumulative": ["when"],
    "types.*.acknowledges": ["types", "cumulative", "plus"],
    "types.*.flags": ["mask", "value"],
    "types.*.body.*": [
      "skip", "load", "text", "string", "bytes", "expect", "tlv", "each", "unless", "when", "optional", "at", "json",
      "digits", "until", "into",
    ],
    "types.*.body.*.digits": ["maximum", "into"],
    "types.*.body.*.until": ["byte", "into"],
    "types.*.body.*.at": ["path", "into"],
    "types.*.body.*.load": ["size", "into", "order", "encoding", "mask", "shift"],
    "types.*.body.*.text": ["size", "into", "minimum"],
    "types.*.body.*.tlv": ["size"],
    "types.*.body.*.each": ["size", "into"],
    "types.*.body.*.string": ["maximum", "into"],
    "types.*.body.*.bytes": ["size"],
    "types.*.body.*.unless": ["offset", "size", "mask", "value", "of"],
    "types.*.body.*.when": ["offset", "size", "mask", "value", "of"],
    "acknowledgment": ["body", "plus"],
    "acknowledgment.body": ["length", "offset", "size", "order"],
    "handshake": ["type", "request", "answer", "within"],
    "receipts": ["type", "tag", "delivered", "size"],
    "tlv": [
      "tag", "length", "header", "counts", "optional", "padding", "repeats", "nested", "depth", "identity",
      "sensitive", "tags", "keep-alive",
    ],
    "tlv.tag": ["offset", "size", "order"],
    "tlv.length": ["offset", "size", "order"],
    "tlv.tags.*": ["name", "value", "type", "order", "sensitive"],
    "tlv.optional": ["offset", "mask", "adds"],
    "timing": ["answer", "heartbeat"],
  ]
  /// Mappings whose keys are the profile's own.
  private static let open: Set<String> = [
    "types", "counters", "tlv.tags", "framing.escape.replaces", "status.names", "status.other-names",
    "types.*.statuses",
    "fields.*.text", "types.*.body.*.json",
  ]

  /// Throws where `root` uses a key that no exporter knows.
  static func check(_ root: YAMLReader) throws(ProfileError) {
    try check(root, path: "", variable: root.optional("variable")?.text())
  }

  /// The path whose keys apply to `path`: the server's frames have the same keys as all frames.
  private static func common(_ path: String) -> String {
    path.hasPrefix("from-server.") ? String(path.dropFirst("from-server.".count)) : path
  }

  private static func check(_ reader: YAMLReader, path: String, variable: String?) throws(ProfileError) {
    guard !reader.isScalar else { return }
    if let elements = try? reader.elements() {
      for element in elements { try check(element, path: path + ".*", variable: variable) }
      return
    }
    for (key, value) in try reader.entries() {
      let name = try key.text()
      // Named fields are imdump's own: what is exported says nothing of them.
      if path.isEmpty, name == "named" { continue }
      // Conditions ask for the profile's own variable.
      let isCondition = path.hasSuffix(".when") || path.hasSuffix(".unless")
      if isCondition, name == variable { continue }
      if !open.contains(path), known[path]?.contains(name) != true {
        throw key.error("'\(name)' cannot be exported yet")
      }
      // What a step or a field is called does not matter, only that it is one.
      let part = ["types", "fields", "tlv.tags", "counters"].contains(path) ? "*" : name
      let inner = path.isEmpty ? part : "\(path).\(part)"
      try check(value, path: common(inner), variable: variable)
    }
  }
}
