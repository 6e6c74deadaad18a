import IMEngine
import IMWire
import IMYAML

/// What differs among the connections of one protocol: the value that steps ask for makes a plan of its own, in which that is
/// settled.
extension ProfileCompiler {
  /// The name of the number that a message tells.
  func variableName(_ reader: YAMLReader) throws(ProfileError) -> String {
    let name = try reader.text()
    guard !["sequence", "status", "keep-alive", "bits", "mask", "value", "of"].contains(name) else {
      throw reader.error("'\(name)' has a meaning of its own")
    }
    return try self.name(reader)
  }

  /// Whether a type with this `when` is there in the variant that is compiled.
  mutating func holds(type when: YAMLReader) throws(ProfileError) -> Bool {
    guard let variable else { throw when.error("the profile has no 'variable'") }
    guard let (key, asked) = try when.entries().first, try when.entries().count == 1, try key.text() == variable else {
      throw when.error("'when' names a value of '\(variable)'")
    }
    return try isVariant(asked)
  }

  /// Whether a step is there in the variant that is compiled.
  mutating func holds(_ reader: YAMLReader) throws(ProfileError) -> Bool {
    guard !reader.isScalar, let variable else { return true }
    var isThere = true
    if let when = try reader.optional("when"), let asked = try when.optional(variable) {
      isThere = try isVariant(asked) && isThere
    }
    if let unless = try reader.optional("unless"), let asked = try unless.optional(variable) {
      isThere = try !isVariant(asked) && isThere
    }
    return isThere
  }

  private mutating func isVariant(_ asked: YAMLReader) throws(ProfileError) -> Bool {
    let value = UInt64(try asked.number(0...Int(UInt32.max)))
    variableValues.insert(value)
    guard variableValues.count == 1 else {
      throw asked.error("a profile asks for one value of its variable: all others are the other variant")
    }
    return value == variant
  }

  /// Reads the variable: the value of this variant is expected, or none of the others'.
  mutating func loadVariable(_ load: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) -> Bool {
    guard let variable, try load.required("into").text() == variable else { return false }
    let size = try load.required("size").number(1...4)
    let all = (UInt64(1) << UInt64(size * 8)) - 1
    let mask = UInt64(try load.optional("mask")?.number(1...Int(all)) ?? Int(all))
    if let variant {
      separateExpectations()
      draft.steps.append(PlanStep(.expect, count: size, a: variant & mask, b: mask))
    } else {
      for value in variableValues.sorted() {
        draft.steps.append(PlanStep(.refuse, count: size, a: value & mask, b: mask))
      }
      draft.steps.append(PlanStep(.skip, count: size))
    }
    draft.steps.append(PlanStep(.settle))
    kind.flags.insert(.tellsVariant)
    return true
  }

  /// The conditions of a step that are asked for with each frame: bits of the header's first byte, or of what was loaded.
  func conditions(_ fields: [String: YAMLReader]) throws(ProfileError) -> [PlanStep] {
    var steps: [PlanStep] = []
    for (key, operation) in [("unless", PlanStep.Operation.unless), ("when", .when)] {
      guard let condition = fields[key] else { continue }
      if let variable, try condition.optional(variable) != nil {
        guard try condition.entries().count == 1 else { throw condition.error("'\(variable)' must be alone") }
        continue
      }
      try condition.allow("mask", "value", "of", "offset", "size")
      if let of = try condition.optional("of") {
        guard try of.text() == "bits" else { throw of.error("'of' must be bits, which a step has loaded") }
        let mask = UInt64(try condition.required("mask").number(1...Int(UInt32.max)))
        let value = UInt64(try condition.required("value").number(0...Int(UInt32.max)))
        steps.append(PlanStep(operation, register: .bits, a: mask, b: value & mask))
      } else {
        // A number in the header's first eight bytes, the first one by default, where it stands among them.
        let offset = try condition.optional("offset")?.number(0...7) ?? 0
        let size = try condition.optional("size")?.number(1...(8 - offset)) ?? 1
        let largest = size == 8 ? Int.max : 1 << (size * 8) - 1
        let shift = UInt64(64 - (offset + size) * 8)
        let mask = UInt64(try condition.required("mask").number(1...largest)) << shift
        let value = UInt64(try condition.required("value").number(0...largest)) << shift
        steps.append(PlanStep(operation, a: mask, b: value))
      }
    }
    return steps
  }

