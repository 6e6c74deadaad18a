import IMContent
import IMEngine
import IMYAML

/// Implicit sequence numbers, piggybacked acknowledgments, and bytes before the first frame.
extension ProfileCompiler {
  /// What the number of this type of acknowledgment is more than its message's.
  mutating func plus(_ reader: YAMLReader) throws(ProfileError) {
    guard content != nil else { throw reader.error("'plus' of one type needs a profile of several parts or contents") }
    while draft.extras.count <= draft.kinds.count { draft.extras.append(KindExtra()) }
    draft.extras[draft.kinds.count].plus = UInt64(
      try reader.number(1...Int(min(draft.plan.counterWrap - 1, 1 << 32))))
    if draft.plan.ackPlus == 0 { draft.plan.ackPlus = .max }
  }

  /// What a frame acknowledges that is no acknowledgment.
  mutating func acknowledges(_ reader: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) {
    try reader.allow("types", "cumulative", "plus")
    guard content != nil, kind.role != .acknowledgment else {
      throw reader.error("'acknowledges' is for types of other roles; an acknowledgment has 'answers'")
    }
    for type in try reader.required("types").elements() {
      let name = try type.text()
      guard let index = typeNames.firstIndex(of: name) else { throw type.error("no type '\(name)'") }
      kind.answers |= 1 << UInt64(index)
    }
    kind.flags.insert(.acknowledgesToo)
    if try reader.optional("cumulative")?.flag() ?? false { kind.flags.insert(.cumulative) }
    if let plus = try reader.optional("plus") { try self.plus(plus) }
  }

  /// The counter of frames that have no number on the wire.
  mutating func counters(_ reader: YAMLReader, _ content: inout ContentDraft) throws(ProfileError) {
    let entries = try reader.entries()
    guard entries.count == 1 else { throw reader.error("a profile has one counter") }
    let counter = entries[0].1
    try counter.allow("starts", "continues", "by", "first", "counts")
    if let by = try counter.optional("by") {
      guard try ["channel", "session"].contains(by.text()), content.plan.channel.isPresent else {
        throw by.error("a counter must be by the channel or the session that 'fields' has in the header")
      }
    }
    content.plan.hasCounter = true
    content.plan.counterFirst = UInt32(try counter.optional("first")?.number(0...Int(Int32.max)) ?? 1)
    for type in try startingTypes(counter.required("starts")) {
      draft.kinds[try index(type)].flags.insert(.startsCounter)
    }
    for type in try counter.optional("continues")?.elements() ?? [] {
      draft.kinds[try index(type)].flags.insert(.continuesCounter)
    }
    for type in try counter.required("counts").elements() {
      let index = try index(type)
      if draft.kinds[index].flags.contains(.counted) {
        content.plan.countedTypes |= 1 << UInt64(index)
      } else {
        draft.kinds[index].flags.insert(.countedOnly)
      }
    }
    for (i, kind) in draft.kinds.enumerated()
    where kind.flags.contains(.counted) && content.plan.countedTypes >> UInt64(i) & 1 == 0 {
      throw try counter.required("counts").error("'\(typeNames[i])' is numbered by the counter, and not counted by it")
    }
  }

  /// The types that start a counter: a list for both sides, or one or several types for each side.
  private func startingTypes(_ reader: YAMLReader) throws(ProfileError) -> [YAMLReader] {
    if reader.isScalar { return [reader] }
    if let list = try? reader.elements() { return list }
    try reader.allow("client", "server")
    var types: [YAMLReader] = []
    for (_, side) in try reader.entries() { types += side.isScalar ? [side] : try side.elements() }
    return types
  }

  /// Whether the counter is by the session: then the header's number is unique only within a connection.
  func countsBySession() throws(ProfileError) -> Bool {
    guard let counter = try root.optional("counters")?.entries().first?.1 else { return false }
    return try counter.optional("by")?.text() == "session"
  }

  private func index(_ reader: YAMLReader) throws(ProfileError) -> Int {
    let name = try reader.text()
    guard let index = typeNames.firstIndex(of: name), draft.kinds.indices.contains(index) else {
      throw reader.error("no type '\(name)'\(Self.nearest(name, typeNames))")
    }
    return index
  }

