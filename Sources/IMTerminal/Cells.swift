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

/// How many cells a cluster takes: 0, 1 or 2.
func cells(_ character: Character) -> Int {
  var width = 0
  for scalar in character.unicodeScalars {
    // A variation selector asks for the emoji's form.
    if scalar.value == 0xfe0f, width == 1 { width = 2 }
    width = max(width, cells(scalar))
  }
  return width
}

/// How many cells a scalar takes alone. Control characters take none.
func cells(_ scalar: Unicode.Scalar) -> Int {
  let value = scalar.value
  if value < 0x300 { return value < 0x20 || (0x7f..<0xa0).contains(value) ? 0 : 1 }
  if isInside(WidthTable.zero, value) { return 0 }
  return isInside(WidthTable.wide, value) ? 2 : 1
}

/// Whether a value is in one of the ranges whose edges these are.
private func isInside(_ edges: [UInt32], _ value: UInt32) -> Bool {
  var (low, high) = (0, edges.count)
  while low < high {
    let middle = (low + high) / 2
    if edges[middle] <= value { low = middle + 1 } else { high = middle }
  }
  return low % 2 == 1
}

/// Whether terminals disagree about how wide a cluster is: everything but single characters of scripts whose width has never
/// changed. tmux 3.3a, for one, shows U+1F5BC U+FE0F in one cell.
func isDoubtful(_ cluster: String) -> Bool {
  if cluster.utf8.count == 1 { return false }
  var scalars = cluster.unicodeScalars.makeIterator()
  guard let first = scalars.next() else { return false }
  // A Latin, Greek or Cyrillic letter with accents is what terminals have always known.
  let isLetter = first.value < 0x530
  while let next = scalars.next() {
    guard isLetter, (0x300..<0x370).contains(next.value) else { return true }
  }
  switch first.value {
  case 0..<0x530, 0x2010..<0x2028, 0x2190..<0x2194, 0x2500..<0x25a0, 0x3041..<0x3097, 0x30a1..<0x3100, 0x3001..<0x3030,
    0x4e00..<0xa000, 0xac00..<0xd7a4, 0xff01..<0xff61:
    return false
  default: return true
  }
}
