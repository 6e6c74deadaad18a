import IMContent
import IMEngine
import IMWire
import IMYAML

/// The types of frames: what each is for, and how it is answered.
extension ProfileCompiler {
  mutating func types(_ reader: YAMLReader) throws(ProfileError) {
    let entries = try reader.entries()
    let most = content?.kind ?? .bytes == .bytes ? 63 : 62
    guard (1...most).contains(entries.count) else { throw reader.error("a profile has 1 to \(most) types") }
    var values: Set<UInt64> = []
    for (key, value) in entries {
      let number = try typeValue(key)
      guard values.insert(number).inserted else {
        throw key.error("type \(content == nil ? "\(number)" : "'\(try key.text())'") is given twice")
      }
      let name = try self.name(value.required("name"))
      guard !typeNames.contains(name), name != "other" else { throw value.error("the name '\(name)' is taken") }
      typeNames.append(name)
    }
    for (key, value) in entries {
      var kind = try type(value)
      kind.value = try typeValue(key)
      if content != nil {
        let proof = try generalTypeValue(key).proof
        content?.proofs.append(proof)
        draft.typeLabels.append(try key.text())
      }
      if let also = try value.optional("also") {
        let others = try also.elements()
        guard draft.otherValues.count + others.count <= 256 else {
          throw also.error("at most 256 other values")
        }
        for other in others {
          let number = try typeValue(other)
          guard values.insert(number).inserted else { throw other.error("the type '\(try other.text())' is taken") }
          guard content != nil || draft.plan.framing.kind == .line || number & draft.plan.type.mask == number else {
            throw other.error("the field 'type' cannot have the value \(number)")
          }
          draft.otherValues.append((number, draft.kinds.count))
        }
      }
      guard content != nil || draft.plan.framing.kind == .line || kind.value & draft.plan.type.mask == kind.value else {
        throw key.error("the field 'type' cannot have the value \(kind.value)")
      }
      draft.kinds.append(kind)
      draft.kindLines.append(key.line)
      draft.noteLines(key.line)
    }
    var answered: UInt64 = 0
    for (i, kind) in draft.kinds.enumerated() where kind.flags.contains(.expectsAck) { answered |= 1 << UInt64(i) }
    for i in answersAll { draft.kinds[i].answers |= answered }
  }

