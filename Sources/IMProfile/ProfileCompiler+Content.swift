import IMContent
import IMEngine
import IMWire
import IMYAML

/// Contents that are read by paths, types of several parts, and frames whose ends are recognized by what they hold: what the general reader
/// needs of a profile.
extension ProfileCompiler {
  /// The paths of a profile, and the plan that they make.
  struct ContentDraft {
    var form = ContentForm(.bytes)
    var kind: ContentKind {
      get { form.kind }
      set { form.kind = newValue }
    }
    var builder = ContentPlanBuilder()
    /// The paths into a JSON object that is the end of a line.
    var inner = ContentPlanBuilder()
    var plan = GeneralPlan()
    var parts: [TypePart] = []
    var masks: Set<UInt8> = []
    /// Slots that take the first present one of other values.
    var alternatives: [(slot: Int, others: [Int])] = []
    /// Bits of proof of each type.
    var proofs: [UInt8] = []
  }

  /// Whether the profile says something that the general reader alone can read.
  func needsGeneralReader() throws(ProfileError) -> Bool {
    if draft.plan.framing.isGeneral { return true }
    if let content = try root.optional("content"), draft.plan.framing.kind == .delimited {
      throw content.error("frames between delimiters have no 'content'; frames that are 'terminated' have")
    }
    if draft.plan.framing.kind != .length { return false }
    for key in ["content", "from-server", "counters", "preface", "compression"] where try root.optional(key) != nil {
      return true
    }
    guard let header = try root.optional("header") else { return true }
    if !header.isScalar, try header.optional("parts") != nil { return true }
    if let fields = try root.optional("fields"), !fields.isScalar {
      if let type = try fields.optional("type") {
        if type.isScalar || (try? type.elements()) != nil { return true }
        if try type.optional("at") != nil { return true }
      }
      if let sequence = try fields.optional("sequence"), !sequence.isScalar,
        let size = try? sequence.optional("size")?.number(1...64), size > 8
      {
        return true
      }
      for (_, field) in try fields.entries() where (try? field.optional("after")) ?? nil != nil { return true }
    }
    if let length = try root.optional("length"), !length.isScalar {
      if try length.optional("after") != nil { return true }
      if let encoding = try length.optional("encoding") {
        if try ["decimal", "coap", "ber"].contains(encoding.text()) { return true }
        let offset = try length.optional("offset")?.number(0...255) ?? 0
        // The same applies to a header that continues after it.
        let count = try header.optional("length")?.number(1...256) ?? 0
        let counts = try length.optional("counts")
        let countsMore = counts.map { (try? $0.text()) != "body" } ?? false
        if try encoding.text() == "varint", offset == 0 || count > offset + 1 || countsMore { return true }
      }
    }
    if let fields = try root.optional("fields"), !fields.isScalar, try fields.optional("channel") != nil { return true }
    if let trailer = try root.optional("trailer"), try trailer.optional("bytes") != nil { return true }
    for (_, type) in try root.required("types").entries() {
      for key in ["acknowledges", "plus", "through"] where (try? type.optional(key)) ?? nil != nil { return true }
      for key in ["cumulative", "answered", "numbered"] {
        if let value = (try? type.optional(key)) ?? nil, !value.isScalar { return true }
      }
      for step in (try? type.optional("body")?.elements()) ?? [] where !step.isScalar {
        for key in ["digits", "until"] where (try? step.optional(key)) ?? nil != nil { return true }
      }
      if let length = try? type.optional("length"), (try? length.text()) == "absent" { return true }
    }
    return false
  }

