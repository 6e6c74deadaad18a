import IMContent
package import IMEngine
import IMWire
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
  var answersAll: Set<Int> = []
  var checksumName: String?
  /// Whether the length counts the trailer, where the profile says.
  var isTrailerCounted: Bool?
  /// The name of the number that tells a connection's variant of the protocol, and the values that steps ask for.
  var variable: String?
  var variableValues: Set<UInt64> = []
  /// The value for which this compiles; `nil` for all that no step asks for.
  private(set) var variant: UInt64?
  /// What the general reader needs; `nil` in profiles that are read without it.
  var content: ContentDraft?
  /// The length of the frames whose header is being compiled, in profiles of the general reader.
  var headerLength: YAMLReader?
  /// Whether the current type answers a range of numbers.
  var hasThrough = false
  /// Whether the headers of the server's frames have a status.
  var serverHasStatus = false
  var answerTimeout = Nanoseconds.seconds(6)
  var heartbeatTimeout = Nanoseconds.seconds(15)

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
        hidesIdentity: first.draft.plan.hidesIdentity || first.draft.plan.framing.hidesSession,
        content: first.content?.form ?? ContentForm(.bytes), lead: first.leadSteps)
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

  init(root: YAMLReader, values: Set<UInt64>, variant: UInt64? = nil) {
    self.root = root
    variableValues = values
    self.variant = variant
  }

  mutating func run() throws(ProfileError) -> CompiledProfile {
    try root.allow(
      "profile", "version", "title", "description", "ports", "place", "framing", "header", "length", "trailer",
      "fields", "checksum", "sequence", "types", "acknowledgment", "handshake", "receipts", "status", "tlv", "timing",
      "variable", "heartbeat", "identity", "named", "content", "counters", "preface", "from-server",
      "compression")
    let name = try root.required("profile").text()
    guard !name.isEmpty, name.count <= 32, name.utf8.allSatisfy(Self.isNameByte) else {
      throw try root.required("profile").error("a profile's name must be 1 to 32 of a-z, 0-9, - and _")
    }
    let version = try root.required("version").text()
    guard (1...32).contains(version.utf8.count), version.utf8.allSatisfy({ Self.isNameByte($0) || $0 == 46 }) else {
      throw try root.required("version").error("a profile's version must be 1 to 32 of a-z, 0-9, -, _ and .")
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
    if try needsGeneralReader() {
      try readContent()
      if draft.plan.framing.kind == .counted {
        let length = try root.required("length")
        try generalHeader(root.optional("header"), length)
        try trailer()
        try generalLength(length)
      } else if let header = try root.optional("header") {
        try generalHeader(header, header)
      }
      try generalFields(root.required("fields"))
      try serverSide()
      try checksum()
    } else if draft.plan.framing.kind == .line {
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
    try finishContent()
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
    else { throw reader.error("a name must be 1 to 64 of a-z, A-Z, 0-9, - and _") }
    return name
  }

  static func isNameByte(_ byte: UInt8) -> Bool {
    (97...122).contains(byte) || (48...57).contains(byte) || byte == 45 || byte == 95
  }
}
