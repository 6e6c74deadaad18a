import IMEngine
import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Lists to which messages come while they are on the screen.
@Suite struct FollowTests {
  /// A window over a list that grows.
  private struct Bench {
    var window = MessageWindow()
    let source: ListedMessages
    let finder: PageFinder
    var random = SeededRandom(21)

    init(_ count: Int, height: Int = 20) {
      source = ListedMessages.drawn(count, seed: 20)
      finder = PageFinder(source, zone: .utc)
      window.resize(height)
    }

    mutating func append(_ count: Int) {
      for _ in 0..<count {
        let last = source.messages.last
        source.messages.append(
          .made((last?.id ?? 0) + 1, time: (last?.time.microseconds ?? 0) + 1_000, random: &random))
      }
      window.refresh()
    }

    /// Answers until nothing is asked for any more.
    mutating func settle() throws {
      for _ in 0..<200 {
        guard let request = window.nextRequest() else { return }
        let answer = try #require(try finder.page(request))
        _ = window.accept(answer)
      }
      Issue.record("it never rests")
    }
  }

  /// With any message selected, 10,000 that come move nothing, and no more than 500 stay in memory.
  @Test(arguments: LongRun.some([0, 1, 19, 260, 499, 980, 999])) func appendingMovesNothing(_ place: Int) throws {
    var bench = Bench(1_000)
    bench.window.open(PageRequest.Choice(), at: .around(bench.source.messages[place].id))
    try bench.settle()
    let (id, row) = (bench.window.selected?.message.id, bench.window.screenRow)
    #expect(id == bench.source.messages[place].id)
    var left = 10_000
    while left > 0 {
      let count = min(left, 1 + Int(bench.random.next() % 300))
      left -= count
      bench.append(count)
      // Not every commit is looked at in time.
      if bench.random.once(in: 2) { try bench.settle() }
      #expect(bench.window.selected?.message.id == id && bench.window.screenRow == row)
    }
    try bench.settle()
    #expect(bench.window.selected?.message.id == id && bench.window.screenRow == row)
    #expect(bench.window.items.count <= MessageWindow.limit)
    let ids = bench.window.items.map(\.message.id), all = bench.source.messages.map(\.id)
    let first = try #require(all.firstIndex(of: ids[0]))
    #expect(ids == Array(all[first..<first + ids.count]))
  }

  @Test func theEndIsFollowedUntilSomebodyMoves() throws {
    var bench = Bench(300)
    bench.window.open(PageRequest.Choice(), at: .before(.max))
    bench.window.follow()
    for count in [1, 30, 600, 5_000, 2] {
      bench.append(count)
      try bench.settle()
      #expect(bench.window.selected?.message.id == bench.source.messages.last?.id)
      #expect(bench.window.screenRow == 19 && bench.window.follows && bench.window.showsEnd)
      #expect(bench.window.items.count <= MessageWindow.limit)
    }
    bench.window.move(-1)
    let id = bench.window.selected?.message.id
    bench.append(700)
    try bench.settle()
    #expect(bench.window.selected?.message.id == id && !bench.window.follows && !bench.window.showsEnd)
    bench.window.follow()
    try bench.settle()
    #expect(bench.window.selected?.message.id == bench.source.messages.last?.id)
  }

  /// A message whose fate is decided is shown with it, where it stands.
  @Test func whatChangesIsShown() throws {
    var bench = Bench(400)
    bench.window.open(PageRequest.Choice(), at: .around(bench.source.messages[200].id))
    try bench.settle()
    let row = bench.window.screenRow
    bench.source.messages[200].fate = .unanswered
    bench.source.messages[200].problems = .unanswered
    bench.window.refresh()
    try bench.settle()
    #expect(bench.window.selected?.message == bench.source.messages[200] && bench.window.screenRow == row)
    #expect(bench.window.selected?.outcome().hasPrefix("unanswered") == true)
  }

