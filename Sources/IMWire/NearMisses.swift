/// The candidates that a misspelt `name` may have meant, nearest first: those of which at most a third of the longer one's letters
/// differ. Names over 40 letters have none.
package func nearMisses(_ name: String, among candidates: [String]) -> [String] {
  let name = Array(name.lowercased().unicodeScalars.prefix(41))
  guard name.count <= 40 else { return [] }
  var near: [(name: String, distance: Int)] = []
  for candidate in candidates {
    let other = Array(candidate.lowercased().unicodeScalars.prefix(41))
    let most = max(name.count, other.count) / 3
    guard abs(name.count - other.count) <= most else { continue }
    let distance = editDistance(name, other)
    if distance <= most { near.append((candidate, distance)) }
  }
  return near.enumerated().sorted { ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset) }.map(
    \.element.name)
}
