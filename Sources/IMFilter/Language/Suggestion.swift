import IMWire

/// Finds what a misspelt name may have meant.
enum Suggestion {
  /// The candidate nearest to `name`, when it is near enough to be meant: at most a third of the longer name's letters
  /// differ, or else the shortest of those that begin with `name`. Names over 40 letters have none.
  static func nearest(to name: String, among candidates: [String]) -> String? {
    let name = Array(name.lowercased().unicodeScalars.prefix(41))
    guard name.count <= 40 else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let other = Array(candidate.lowercased().unicodeScalars.prefix(41))
      let most = max(name.count, other.count) / 3
      guard abs(name.count - other.count) <= most else { continue }
      let distance = editDistance(name, other)
      guard distance <= most, distance < best?.distance ?? .max else { continue }
      best = (candidate, distance)
    }
    if let best { return best.name }
    let longer = candidates.filter { name.count > 1 && $0.lowercased().unicodeScalars.starts(with: name) }
    return longer.min { $0.unicodeScalars.count < $1.unicodeScalars.count }
  }
}
