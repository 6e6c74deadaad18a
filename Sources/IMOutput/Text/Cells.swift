/// How many cells of a terminal a text takes: two for East Asian wide characters and emoji, none for combining marks.
///
/// A cluster, such as a family of emoji with joiners, is as wide as its widest part, as terminals show it that know clusters.
package func cells(_ text: String) -> Int {
  let bytes = text.utf8
  if bytes.allSatisfy({ $0 < 0x80 && $0 != 0x0d }) { return bytes.count }
  return text.reduce(0) { $0 + cells($1) }
}

/// The longest beginning of `text` that takes at most `width` cells.
package func prefix(_ text: String, cells width: Int) -> Substring {
  var left = width
  return text.prefix { character in
    left -= cells(character)
    return left >= 0
  }
}

private func cells(_ character: Character) -> Int {
  var width = 0
  for scalar in character.unicodeScalars {
    // A variation selector asks for the emoji's form.
    if scalar.value == 0xfe0f, width == 1 { width = 2 }
    width = max(width, cells(scalar))
  }
  return width
}

private func cells(_ scalar: Unicode.Scalar) -> Int {
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format, .control: return 0
  default: break
  }
  // The vowels and final consonants of Hangul join the syllable in front of them.
  if (0x1160...0x11ff).contains(scalar.value) { return 0 }
  return scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) } ? 2 : 1
}

/// The characters that Unicode's East Asian Width calls wide or full, but for emoji. Source: EastAsianWidth.txt, Unicode 16.
private let wide: [ClosedRange<UInt32>] = [
  0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff,
  0xa000...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f,
  0xff01...0xff60, 0xffe0...0xffe6, 0x16fe0...0x16fff, 0x17000...0x18cff, 0x18d00...0x18d08, 0x1aff0...0x1afff,
  0x1b000...0x1b2ff, 0x1f200...0x1f202, 0x1f210...0x1f23b, 0x1f240...0x1f248, 0x1f250...0x1f251,
  0x1f260...0x1f265, 0x20000...0x3fffd,
]
