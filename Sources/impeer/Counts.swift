import IMOutput

extension ByteWriter {
  /// Appends members of a JSON object, each with a comma before it.
  mutating func counts(_ counts: [(StaticString, UInt64)]) {
    for (name, count) in counts {
      literal(",\"")
      literal(name)
      literal("\":")
      number(count)
    }
  }
}
