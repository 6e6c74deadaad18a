import IMOutput
import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// The screens, driven as whoever owns a terminal drives them.
@Suite struct BrowserTests {
  /// A browser and what answers it.
  struct Bench {
    var browser = Browser(BrowsedSource(files: ["a b.db"], isStore: true), zone: .utc)
    let source = ListedMessages.drawn(900, seed: 5)
    let finder: PageFinder
    let sessions: [StoredSession]
    var now = Duration.zero

    init() {
      finder = PageFinder(source, zone: .utc)
      var random = SeededRandom(6)
      sessions = (1...4).map { .made($0, name: "\($0)", random: &random) }
    }

    mutating func settle() throws {
      for _ in 0..<100 {
        now += .milliseconds(300)
        browser.advance(to: now)
        let requests = browser.takeRequests(at: now)
        for request in requests { if let answer = try answer(request) { browser.accept(answer) } }
        if requests.isEmpty, browser.deadline == nil { return }
      }
      Issue.record("it never rests")
    }

    private func answer(_ request: BrowserRequest) throws -> BrowserAnswer? {
      switch request {
      case .sessions(let wanted): wanted.order.arrange(sessions).map { .sessions(wanted, $0, SessionTotals(sessions)) }
      case .problems: .problems([])
      case .ladder(let wanted): try LadderFinder(source).part(wanted).map { .ladder($0) }
      case .strip(let wanted): .strip(wanted, source.periods(wanted.times))
      case .moment(let wanted): try finder.moment(wanted).map { .moment(wanted, $0.id) }
      case .page(let wanted): try finder.page(wanted).map { .page($0) }
      case .problem(let wanted): try finder.problem(wanted).map { .problem(wanted, $0.id) }
      case .frame(let wanted):
        .frame(
          wanted,
          FrameDissection(
            bytes: Array(0..<100), hidden: [40..<44],
            parts: [FrameDissection.Part(name: "\u{1b}张", value: "\u{7}", range: 3..<60)]))
      case .news(let wanted): try finder.news(wanted).map { .news($0) }
      case .save(let wanted): .saved(wanted, wanted.name.isEmpty || wanted.replaces ? .done("written") : .exists)
      case .names(let wanted): .names(wanted, [:], isLast: true)
      case .rows(let wanted):
        Self.laidOut(wanted)
      case .details(let id): .details(id, [("id", "\(id)"), ("text", "\u{1b}[2J")])
      }
    }

    /// What comes of a request in several answers comes here in one.
    private static func laidOut(_ request: RowsRequest) -> BrowserAnswer {
      var whole = RowsAnswer(serial: request.serial, rows: [:], isLast: true)
      request.layOut { answer in
        whole.rows.merge(answer.rows) { $1 }
        whole.texts.merge(answer.texts) { $1 }
      }
      return .rows(whole)
    }

    mutating func press(_ keys: Key...) throws {
      for key in keys { browser.handle(.key(key), at: now) }
      try settle()
    }
  }

  @Test func everyKeyOfHelpIsOneKeyAlone() {
    for map in [KeyMap.sessions, .messages, .problems, .frame, .ladder] {
      let keys = map.rows.flatMap(\.keys)
      #expect(Set(keys).count == keys.count)
      for row in map.rows { for key in row.keys { #expect(map.action(key) == row.action) } }
      #expect(map.action(Key("q")) == .quit && map.action(Key("?")) == .help)
    }
  }

  /// Any keys, in any order, on screens of any size: rows of the right width, and nothing that is no text.
  @Test func anyKeys() throws {
    var random = SeededRandom(7)
    var bench = Bench()
    try bench.settle()
    let keys =
      [KeyMap.sessions, .messages, .problems, .frame, .ladder].flatMap { $0.rows.flatMap(\.keys) } + [
        Key("张"), Key("x"), Key(.delete),
      ]
    for step in 0..<3_000 {
      switch random.next() % 20 {
      case 0: bench.browser.handle(.paste("type == \u{1b}[2Jdata\n"), at: bench.now)
      case 1:
        let action = random.one(of: [Mouse.Action.press(0), .press(2), .release(0), .wheelUp, .wheelDown])
        bench.browser.handle(
          .mouse(Mouse(action, row: Int(random.next() % 60), column: Int(random.next() % 200))), at: bench.now)
      default: bench.browser.handle(.key(random.one(of: keys)), at: bench.now)
      }
      if random.once(in: 3) { try bench.settle() }
      let (width, height) = (1 + Int(random.next() % 210), 1 + Int(random.next() % 60))
      let grid = bench.browser.render(width: width, height: height)
      #expect(grid.width == width && grid.height == height)
      for row in 0..<height {
        let text = grid.text(row: row)
        #expect(cells(text) == width, "step \(step), row \(row): \(text)")
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 })
      }
    }
  }

