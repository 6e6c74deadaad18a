import IMOutput
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser
@testable import IMStore

/// The screens, driven as whoever owns a terminal drives them.
@Suite struct BrowserTests {
  /// A browser and what answers it.
  struct Bench {
    var browser = Browser(BrowsedSource(files: ["a b.db"], isStore: true), zone: .utc)
    let source = ListedMessages.drawn(900, seed: 5)
    let finder: PageFinder
    var sessions: [StoredSession]
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
      case .connections(let wanted): .connections(wanted, [])
      case .types(let wanted):
        .types(
          wanted,
          StoredTypes(types: [StoredTypeCount(.type(1), name: "data\u{1b}", role: "message", profile: "tjp")]))
      case .preview(let wanted): try finder.page(wanted).map { .preview($0) }
      case .ladder(let wanted): try LadderFinder(source).part(wanted).map { .ladder($0) }
      case .timeline(let wanted): .timeline(wanted, source.periods(wanted.times))
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
    for map in Browser.Screen.allCases.map({ KeyMap.of($0) }) {
      let keys = map.rows.flatMap { row in row.keys.map { [row.prefix, $0] } }
      #expect(Set(keys).count == keys.count)
      for row in map.rows {
        for key in row.keys { #expect(map.action(key, after: row.prefix) == row.action) }
        if let prefix = row.prefix { #expect(map.isPrefix(prefix) && map.action(prefix) == nil) }
      }
      #expect(map.action(Key("q")) == .quit && map.action(Key("?")) == .help)
    }
  }

  /// Any keys, in any order, on screens of any size: rows of the right width, and nothing that is no text.
  @Test func anyKeys() throws {
    var random = SeededRandom(7)
    var bench = Bench()
    try bench.settle()
    let keys =
      Browser.Screen.allCases.flatMap { KeyMap.of($0).rows.flatMap(\.keys) } + [
        Key("张"), Key("x"), Key("'"), Key(.delete),
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

  /// One-way messages have a part of the header, and a column where there are any: of sessions their own number.
  @Test(arguments: [0, 1_234]) func oneWayMessages(_ count: Int64) throws {
    var bench = Bench()
    bench.sessions[2].oneWay = count
    try bench.settle()
    bench.browser.handle(.key(Key("2")), at: bench.now)
    try bench.settle()
    let grid = bench.browser.render(width: 140, height: 40)
    let rows = (0..<40).map { grid.text(row: $0) }
    let messages = grouped(UInt64(bench.sessions.reduce(0) { $0 + $1.messages }))
    let header = try #require(rows.first { $0.contains("4 sessions") })
    #expect(header.contains("\(messages) messages, \(count == 0 ? "" : "1,234 one-way, ")"))
    #expect(header.contains("one-way") == (count > 0))
    let titles = try #require(rows.first { $0.contains("msgs") })
    #expect(titles.contains("one-way") == (count > 0))
    guard let title = titles.firstRange(of: "one-way") else { return }
    let end = titles.distance(from: titles.startIndex, to: title.upperBound)
    let row = try #require(rows.first { $0.contains(bench.sessions[2].client) })
    #expect(row.prefix(end).hasSuffix("1,234"))
  }

  @Test func staleSessionsAreNeverShown() throws {
    var bench = Bench()
    let first = bench.browser.takeRequests(at: .zero)
    #expect(first == [.sessions(SessionsRequest()), .timeline(TimelineRequest()), .types(TypesRequest())])
    bench.browser.handle(.key(Key("s")), at: .milliseconds(1))
    let second = bench.browser.takeRequests(at: .milliseconds(40))
    guard case .sessions(let wanted) = second.first else {
      Issue.record("nothing was asked for")
      return
    }
    #expect(wanted.order.sort == .number)
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

  /// Each digit shows its list from every screen, and says so; a list keeps what was selected.
  @Test func tabsFromEveryScreen() throws {
    var bench = Bench()
    try bench.settle()
    let ways: [[Key]] = [[], [Key("a")], [Key("a"), Key(.enter)], [Key("l")], [Key("a"), Key("l")]]
    for way in ways {
      for tab in BrowserTab.allCases {
        try bench.press(Key("2"))
        for key in way { try bench.press(key) }
        try bench.press(tab.key)
        #expect(bench.browser.screen == tab.screen, "\(way) \(tab)")
        let grid = bench.browser.render(width: 80, height: 24)
        let row = try #require(bench.browser.tabRow)
        #expect(grid.text(row: row).hasPrefix(" 1 Problems   2 Sessions   3 Connections   4 Messages   5 Types "))
        // The click on a tab does the same.
        let column = try #require(Array(grid.text(row: row)).firstIndex(of: Character(tab.label)))
        bench.browser.handle(.key(Key("1")), at: bench.now)
        bench.browser.handle(.mouse(Mouse(.press(0), row: row, column: column)), at: bench.now)
        #expect(bench.browser.screen == tab.screen)
      }
    }
    try bench.press(Key("4"), Key("G"))
    let selected = bench.browser.messages.selected?.message.id
    try bench.press(Key("5"), Key("4"))
    #expect(bench.browser.messages.selected?.message.id == selected)
    try bench.press(Key(.escape))
    #expect(bench.browser.screen == .types)
  }

  /// A digit after the prefix goes to the next problem of its kind; any other key after it does nothing.
  @Test func problemsOfAKindByPrefix() throws {
    var bench = Bench()
    try bench.settle()
    try bench.press(Key("4"))
    for (digit, kinds) in [("2", ProblemKinds.unanswered), ("4", .retried), ("3", .damaged)] as [(String, ProblemKinds)]
    {
      try bench.press(Key("g"))
      let wanted = bench.source.messages.dropFirst().first { !$0.problems.isDisjoint(with: kinds) }
      try bench.press(Key("'"), Key(.character(Unicode.Scalar(digit)!)))
      #expect(bench.browser.messages.selected?.message.id == wanted?.id && bench.browser.screen == .messages)
    }
    try bench.press(Key("'"), Key("q"))
    let wishes = bench.browser.takeWishes()
    #expect(wishes == [] && bench.browser.pressedPrefix == nil)
  }

  /// The lower half of a list shows the last problems of what is selected, whichever is.
  @Test func thePreviewIsOfTheSelectedSession() throws {
    var bench = Bench()
    try bench.settle()
    for _ in 0..<4 {
      _ = bench.browser.render(width: 100, height: 30)
      try bench.settle()
      let session = try #require(bench.browser.sessions.selected)
      let wanted = bench.source.messages.filter { $0.session == session.id && $0.problems != [] }
        .suffix(bench.browser.preview.height)
      #expect(
        !wanted.isEmpty
          && bench.browser.previewChoice.flatMap({ bench.browser.preview.items(of: $0.0) })?.map(\.message.id)
            == wanted.map(\.id)
      )
      let grid = bench.browser.render(width: 100, height: 30)
      #expect(grid.text(row: 28 - bench.browser.preview.height).contains("\(wanted.first?.id ?? 0) "))
      try bench.press(Key("j"))
    }
    // Without room there is none, and nothing is asked for.
    _ = bench.browser.render(width: 80, height: 23)
    #expect(bench.browser.preview.height == 0)
  }

  /// However much is said of a message, none of it is painted over by its text.
  @Test func detailsAreNotPaintedOverEachOther() throws {
    let fields = [
      ("type", "data"), ("packet", "13"), ("fate", "unanswered"), ("cause", "peer"), ("read_us", "5030000"),
      ("retries", "4"), ("conn", "1"), ("client", "[2001:db8:1:2:3:4:5:6]:50110"),
      ("server", "[2001:db8:1:2:3:4:5:7]:8080"), ("via", "[2001:db8:1:2:3:4:5:8]:40107"),
      ("session", "eleven-and-more"), ("crc", "bad"),
    ]
    var bench = Bench()
    try bench.settle()
    try bench.press(Key("4"))
    let selected = try #require(bench.browser.messages.selected?.message)
    let time = MessageItem.clock(selected.time, bench.browser.zone)
    for count in 1...fields.count {
      bench.browser.detailsAwaited = selected.id
      let known = fields.prefix(count).map { (name: $0.0, value: $0.1) }
      bench.browser.accept(.details(selected.id, known + [(name: "text", value: "hello")]))
      for (width, height) in [(80, 24), (80, 40), (120, 24), (160, 40)] {
        let grid = bench.browser.render(width: width, height: height)
        let rows = (0..<height).map { grid.text(row: $0) }
        let text = try #require(rows.first { $0.contains("“hello”") }, "\(count) \(width)")
        let sentences = DetailWords(known).sentences(time: time)
        #expect(!sentences.contains { text.contains($0.prefix(12)) }, "\(count) \(width): \(text)")
        // All of them where there is room, each whole.
        let words = rows.joined(separator: " ").split(separator: " ").joined(separator: " ")
        for sentence in sentences.prefix(height < 40 || width >= 150 ? 4 : 9) where width < 150 {
          #expect(words.contains(sentence), "\(count) \(width): \(sentence)")
        }
      }
    }
  }

  /// A list that hides messages says nothing of pauses between those that it shows.
  @Test func aFilterTellsNoPauses() throws {
    var bench = Bench()
    try bench.settle()
    func pauses() -> Int {
      (0..<bench.browser.messages.rows.count).filter { row in
        bench.browser.messages.rows.model(at: row).map { $0.model is PauseRow } ?? false
      }.count
    }
    try bench.press(Key("4"))
    #expect(pauses() > 0)
    bench.browser.handle(.key(Key("/")), at: bench.now)
    for letter in "rtt_ms > 100".unicodeScalars { bench.browser.handle(.key(Key(letter)), at: bench.now) }
    try bench.press(Key(.enter))
    #expect(bench.browser.messages.items.count > 20 && pauses() == 0)
    try bench.press(Key(.escape))
    #expect(pauses() > 0)
  }

  /// On 80 columns no total is cut, and none wraps within a word.
  @Test func totalsAreNeverCut() throws {
    var bench = Bench()
    try bench.settle()
    var totals = SessionTotals(bench.sessions)
    totals.heartbeats = 1_234_567
    totals.connections.states = ["open": 99_999, "refused": 1, "timeout": 1, "reset": 20]
    totals.connections.all = 100_021
    totals.rejected = 12
    bench.browser.totals = totals
    for width in 40...200 {
      let grid = bench.browser.render(width: width, height: 24)
      let text = grid.text(row: 1) + grid.text(row: 2)
      #expect(!text.contains("…") && text.hasPrefix(" 100,021 connections"), "\(width) \(text)")
      if width >= 100 { #expect(text.contains("0 of 1,234,567 heartbeats missed"), "\(width) \(text)") }
    }
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
