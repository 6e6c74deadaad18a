/// Answers without a number, and types that differ only in their last part.
extension ContentAnswers {
  /// The pattern of a type: any last part in place of the one in `type`.
  static func pattern(_ type: String) -> String {
    type.split(separator: " ").dropLast().joined(separator: " ") + " *"
  }

  /// Merges answers whose types differ only in their last part: there, that part names an error, or nothing.
  mutating func mergeAnswers() {
    var groups: [String: [Int]] = [:]
    for (number, kind) in kinds.enumerated() where kind.type.contains(" ") {
      groups[Self.pattern(kind.type), default: []].append(number)
    }
    var merged: [Kind] = []
    var place = [Int](repeating: 0, count: kinds.count)
    var patterns: [String: Int] = [:]
    for (number, kind) in kinds.enumerated() {
      let pattern = Self.pattern(kind.type)
      let group = groups[pattern] ?? []
      let isAnswer =
        !group.isEmpty
        && group.allSatisfy { kinds[$0].number == kind.number && !kinds[$0].answers.isEmpty && !kinds[$0].isInOrder }
      if isAnswer, let known = patterns[pattern] {
        for side in 0...1 { merged[known].counts[side] += kind.counts[side] }
        merged[known].shortest = min(merged[known].shortest, kind.shortest)
        merged[known].longest = max(merged[known].longest, kind.longest)
        merged[known].answers.merge(kind.answers, uniquingKeysWith: +)
        place[number] = known
        continue
      }
      place[number] = merged.count
      merged.append(kind)
      if isAnswer {
        patterns[pattern] = merged.count - 1
        merged[merged.count - 1].type = pattern
      }
    }
    for i in merged.indices {
      var renamed: [Int: Int] = [:]
      for (other, count) in merged[i].answers { renamed[place[other], default: 0] += count }
      merged[i].answers = renamed
    }
    types = types.map { $0 < 0 ? $0 : place[$0] }
    kinds = merged
  }

  // MARK: Order

  /// Finds pairs of types from opposite sides that alternate.
  mutating func findOrder() {
    var found: [(asking: Int, answering: Int, matched: Int, distance: Int)] = []
    let connections = Set(table.entries.map(\.connection)).count
    for answering in kinds.indices where isFree(answering) && kinds[answering].type != "beat" {
      guard let side = kinds[answering].counts.firstIndex(where: { $0 == kinds[answering].total }) else { continue }
      for asking in kinds.indices where asking != answering && kinds[asking].type != "beat" && isFree(asking) {
        guard kinds[asking].counts[1 - side] == kinds[asking].total else { continue }
        let (matched, distance) = turns(asking, answering)
        // Servers greet, and clients then continue: that is not an answer.
        let isNamed = Self.sounds(kinds[answering].type, kinds[asking].type)
        guard matched >= (isNamed ? 2 : side == 1 ? 4 : max(6, 2 * connections + 1)),
          matched * 20 >= kinds[answering].total * 19,
          matched * 10 >= kinds[asking].total * 8
        else { continue }
        found.append((asking, answering, matched, distance + (isNamed ? 0 : matched)))
      }
    }
    // The nearest pairs first: an answer comes at once, and the next question later.
    for one in found.sorted(by: {
      ($0.distance * $1.matched, $0.asking, $0.answering) < ($1.distance * $0.matched, $1.asking, $1.answering)
    })
    where isFree(one.answering) && isFree(one.asking) {
      kinds[one.answering].answers[one.asking] = one.matched
      kinds[one.answering].isInOrder = true
      kinds[one.asking].isInOrder = true
      kinds[one.asking].answered = one.matched
    }
  }

  private func isFree(_ kind: Int) -> Bool {
    kinds[kind].number == nil && kinds[kind].answers.isEmpty && kinds[kind].answered == 0
  }

  /// Whether the names of two types are those of a question and its answer.
  private static func sounds(_ answering: String, _ asking: String) -> Bool {
    func name(_ type: String) -> String { type.split(separator: " ").last.map { $0.lowercased() } ?? "" }
    let (a, b) = (name(answering), name(asking))
    return a.contains("pong") && b.contains("ping") || b.count > 2 && a.hasPrefix(b) || a.hasSuffix("ack")
  }

  /// The number of frames of `answering` that closely follow an unanswered frame of `asking`, and the sum of their distances in frames.
  private func turns(_ asking: Int, _ answering: Int) -> (matched: Int, distance: Int) {
    var open: [Int: (count: Int, place: Int)] = [:]
    var places: [Int: Int] = [:]
    var matched = 0
    var distance = 0
    for (number, entry) in table.entries.enumerated() {
      let place = places[entry.connection, default: 0] + 1
      places[entry.connection] = place
      if types[number] == asking {
        open[entry.connection] = ((open[entry.connection]?.count ?? 0) + 1, place)
      } else if types[number] == answering {
        // Two questions in a row do not alternate.
        if let one = open[entry.connection], one.count == 1, place - one.place <= Self.farthest {
          matched += 1
          distance += place - one.place
        }
        open[entry.connection] = nil
      }
    }
    return (matched, distance)
  }
}