  /// The screen of a live capture: the badge counts what came since its end was seen, also through a filter.
  @Test(arguments: ["", "type == data"]) func theBadge(_ filter: String) throws {
    var bench = Bench(900)
    var browser = Browser(BrowsedSource(files: [], isStore: false), zone: .utc)
    browser.progress.isLive = true
    var now = Duration.zero
    func settle() throws {
      for _ in 0..<100 {
        now += .milliseconds(300)
        browser.advance(to: now)
        for request in browser.takeRequests(at: now) {
          switch request {
          case .sessions(let wanted): browser.accept(.sessions(wanted, [], SessionTotals()))
          case .page(let wanted): if let page = try bench.finder.page(wanted) { browser.accept(.page(page)) }
          case .news(let wanted): if let news = try bench.finder.news(wanted) { browser.accept(.news(news)) }
          case .details(let id): browser.accept(.details(id, []))
          case .rows(let wanted):
            var rows: [RowTable.Key: CellRow] = [:]
            wanted.layOut { rows.merge($0.rows) { $1 } }
            browser.accept(.rows(RowsAnswer(serial: wanted.serial, rows: rows, isLast: true)))
          default: break
          }
        }
        _ = browser.render(width: 100, height: 30)
        if browser.deadline == nil { return }
      }
      Issue.record("it never rests")
    }
    func press(_ key: Key) throws {
      browser.handle(.key(key), at: now)
      try settle()
    }
    var commit = 0
    func come(_ count: Int) throws {
      bench.append(count)
      commit += 1
      browser.commit(commit, isLast: false, at: now)
      try settle()
    }
    func isListed(_ message: StoredMessage) -> Bool { filter.isEmpty || message.type == "data" }
    func heading() -> String { browser.render(width: 100, height: 30).text(row: 3) }

    try come(1)
    try press(Key("a"))
    if !filter.isEmpty {
      try press(Key("/"))
      for letter in filter.unicodeScalars { browser.handle(.key(Key(letter)), at: now) }
      try press(Key(.enter))
      try press(Key("G"))
    }
    try come(5)
    #expect(heading().contains("following"))
    #expect(browser.messages.selected?.message.id == bench.source.messages.last(where: isListed)?.id)
    for _ in 0..<40 { browser.handle(.key(Key(.up)), at: now) }
    try come(1)
    // The count begins where the last look ended.
    let known = try #require(browser.watch.news?.last), before = browser.watch.news?.count ?? 0
    let id = browser.messages.selected?.message.id
    for count in [3, 1_204, 77] { try come(count) }
    let wanted = before + bench.source.messages.filter { $0.id > known && isListed($0) }.count
    #expect(heading().contains("▼ \(grouped(UInt64(wanted))) new"), "\(heading())")
    #expect(browser.messages.selected?.message.id == id)
    try press(Key(.end))
    #expect(heading().contains("following"))
    #expect(browser.messages.selected?.message.id == bench.source.messages.last(where: isListed)?.id)
    try press(Key("f"))
    #expect(!browser.messages.follows)
  }

  @Test func selectedMessagesAreSavedUnderATypedName() throws {
    let bench = Bench(100)
    var browser = Browser(BrowsedSource(files: ["a.pcap"], isStore: false), zone: .utc)
    browser.source.captures = ["a.pcap"]
    func settle() throws {
      for _ in 0..<10 {
        for request in browser.takeRequests(at: .seconds(1)) {
          if case .page(let wanted) = request, let page = try bench.finder.page(wanted) { browser.accept(.page(page)) }
        }
      }
    }
    browser.handle(.key(Key("a")), at: .zero)
    try settle()
    for key in [Key(" "), Key(.down), Key(" "), Key(" "), Key(.up), Key(" "), Key("w")] {
      browser.handle(.key(key), at: .zero)
    }
    // The third selection was taken back.
    let ids = bench.source.messages.map(\.id)
    // Letters are text here: none of them quits.
    browser.handle(.key(.control("u")), at: .zero)
    for letter in "q.pcap".unicodeScalars { browser.handle(.key(Key(letter)), at: .zero) }
    browser.handle(.key(Key(.enter)), at: .zero)
    var asked: SaveRequest?
    for request in browser.takeRequests(at: .seconds(2)) { if case .save(let save) = request { asked = save } }
    var request = try #require(asked)
    #expect(
      request == SaveRequest(form: .packets, name: "q.pcap", choice: PageRequest.Choice(), selected: [ids[0], ids[2]]))
    let wishes = browser.takeWishes()
    #expect(wishes == [])
    // A file that is there is replaced when somebody says so, and only then.
    browser.accept(.saved(request, .exists))
    browser.handle(.key(Key("n")), at: .zero)
    let later = browser.takeRequests(at: .seconds(3))
    #expect(later.allSatisfy { if case .save = $0 { false } else { true } })
    browser.handle(.key(Key("w")), at: .zero)
    browser.handle(.key(Key(.enter)), at: .zero)
    request.name = "messages.pcapng"
    browser.accept(.saved(request, .exists))
    browser.handle(.key(Key("y")), at: .zero)
    asked = nil
    for request in browser.takeRequests(at: .seconds(4)) { if case .save(let save) = request { asked = save } }
    #expect(asked?.replaces == true && asked?.name == "messages.pcapng")
  }

  /// Everything typed within one turn of the loop: the file has what the filter selects, not the list of before.
  @Test func keysTypedAfterAFilterActOnItsList() throws {
    var bench = BrowserTests.Bench()
    try bench.settle()
    try bench.press(Key("a"))
    func type(_ text: String) {
      for letter in text.unicodeScalars { bench.browser.handle(.key(Key(letter)), at: bench.now) }
      bench.browser.handle(.key(Key(.enter)), at: bench.now)
    }
    func saved() -> SaveRequest? {
      for case .save(let save) in bench.browser.takeRequests(at: bench.now) { return save }
      return nil
    }
    for (prompt, filter) in [("/", "retries > 0"), (":filter ", "rtt_ms > 5")] {
      type(prompt + filter)
      bench.browser.handle(.key(Key("e")), at: bench.now)
      bench.browser.handle(.key(.control("u")), at: bench.now)
      type("rows.csv")
      let request = try #require(saved())
      #expect(
        request
          == SaveRequest(
            form: .rows, name: "rows.csv", choice: PageRequest.Choice(PageChoice(), filter: filter),
            selected: []))
      bench.browser.accept(.saved(request, .done("written")))
      try bench.settle()
    }
  }
}
