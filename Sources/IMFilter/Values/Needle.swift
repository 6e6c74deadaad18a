/// Bytes to look for, with the table that makes the search linear (Knuth, Morris and Pratt, 1977).
struct Needle: Sendable {
  private let bytes: [UInt8]
  /// For each prefix length, the length of its longest proper prefix that is also its suffix.
  private let borders: [Int]

  /// A needle of `bytes`.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var borders = [0]
    var border = 0
    for byte in bytes.dropFirst() {
      while border > 0, bytes[border] != byte { border = borders[border - 1] }
      if bytes[border] == byte { border += 1 }
      borders.append(border)
    }
    self.borders = borders
  }

  /// Whether the bytes stand anywhere in `text`. Looks at each byte of `text` once; allocates nothing.
  func isIn(_ text: RawSpan) -> Bool {
    if bytes.isEmpty { return true }
    var matched = 0
    for offset in 0..<text.byteCount {
      let byte = text.byte(offset)
      while matched > 0, bytes[matched] != byte { matched = borders[matched - 1] }
      if bytes[matched] == byte { matched += 1 }
      if matched == bytes.count { return true }
    }
    return false
  }
}
