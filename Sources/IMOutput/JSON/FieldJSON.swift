package import IMFields

extension FrameJSONWriter {
  /// Adds a frame's named fields to the line that was written last: `fields`, an object. Numbers that have names stay
  /// numbers, bytes are hexadecimal digits, and what is not to be shown is `null`.
  package static func amend(fields: [NamedField], _ plan: FieldPlan, to out: inout ByteWriter) {
    JSONLines.amend(&out) { lines in
      lines.key("fields")
      lines.writer.json(fields, plan)
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
    case .object(let fields): json(fields, plan)
    case .hidden: literal("null")
    }
  }

  /// Appends fields as an object of JSON.
  mutating func json(_ fields: [NamedField], _ plan: FieldPlan) {
    literal("{")
    // Borrowed: a copy of each would count references to its value.
    let fields = fields.span
    for i in fields.indices {
      if i > 0 { literal(",") }
      let range = plan.key(of: fields[i].field)
      plan.keyText.withUnsafeBytes { raw(UnsafeRawBufferPointer(rebasing: $0[range])) }
      if plan.hides(fields[i].field) {
        literal("null")
      } else if case .unsigned(let number) = fields[i].value {
        self.number(number)
      } else {
        json(fields[i].value, plan)
      }
    }
    literal("}")
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
