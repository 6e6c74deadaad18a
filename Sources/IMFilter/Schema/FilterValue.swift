package import IMWire

/// One value of a record's field, all but text and bytes, which are lent by `FilterRecord.anyText(of:path:where:)`.
package enum FilterValue: Equatable, Sendable {
  /// A whole number, for `.integer`, `.real` and `.name` fields.
  case integer(Int64)
  /// A whole number that may pass 2⁶³, for the same fields.
  case unsigned(UInt64)
  /// A number with a fraction, for `.real` fields.
  case real(Double)
  /// A moment, for `.time` fields.
  case time(Timestamp)
  /// An address, for `.address` fields.
  case address(IPAddress)
  /// The index of a word in the field's list, for `.word` fields.
  case word(Int)
  /// True or false, for `.flag` fields.
  case flag(Bool)

  /// The value on the line of whole numbers, where it has a place there: a time counts its nanoseconds, a word its index.
  var whole: Int128? {
    switch self {
    case .integer(let value): Int128(value)
    case .unsigned(let value): Int128(value)
    case .time(let value): Int128(value.nanoseconds)
    case .word(let index): Int128(index)
    case .real, .address, .flag: nil
    }
  }

  /// The value as a number with a fraction, where it is a number.
  var fractional: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .real(let value): value
    case .time, .address, .word, .flag: nil
    }
  }
}
