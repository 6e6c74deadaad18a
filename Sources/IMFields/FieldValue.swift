/// The value of a named field, as a message has it.
package enum FieldValue: Equatable, Sendable {
  /// A whole number, also where a table gives it a name.
  case unsigned(UInt64)
  /// A whole number that may be negative.
  case signed(Int64)
  /// A number with a fraction: so many units of the given number of decimal places.
  case decimal(Int64, places: Int)
  /// True or false.
  case flag(Bool)
  /// Text; bytes that are not of its encoding are U+FFFD.
  case text(String)
  /// Bytes, printed in hexadecimal.
  case bytes([UInt8])
  /// What stands in a message more than once.
  case list([FieldValue])
  /// Fields that belong together.
  case object([NamedField])
  /// A value that is not to be shown; what it is was not kept.
  case hidden

  /// About how many bytes it takes beside its own place.
  var byteCount: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    case .list(let values): values.reduce(0) { $0 + 16 + $1.byteCount }
    case .object(let fields): fields.reduce(0) { $0 + $1.byteCount }
    case .unsigned, .signed, .decimal, .flag, .hidden: 0
    }
  }

  /// The value as a number that conditions compare; `nil` where it is none.
  var number: UInt64? {
    switch self {
    case .unsigned(let value): value
    case .signed(let value): UInt64(exactly: value)
    case .flag(let value): value ? 1 : 0
    default: nil
    }
  }
}

/// One field of a message.
package struct NamedField: Equatable, Sendable {
  /// Which of the plan's fields it is.
  package var field: Int
  /// Its value.
  package var value: FieldValue
  /// The table that names its numbers, in `FieldPlan.enums`; negative where there is none.
  package var names: Int

  /// About how many bytes of memory it takes.
  package var byteCount: Int { 48 + value.byteCount }

  /// A field of its parts.
  package init(_ field: Int, _ value: FieldValue, names: Int = -1) {
    (self.field, self.value, self.names) = (field, value, names)
  }
}