  /// How frames end, where the content, or bytes, tell it.
  mutating func generalFraming(_ reader: YAMLReader, _ kind: PlanFraming.Kind) throws(ProfileError) {
    draft.plan.framing.kind = kind
    var content = ContentDraft()
    switch kind {
    case .message:
      try reader.allow("kind", "records", "maximum")
      if let records = try reader.optional("records") {
        content.plan.hasRecords = true
        if try records.text() == "varint" {
          content.plan.hasCountedRecords = true
        } else {
          (content.plan.ends, content.plan.endCount) = try pattern(records)
        }
      }
    case .terminated where try reader.required("kind").text() == "line":
      try reader.allow("kind", "maximum")
      (content.plan.ends, content.plan.endCount, content.plan.isLine) = (0x0a, 1, true)
    case .terminated:
      try reader.allow("kind", "begins", "ends", "maximum")
      if let begins = try reader.optional("begins") {
        (content.plan.begins, content.plan.beginCount) = try pattern(begins)
      }
      (content.plan.ends, content.plan.endCount) = try pattern(reader.required("ends"))
    case .headers:
      try reader.allow("kind", "ends", "body", "beat", "lines", "case", "maximum")
      if let ends = try reader.optional("ends") { (content.plan.ends, content.plan.endCount) = try pattern(ends) }
      if let beat = try reader.optional("beat") { content.plan.beat = Int16(try beat.bytes(1...1)[0]) }
      if let lines = try reader.optional("lines") {
        _ = try lines.number(1...1)
        content.plan.isOneLine = true
      }
      if let letters = try reader.optional("case") {
        guard try letters.text() == "ignored" else { throw letters.error("'case' must be ignored, or left out") }
        content.form.ignoresCase = true
      }
      if let body = try reader.optional("body") {
        try body.allow("header", "word", "of")
        if let header = try body.optional("header") {
          guard let slot = content.builder.slot([.name(Array(try header.text().utf8))]) else {
            throw header.error("too many paths")
          }
          content.plan.bodyLength = Int8(slot)
        } else {
          guard try body.required("word").text() == "last" else {
            throw try body.required("word").error("the body's length must be the last word")
          }
          let types = try body.required("of").elements()
          guard (1...8).contains(types.count) else { throw try body.required("of").error("expected 1 to 8 types") }
          for (i, type) in types.enumerated() {
            content.plan.bodyTypes[i] = ContentNumber.of(Array(try type.text().utf8))
          }
          content.plan.bodyTypeCount = UInt8(types.count)
        }
      }
      content.kind = content.plan.isOneLine ? .words : .headers
    case .resp:
      try reader.allow("kind", "maximum")
      content.kind = .resp
    case .xml:
      try reader.allow("kind", "stream", "beat", "maximum")
      content.kind = .xml
      content.form.stream =
        try reader.optional("stream").map { (name) throws(ProfileError) in Array(try name.text().utf8) }
        ?? Array("stream".utf8)
      if let beat = try reader.optional("beat") { content.plan.beat = Int16(try beat.bytes(1...1)[0]) }
    case .pairs:
      try reader.allow("kind", "separator", "begins", "length", "checksum", "maximum")
      content.kind = .pairs
      content.form.separator = try reader.required("separator").bytes(1...1)[0]
      let begins = Array(try reader.required("begins").text().utf8)
      guard (1...4).contains(begins.count) else {
        throw try reader.required("begins").error("the beginning of a frame must be 1 to 4 characters")
      }
      (content.plan.begins, content.plan.beginCount) = (begins.reduce(0) { $0 << 8 | UInt32($1) }, UInt8(begins.count))
      content.plan.lengthTag = UInt32(try reader.required("length").number(1...999_999))
      content.plan.checksumTag = UInt32(try reader.optional("checksum")?.number(1...999_999) ?? 0)
    case .length, .delimited, .line, .counted: break
    }
    let hasHeader = kind == .message || kind == .terminated
    for key in ["header", "length", "trailer", "checksum"] where !hasHeader || key != "header" {
      if let other = try root.optional(key) {
        throw other.error("frames of this kind have no '\(key)': they end where 'framing' says")
      }
    }
    self.content = content
  }

  private func pattern(_ reader: YAMLReader) throws(ProfileError) -> (UInt32, UInt8) {
    let bytes = try reader.bytes(1...4)
    return (bytes.reduce(0) { $0 << 8 | UInt32($1) }, UInt8(bytes.count))
  }

