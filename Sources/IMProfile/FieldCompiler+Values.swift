import IMFields
import IMYAML

extension FieldCompiler {
  /// How many bytes: `size`, `counted`, `varint` or `zero`; `nil` where nothing is said.
  mutating func extent(_ reader: YAMLReader) throws(ProfileError) -> FieldExtent? {
    var extents: [(YAMLReader, FieldExtent)] = []
    if let size = try reader.optional("size") { extents.append((size, try self.size(size))) }
    if let counted = try reader.optional("counted") {
      let order = try reader.optional("order")
      extents.append((counted, .counted(try counted.number(1...4), littleEndian: try self.order(order))))
    }
    if let varint = try reader.optional("varint") {
      guard try varint.flag() else { throw varint.error("'varint' must be true") }
      extents.append((varint, .varint))
    }
    if let zero = try reader.optional("zero") { extents.append((zero, .zero(try zero.number(1...65_536)))) }
    if extents.count > 1 { throw extents[1].0.error("its length needs one of size, counted, varint and zero") }
    return extents.first?.1
  }

  /// So many bytes, the rest, or as a field says.
  func size(_ reader: YAMLReader) throws(ProfileError) -> FieldExtent {
    let text = try reader.text()
    if text == "rest" { return .rest }
    if let first = text.utf8.first, !(48...57).contains(first) { return .field(try known(reader)) }
    return .fixed(try reader.number(0...65_536))
  }

  /// A value that stands in the bytes.
  mutating func value(_ reader: YAMLReader, hasField: Bool) throws(ProfileError) -> ValueStep {
    let parts = try reader.fields(
      "field", "size", "counted", "varint", "zero", "type", "encoding", "order", "bits", "set", "enum", "scale", "sign",
      "default", "trim", "until-zero", "zeros", "zone", "lengths", "when", "unless")
    var step = ValueStep()
    let given = try extent(reader)
    let type = try parts["type"]?.text() ?? "unsigned"
    step.extent = given ?? .rest
    step.littleEndian = try order(parts["order"])
    step.lengths = try lengths(parts["lengths"])
    var kind = FieldType.integer
    switch type {
    case "unsigned": step.form = .unsigned
    case "signed": step.form = .signed
    case "sign-magnitude": step.form = .signMagnitude
    case "flag": (step.form, kind) = (.flag, .boolean)
    case "varint": step.form = .varint
    case "text": (step.form, kind) = (.text(try encoding(parts["encoding"])), .text)
    case "bytes": (step.form, kind) = (.bytes, .bytes)
    case "bcd":
      let zeros = parts["zeros"]
      if let zeros, try !["kept", "dropped"].contains(zeros.text()) {
        throw zeros.error("'zeros' must be kept or dropped")
      }
      (step.form, kind) = (.bcd(dropsZeros: try zeros?.text() == "dropped"), .text)
    case "bcd-time":
      let zone = try parts["zone"]?.text() ?? "Z"
      guard zone.utf8.count <= 6, zone.utf8.allSatisfy({ (48...58).contains($0) || [43, 45, 90].contains($0) }) else {
        throw try reader.required("zone").error("a zone must be Z or such as +08:00")
      }
      (step.form, kind) = (.bcdTime(zone: zone), .time)
    case "time-1900": (step.form, kind) = (.time1900, .time)
    case "ipv4": (step.form, kind) = (.ipv4, .address)
    case "address": (step.form, kind) = (.address, .address)
    case "present": (step.form, kind) = (.present, .boolean)
    case "pair": (step.form, kind) = (.pair, .list)
    case "commas": (step.form, kind) = (.commas, .list)
    default:
      throw try reader.required("type").error(
        "a type must be unsigned, signed, sign-magnitude, flag, varint, text, bytes, bcd, bcd-time, time-1900, ipv4, address,"
          + " present, pair or commas")
    }
    if kind == .integer || kind == .boolean, type != "varint", type != "present" {
      guard case .fixed(let count)? = given, (1...8).contains(count) else {
        throw reader.error("a number needs a size of 1 to 8")
      }
    }
    if let scale = parts["scale"] {
      step.places = try places(scale)
      if step.places > 0 { kind = .number }
    }
    if let sign = parts["sign"] { step.sign = try known(sign) }
    if let names = parts["enum"] { step.names = try table(names) }
    step.isTrimmed = try parts["trim"]?.flag() ?? false
    step.endsAtZero = try parts["until-zero"]?.flag() ?? false
    if let fallback = parts["default"] { step.fallback = UInt64(try fallback.number(0...Int.max)) }
    if hasField, let field = parts["field"] {
      step.field = try id(field, kind)
      if step.names >= 0 { draft.fields[step.field].tables.insert(step.names) }
    }
    if let set = parts["set"] {
      try set.allow("field", "enum")
      step.set = (try id(set.required("field"), .list), try table(set.required("enum")))
    }
    if let bits = parts["bits"] { step.bits = try self.bits(bits) }
    if hasField, step.field < 0, step.bits.isEmpty, step.set.field < 0 { throw reader.error("'field' is missing") }
    return step
  }

