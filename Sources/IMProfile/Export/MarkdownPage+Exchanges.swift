import IMEngine

/// Elements, and what becomes of messages.
extension MarkdownPage {
  /// How TLV lists are laid out, and their tags.
  func elements() -> String {
    let tlv = draft.plan.tlv
    guard tlv.shape != .none else { return "" }
    func place(_ field: Field) -> String {
      let order = field.byteCount == 1 ? "" : field.littleEndian ? ", little endian" : ", big endian"
      return "\(Self.bytes(field.byteCount)) at offset \(field.offset)\(order)"
    }
    var out = "## Elements\n\n| | |\n|---|---|\n| Tag | \(place(tlv.tag)) |\n"
    out += "| Length | \(place(tlv.length)); counts \(tlv.lengthCountsHeader ? "the header too" : "the value") |\n"
    out += "| Header | \(tlv.headerCount) bytes"
    if tlv.optional.isPresent {
      out += "; \(tlv.optionalCount) more, if byte \(tlv.optional.offset) & 0x\(Self.hex(tlv.optional.mask)) is not 0"
    }
    out += " |\n"
    if tlv.paddingMask > 0 { out += "| Padding | to a multiple of \(tlv.paddingMask + 1) bytes |\n" }
    out += "| A tag twice | \(tlv.mayRepeat ? "is usual" : "is noted") |\n"
    let nested = tlv.nestedTag == .max ? draft.nestedTags.count : 1
    if nested > 0 { out += "| Lists in lists | \(tlv.maximumDepth) deep |\n" }
    if draft.plan.statusTags.0 != .max {
      let tags = [draft.plan.statusTags.0, draft.plan.statusTags.1].filter { $0 != .max }.map(tag)
      out += "| Status | \(tags.joined(separator: ", or ")); accepts \(accepted) |\n"
    }
    if draft.plan.identityTag != .max { out += "| Client's name | \(tag(draft.plan.identityTag)) |\n" }
    guard !profile.tagNames.isEmpty || nested > 0 else { return out }
    out += "\n| Tag | Name | |\n|---|---|---|\n"
    let lists = Set(draft.nestedTags + [tlv.nestedTag])
    for (tag, name) in profile.tagNames.sorted(by: { $0.key < $1.key }) {
      var notes: [String] = []
      if lists.contains(tag) {
        notes.append("a list")
      } else if let type = profile.tagTypes[tag] {
        notes.append(type.kind.name + (type.littleEndian ? ", little endian" : ""))
      }
      if profile.sensitiveTags.contains(tag) { notes.append("not shown") }
      out +=
        "| 0x\(Self.hex(UInt64(tag), count: tlv.tag.byteCount * 2)) (\(tag)) | `\(name)` | \(notes.joined(separator: ", ")) |\n"
    }
    let others = lists.subtracting(profile.tagNames.keys).subtracting([.max]).count
    if others > 0 { out += "\n\(others) more tags are lists without a name here.\n" }
    return out
  }

