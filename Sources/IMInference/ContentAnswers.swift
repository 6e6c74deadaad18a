/// The types of frames that answer each other, and the members that match them.
struct ContentAnswers {
  /// One type and the counters of its frames.
  struct Kind {
    /// The type, as written in a profile.
    var type: String
    /// The number of frames of clients and of servers.
    var counts = [0, 0]
    /// The length of the shortest and of the longest frame.
    var shortest = Int.max, longest = 0
    /// The path of its number.
    var number: String?
    /// The types that it answers, with the number of frames that do.
    var answers: [Int: Int] = [:]
    /// Whether it answers the oldest open frame, without a number.
    var isInOrder = false
    /// The number of its frames that have an answer.
    var answered = 0

    var total: Int { counts[0] + counts[1] }
    /// The number of its frames that answer another frame.
    var answering: Int { answers.values.reduce(0, +) }
  }

  /// Two members that may be the numbers of a type and of the type that answers it.
  private struct Link: Hashable {
    var asking: Int, askingPath: Int
    var answering: Int, answeringPath: Int
  }

  /// A value at a path.
  private struct Place: Hashable {
    var path: Int
    var value: ContentMember.Value
  }

  private static var mostTypes: Int { 4_096 }
  /// The maximum distance from a question to an answer without a number, in frames.
  static var farthest: Int { 4 }

  var kinds: [Kind] = []
  /// The type of each frame; -1 where it has none.
  var types: [Int]
  let table: ContentTable
  /// Whether each frame is answered through a link that was chosen.
  private var isTaken: [Bool]
  /// Members that differ from frame to frame of a type, as message numbers do.
  private var differing: Set<Member> = []
  /// Members of a type that do not have the same value in all frames.
  private var varying: Set<Member> = []
  /// Members of answers that turned out to match too few frames.
  private var dismissed: Set<Member> = []

  /// A member of the frames of a type.
  private struct Member: Hashable {
    var type: Int
    var path: Int
  }

  init(_ table: ContentTable, _ parts: [ContentTypePart]) {
    self.table = table
    var index: [String: Int] = [:]
    var kinds: [Kind] = []
    types = table.entries.map { entry in
      guard let type = table.type(parts, entry) else { return -1 }
      let number = index[type] ?? kinds.count
      if number == kinds.count {
        guard kinds.count < Self.mostTypes else { return -1 }
        index[type] = number
        kinds.append(Kind(type: type))
      }
      kinds[number].counts[entry.direction & 1] += 1
      kinds[number].shortest = min(kinds[number].shortest, entry.count)
      kinds[number].longest = max(kinds[number].longest, entry.count)
      return number
    }
    self.kinds = kinds
    isTaken = [Bool](repeating: false, count: table.entries.count)
    findDiffering()
  }

  private mutating func findDiffering() {
    struct Value: Hashable {
      var connection: Int
      var value: ContentMember.Value
    }
    var values: [Member: (all: Int, different: Set<Value>)] = [:]
    for (number, entry) in table.entries.enumerated() where types[number] >= 0 && !entry.isBeat {
      for member in entry.members where isNumber(member.value) {
        let key = Member(type: types[number], path: member.path)
        values[key, default: (0, [])].all += 1
        values[key, default: (0, [])].different.insert(
          Value(connection: entry.connection, value: member.value))
      }
    }
    for (member, found) in values {
      if found.different.count * 2 >= found.all { differing.insert(member) }
      if Set(found.different.map(\.value)).count > 1 { varying.insert(member) }
    }
  }

  /// Whether frames of one type answer frames of the same type from the other side.
  func hasEchoes(_ isPart: Set<Int>) -> Bool {
    var echoes: [Link: Set<Int>] = [:]
    walk(isPart) { link, _, answering in
      guard link.asking == link.answering, link.askingPath == link.answeringPath else { return }
      echoes[link, default: []].insert(answering)
    }
    return echoes.contains { $0.value.count >= 4 && $0.value.count * 10 >= kinds[$0.key.asking].total * 3 }
  }

  /// Finds answers by number, the most certain first, then answers by order.
  mutating func find(_ isPart: Set<Int>) {
    for _ in 0..<32 {
      guard let choice = best(isPart) else { break }
      take(choice)
    }
    findOrder()
  }

  private func isNumber(_ value: ContentMember.Value) -> Bool {
    switch value {
    case .text(let text): !text.isEmpty
    case .number: true
    case .flag, .group, .null, .other: false
    }
  }

