import IMEngine

/// The value of an element whose tag tells its form, as outputs show it.
enum ElementValue {
  case number(UInt64)
  case text(UnsafeRawBufferPointer)
  case pair(UnsafeRawBufferPointer, UnsafeRawBufferPointer)
  case bytes(UnsafeRawBufferPointer)

  /// What `value` holds, by the form of `tag`; `nil` where the profile knows no form.
  init?(_ tag: UInt32, _ value: UnsafeRawBufferPointer, _ plan: ProtocolPlan) {
    guard let form = plan.form(tag) else { return nil }
    switch form.kind {
    case .integer: self = .number(value.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    case .varint:
      var number: UInt64 = 0
      for (i, byte) in value.prefix(4).enumerated() { number |= UInt64(byte & 0x7f) << UInt64(7 * i) }
      self = .number(number)
    case .text: self = .text(value)
    case .bytes: self = .bytes(value)
    case .pair:
      let width = plan.lengthWidth
      guard let first = Self.text(value, width), let second = Self.text(first.rest, width) else { return nil }
      self = .pair(first.text, second.text)
    }
  }

  /// The text behind a length of `width` bytes, and what is left.
  private static func text(
    _ bytes: UnsafeRawBufferPointer, _ width: Int
  ) -> (text: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer)? {
    guard bytes.count >= width else { return nil }
    let count = bytes.prefix(width).reduce(0) { $0 << 8 | Int($1) }
    guard count <= bytes.count - width else { return nil }
    return (
      UnsafeRawBufferPointer(rebasing: bytes[width..<width + count]),
      UnsafeRawBufferPointer(rebasing: bytes[(width + count)...])
    )
  }
}

extension ByteWriter {
  /// An element's value for the terminal.
  mutating func element(_ value: ElementValue) {
    switch value {
    case .number(let number): self.number(number)
    case .text(let text), .bytes(let text): quoted(text)
    case .pair(let key, let text):
      quoted(key)
      literal(" = ")
      quoted(text)
    }
  }

  private mutating func quoted(_ text: UnsafeRawBufferPointer) {
    literal("\"")
    terminal(text, limit: 160)
    literal("\"")
  }
}