  /// How an answer finds what it answers.
  func exchanges() -> String {
    var out = "## Exchanges\n\n"
    var lines = ["An answer belongs to the message of the other direction that has the number it names."]
    if draft.plan.ackBodyCount >= 0 {
      lines.append(
        "An acknowledgment with a body of \(draft.plan.ackBodyCount) bytes names it there, \(draft.plan.ackBody.byteCount) bytes at"
          + " offset \(draft.plan.ackBody.offset); any other by its own number.")
    }
    if draft.plan.ackPlus > 0, draft.plan.ackPlus != .max {
      lines.append("The number in an acknowledgment is that of its message plus \(draft.plan.ackPlus).")
    }
    /// A line that names the types of which something holds; none where it holds of none.
    func list(_ text: String, _ holds: (FrameKind) -> Bool) {
      let names = draft.kinds.indices.filter { holds(draft.kinds[$0]) }.map { "`\(profile.typeNames[$0])`" }
      if !names.isEmpty { lines.append("\(text): \(names.joined(separator: ", ")).") }
    }
    list("Answer everything up to their number") {
      $0.flags.contains(.cumulative) && !$0.flags.contains(.cumulativeOnDemand)
    }
    list("Answer everything up to their number, or that number alone, as their bits say") {
      $0.flags.contains(.cumulativeOnDemand)
    }
    list("Piggyback acknowledgments") { $0.flags.contains(.acknowledgesToo) }
    list("Have an implicit sequence number") { $0.flags.contains(.counted) }
    list("Without a number, in order") { $0.flags.contains(.unnumbered) }
    list("Never a copy, whatever its number") {
      $0.flags.contains([.expectsAck, .neverCopied]) && !$0.flags.contains(.unnumbered)
    }
    list("Retried on another connection of the session without a mark") { $0.flags.contains(.outlives) }
    if draft.plan.endToEnd.isPresent {
      lines.append("A marked frame of the same client with the same `end-to-end` is a copy, on any connection.")
    }
    list("Answers may give the `reference` in their body instead of their number") { $0.flags.contains(.referenced) }
    list("May refuse, by their status") { $0.flags.contains(.refusing) }
    let naming = draft.kinds.indices.filter { draft.kinds[$0].flags.contains(.opensSession) }
    if draft.plan.session.isPresent {
      lines.append("Frames with the same `session` belong together, also on another connection.")
    } else if !naming.isEmpty {
      let names = naming.map { "`\(profile.typeNames[$0])`" }.joined(separator: ", ")
      let each = draft.kinds[naming[0]].flags.contains(.namesSession)
      lines.append(
        "The client is named by \(names); \(each ? "each connection is a session of its own" : "its name is the session")."
      )
    } else {
      lines.append("A connection is a session.")
    }
    if let receipt = draft.kinds.firstIndex(where: { $0.flags.contains(.receipt) }) {
      let levels = [("read", draft.plan.receiptTag), ("delivered", draft.plan.deliveryTag)].filter { $0.1 != .max }
      let size = draft.plan.receiptSize
      let numbers = size == 0 ? "its number is" : "their numbers, of \(size) bytes each, are"
      let words = levels.map { "\(size == 0 ? "a message was" : "messages were") \($0.0): \(numbers) in \(tag($0.1))" }
      lines.append(
        "`\(profile.typeNames[receipt])` says that \(words.joined(separator: "; that "))."
      )
    }
    for line in lines { out += "- \(line)\n" }
    return out
  }

  /// The names of statuses, list by list.
  func statuses() -> String {
    var lists = [("Statuses", draft.statusNames[0])]
    if draft.plan.statusTags.1 != .max {
      lists.append(("Statuses in \(tag(draft.plan.statusTags.1))", draft.statusNames[1]))
    }
    for (index, kind) in draft.kinds.enumerated() where kind.statusList > 0 {
      lists.append(("Statuses of `\(profile.typeNames[index])`", draft.statusNames[Int(kind.statusList)]))
    }
    return lists.filter { !$0.1.isEmpty }.map { title, names in
      let rows = names.sorted { $0.key < $1.key }.map { "| \($0.key) | `\($0.value)` |\n" }
      return "## \(title)\n\n| Number | Name |\n|---|---|\n" + rows.joined()
    }.joined(separator: "\n")
  }

  /// The states of a connection and of a message, as they are counted.
  func states() -> String {
    var out = "## States\n\n| Of | From | To | When |\n|---|---|---|---|\n"
    let asks = draft.kinds.indices.filter { draft.kinds[$0].flags.contains(.handshake) }
    if !asks.isEmpty {
      let names = asks.map { "`\(profile.typeNames[$0])`" }.joined(separator: ", ")
      let request = draft.plan.handshakeRequest == .max ? "" : " with \(tag(draft.plan.handshakeRequest))"
      let answer =
        draft.plan.handshakeAnswer == .max
        ? "its acknowledgment" : "the same type with \(tag(draft.plan.handshakeAnswer))"
      out += "| connection | connected | asked | \(names)\(request) |\n"
      out += "| connection | asked | ready | \(answer) |\n"
      out += "| connection | asked | not answered | \(Self.time(draft.plan.handshakeLimit)) passed |\n"
    }
    let asking = draft.kinds.filter { $0.flags.contains(.expectsAck) }
    guard let longest = asking.map(\.timeout).max(), let shortest = asking.map(\.timeout).min() else {
      return asks.isEmpty ? "" : out
    }
    let times = shortest == longest ? Self.time(shortest) : "\(Self.time(shortest)) to \(Self.time(longest)), by type,"
    out += "| message | | open | it is sent |\n"
    out += "| message | open | acked | an answer, after one copy |\n"
    out += "| message | open | acked after retry | an answer, after several copies |\n"
    if draft.kinds.contains(where: { $0.flags.contains(.refusing) }) {
      out += "| message | open | rejected | an answer whose status does not accept |\n"
    }
    out += "| message | open | unanswered | \(times) passed after the last copy, or the connection is over |\n"
    return out
  }
}