  /// What is inside frames.
  mutating func readContent() throws(ProfileError) {
    var content = self.content ?? ContentDraft()
    if draft.plan.framing.kind == .length { draft.plan.framing.kind = .counted }
    if let reader = try root.optional("content") {
      let name: YAMLReader
      if reader.isScalar {
        name = reader
      } else {
        try reader.allow("kind", "lead", "case", "separator")
        if let separator = try reader.optional("separator") { content.form.separator = try separator.bytes(1...1)[0] }
        name = try reader.required("kind")
        if let letters = try reader.optional("case") {
          guard try letters.text() == "ignored" else { throw letters.error("'case' must be ignored, or left out") }
          content.form.ignoresCase = true
        }
        if let lead = try reader.optional("lead") { try self.lead(lead, &content) }
      }
      let word = try name.text()
      guard let kind = ContentKind.allCases.first(where: { $0.name == word && $0 != .bytes }) else {
        let names = ContentKind.allCases.filter { $0 != .bytes }.map(\.name)
        throw name.error("a content must be one of: \(names.joined(separator: ", "))\(Self.nearest(word, names))")
      }
      let isFixed = content.kind != .bytes
      guard !isFixed || kind == content.kind else {
        throw name.error("frames that end like this contain \(content.kind.name)")
      }
      content.kind = kind
      content.form.isOpen = draft.plan.framing.kind != .headers
    }
    self.content = content
    if try root.optional("sequence") == nil, content.kind != .bytes {
      draft.plan.sequenceCounts = false
      draft.plan.numberLife = .connection
    }
  }

