package import IMFields

extension FrameJSONWriter {
  /// Adds a frame's named fields to the line that was written last: `fields`, an object. Numbers that have names stay
  /// numbers, bytes are hexadecimal digits, and what is not to be shown is `null`.
  package static func amend(fields: [NamedField], _ plan: FieldPlan, to out: inout ByteWriter) {
    JSONLines.amend(&out) { lines in
      lines.key("fields")
      lines.writer.json(.object(fields), plan)
    }
  }
}

extension ByteWriter {
  /// Appends the value of a named field as JSON.
  mutating func json(_ value: FieldValue, _ plan: FieldPlan) {
    switch value {
    case .unsigned(let number): self.number(number)
    case .signed(let number): self.number(number)
    case .decimal(let units, let places): decimal(units, places: places)
    case .flag(let isTrue): if isTrue { literal("true") } else { literal("false") }
    case .text(let text): jsonString(text)
    case .bytes(let bytes):
      literal("\"")
      for byte in bytes { hex(UInt64(byte), width: 2) }
      literal("\"")
    case .list(let values):
      literal("[")
      for (i, value) in values.enumerated() {
        if i > 0 { literal(",") }
        json(value, plan)
      }
      literal("]")
    case .object(let fields):
      literal("{")
      for (i, field) in fields.enumerated() {
        if i > 0 { literal(",") }
        text(plan.keys[field.field])
        if plan.hides(field.field) { literal("null") } else { json(field.value, plan) }
      }
      literal("}")
    case .hidden: literal("null")
    }
  }

  /// Appends `units` of so many decimal places, with as few digits as tell the number.
  package mutating func decimal(_ units: Int64, places: Int) {
    var digits = units.magnitude
    var places = places
    while places > 0, digits % 10 == 0 {
      digits /= 10
      places -= 1
    }
    if units < 0 { literal("-") }
    var scale: UInt64 = 1
    for _ in 0..<places { scale *= 10 }
    number(digits / scale)
    guard places > 0 else { return }
    literal(".")
    let fraction = "\(digits % scale)"
    for _ in fraction.utf8.count..<places { literal("0") }
    text(fraction)
  }
}
