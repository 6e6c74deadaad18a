extension ByteWriter {
  /// Appends bytes as tcpdump's `-X` shows them: a tab, the place of the first, 16 of them in pairs, and those that can be
  /// printed. Dashes stand for `hidden`; behind `limit` bytes a line says so.
  package mutating func hexLines(_ bytes: [UInt8], hiding hidden: [Range<Int>], limit: Int) {
    let isHidden = { (i: Int) in hidden.contains { $0.contains(i) } }
    for line in stride(from: 0, to: min(bytes.count, limit), by: 16) {
      literal("\t0x")
      hex(UInt64(line), width: 4)
      literal(": ")
      let end = min(line + 16, bytes.count, limit)
      for i in line..<line + 16 {
        if i % 2 == 0 { literal(" ") }
        if i >= end {
          literal("  ")
        } else if isHidden(i) {
          literal("--")
        } else {
          hex(UInt64(bytes[i]), width: 2)
        }
      }
      literal("  ")
      for i in line..<end {
        byte((0x20...0x7e).contains(bytes[i]) && !isHidden(i) ? bytes[i] : UInt8(ascii: "."))
      }
      literal("\n")
    }
    guard bytes.count > limit else { return }
    literal("\t... (")
    number(UInt64(max(0, limit)))
    literal(" bytes shown)\n")
  }
}
