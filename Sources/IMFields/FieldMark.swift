/// What stands at a place of a frame, for whoever rewrites frames.
package struct FieldMark: Sendable {
  /// How a value is written.
  package enum Form: Equatable, Sendable {
    /// A number whose bits are flags or lengths: it is not one that could be another.
    case structure
    /// A whole number, most significant byte first or last.
    case number, littleEndian
    case text(TextEncoding)
    case bytes
    /// Decimal digits, two a byte.
    case digits
    case time
    /// An address behind so many bytes that say which kind it is.
    case address(family: Int)
  }

  /// What stands there.
  package enum Kind: Sendable {
    /// What the frame is read by: lengths, counts, tags.
    case structure
    /// The value of a field, by its place in `FieldPlan.fields`; negative where it is not named.
    case value(field: Int, Form)
    /// JSON, and the members that are known.
    case json([(field: Int, key: String)])
  }

  /// Where it stands, from the header's first byte.
  package let range: Range<Int>
  /// What stands there.
  package let kind: Kind
}