  private func places(_ reader: YAMLReader) throws(ProfileError) -> Int {
    let scales = ["1", "0.1", "0.01", "0.001", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9"]
    guard let places = scales.firstIndex(of: try reader.text()) else {
      throw reader.error("a scale must be one of: \(scales.joined(separator: ", "))")
    }
    return places
  }

  /// Parts of a number.
  mutating func bits(_ reader: YAMLReader) throws(ProfileError) -> [BitField] {
    var bits: [BitField] = []
    for (name, part) in try reader.entries() { bits.append(try self.bits(name, part)) }
    return bits
  }

  private mutating func bits(_ name: YAMLReader, _ reader: YAMLReader) throws(ProfileError) -> BitField {
    let parts = try reader.fields("low", "count", "type", "enum", "when", "unless")
    let isFlag = try parts["type"]?.text() == "flag"
    if let type = parts["type"], !isFlag, try type.text() != "unsigned" {
      throw type.error("bits must be unsigned or a flag")
    }
    let low = try reader.required("low").number(0...63)
    let count = try parts["count"]?.number(1...64 - low) ?? 1
    let names = try parts["enum"].map { (names) throws(ProfileError) in try table(names) } ?? -1
    let conditions = try conditions(reader)
    let field = try id(name, isFlag ? .boolean : .integer)
    if names >= 0 { draft.fields[field].tables.insert(names) }
    return BitField(field: field, low: low, count: count, isFlag: isFlag, names: names, conditions: conditions)
  }

  private func encoding(_ reader: YAMLReader?) throws(ProfileError) -> EncodingChoice {
    guard let reader else { return .fixed(.utf8) }
    func encoding(_ reader: YAMLReader) throws(ProfileError) -> TextEncoding {
      guard let encoding = TextEncoding(rawValue: try reader.text()) else {
        throw reader.error("an encoding must be \(TextEncoding.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      return encoding
    }
    if reader.isScalar { return .fixed(try encoding(reader)) }
    try reader.allow("of", "by")
    var encodings: [UInt64: TextEncoding] = [:]
    for (key, value) in try reader.required("by").entries() {
      encodings[UInt64(try key.number(0...Int.max))] = try encoding(value)
    }
    return .field(try known(reader.required("of")), encodings)
  }
}

extension FieldCompiler {
  /// Notes which fields messages have themselves, and in which of them.
  mutating func describe() {
    for type in draft.messages.keys.sorted() { walk(draft.messages[type] ?? [], type, isOutermost: true) }
    walk(draft.header, "*", isOutermost: true)
    walk(draft.derived, "*", isOutermost: true)
  }

  private mutating func note(_ field: Int, _ type: String, _ isOutermost: Bool) {
    guard field >= 0 else { return }
    if isOutermost { draft.fields[field].isOutermost = true } else { draft.fields[field].isNested = true }
    if !draft.fields[field].messages.contains(type) { draft.fields[field].messages.append(type) }
  }

  private mutating func walk(_ steps: [FieldStep], _ type: String, isOutermost: Bool) {
    for step in steps {
      switch step.action {
      case .skip, .stop, .remember: break
      case .parts(_, let parts): for bits in parts { note(bits.field, type, isOutermost) }
      case .value(let value): walk(value.step, type, isOutermost)
      case .layout(let index): walk(draft.layouts[index], type, isOutermost: isOutermost)
      case .elements(let table, _):
        let groups = draft.tables[table].known.values.contains { if case .group = $0 { true } else { false } }
        for known in draft.tables[table].known.values {
          // What stands in a list stands in its groups as well.
          if groups, case .value(let value) = known { walk(value.step, type, false) }
          switch known {
          case .value(let value): walk(value.step, type, isOutermost)
          case .group(let field): note(field, type, isOutermost)
          case .steps(let field, _, let steps):
            note(field, type, isOutermost)
            walk(steps.steps, type, isOutermost: isOutermost && field < 0)
          }
        }
      case .list(let field, _, let item):
        note(field, type, isOutermost)
        if case .steps(let steps) = item { walk(steps.steps, type, isOutermost: false) }
      case .within(let field, _, let steps):
        note(field, type, isOutermost)
        walk(steps.steps, type, isOutermost: isOutermost && field < 0)
      case .inside(_, let steps): walk(steps.steps, type, isOutermost: isOutermost)
      case .first(let field, _, _), .sum(let field, _, _), .left(let field), .gather(let field, _),
        .alias(let field, _, _), .keys(let field, _, _):
        note(field, type, isOutermost)
      case .json(let members): for member in members { note(member.field, type, isOutermost) }
      case .paths(let paths): for item in paths.items { note(item.field, type, isOutermost) }
      }
    }
  }

  private mutating func walk(_ value: ValueStep, _ type: String, _ isOutermost: Bool) {
    note(value.field, type, isOutermost)
    note(value.set.field, type, isOutermost)
    for bits in value.bits { note(bits.field, type, isOutermost) }
  }
}
