import IMOutput

extension JSONLines {
  /// Counts as members.
  mutating func counts(_ counts: [(StaticString, UInt64)]) {
    for (name, count) in counts { exact(name, count) }
  }

  /// A number of milliseconds that is known as microseconds.
  mutating func thousandth(_ key: StaticString, _ microseconds: Double) {
    self.key(key)
    writer.decimal(microseconds / 1_000, 3)
  }

  /// One object as text, without a line feed, whose members `body` writes.
  static func text(_ body: (inout JSONLines) -> Void) -> String {
    var out = ByteWriter(capacity: 1 << 10)
    line(to: &out, body)
    out.truncate(to: out.count - 1)
    return out.text
  }
}