  /// A list with its length in front.
  mutating func list(_ reader: YAMLReader, _ kind: inout FrameKind) throws(ProfileError) {
    try reader.allow("size")
    guard let tlv = try root.optional("tlv") else { throw reader.error("the profile has no 'tlv'") }
    let size = try reader.required("size")
    let width = try size.text() == "varint" ? 0 : try size.number(1...4)
    let before = draft.steps[Int(kind.firstStep)...].count { $0.operation == .list }
    var hasForms = false
    for (_, value) in try tlv.optional("tags")?.entries() ?? [] where !value.isScalar {
      hasForms = try value.optional("value") != nil || hasForms
    }
    guard before < (hasForms ? 2 : 1) else {
      throw reader.error("a body has one such list, or two whose tags determine the form of their values")
    }
    draft.steps.append(PlanStep(.list, count: width))
    kind.flags.remove(.noTLV)
    draft.unknownFlags.insert(.noTLV)
  }

  /// A body of a fixed length is known by its header; so is the least length of others.
  mutating func closeBody(_ kind: inout FrameKind) {
    let first = Int(kind.firstStep)
    guard draft.steps.count > first, draft.steps.last?.operation == .close, kind.maximumBody == .max else { return }
    var count = UInt32(draft.plan.framing.trailerCount)
    var isFixed = true
    loop: for step in draft.steps[first..<draft.steps.count - 1] {
      switch step.operation {
      case .skip, .load: count += UInt32(step.count)
      case .status, .refuse: break
      default:
        isFixed = false
        break loop
      }
    }
    kind.minimumBody = max(kind.minimumBody, count)
    if isFixed {
      kind.maximumBody = kind.minimumBody
      draft.steps.removeLast()
    }
  }

  // MARK: Forms

  /// What stands behind a tag.
  func form(_ value: YAMLReader, _ tag: UInt32) throws(ProfileError) -> TLVForm {
    switch try value.text() {
    case "varint": return TLVForm(tag: tag, kind: .varint)
    case "text": return TLVForm(tag: tag, kind: .text)
    case "bytes": return TLVForm(tag: tag, kind: .bytes)
    case "pair": return TLVForm(tag: tag, kind: .pair)
    default:
      guard let count = UInt8(try value.text()), (1...8).contains(count) else {
        throw value.error("a value must be 1 to 8, a number of that many bytes, or varint, text, bytes or pair")
      }
      return TLVForm(tag: tag, kind: .integer, count: count)
    }
  }

  /// Where one tag tells the form of its value, all do; and a list knows nothing else.
  func checkForms(_ tlv: YAMLReader) throws(ProfileError) {
    guard draft.forms.count == tagNames.count, let tags = try tlv.optional("tags") else {
      throw tlv.error("where one tag has a 'value', every tag has one")
    }
    guard draft.forms.count <= 256 else { throw tags.error("at most 256 tags can determine the form of their value") }
    for key in ["header", "counts", "optional", "padding", "nested"] {
      if let other = try tlv.optional(key) {
        throw other.error("'\(key)' is not allowed where tags determine the form of values")
      }
    }
    guard try tlv.required("length").optional("offset") == nil else {
      throw try tlv.required("length").error("where tags determine the form of values, the length has no offset")
    }
  }

  // MARK: Heartbeats

  /// How often a client is to be heard of, and how much longer it may be silent.
  mutating func heartbeat() throws(ProfileError) {
    guard let reader = try root.optional("heartbeat") else { return }
    try reader.allow("interval", "factor")
    if let interval = try reader.optional("interval") {
      draft.plan.heartbeatInterval = Nanoseconds(try interval.duration())
    }
    guard let factor = try reader.optional("factor") else { return }
    // A decimal with at most three places.
    let parts = try factor.text().split(separator: ".", omittingEmptySubsequences: false)
    let places = parts.count == 2 ? String(parts[1]) : "0"
    guard (1...2).contains(parts.count), let whole = UInt32(parts[0]), (1...3).contains(places.count),
      let part = UInt32(places + String(repeating: "0", count: 3 - places.count)), (1...100).contains(whole)
    else { throw factor.error("a factor must be a number from 1 to 100 such as 1.5") }
    draft.plan.heartbeatFactor = whole * 1_000 + part
  }
}
