import IMStore
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// The order of sessions, and what is selected among them.
@Suite struct SessionListTests {
  private static func sessions(_ count: Int, seed: UInt64) -> [StoredSession] {
    var random = SeededRandom(seed)
    return (1...count).map { i in
      .made(
        Int64(i), name: random.once(in: 5) ? nil : random.one(of: ["张三", "alice", "Bob", "李雷👍"]) + "\(i)",
        random: &random)
    }
  }

  /// Every order against one that compares two by two, a thousand times.
  @Test func ordersAreRight() throws {
    let sessions = Self.sessions(300, seed: 1)
    var random = SeededRandom(2)
    for _ in 0..<300 {
      var order = SessionOrder()
      order.sort = random.one(of: SessionSort.allCases)
      order.isReversed = random.once(in: 2)
      order.filter = random.one(of: ["", "alice", "BOB", "10.0.0.7", "张", "a 2", "nobody"])
      for _ in 0..<Int(random.next() % 4) { order.pins.insert(Int64(1 + random.next() % 300)) }
      let found = try #require(order.arrange(sessions))
      let words = order.filter.lowercased().split(separator: " ")
      let wanted = sessions.filter { session in
        let texts = [session.name ?? "", session.client, session.server, session.profile].map { $0.lowercased() }
        return order.pins.contains(session.id) || words.allSatisfy { word in texts.contains { $0.contains(word) } }
      }
      #expect(Set(found.map(\.id)) == Set(wanted.map(\.id)) && found.count == wanted.count)
      for (a, b) in zip(found, found.dropFirst()) {
        let (pinA, pinB) = (order.pins.contains(a.id), order.pins.contains(b.id))
        #expect(pinA || !pinB)
        if pinA == pinB {
          #expect(order.isReversed ? !Self.isBefore(a, b, order.sort) : !Self.isBefore(b, a, order.sort))
        }
      }
    }
  }

  private static func isBefore(_ a: StoredSession, _ b: StoredSession, _ sort: SessionSort) -> Bool {
    switch sort {
    case .problems:
      // The first count that differs decides.
      [
        (a.lost, b.lost), (a.rejected, b.rejected), (a.retries, b.retries), (a.lostHeartbeats, b.lostHeartbeats),
        (a.messages, b.messages),
      ].first { $0.0 != $0.1 }.map { $0.0 > $0.1 } ?? (a.id < b.id)
    case .number: a.id < b.id
    case .name: (a.name ?? "\u{10ffff}") < (b.name ?? "\u{10ffff}")
    case .messages: a.messages > b.messages
    case .roundTrip: (a.slowestRoundTrip95 ?? -1) > (b.slowestRoundTrip95 ?? -1)
    case .retries: a.retries > b.retries
    case .lost: (a.lost, a.rejected) > (b.lost, b.rejected)
    case .last: (a.last ?? .distantPast) > (b.last ?? .distantPast)
    }
  }

  @Test func whatNobodyWantsEnds() {
    #expect(SessionOrder().arrange(Self.sessions(10, seed: 1), isStale: { true }) == nil)
  }

  @Test func theSelectedSessionStaysWhereItIs() throws {
    let sessions = Self.sessions(500, seed: 3)
    var random = SeededRandom(4)
    var list = SelectableList<StoredSession, Int64> { $0.id }
    list.resize(20)
    list.replace(sessions)
    for _ in 0..<500 {
      list.select(Int(random.next() % UInt64(max(1, list.items.count))))
      let (id, row) = (list.selected?.id, list.index - list.top)
      var order = SessionOrder()
      order.sort = random.one(of: SessionSort.allCases)
      order.isReversed = random.once(in: 2)
      list.replace(try #require(order.arrange(sessions)))
      #expect(list.selected?.id == id)
      #expect((list.top..<list.top + list.height).contains(list.index))
      // It keeps its row but where the list begins or ends.
      #expect(list.index - list.top == row || list.top == 0 || list.top == list.items.count - list.height)
      list.move(Int(random.next() % 50) - 25)
      list.resize(3 + Int(random.next() % 40))
      #expect((list.top..<list.top + list.height).contains(list.index))
    }
    list.replace([])
    #expect(list.selected == nil && list.visible.isEmpty)
  }

  /// Until a row is chosen the first one is selected, whichever it is: a list that fills while it is looked at begins with what matters.
  @Test func theFirstRowIsSelectedUntilOneIsChosen() {
    var list = SelectableList<Int, Int> { $0 }
    list.resize(2)
    list.replace([3])
    list.replace([1, 2, 3])
    #expect(list.selected == 1)
    list.move(1)
    list.replace([9, 8, 7, 2])
    #expect(list.selected == 2)
    list.replace([])
    list.prefer(5)
    list.replace([4, 5])
    list.replace([6, 4, 5])
    #expect(list.selected == 5)
  }

  /// Words for states: by their names, or as the column shows them, and the other way round.
  @Test(arguments: [
    ("state:reset", [2]), ("state:re", [2, 4]), ("STATE:OPEN", [1]), ("!state:closed", [1, 2, 4, 5]),
    ("state:", [1, 2, 3, 4, 5]),
    ("!state:", [1, 2, 3, 4, 5]), ("state:recon", [4]), ("state:half 10.0", [5]), ("state:no", []),
  ])
  func sessionsAreFilteredByState(_ filter: String, _ wanted: [Int64]) throws {
    var random = SeededRandom(9)
    let states = ["open", "reset", "closed", "reconnected", "half"]
    let sessions = states.enumerated().map { i, state in
      var session = StoredSession.made(Int64(i + 1), name: "n\(i)", random: &random)
      session.state = state
      return session
    }
    var order = SessionOrder()
    order.filter = filter
    order.sort = .number
    let found = try #require(order.arrange(sessions))
    #expect(found.map(\.id) == wanted)
  }
}