  mutating func type(_ reader: YAMLReader) throws(ProfileError) -> FrameKind {
    let fields = try reader.fields(
      "name", "role", "answered", "numbered", "echo", "in-order", "cumulative", "from", "refuses", "opens-session",
      "names-session", "answers", "flags", "length", "body", "timeout", "accepted", "when", "assigns-identity",
      "statuses", "copies", "outlives-connection", "also", "number", "acknowledges", "plus", "through")
    var kind = FrameKind()
    let role = try reader.required("role")
    let word = try role.text()
    guard let found = FrameRole.allCases.first(where: { $0.name == word }) else {
      throw role.error("a role must be message, acknowledgment, heartbeat, control, receipt or other")
    }
    kind.role = found
    kind.timeout =
      try fields["timeout"].map { (value) throws(ProfileError) in Nanoseconds(try value.duration()) }
      ?? (kind.role == .heartbeat ? heartbeatTimeout : answerTimeout)
    func set(_ key: String, _ flag: FrameKind.Flags) throws(ProfileError) {
      if try fields[key]?.flag() ?? false { kind.flags.insert(flag) }
    }
    if let answered = fields["answered"], !answered.isScalar,
      let counter = try answered.optional("when")?.optional("counter")
    {
      try answered.allow("when")
      try answered.required("when").allow("counter")
      let numbered = fields["numbered"]
      guard let numbered, !numbered.isScalar else {
        throw counter.error("a type that is answered while a counter runs is 'numbered' by it")
      }
      kind.flags.insert(.expectsAck)
    } else if let answered = fields["answered"], !answered.isScalar {
      try answered.allow("when")
      try answered.required("when").allow("variable")
      _ = try answered.required("when").required("variable").number(1...1)
      guard content != nil else { throw answered.error("answers on demand need a 'content'") }
      kind.flags.formUnion([.expectsAck, .answeredOnDemand])
    } else {
      try set("answered", .expectsAck)
    }
    if let numbered = fields["numbered"], !numbered.isScalar {
      try numbered.allow("counter")
      guard content != nil, try root.optional("counters")?.optional(numbered.required("counter").text()) != nil else {
        throw try numbered.required("counter").error("'counters' has no such counter")
      }
      kind.flags.insert(.counted)
    } else {
      try set("numbered", .numbered)
    }
    try set("echo", .echoed)
    try set("in-order", .unnumbered)
    if let refuses = fields["refuses"], try refuses.text() == "always" {
      guard kind.role == .acknowledgment else { throw refuses.error("'refuses: always' is for an acknowledgment") }
      kind.flags.insert(.refusesAlways)
    } else {
      try set("refuses", .refusing)
    }
    if let number = fields["number"] {
      guard content != nil else { throw number.error("a type's own number needs 'content'") }
      let list = try slots(number)
      while draft.extras.count <= draft.kinds.count { draft.extras.append(KindExtra()) }
      draft.extras[draft.kinds.count].number = list
    }
    if let cumulative = fields["cumulative"], !cumulative.isScalar {
      try cumulative.allow("when")
      guard try cumulative.required("when").text() == "bits", content != nil else {
        throw try cumulative.required("when").error("an acknowledgment must be cumulative, or when its 'bits' say so")
      }
      kind.flags.formUnion([.cumulative, .cumulativeOnDemand])
    } else {
      try set("cumulative", .cumulative)
    }
    hasThrough = false
    if let through = fields["through"] {
      guard try through.text() == "last" else { throw through.error("'through' must be last, which a step loads") }
      guard kind.role == .acknowledgment, !kind.flags.contains(.unnumbered) else {
        throw through.error("'through' is for an acknowledgment that names numbers")
      }
      hasThrough = true
    }
    if let plus = fields["plus"] { try self.plus(plus) }
    if let acknowledges = fields["acknowledges"] { try self.acknowledges(acknowledges, &kind) }
    if kind.flags.contains(.cumulative), !kind.flags.contains(.acknowledgesToo), let cumulative = fields["cumulative"] {
      guard kind.role == .acknowledgment, !kind.flags.contains(.unnumbered),
        draft.plan.sequenceCounts || content != nil
      else {
        throw cumulative.error("'cumulative' is for an acknowledgment with the number of a counter")
      }
    }
    try copies(fields, &kind)
    try set("opens-session", .opensSession)
    try set("assigns-identity", .assignsIdentity)
    try set("names-session", [.opensSession, .namesSession])
    if kind.flags.contains(.namesSession), draft.plan.session.isPresent, let names = fields["names-session"] {
      throw names.error("the header has a session of its own: 'fields' has 'session'")
    }
    if let from = fields["from"] {
      switch try from.text() {
      case "client": kind.flags.insert(.fromClient)
      case "server": kind.flags.insert(.fromServer)
      default: throw from.error("'from' must be client or server")
      }
    }
    let answers = fields["answers"]
    if let answers, answers.isScalar {
      guard try answers.text() == "all" else { throw answers.error("'answers' must be all, or a list of types") }
      answersAll.insert(draft.kinds.count)
    }
    for answered in try answers.map({ (list) throws(ProfileError) in list.isScalar ? [] : try list.elements() }) ?? [] {
      let name = try answered.text()
      if name == "other" {
        kind.answers |= 1 << UInt64(FrameKind.unknownIndex)
        draft.unknownFlags.formUnion([.expectsAck, .numbered])
        continue
      }
      guard let index = typeNames.firstIndex(of: name) else { throw answered.error("no type '\(name)'") }
      kind.answers |= 1 << UInt64(index)
    }
    if kind.role == .acknowledgment, kind.answers == 0, answers?.isScalar != true {
      throw reader.error("an acknowledgment needs 'answers'")
    }
    if let flags = fields["flags"] {
      try flags.allow("mask", "value")
      let mask = UInt64(try flags.required("mask").number(1...255))
      kind.headMask = mask << 56
      kind.headValue = (UInt64(try flags.required("value").number(0...255)) & mask) << 56
    }
    if let length = fields["length"], content != nil, try length.text() == "absent" {
      kind.flags.insert(.lengthAbsent)
      content?.plan.hasAbsentLength = true
      try mayBeAbsent(length)
    } else if let length = fields["length"] {
      kind.minimumBody = UInt32(try length.number(0...draft.plan.maximumBody)) + UInt32(draft.plan.framing.trailerCount)
      kind.maximumBody = kind.minimumBody
    }
    if let accepted = fields["accepted"] {
      let (first, last) = try self.accepted(accepted)
      guard first <= UInt64(UInt16.max), last < UInt64(UInt32.max) else {
        throw accepted.error("a type's own statuses begin at \(UInt16.max) at most")
      }
      (kind.acceptedFirst, kind.acceptedLast) = (UInt16(first), UInt32(last))
    }
    if let names = fields["statuses"] {
      guard draft.plan.statusTags.0 == .max else {
        throw names.error("statuses that have a tag are named under 'status'")
      }
      guard draft.statusNames.count <= Int(UInt8.max) else { throw names.error("too many lists of statuses") }
      kind.statusList = UInt8(draft.statusNames.count)
      draft.statusNames.append(try statusNames(names))
    }
    try self.body(fields["body"], &kind)
    if let when = fields["when"], try !holds(type: when) { (kind.minimumBody, kind.maximumBody) = (1, 0) }
    return kind
  }

  /// Which frames of a type are copies: by default those that repeat a number, with the same body or a mark.
  ///
  /// A frame without a number repeats none. Nor does a heartbeat that takes no number from a counter: clients send all of theirs
  /// with one number, and each is a sign of life of its own.
  private func copies(_ fields: [String: YAMLReader], _ kind: inout FrameKind) throws(ProfileError) {
    let isCounted = draft.plan.sequenceCounts && kind.flags.contains(.numbered)
    if kind.flags.contains(.unnumbered) || kind.role == .heartbeat && !isCounted { kind.flags.insert(.neverCopied) }
    if let copies = fields["copies"] {
      switch try copies.text() {
      case "same":
        guard !kind.flags.contains(.unnumbered) else { throw copies.error("frames without a number have no copies") }
        kind.flags.remove(.neverCopied)
      case "none": kind.flags.insert(.neverCopied)
      default: throw copies.error("'copies' must be same or none")
      }
    }
    if let life = fields["outlives-connection"] {
      guard try life.text() == "always", !kind.flags.contains(.neverCopied) else {
        throw life.error("for one type it is always, and copies of the type are known by their number")
      }
      kind.flags.insert(.outlives)
    }
  }
}
