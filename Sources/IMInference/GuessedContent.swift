import IMContent

/// A protocol guessed from a capture, if its frames hold text, JSON, or another content that has names or numbers for its parts.
package struct GuessedContent: Sendable {
  /// One type and the counters of its frames.
  struct Kind: Sendable {
    /// The type, as written in a profile.
    var type: String
    /// The number of frames of clients and of servers.
    var counts: [Int]
    /// The length of the shortest and of the longest frame.
    var shortest: Int, longest: Int
    /// The path of its number.
    var number: String?
    /// The types that it answers, by index, with the number of frames that do.
    var answers: [Int: Int]
    /// Whether it answers the oldest open frame, or is answered in this way.
    var isInOrder: Bool
    /// The number of its frames that have an answer.
    var answered: Int

    /// The number of all its frames.
    var total: Int { counts[0] + counts[1] }
    /// The number of its frames that answer another frame.
    var answering: Int { answers.values.reduce(0, +) }
  }

  /// The member of answers that shows a rejection.
  struct Status: Sendable {
    /// The form of a status.
    enum Form: Sendable {
      /// A number; the values of this range accept.
      case number(accepted: ClosedRange<UInt64>)
      /// One of several texts; the first one accepts.
      case text([String])
      /// Present if the answer is a rejection.
      case present
    }

    /// The path of the status.
    var path: String
    /// The form of the status.
    var form: Form
    /// Its values, with the number of frames that have each.
    var values: [(text: String, count: Int)]
    /// The types of answers that have it.
    var kinds: Set<Int>
  }

  /// The result of a test on frames that were held out of the guess.
  package struct HeldOut: Equatable, Sendable {
    /// The number of connections held out; 0 if the last quarter of the frames of a single connection was.
    package var connections = 0
    /// The number of frames, and of those with a known type.
    package var frames = 0, known = 0
    /// The number of frames whose type has a number, and of those that have one.
    package var numbered = 0, withNumber = 0
    /// The number of answers, and of those that match an open frame.
    package var answers = 0, matched = 0

    /// Nothing was held out.
    package init() {}
  }

  /// The framing and the content of frames.
  package let found: FoundContent
  /// The parts of types.
  package let parts: [ContentTypePart]
  /// The most frequent types; no more than a profile may have.
  let kinds: [Kind]
  /// The number of types that were left out.
  let kindsLeftOut: Int
  /// The member of answers that shows a rejection.
  let status: Status?
  /// The path of a value that is constant on a connection and differs between connections, with the number of frames that agree.
  let session: (path: String, count: Int)?
  /// The result of the test on the frames that were held out.
  package let heldOut: HeldOut?
  /// The number of all frames.
  let frameCount: Int

  /// The maximum number of types written.
  static var mostKinds: Int { 60 }
}

extension GuessedContent {
  /// Guesses the content of TCP streams; `nil` if no content proves a framing. With `isBinary`, tries only binary contents,
  /// which other protocols may contain by chance.
  package init?(_ samples: [StreamSample], isBinary: Bool = false) {
    let finder = ContentFinder(samples)
    guard let found = isBinary ? finder.findBinary() : finder.find() else { return nil }
    self.init(samples, found)
  }

  /// Guesses the content of WebSocket messages, each of which is a run of its sample.
  package init?(messages samples: [StreamSample]) {
    guard let found = ContentFinder(samples).findInMessages() else { return nil }
    self.init(samples, found)
  }

  /// The reason why samples of text have no frames; `nil` if they are not text. Numbers in text are never part of a header, so nothing else is tried.
  package static func reasonAgainstText(_ samples: [StreamSample]) -> String? {
    let finder = ContentFinder(samples)
    guard finder.isText else { return nil }
    return finder.isJSON
      ? "JSON texts follow each other without a length or bytes that end them, which a profile cannot express"
      : "text, which no line end, other byte, length or structure divides into frames of a few types"
  }

  /// Whether headers contain more than the length of what follows, so that they may have types and numbers.
  package var hasOtherHeader: Bool {
    guard case .counted(.number(let place, _), let header) = found.framing else { return false }
    return header > place.size
  }

