import IMFields

extension ByteWriter {
  /// The most bytes of a value in a line, and the most lines of a list.
  private static var maximumBytes: Int { 160 }
  private static var maximumLines: Int { 256 }

  /// Appends a named field for a terminal: a line, or one for each part of it. A number that has a name has it behind it, and
  /// what is not to be shown says so.
  mutating func lines(of field: NamedField, _ plan: FieldPlan, depth: Int) {
    let info = plan.fields[field.field]
    margin(info.name, depth)
    guard !plan.hides(field.field) else {
      literal(" hidden\n")
      return
    }
    // What users write is text wherever it is text, also where the protocol only says how many bytes it has.
    if case .bytes(let bytes) = field.value, MessageText.isText(info), !bytes.isEmpty,
      let text = MessageText.text(bytes)
    {
      lines(of: .text(text), plan, depth: depth)
    } else {
      lines(of: field.value, plan, depth: depth)
    }
    // The line feed gives way.
    if case .list = field.value { return }
    if case .object = field.value { return }
    truncate(to: count - 1)
    if let name = plan.name(of: field) {
      literal(" ")
      text(name)
    } else if !info.unit.isEmpty {
      literal(" ")
      text(info.unit)
      // The other units are symbols.
      var isOne = false
      if case .unsigned(1) = field.value { isOne = true }
      if info.unit == "byte", !isOne { literal("s") }
    }
    literal("\n")
  }

  private mutating func margin(_ name: String, _ depth: Int) {
    literal("\t")
    for _ in 0..<min(16, depth) { literal("  ") }
    text(name)
    literal(":")
  }

  /// Appends what stands behind a name, to the line's end, and the lines below.
  private mutating func lines(of value: FieldValue, _ plan: FieldPlan, depth: Int) {
    switch value {
    case .object(let fields):
      literal("\n")
      for field in fields.prefix(Self.maximumLines) { lines(of: field, plan, depth: depth + 1) }
      if fields.count > Self.maximumLines { literal("\t...\n") }
    case .list(let values) where values.contains(where: { if case .object = $0 { true } else { false } }):
      literal("\n")
      for (i, value) in values.prefix(Self.maximumLines).enumerated() {
        margin("\(i + 1)", depth + 1)
        lines(of: value, plan, depth: depth + 1)
      }
      if values.count > Self.maximumLines { literal("\t...\n") }
    default:
      literal(" ")
      scalar(value)
      literal("\n")
    }
  }

  private mutating func scalar(_ value: FieldValue) {
    switch value {
    case .unsigned(let number): self.number(number)
    case .signed(let number): self.number(number)
    case .decimal(let units, let places): decimal(units, places: places)
    case .flag(let isTrue): if isTrue { literal("true") } else { literal("false") }
    case .text(var text):
      literal("\"")
      text.withUTF8 { terminal(UnsafeRawBufferPointer($0), limit: Self.maximumBytes) }
      literal("\"")
    case .bytes(let bytes):
      for byte in bytes.prefix(Self.maximumBytes / 2) { hex(UInt64(byte), width: 2) }
      if bytes.count > Self.maximumBytes / 2 { literal("...") }
      if bytes.isEmpty { literal("empty") }
    case .list(let values):
      if values.isEmpty { literal("none") }
      for (i, value) in values.prefix(Self.maximumLines).enumerated() {
        if i > 0 { literal(", ") }
        if case .list(let pair) = value, pair.count == 2 {
          scalar(pair[0])
          literal(" = ")
          scalar(pair[1])
        } else {
          scalar(value)
        }
      }
      if values.count > Self.maximumLines { literal(", ...") }
    case .object: literal("...")
    case .hidden: literal("hidden")
    }
  }
}
