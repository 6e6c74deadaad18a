/// Text of others that can command no terminal: control characters, and those that turn the direction of text or hide in it, become `·`.
///
/// What joins emoji and chooses their form stays. A cluster keeps its first eight scalars: a thousand marks on one letter would
/// be a thousand characters to print for one cell.
package func plainText(_ text: String) -> String {
  if text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return text }
  var plain = ""
  for character in text { plain += plainCluster(character) }
  return plain
}

/// The scalars that a cluster keeps, at most.
private let scalarLimit = 8

/// One cluster, as `plainText` shows it.
func plainCluster(_ character: Character) -> String {
  var plain = ""
  var count = 0
  for scalar in character.unicodeScalars {
    count += 1
    if count > scalarLimit { break }
    plain.unicodeScalars.append(isHarmless(scalar) ? scalar : "·")
  }
  return plain
}

private func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x20..<0x7f, 0xa0..<0x61c, 0x3000..<0xd800: true
  case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff,
    0xfff9...0xfffb, 0xe0000...0xe0fff:
    false
  default: scalar.value & 0xfffe != 0xfffe
  }
}
