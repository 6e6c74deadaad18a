import IMEngine
import IMYAML

/// Bodies that are read by steps.
extension ProfileCompiler {
  /// How many steps one type may have.
  private static var maximumSteps: Int { 64 }

  /// `none`, `raw`, `tlv`, or the steps that read it; `nil` for `tlv`.
  mutating func body(_ reader: YAMLReader?, _ kind: inout FrameKind) throws(ProfileError) {
    kind.firstStep = UInt16(draft.steps.count)
    // A status in the header is read by a step of its own, so that types without one cost nothing.
    if draft.plan.status.isPresent || serverHasStatus, kind.role == .acknowledgment {
      draft.steps.append(PlanStep(.status))
      kind.flags.insert(.hasOtherSteps)
    }
    if let reader, !reader.isScalar {
      kind.flags.insert(.noTLV)
      for step in try reader.elements() {
        guard draft.steps.count - Int(kind.firstStep) < Self.maximumSteps else {
          throw step.error("a body has at most \(Self.maximumSteps) steps")
        }
        guard ![.tlv, .close].contains(draft.steps.dropFirst(Int(kind.firstStep)).last?.operation) else {
          throw step.error("'tlv' and 'end' must be a body's last step")
        }
        if try holds(step) { try self.step(step, &kind) }
        draft.noteLines(step.line)
      }
      closeBody(&kind)
    } else {
      switch try reader?.text() ?? "tlv" {
      case "tlv": if draft.steps.count > Int(kind.firstStep) { draft.steps.append(PlanStep(.tlv)) }
      case "raw", "none": kind.flags.insert(.noTLV)
      default: throw reader?.error("a body must be tlv, raw, none, or a list of steps") ?? root.error("")
      }
    }
    kind.stepCount = UInt16(draft.steps.count) - kind.firstStep
    if let reader { draft.noteLines(reader.line) }
  }

  private mutating func step(_ step: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) {
    if step.isScalar {
      if try step.text() == "end" {
        draft.steps.append(PlanStep(.close))
        return
      }
      guard try step.text() == "tlv" else { throw step.error("a step must be tlv, end, or one of \(Self.steps)") }
      guard try root.optional("tlv") != nil else { throw step.error("the profile has no 'tlv'") }
      draft.steps.append(PlanStep(.tlv))
      kind.flags.insert(.hasOtherSteps)
      kind.flags.remove(.noTLV)
      // Where lists stand behind other fields, nobody knows where that of another type begins.
      draft.unknownFlags.insert(.noTLV)
      return
    }
    let fields = try step.fields(
      "at", "json", "skip", "load", "text", "string", "bytes", "expect", "tlv", "each", "digits", "until", "into",
      "unless", "when", "optional")
    if let into = fields["into"], fields["digits"] == nil, fields["until"] == nil {
      throw into.error("'into' is a key of what the step reads")
    }
    if try fields["optional"]?.flag() ?? false { draft.steps.append(PlanStep(.end)) }
    let conditions = try conditions(fields)
    draft.steps += conditions
    let first = draft.steps.count
    try action(step, fields, &kind)
    // A condition jumps over those behind it, and over the step.
    for i in first - conditions.count..<first { draft.steps[i].count = UInt16(clamping: draft.steps.count - i - 1) }
  }

