/// A literal, read as its field's kind wants it.
enum Operand {
  /// A whole number, a time in nanoseconds, or a word's index.
  case whole(Int128)
  /// A number with a fraction.
  case fractional(Double)
  /// The addresses of a network; of a single address, from itself to itself.
  case addresses(lower: AddressKey, upper: AddressKey)
  /// Text or bytes.
  case text([UInt8])
  /// A name as written, and the number it spells if it spells one.
  case name([UInt8], Int128?)
  /// True or false.
  case flag(Bool)
}