  /// The nearest of some words, as the end of a message.
  static func nearest(_ word: String, _ known: [String]) -> String {
    func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
      var row = Array(0...b.count)
      for i in a.indices {
        var last = row[0]
        row[0] = i + 1
        for j in b.indices {
          let next = min(row[j + 1] + 1, row[j] + 1, last + (a[i] == b[j] ? 0 : 1))
          last = row[j + 1]
          row[j + 1] = next
        }
      }
      return row[b.count]
    }
    let bytes = Array(word.utf8)
    guard bytes.count <= 64,
      let best = known.min(by: { distance(bytes, Array($0.utf8)) < distance(bytes, Array($1.utf8)) }),
      distance(bytes, Array(best.utf8)) <= 2
    else { return "" }
    return "; did you mean \(best)?"
  }

  private func lead(_ reader: YAMLReader, _ content: inout ContentDraft) throws(ProfileError) {
    let steps = try reader.elements()
    guard (1...8).contains(steps.count) else { throw reader.error("a lead must have 1 to 8 steps") }
    for (i, step) in steps.enumerated() {
      let parts = try step.fields("digits", "until", "into", "when")
      var lead: LeadStep
      let into: YAMLReader?
      if let digits = parts["digits"] {
        lead = LeadStep(.digits)
        let read = try digitStep(step, digits)
        (lead.count, into) = (UInt8(read.0), read.1)
      } else if let until = parts["until"] {
        lead = LeadStep(.until)
        let read = try untilStep(step, until)
        (lead.byte, into) = (read.0, read.1)
      } else {
        throw step.error("a step of a lead must be digits or until")
      }
      if let into {
        switch try into.text() {
        case "type": lead.isType = true
        case "sequence": lead.isSequence = true
        case let word:
          let meant = Self.nearest(word, ["type", "sequence"])
          throw into.error("what a lead reads must be the type or the sequence\(meant)")
        }
      }
      if let when = parts["when"] {
        try when.allow("next")
        lead.next = Int16(try when.required("next").bytes(1...1)[0])
      }
      content.plan.lead[i] = lead
    }
    content.plan.leadCount = UInt8(steps.count)
  }

  /// What precedes the content.
  var leadSteps: [LeadStep] {
    guard let content else { return [] }
    return (0..<Int(content.plan.leadCount)).map { content.plan.lead[$0] }
  }

  // MARK: Places

  /// The steps of a path.
  func path(_ reader: YAMLReader, _ kind: ContentKind) throws(ProfileError) -> [ContentStep] {
    let text = try reader.text()
    guard let steps = ContentPath.steps(text, kind) else {
      throw reader.error(
        "a path must be 1 to \(ContentPlan.maximumDepth) names, numbers or * with dots between them")
    }
    return steps
  }

  /// The place of the value that a path leads to.
  mutating func slot(_ reader: YAMLReader) throws(ProfileError) -> Int {
    guard let kind = content?.kind, kind != .bytes else { throw reader.error("a path needs 'content'") }
    let steps = try path(reader, kind)
    guard let slot = content?.builder.slot(steps) else {
      throw reader.error("a profile has at most \(ContentPlan.maximumSlots) paths for what it decodes")
    }
    return slot
  }

  /// The slot of the value at a path, or of the first present one at a list of paths.
  mutating func value(_ reader: YAMLReader) throws(ProfileError) -> Int {
    if reader.isScalar { return try slot(reader) }
    let list = try reader.elements()
    guard (1...4).contains(list.count) else {
      throw reader.error("expected 1 to 4 paths, of which the first present counts")
    }
    var places: [Int] = []
    for path in list { places.append(try slot(path)) }
    if let known = content?.alternatives.first(where: { $0.others == places }) { return known.slot }
    guard let place = content?.builder.reserve(), let used = content?.plan.alternativeCount,
      Int(used) + places.count <= 16
    else { throw reader.error("a profile has at most 16 paths in such lists") }
    guard var draft = content else { return place }
    for (i, other) in places.enumerated() {
      draft.plan.alternatives[Int(used) + i] = Alternative(UInt8(place), UInt8(other))
    }
    draft.plan.alternativeCount = used + UInt8(places.count)
    draft.alternatives.append((place, places))
    content = draft
    return place
  }

  /// The slot of the value at a path, or of a word; `nil` for a number at an offset.
  mutating func place(_ reader: YAMLReader) throws(ProfileError) -> Int? {
    if let at = try reader.optional("at") { return try value(at) }
    guard let word = try reader.optional("word") else { return nil }
    let number = try word.number(1...16)
    guard content?.kind == .words || content?.kind == .headers else { throw word.error("words are only for lines") }
    guard let slot = content?.builder.slot([.word(UInt32(number))]) else {
      throw word.error("there is no space for it")
    }
    return slot
  }

  /// The places of a path, or of a list of paths of which the first present counts.
  mutating func slots(_ reader: YAMLReader) throws(ProfileError) -> InlineArray<4, Int8> {
    var slots = InlineArray<4, Int8>(repeating: -1)
    let list = reader.isScalar ? [reader] : try reader.elements()
    guard (1...4).contains(list.count) else {
      throw reader.error("expected 1 to 4 paths, of which the first present counts")
    }
    for (i, path) in list.enumerated() { slots[i] = Int8(try slot(path)) }
    return slots
  }

  /// Where a frame's type, numbers and status are.
  mutating func generalFields(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow(
      "type", "sequence", "time", "encryption", "compression", "session", "checksum", "duplicate", "status",
      "end-to-end", "channel")
    if let channel = try reader.optional("channel") {
      guard draft.plan.framing.kind == .counted else { throw channel.error("a channel must be a number of the header") }
      let field = try generalField(channel)
      guard field.mask <= UInt64(UInt16.max) else { throw channel.error("a channel has at most 16 bits") }
      content?.plan.channel = field
    }
    let type = try reader.required("type")
    if type.isScalar {
      try part(type)
    } else if let parts = try? type.elements() {
      guard (1...3).contains(parts.count) else { throw type.error("a type must have 1 to 3 parts") }
      for each in parts { try part(each) }
    } else {
      try part(type)
      draft.isClosed = try type.optional("closed")?.flag() ?? false
    }
    if let sequence = try reader.optional("sequence") { try self.sequence(sequence) }
    if let status = try reader.optional("status") { try self.status(status) }
    if let session = try reader.optional("session") {
      if let place = try place(session) {
        try session.allow("at", "word", "sensitive", "unique")
        content?.plan.session = Int8(place)
        draft.plan.session = Field(offset: 0, byteCount: 1)
      } else if try countsBySession(), content?.plan.channel.isPresent == false {
        // Each session has its own counter, and belongs to its connection alone.
        let field = try generalField(session, "sensitive", "unique")
        guard field.mask <= UInt64(UInt16.max) else {
          throw session.error("a session that a counter is by has at most 16 bits")
        }
        content?.plan.channel = field
      } else {
        draft.plan.session = try generalField(session, "encoding", "sensitive", "unique")
      }
      try coding(session, nil)
    }
    if let duplicate = try reader.optional("duplicate") {
      if let place = try place(duplicate) {
        try duplicate.allow("at", "word")
        content?.plan.duplicateValue = Int8(place)
      } else {
        let field = try generalField(duplicate)
        content?.plan.duplicate = field
      }
    }
    for (key, place) in [("time", \Plan.time), ("checksum", \.checksum)] {
      guard let other = try reader.optional(key) else { continue }
      guard draft.plan.framing.kind == .counted else { throw other.error("these frames have no header") }
      let field = try generalField(other)
      // It is read from every frame, and only the header is certain to be in each.
      guard !field.isRelative, content?.plan.headerPartCount == 0,
        field.byteRange.upperBound <= draft.plan.headerCount
      else { throw other.error("'\(key)' must be at a fixed place of the header") }
      draft.plan[keyPath: place] = field
    }
    for key in ["encryption", "compression", "end-to-end"] {
      if let other = try reader.optional(key) {
        throw other.error("'\(key)' is for profiles whose types are one number of the header")
      }
    }
  }

  private mutating func part(_ reader: YAMLReader) throws(ProfileError) {
    if reader.isScalar {
      let word = try reader.text()
      switch word {
      case "side": content?.parts.append(.side)
      case "lead" where content?.plan.leadCount ?? 0 > 0: content?.parts.append(.lead)
      default:
        let meant = Self.nearest(word, ["side", "lead"])
        throw reader.error(
          "a part of a type must be side, lead, or have an offset, a path 'at', 'which', a 'word', or 'element'\(meant)"
        )
      }
    } else if let place = try place(reader) {
      try reader.allow("at", "word")
      content?.parts.append(.value(UInt8(place)))
    } else if let element = try reader.optional("element") {
      try reader.allow("element")
      guard content?.kind == .xml, try element.flag() else {
        throw element.error("'element: true' is the name of the outermost XML element")
      }
      guard let slot = content?.builder.slot([.element]) else { throw element.error("there is no space for it") }
      content?.parts.append(.value(UInt8(slot)))
    } else if let which = try reader.optional("which") {
      try reader.allow("which")
      guard let kind = content?.kind, [.json, .protobuf, .messagepack, .headers, .xml, .pairs].contains(kind) else {
        throw which.error("'which' is for json, protobuf, messagepack, headers, xml and pairs")
      }
      var members: [ContentStep] = []
      for member in try which.elements() {
        members += try path(member, kind).prefix(1)
      }
      guard (1...32).contains(members.count), let slot = content?.builder.which(members) else {
        throw which.error("'which' names 1 to 32 members")
      }
      content?.parts.append(.value(UInt8(slot)))
    } else {
      let field = try generalField(reader, "closed")
      content?.parts.append(.field(field))
      if content?.parts.count == 1 { draft.plan.type = field }
    }
  }

  private mutating func sequence(_ reader: YAMLReader) throws(ProfileError) {
    if reader.isScalar {
      guard try reader.text() == "lead", content?.plan.leadCount ?? 0 > 0 else {
        throw reader.error("a sequence must be lead, or have a path 'at', or an offset")
      }
      return
    }
    if let at = try reader.optional("at") {
      try reader.allow("at")
      let places = try slots(at)
      content?.plan.sequence = places
      return
    }
    if let place = try place(reader) {
      try reader.allow("word")
      content?.plan.sequence[0] = Int8(place)
      return
    }
    if let size = try reader.optional("size"), try size.number(1...64) > 8 {
      try reader.allow("offset", "size", "after")
      try checkHeader(reader)
      let (offset, count) = (try wideOffset(reader), try size.number(9...64))
      content?.plan.wideOffset = offset
      content?.plan.wideCount = UInt8(count)
      draft.plan.sequenceCounts = false
      draft.plan.numberLife = .connection
      return
    }
    draft.plan.sequence = try generalField(reader, "encoding")
    try coding(nil, reader)
  }

  private mutating func status(_ reader: YAMLReader) throws(ProfileError) {
    guard let place = try place(reader) else {
      draft.plan.status = try generalField(reader)
      return
    }
    try reader.allow("at", "word", "text", "present")
    content?.plan.status = Int8(place)
    if let present = try reader.optional("present") {
      _ = try present.number(1...1)
      content?.plan.statusRule = .present
    }
    guard let texts = try reader.optional("text") else { return }
    let entries = try texts.entries()
    guard (1...8).contains(entries.count) else { throw texts.error("expected 1 to 8 texts") }
    for (i, (key, value)) in entries.enumerated() {
      content?.plan.statusTexts[i] = StatusText(
        ContentNumber.of(Array(try key.text().utf8)), UInt64(try value.number(0...Int(UInt32.max))))
      draft.statusNames[0][UInt64(try value.number(0...Int(UInt32.max)))] = try name(key)
    }
    content?.plan.statusRule = .text
    content?.plan.statusTextCount = UInt8(entries.count)
  }

  // MARK: Types

  /// The value of a type whose parts, with blanks between them, are the words of `key`.
  mutating func generalTypeValue(_ key: YAMLReader) throws(ProfileError) -> (value: UInt64, proof: UInt8) {
    guard let content else { return (0, 0) }
    let text = try key.text()
    let words = text.split(separator: " ").map(String.init)
    if content.plan.beat >= 0, words == ["beat"] { return (ContentNumber.of(Array("beat".utf8)), 0) }
    guard words.count == content.parts.count else {
      let parts = content.parts.count == 1 ? "1 part" : "\(content.parts.count) parts"
      throw key.error("a type has \(parts) with spaces between them, but this one has \(words.count)")
    }
    var parts: [UInt64] = []
    var mask: UInt8 = 0
    var proof = 0
    for (i, (part, word)) in zip(content.parts, words).enumerated() {
      if word == "*" {
        mask |= 1 << UInt8(i)
        parts.append(ContentNumber.any)
        continue
      }
      if word == "-" {
        parts.append(ContentNumber.absent)
        continue
      }
      switch part {
      case .side:
        guard word == "client" || word == "server" else {
          throw key.error("part \(i + 1) of a type must be client or server, not '\(word)'")
        }
        parts.append(ContentNumber.of(Array(word.utf8)))
      case .field(let field):
        guard let number = Self.number(word), number & field.mask == number else {
          throw key.error("part \(i + 1) of a type must be a number that its field can have, not '\(word)'")
        }
        parts.append(number)
        proof += min(12, field.mask.nonzeroBitCount)
      case .value, .lead:
        if word.hasPrefix("0x"), let number = Self.number(word) {
          parts.append(ContentNumber.of(number))
        } else {
          // Commands are the same in small letters.
          parts.append(ContentNumber.of(Array((content.kind == .resp ? word.lowercased() : word).utf8)))
        }
        let isNumber = word.utf8.allSatisfy { $0 &- 0x30 < 10 }
        proof += isNumber ? 2 : min(24, 5 * word.utf8.count)
      }
    }
    if mask != 0 {
      self.content?.masks.insert(mask)
      guard self.content?.masks.count ?? 0 <= 4 else {
        throw key.error("a profile has at most 4 patterns of *")
      }
    }
    return (ContentNumber.combined(parts), UInt8(min(24, proof)))
  }

  private static func number(_ word: String) -> UInt64? {
    word.hasPrefix("0x") ? UInt64(word.dropFirst(2), radix: 16) : UInt64(word)
  }

  /// Values of a JSON object that is the end of a line.
  mutating func innerJSON(_ reader: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) {
    guard content?.kind == .words else { throw reader.error("'json' is a step of types that are lines") }
    for (key, into) in try reader.entries() {
      let steps = try path(key, .json)
      guard let slot = content?.inner.slot(steps) else { throw key.error("too many paths") }
      let name = try into.text()
      guard name == "variable" else { throw into.error("known here: variable") }
      draft.steps.append(PlanStep(.at, register: .answered, count: slot, a: 1))
      kind.flags.insert(.tellsAnswers)
    }
  }

  /// What the general reader needs, when everything else was read.
  mutating func finishContent() throws(ProfileError) {
    guard var content else { return }
    let masks = content.masks.sorted { ($0.nonzeroBitCount, $0) < ($1.nonzeroBitCount, $1) }
    for (i, mask) in masks.enumerated() { content.plan.masks[i] = mask }
    content.plan.maskCount = UInt8(masks.count)
    for (i, part) in content.parts.enumerated() { content.plan.parts[i] = part }
    content.plan.partCount = UInt8(content.parts.count)
    if let counters = try root.optional("counters") { try self.counters(counters, &content) }
    if let preface = try root.optional("preface") { try self.preface(preface, &content) }
    if let compression = try root.optional("compression") { try self.compression(compression, &content) }
    if content.inner.slotCount > 0 { content.plan.inner = content.inner.plan(ContentForm(.json)) }
    if content.kind != .bytes {
      content.plan.content = content.builder.plan(content.form)
      var kind = FrameKind()
      kind.value = ContentNumber.of(Array("(unreadable)".utf8))
      kind.flags = [.noTLV]
      draft.unreadable = draft.kinds.count
      draft.kinds.append(kind)
      draft.kindLines.append(root.line)
      typeNames.append("unreadable")
    }
    for i in draft.kinds.indices {
      while draft.extras.count <= i { draft.extras.append(KindExtra()) }
      if i < content.proofs.count { draft.extras[i].proof = content.proofs[i] }
    }
    draft.unknownFlags.insert(.noTLV)
    draft.general = content.plan
  }
}