  private mutating func action(
    _ step: YAMLReader, _ fields: [String: YAMLReader], _ kind: inout FrameKind
  ) throws(ProfileError) {
    if let at = fields["at"] {
      try at.allow("path", "into")
      let place = try value(at.required("path"))
      if try tellsAnswers(at, &kind) {
        draft.steps.append(PlanStep(.at, register: .answered, count: place))
        return
      }
      let registers: [String: Frame.Register] = [
        "sequence": .sequence, "status": .status, "keep-alive": .keepAlive, "answered": .answered,
        "identity": .identity, "subject": .subject,
      ]
      draft.steps.append(PlanStep(.at, register: try register(at, registers), count: place))
    } else if let json = fields["json"] {
      try innerJSON(json, &kind)
    } else if let skip = fields["skip"] {
      draft.steps.append(PlanStep(.skip, count: try skip.number(1...65_535)))
    } else if let load = fields["load"] {
      try load.allow("size", "into", "order", "encoding", "mask", "shift")
      if try loadVariable(load, &kind) { return }
      if try tellsAnswers(load, &kind) {
        let step = PlanStep(
          .load, register: .answered, count: try load.required("size").number(1...8), a: try loading(load))
        draft.steps.append(step)
        return
      }
      if let mask = try load.optional("mask") {
        throw mask.error("a mask is only for what is loaded into the 'variable'")
      }
      var register = try register(
        load,
        [
          "sequence": .sequence, "status": .status, "keep-alive": .keepAlive, "answered": .answered, "bits": .bits,
          "reference": .reference, "last": .last,
        ])
      if register == .last, !hasThrough { throw try load.required("into").error("the type has no 'through: last'") }
      if register == .reference { try noteReference(load, &kind) }
      if register == .bits, kind.flags.contains(.cumulativeOnDemand) { register = .multiple }
      var step = PlanStep(
        .load, register: register, count: try load.required("size").number(1...8), a: try loading(load))
      if let shift = try load.optional("shift") {
        guard step.a != PlanStep.bcd else { throw shift.error("decimal digits cannot be moved") }
        step.b = UInt64(try shift.number(1...63))
        if step.a == 0 { step.a = PlanStep.shifted }
      }
      draft.steps.append(step)
    } else if let text = fields["text"] {
      try text.allow("size", "into", "minimum")
      draft.steps.append(
        PlanStep(
          .text,
          register: try text.optional("into") == nil
            ? .none : try register(text, ["identity": .identity, "subject": .subject]),
          count: try text.required("size").number(1...4),
          a: UInt64(try text.optional("minimum")?.number(0...65_535) ?? 0)))
    } else if let string = fields["string"] {
      try string.allow("maximum", "into")
      let isKept = try string.optional("into") != nil
      draft.steps.append(
        PlanStep(
          .string, register: isKept ? try register(string, ["identity": .identity, "subject": .subject]) : .none,
          count: try string.required("maximum").number(1...65_535)))
      kind.flags.insert(.hasOtherSteps)
    } else if let bytes = fields["bytes"] {
      try bytes.allow("size")
      draft.steps.append(PlanStep(.bytes, count: try bytes.required("size").number(1...4)))
      kind.flags.insert(.hasOtherSteps)
    } else if let digits = fields["digits"] {
      let (most, into) = try digitStep(step, digits)
      draft.steps.append(
        PlanStep(
          .digits,
          register: try into.map { (into) throws(ProfileError) in try register(named: into, Self.numbers) } ?? .none,
          count: most))
    } else if let until = fields["until"] {
      let (byte, into) = try untilStep(step, until)
      let known = Self.numbers.merging(["identity": .identity, "subject": .subject]) { $1 }
      draft.steps.append(
        PlanStep(
          .until, register: try into.map { (into) throws(ProfileError) in try register(named: into, known) } ?? .none,
          a: UInt64(byte)))
    } else if let list = fields["tlv"] {
      try self.list(list, &kind)
    } else if let each = fields["each"] {
      try each.allow("size", "into")
      _ = try register(each, ["status": .status])
      draft.steps.append(PlanStep(.each, register: .status, count: try each.required("size").number(1...8)))
    } else if let expect = fields["expect"] {
      separateExpectations()
      for alternative in expect.isScalar ? [expect] : try expect.elements() {
        guard draft.steps.count - Int(kind.firstStep) < Self.maximumSteps else {
          throw alternative.error("a body has at most \(Self.maximumSteps) steps")
        }
        let bytes = try alternative.bytes(1...8)
        let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let mask = bytes.count == 8 ? UInt64.max : (1 << UInt64(bytes.count * 8)) - 1
        draft.steps.append(PlanStep(.expect, count: bytes.count, a: value, b: mask))
      }
    } else {
      throw step.error("a step must be tlv, end, or one of \(Self.steps)")
    }
  }