  @Test func staleSessionsAreNeverShown() throws {
    var bench = Bench()
    let first = bench.browser.takeRequests(at: .zero)
    #expect(first == [.sessions(SessionsRequest()), .strip(StripRequest())])
    bench.browser.handle(.key(Key("s")), at: .milliseconds(1))
    let second = bench.browser.takeRequests(at: .milliseconds(40))
    guard case .sessions(let wanted) = second.first else {
      Issue.record("nothing was asked for")
      return
    }
    #expect(wanted.order.sort == .name)
    bench.browser.accept(.sessions(SessionsRequest(), bench.sessions, SessionTotals(bench.sessions)))
    #expect(bench.browser.sessions.items.isEmpty)
    bench.browser.accept(.sessions(wanted, bench.sessions, SessionTotals(bench.sessions)))
    #expect(bench.browser.sessions.items == bench.sessions)
  }

  @Test func aFilterThatIsWrongKeepsTheLastGoodList() throws {
    var bench = Bench()
    try bench.settle()
    try bench.press(Key("a"), Key("/"))
    for letter in "type == data".unicodeScalars { bench.browser.handle(.key(Key(letter)), at: bench.now) }
    try bench.settle()
    let ids = bench.browser.messages.items.map(\.message.id)
    #expect(!ids.isEmpty && bench.browser.messages.items.allSatisfy { $0.message.type == "data" })
    for letter in " && (".unicodeScalars { bench.browser.handle(.key(Key(letter)), at: bench.now) }
    try bench.settle()
    #expect(bench.browser.filterError != nil)
    #expect(bench.browser.messages.items.map(\.message.id) == ids)
    try bench.press(Key(.enter))
    #expect(bench.browser.input != nil)
    try bench.press(Key(.escape))
    #expect(bench.browser.input == nil && bench.browser.messages.choice.filter == "")
    let wishes = bench.browser.takeWishes()
    #expect(wishes == [])
  }

  @Test func theCommandIsQuotedForAShell() throws {
    var bench = Bench()
    try bench.settle()
    try bench.press(Key("a"))
    #expect(
      bench.browser.equivalentCommand
        == "imdump query 'a b.db' 'SELECT m.* FROM messages AS m JOIN message USING (id) ORDER BY id'")
    bench.browser.accept(.captures(["it's.pcap"]))
    try bench.press(Key("/"))
    for letter in "type == data".unicodeScalars { bench.browser.handle(.key(Key(letter)), at: bench.now) }
    try bench.press(Key(.enter))
    #expect(bench.browser.equivalentCommand == #"imdump messages 'it'\''s.pcap' -Y 'type == data'"#)
  }

  @Test func typedLetters() {
    var line = TextInput("ab")
    for key in [Key(.left), Key("张"), Key(.home), Key("x"), Key(.delete), Key(.end), Key(.backspace)] {
      let isTaken = line.take(key)
      #expect(isTaken)
    }
    #expect(line.text == "x张")
    let others = [Key(.function(3)), Key(.character("q"), .alt)].map { line.take($0) }
    #expect(others == [false, false])
    line.insert(String(repeating: "é\n\u{1b}", count: 2_000))
    #expect(line.text.count <= 502 && !line.text.contains("\n"))
    _ = line.take(.control("u"))
    #expect(line.text == "")
    line.insert("one two  ")
    _ = line.take(.control("w"))
    #expect(line.text == "one ")
  }
}
