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
    if draft.status.isPresent, kind.role == .acknowledgment {
      draft.steps.append(PlanStep(.status))
      kind.flags.insert(.hasOtherSteps)
    }
    if let reader, !reader.isScalar {
      kind.flags.insert(.noTLV)
      for step in try reader.elements() {
        guard draft.steps.count - Int(kind.firstStep) < Self.maximumSteps else {
          throw step.error("a body has at most \(Self.maximumSteps) steps")
        }
        guard kind.flags.contains(.noTLV) else { throw step.error("'tlv' is a body's last step") }
        try self.step(step, &kind)
      }
    } else {
      switch try reader?.text() ?? "tlv" {
      case "tlv": if draft.steps.count > Int(kind.firstStep) { draft.steps.append(PlanStep(.tlv)) }
      case "raw", "none": kind.flags.insert(.noTLV)
      default: throw reader?.error("a body is tlv, raw, none, or a list of steps") ?? root.error("")
      }
    }
    kind.stepCount = UInt16(draft.steps.count) - kind.firstStep
  }

  private mutating func step(_ step: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) {
    if step.isScalar {
      guard try step.text() == "tlv" else { throw step.error("a step is tlv, or one of \(Self.steps)") }
      guard try root.optional("tlv") != nil else { throw step.error("the profile has no 'tlv'") }
      draft.steps.append(PlanStep(.tlv))
      kind.flags.insert(.hasOtherSteps)
      kind.flags.remove(.noTLV)
      // Where lists stand behind other fields, nobody knows where that of another type begins.
      draft.unknownFlags.insert(.noTLV)
      return
    }
    let fields = try step.fields("skip", "load", "text", "string", "bytes", "expect", "unless", "optional")
    if try fields["optional"]?.flag() ?? false {
      draft.steps.append(PlanStep(.end))
      kind.flags.insert(.hasOtherSteps)
    }
    if let unless = fields["unless"] {
      // The step runs unless a number in the header's first eight bytes, masked, has the value; `unless` in the plan jumps over one.
      try unless.allow("offset", "size", "mask", "value")
      let offset = try unless.optional("offset")?.number(0...7) ?? 0
      let size = try unless.optional("size")?.number(1...(8 - offset)) ?? 1
      let largest = size == 8 ? Int.max : 1 << (size * 8) - 1
      let shift = UInt64(64 - (offset + size) * 8)
      let mask = UInt64(try unless.required("mask").number(1...largest)) << shift
      let value = UInt64(try unless.required("value").number(0...largest)) << shift
      draft.steps.append(PlanStep(.unless, count: 1, a: mask, b: value))
    }
    if let skip = fields["skip"] {
      draft.steps.append(PlanStep(.skip, count: try skip.number(1...65_535)))
    } else if let load = fields["load"] {
      try load.allow("size", "into", "order", "encoding")
      draft.steps.append(
        PlanStep(
          .load,
          register: try register(
            load, ["sequence": .sequence, "status": .status, "keep-alive": .keepAlive, "answered": .answered]),
          count: try load.required("size").number(1...8), a: try loading(load)))
    } else if let text = fields["text"] {
      try text.allow("size", "into")
      draft.steps.append(
        PlanStep(
          .text, register: try register(text, ["identity": .identity, "subject": .subject]),
          count: try text.required("size").number(1...4)))
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
    } else if let expect = fields["expect"] {
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
      throw step.error("a step is tlv, or one of \(Self.steps)")
    }
  }

  /// How a number in a body is written, as `PlanStep.a` has it.
  private func loading(_ load: YAMLReader) throws(ProfileError) -> UInt64 {
    if let encoding = try load.optional("encoding") {
      guard try encoding.text() == "bcd", try load.optional("order") == nil else {
        throw encoding.error("the encoding is bcd, without an order")
      }
      return PlanStep.bcd
    }
    let order = try load.optional("order")
    guard let order, try order.text() != "big" else { return 0 }
    guard try order.text() == "little" else { throw order.error("'order' is big or little") }
    return PlanStep.littleEndian
  }

  private static var steps: String { "skip, load, text, string, bytes and expect" }

  private func register(
    _ reader: YAMLReader, _ known: [String: Frame.Register]
  ) throws(ProfileError) -> Frame.Register {
    let into = try reader.required("into")
    guard let register = known[try into.text()] else {
      throw into.error("known here are: \(known.keys.sorted().joined(separator: ", "))")
    }
    return register
  }
}