  /// A number by which a message is named in answers to it: messages that are answered have one, and acknowledgments.
  private func noteReference(_ load: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) {
    guard kind.role == .acknowledgment || kind.flags.contains(.expectsAck) else {
      throw load.error("a 'reference' is for a type that is answered, or for an acknowledgment")
    }
    if kind.role != .acknowledgment { kind.flags.insert(.referenced) }
  }

  /// How a number in a body is written, as `PlanStep.a` has it.
  private func loading(_ load: YAMLReader) throws(ProfileError) -> UInt64 {
    if let encoding = try load.optional("encoding") {
      guard try encoding.text() == "bcd", try load.optional("order") == nil else {
        throw encoding.error("the encoding must be bcd, without an order")
      }
      return PlanStep.bcd
    }
    let order = try load.optional("order")
    guard let order, try order.text() != "big" else { return 0 }
    guard try order.text() == "little" else { throw order.error("'order' must be big or little") }
    return PlanStep.littleEndian
  }

  private static var steps: String { "skip, load, text, string, bytes, expect, digits, until, at, tlv and each" }

  /// The destinations of numbers that are digits or texts.
  private static var numbers: [String: Frame.Register] {
    [
      "sequence": .sequence, "status": .status, "answered": .answered, "keep-alive": .keepAlive,
      "reference": .reference,
    ]
  }

  /// The maximum number of digits of a step `digits`, and their destination.
  func digitStep(_ step: YAMLReader, _ digits: YAMLReader) throws(ProfileError) -> (Int, YAMLReader?) {
    if digits.isScalar { return (try digits.number(1...19), try step.optional("into")) }
    try digits.allow("maximum", "into")
    return (try digits.required("maximum").number(1...19), try digits.optional("into"))
  }

  /// The byte that ends the text of a step `until`, and the destination of the text.
  func untilStep(_ step: YAMLReader, _ until: YAMLReader) throws(ProfileError) -> (UInt8, YAMLReader?) {
    if until.isScalar { return (try until.bytes(1...1)[0], try step.optional("into")) }
    try until.allow("byte", "into")
    return (try until.required("byte").bytes(1...1)[0], try until.optional("into"))
  }

  /// Whether a step reads the `variable` that decides whether types are answered on their connection, which needs no name.
  private func tellsAnswers(_ reader: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) -> Bool {
    guard variable == nil, content != nil, try reader.required("into").text() == "variable" else { return false }
    kind.flags.insert(.tellsAnswers)
    return true
  }

  /// Alternatives stand one behind the other: what is expected next is none of them.
  mutating func separateExpectations() {
    if draft.steps.last?.operation == .expect { draft.steps.append(PlanStep(.skip)) }
  }

  private func register(
    _ reader: YAMLReader, _ known: [String: Frame.Register]
  ) throws(ProfileError) -> Frame.Register {
    let into = try reader.required("into")
    return try register(named: into, known)
  }

  private func register(
    named into: YAMLReader, _ known: [String: Frame.Register]
  ) throws(ProfileError) -> Frame.Register {
    guard let register = known[try into.text()] else {
      let names = known.keys.sorted()
      throw into.error("known here: \(names.joined(separator: ", "))\(Self.nearest(try into.text(), names))")
    }
    return register
  }
}

extension ProtocolPlan.Draft {
  /// Notes the line of the steps that were added behind those whose lines are known; forgets those of steps that were taken out.
  mutating func noteLines(_ line: Int) {
    if stepLines.count > steps.count { stepLines.removeSubrange(steps.count...) }
    while stepLines.count < steps.count { stepLines.append(line) }
  }
}
