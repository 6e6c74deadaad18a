import IMWire

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
    let other = Array(name.utf8)
    guard abs(bytes.count - other.count) <= limit else { continue }
    let distance = editDistance(bytes, other)
    if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
  }
  return best?.name
}