  /// Bodies that are compressed, each on its own.
  mutating func compression(_ reader: YAMLReader, _ content: inout ContentDraft) throws(ProfileError) {
    try reader.allow("kind", "sized", "after")
    guard draft.plan.framing.kind == .counted else {
      throw reader.error("'compression' is for frames with a length")
    }
    let kind = try reader.required("kind")
    guard try kind.text() == "zlib" else { throw kind.error("the compression must be zlib") }
    for key in ["checksum", "tlv"] {
      if let other = try root.optional(key) { throw other.error("compressed bodies have no '\(key)'") }
    }
    guard content.plan.trailerCount == 0 else {
      throw reader.error("compressed bodies have no trailer of constant bytes")
    }
    try checkOffsets(reader, content)
    content.plan.isZlib = true
    if let sized = try reader.optional("sized") {
      guard try sized.text() == "varint" else { throw sized.error("'sized' must be varint") }
      content.plan.tellsSize = true
    }
    guard let after = try reader.optional("after") else {
      content.plan.isAlwaysZlib = true
      return
    }
    for type in after.isScalar ? [after] : try after.elements() {
      draft.kinds[try index(type)].flags.insert(.startsCompression)
    }
  }

  /// Rejects numbers in frames with compressed bodies that do not count from the body's beginning: inflated bytes have no header.
  private func checkOffsets(_ reader: YAMLReader, _ content: ContentDraft) throws(ProfileError) {
    var layouts = [(draft.plan, content.plan, content.parts)]
    if let other = draft.serverSide {
      layouts.append((other.plan, other.general, (0..<Int(other.general.partCount)).map { other.general.parts[$0] }))
    }
    for (plan, general, parts) in layouts {
      var fields = [plan.sequence, plan.status, general.channel, general.duplicate]
      if general.session < 0 { fields.append(plan.session) }
      if general.wideCount > 0 { fields.append(Field(offset: Int(general.wideOffset), byteCount: 1)) }
      for part in parts { if case .field(let field) = part { fields.append(field) } }
      guard fields.allSatisfy({ !$0.isPresent || $0.isRelative }) else {
        throw reader.error(
          "with compressed bodies, the offset of a field must count from the body, with 'after: length'")
      }
    }
  }

  /// Bytes that are once at the beginning of a side.
  mutating func preface(_ reader: YAMLReader, _ content: inout ContentDraft) throws(ProfileError) {
    try reader.allow("client", "server")
    guard draft.plan.framing.kind != .message else { throw reader.error("messages of WebSocket have no preface") }
    for (key, isFromServer) in [("client", false), ("server", true)] {
      for each in try reader.optional(key)?.elements() ?? [] {
        try each.allow("bytes", "length", "until", "name")
        guard content.plan.prefaceCount < 4 else { throw each.error("a profile has at most 4 prefaces") }
        var preface = Preface()
        let until = try each.optional("until")
        let match: [UInt8]
        if let bytes = try each.optional("bytes") {
          match = try bytes.bytes(1...32)
        } else {
          guard try each.optional("length") != nil else { throw each.error("a preface needs 'bytes', or a 'length'") }
          match = []
        }
        for (i, byte) in match.enumerated() { preface.match[i / 8] |= UInt64(byte) << UInt64(56 - i % 8 * 8) }
        preface.matchCount = UInt8(match.count)
        preface.isFromServer = isFromServer
        preface.count = UInt16(match.count)
        if let until {
          preface.until = try until.bytes(1...1)[0]
          preface.count = 0
        } else if let length = try each.optional("length") {
          preface.count = UInt16(try length.number(max(1, match.count)...4_096))
        }
        let name = try self.name(each.required("name"))
        guard !typeNames.contains(name) else { throw each.error("the name '\(name)' is taken") }
        guard draft.kinds.count < 62 else { throw each.error("too many types") }
        preface.index = UInt8(draft.kinds.count)
        var kind = FrameKind()
        kind.value = Preface.type(draft.kinds.count)
        kind.role = .control
        kind.flags = [.noTLV]
        draft.kinds.append(kind)
        draft.kindLines.append(each.line)
        typeNames.append(name)
        content.plan.prefaces[Int(content.plan.prefaceCount)] = preface
        content.plan.prefaceCount += 1
      }
    }
  }
}
