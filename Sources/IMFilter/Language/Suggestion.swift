import IMWire

/// Finds what a misspelt name may have meant.
enum Suggestion {
  /// The candidate nearest to `name`, when it is near enough to be meant, or else the shortest of those that begin with `name`.
  /// Names over 40 letters have none.
  static func nearest(to name: String, among candidates: [String]) -> String? {
    if let best = nearMisses(name, among: candidates).first { return best }
    let scalars = Array(name.lowercased().unicodeScalars.prefix(41))
    guard scalars.count > 1, scalars.count <= 40 else { return nil }
    return candidates.filter { $0.lowercased().unicodeScalars.starts(with: scalars) }
      .min { $0.unicodeScalars.count < $1.unicodeScalars.count }
  }
}