  private init(_ samples: [StreamSample], _ found: FoundContent) {
    self.found = found
    let table = ContentTable(samples, ContentWalk(samples.views(), found.framing, found.shape))
    frameCount = table.entries.count
    let (parts, answers) = Self.guess(table, found)
    self.parts = parts
    let ranked = answers.kinds.indices.sorted { (-answers.kinds[$0].total, $0) < (-answers.kinds[$1].total, $1) }
    // Of too many types, the most frequent ones are written, with the answers among them.
    let kept = ranked.prefix(Self.mostKinds).sorted { answers.kinds[$0].type < answers.kinds[$1].type }
    kindsLeftOut = ranked.count - kept.count
    var place: [Int: Int] = [:]
    for (new, old) in kept.enumerated() { place[old] = new }
    kinds = kept.map { old in
      let kind = answers.kinds[old]
      var renamed: [Int: Int] = [:]
      for (other, count) in kind.answers { if let new = place[other] { renamed[new] = count } }
      return Kind(
        type: kind.type, counts: kind.counts, shortest: kind.shortest, longest: kind.longest, number: kind.number,
        answers: renamed, isInOrder: kind.isInOrder, answered: kind.answered)
    }
    status = Self.status(table, answers.types.map { place[$0] ?? -1 }, kinds, parts, found.shape.kind)
    session = Self.session(table)
    // A guess from some connections, tested on the others.
    let held = HeldOutConnections(table.entries.map(\.connection))
    func isHeld(_ place: Int) -> Bool {
      held.connections.isEmpty ? place >= table.entries.count * 3 / 4 : held.contains(table.entries[place].connection)
    }
    guard table.entries.indices.count(where: { !isHeld($0) }) >= 12 else {
      heldOut = nil
      return
    }
    let learned = Self.guess(table.part { !isHeld($0) }, found)
    var check = Self.check(table, isHeld, learned.parts, learned.answers)
    check.connections = held.connections.count
    heldOut = check.frames > 0 ? check : nil
  }

  private static func guess(
    _ table: ContentTable, _ found: FoundContent
  ) -> (parts: [ContentTypePart], answers: ContentAnswers) {
    var parts = ContentTypeFinder(table).find(found.shape, found.framing)
    func own() -> Set<Int> {
      var own: Set<Int> = []
      // The length of a body is not a message number.
      if case .blocks(_, let length?, _) = found.framing, let index = table.index(length) { own.insert(index) }
      for part in parts {
        switch part {
        case .path(let path): if let index = table.index(path) { own.insert(index) }
        case .lead: if let index = table.index(ContentShape.leadType) { own.insert(index) }
        case .side, .which: break
        }
      }
      return own
    }
    var answers = ContentAnswers(table, parts)
    if !parts.isEmpty, parts.count < 3, !parts.contains(.side), answers.hasEchoes(own()) {
      parts = [.side] + parts
      answers = ContentAnswers(table, parts)
    }
    if found.shape.kind != .resp { answers.find(own()) }
    if parts.count > 1, [.json, .messagepack].contains(found.shape.kind), case .path? = parts.last {
      answers.mergeAnswers()
    }
    return (parts, answers)
  }

  private static func check(
    _ table: ContentTable, _ isHeldOut: (Int) -> Bool, _ parts: [ContentTypePart], _ learned: ContentAnswers
  ) -> HeldOut {
    var held = HeldOut()
    var index: [String: Int] = [:]
    for (number, kind) in learned.kinds.enumerated() { index[kind.type] = number }
    var open: [Int: Set<ContentMember.Value>] = [:]
    for (number, entry) in table.entries.enumerated() {
      let isHeld = isHeldOut(number)
      if isHeld { held.frames += 1 }
      guard let type = table.type(parts, entry), let known = index[type] ?? index[ContentAnswers.pattern(type)] else {
        // RESP commands and replies are types, whatever their name.
        if isHeld, parts == [.side, .path("0")] { held.known += 1 }
        continue
      }
      let kind = learned.kinds[known]
      if isHeld { held.known += 1 }
      guard let path = kind.number, let place = table.index(path) else { continue }
      let value = entry.value(place)
      if isHeld {
        held.numbered += 1
        if value != nil { held.withNumber += 1 }
      }
      guard let value else { continue }
      let own = entry.connection * 2 + entry.direction
      let peer = entry.connection * 2 + 1 - entry.direction
      if kind.answers.isEmpty {
        open[own, default: []].insert(value)
      } else {
        let isOpen = open[peer]?.remove(value) != nil
        if isHeld {
          held.answers += 1
          if isOpen { held.matched += 1 }
        }
      }
    }
    return held
  }
}