  /// Visits all frames. Passes `body` each link from a frame that may be an answer to an open frame of the other side with the same value.
  private func walk(_ isPart: Set<Int>, _ body: (Link, _ asking: Int, _ answering: Int) -> Void) {
    var open: [Int: [ContentMember.Value: [(entry: Int, path: Int)]]] = [:]
    var seen: [Int: Set<Place>] = [:]
    for (number, entry) in table.entries.enumerated() where types[number] >= 0 && !entry.isBeat {
      let own = entry.connection * 2 + entry.direction
      let peer = entry.connection * 2 + 1 - entry.direction
      let type = types[number]
      var isAnswer = kinds[type].answers.isEmpty && kinds[type].answered == 0 && kinds[type].number == nil
      if isAnswer, let others = open[peer] {
        var found: Set<Link> = []
        for member in entry.members
        where !isPart.contains(member.path) && isNumber(member.value)
          && differing.contains(Member(type: type, path: member.path))
          && !dismissed.contains(Member(type: type, path: member.path))
        {
          for asking in others[member.value] ?? [] where !isTaken[asking.entry] {
            let link = Link(
              asking: types[asking.entry], askingPath: asking.path, answering: type, answeringPath: member.path)
            if found.insert(link).inserted { body(link, asking.entry, number) }
          }
        }
      }
      // A type that answers others is not answered itself.
      isAnswer = !kinds[type].answers.isEmpty
      guard !isAnswer, !isTaken[number] else { continue }
      let wanted = kinds[type].number.flatMap { table.index($0) }
      for member in entry.members
      where !isPart.contains(member.path) && isNumber(member.value)
        && differing.contains(Member(type: type, path: member.path))
      {
        if let wanted, member.path != wanted { continue }
        let name = Place(path: member.path, value: member.value)
        // A value that repeats is not a message number, but a name.
        guard seen[own, default: []].insert(name).inserted else { continue }
        var list = open[own]?[member.value] ?? []
        if list.count >= 8 { list.removeFirst() }
        list.append((number, member.path))
        open[own, default: [:]][member.value] = list
      }
    }
  }

  /// The path of the number in answers of one type, with the paths in the frames that they answer.
  private struct Choice {
    var answering: Int
    var answeringPath: Int
    var links: [Link]
    var votes: Int
  }

  private func best(_ isPart: Set<Int>) -> Choice? {
    var votes: [Link: Set<Int>] = [:]
    walk(isPart) { link, _, answering in
      votes[link, default: []].insert(answering)
    }
    var choices: [[Int]: Choice] = [:]
    for (link, frames) in votes.sorted(by: { Self.precedes($0, $1) }) {
      let key = [link.answering, link.answeringPath]
      var choice =
        choices[key] ?? Choice(answering: link.answering, answeringPath: link.answeringPath, links: [], votes: 0)
      // For each type, the path that agrees most often.
      guard !choice.links.contains(where: { $0.asking == link.asking }) else { continue }
      // A value that is the same on every connection identifies no message.
      guard link.asking != link.answering,
        varying.contains(Member(type: link.asking, path: link.askingPath))
          || varying.contains(Member(type: link.answering, path: link.answeringPath))
      else { continue }
      choice.links.append(link)
      choice.votes += frames.count
      choices[key] = choice
    }
    var best: Choice?
    for choice in choices.values.sorted(by: { ($0.answering, $0.answeringPath) < ($1.answering, $1.answeringPath) }) {
      let total = kinds[choice.answering].total
      guard choice.votes >= 2, choice.votes * 10 >= total * 8 else { continue }
      if let known = best, (known.votes, rank(known)) >= (choice.votes, rank(choice)) { continue }
      best = choice
    }
    return best
  }

  /// Among members that agree equally often, prefers the one whose name or position is typical of a number.
  private func rank(_ choice: Choice) -> Int {
    let path = table.paths[choice.answeringPath].lowercased()
    let isNamed = ["id", "seq", "ref", "receipt", "req", "ack", "number", "nonce"].contains { path.contains($0) }
    return (isNamed ? 100 : 0) - path.split(separator: ".").count * 10 - choice.links.count
  }

  private static func precedes(_ a: (key: Link, value: Set<Int>), _ b: (key: Link, value: Set<Int>)) -> Bool {
    func rank(_ key: Link, _ count: Int) -> (Int, Int, Int, Int, Int) {
      (-count, key.askingPath == key.answeringPath ? -1 : key.askingPath, key.asking, key.answering, key.answeringPath)
    }
    return rank(a.key, a.value.count) < rank(b.key, b.value.count)
  }

  private mutating func take(_ choice: Choice) {
    let links = Set(choice.links)
    // Pairs of frames: the newest open frame of those that agree.
    var pairs: [Int: Int] = [:]
    var askers: [Int: Link] = [:]
    walk([]) { link, asking, answering in
      guard links.contains(link), pairs[answering].map({ $0 < asking }) ?? true else { return }
      pairs[answering] = asking
      askers[answering] = link
    }
    // One question has one answer.
    var answered: Set<Int> = []
    let chosen = pairs.sorted { $0.key < $1.key }.filter { !isTaken[$0.value] && answered.insert($0.value).inserted }
    guard chosen.count * 10 >= kinds[choice.answering].total * 8 else {
      dismissed.insert(Member(type: choice.answering, path: choice.answeringPath))
      return
    }
    let needed = max(1, choice.votes / 50)
    for (answering, asking) in chosen {
      guard let link = askers[answering] else { continue }
      isTaken[asking] = true
      kinds[link.answering].answers[link.asking, default: 0] += 1
      kinds[link.asking].answered += 1
      kinds[link.asking].number = table.paths[link.askingPath]
    }
    // A few matches by chance do not count.
    for (asking, count) in kinds[choice.answering].answers where count < needed {
      kinds[choice.answering].answers[asking] = nil
      kinds[asking].answered -= count
      if kinds[asking].answered == 0 { kinds[asking].number = nil }
    }
    kinds[choice.answering].number = table.paths[choice.answeringPath]
  }
}
