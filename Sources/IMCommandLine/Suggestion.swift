/// The name among `names` that `word` was probably meant to be: one that begins with it, or one that is no more than two
/// edits away, and no more than half of the word.
func suggestion(for word: String, among names: [String]) -> String? {
  let bytes = Array(word.utf8)
  let dashes = bytes.prefix { $0 == UInt8(ascii: "-") }.count
  // Dashes alone are the beginning of everything; and no name is this long.
  guard bytes.count > dashes, bytes.count <= 64 else { return nil }
  let prefixed = names.filter { $0.utf8.starts(with: bytes) }
  if let name = prefixed.min(by: { $0.utf8.count < $1.utf8.count }) { return name }
  let limit = min(2, (bytes.count - dashes) / 2)
  var best: (name: String, distance: Int)?
  for name in names {
    let distance = distance(bytes, Array(name.utf8))
    if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
  }
  return best?.name
}

/// The fewest bytes to insert, to leave out, to exchange, or to swap with their neighbour that make `a` of `b`.
private func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  guard abs(a.count - b.count) <= 2 else { return .max }
  var before: [Int] = []
  var last = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    row.reserveCapacity(b.count + 1)
    for j in b.indices {
      var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, before[j - 1] + 1) }
      row.append(least)
    }
    before = last
    last = row
  }
  return last[b.count]
}
