import IMEngine
import IMStore
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Pages through filters, against a look at every message.
@Suite struct PageFinderTests {
  private static let filters: [(text: String, test: @Sendable (StoredMessage) -> Bool)] = [
    ("", { _ in true }), ("type == data", { $0.type == "data" }),
    ("fate == unanswered or retries > 0", { $0.fate == .unanswered || $0.retries > 0 }),
    ("rtt_ms > 400", { $0.retries == 0 && ($0.latency ?? 0) > 400_000 }),
    ("session == 3 and dir == c2s", { $0.session == 3 && $0.direction == .clientToServer }),
    ("client.ip == 10.0.0.2", { $0.connection == 2 }), ("server.port == 1", { _ in false }),
    ("seq >= 500", { $0.id >= 400 }),
    ("ip == fd00::1 and not (type in {data, receipt})", { _ in false }),
  ]

  @Test(arguments: filters.indices) func pagesAreThoseOfTheFilter(_ index: Int) throws {
    let source = ListedMessages.drawn(2_500, seed: 1)
    let finder = PageFinder(source, zone: .utc)
    let (text, test) = Self.filters[index]
    for page in [PageChoice(), PageChoice(session: 2), PageChoice(problems: .all)] {
      let all = source.messages(after: 0, page, count: .max).filter(test).map(\.id)
      let choice = PageRequest.Choice(page, filter: text)
      var found: [Int64] = []
      var place: Int64 = 0
      while true {
        let answer = try #require(
          try finder.page(PageRequest(generation: 1, choice: choice, place: .after(place), count: 50)))
        #expect(answer.items.count <= 50 && answer.isFirst == (place == 0))
        found += answer.items.map(\.message.id)
        if answer.isLast { break }
        place = try #require(found.last)
      }
      #expect(found == all)
      let last = try #require(
        try finder.page(PageRequest(generation: 1, choice: choice, place: .before(.max), count: 50)))
      #expect(last.items.map(\.message.id) == all.suffix(50) && last.isLast)
      let middle = try #require(
        try finder.page(PageRequest(generation: 1, choice: choice, place: .around(1_000), count: 50)))
      let (before, behind) = (all.filter { $0 < 1_000 }, all.filter { $0 >= 1_000 })
      #expect(middle.items.map(\.message.id) == Array(before.suffix(25)) + Array(behind.prefix(25)))
      #expect(middle.items.allSatisfy { $0.text == ($0.message.id % 5 == 0 ? "text \($0.message.id)" : "") })
    }
  }

  @Test func whatNobodyWantsEnds() throws {
    let finder = PageFinder(ListedMessages.drawn(5_000, seed: 1), zone: .utc)
    var looks = 0
    let request = PageRequest(
      generation: 1, choice: PageRequest.Choice(PageChoice(), filter: "len > 1000"), place: .after(0), count: 50)
    #expect(
      try finder.page(request) {
        looks += 1
        return looks > 2
      } == nil)
    #expect(looks == 3)
  }

  @Test func problemsOneByOne() throws {
    let source = ListedMessages.drawn(1_500, seed: 6)
    let finder = PageFinder(source, zone: .utc)
    for (kinds, wanted) in [(ProblemKinds(), ProblemKinds.all), (.retried, .retried), (.late, .late)] {
      let all = source.messages.filter { !$0.problems.isDisjoint(with: wanted) }.map(\.id)
      var found: [Int64] = []
      while true {
        let answer = try finder.problem(
          ProblemRequest(
            generation: 1, from: found.last ?? 0, isForward: true, kinds: kinds, choice: PageRequest.Choice()))
        guard let id = try #require(answer).id else { break }
        found.append(id)
      }
      #expect(found == all)
      let answer = try finder.problem(
        ProblemRequest(generation: 1, from: .max, isForward: false, kinds: kinds, choice: PageRequest.Choice()))
      #expect(answer?.id == all.last)
    }
  }

  @Test(arguments: ["tlv[0x1] == 2", "crc == bad", "flags == retry", "heartbeat"]) func whatAStoreDoesNotHaveIsRefused(
    _ text: String
  ) {
    #expect(throws: (any Error).self) { try StoredFilter(text, zone: .utc) }
  }
}
