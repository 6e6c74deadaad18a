import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Texts that are wrapped: messages have rows of different numbers, which are estimates until they are near.
@Suite struct WrappedMessagesTests {
  private static let words = [
    "plain", "晚上吃什么", "👍🏽", "👨‍👩‍👧", "a", "and", "한국어", "line\nbreak", "🖼️", "e\u{301}", String(repeating: "x", count: 90),
    "ｆｕｌｌ",
  ]

  /// A list of messages with texts of very different lengths; a window over it, and what another thread has to lay out.
  private struct Bench {
    var window = MessageWindow()
    var book = RowCache()
    var layout = RowLayout(width: 80, showsClient: false, wraps: true)
    let items: [MessageItem]

    init(_ count: Int, seed: UInt64, height: Int = 18) {
      var random = SeededRandom(seed)
      items = ListedMessages.drawn(count, seed: seed).messages.map { message in
        let count = random.once(in: 3) ? 0 : Int(random.next() % (random.once(in: 8) ? 150 : 30))
        let text = (0..<count).map { _ in random.one(of: WrappedMessagesTests.words) }.joined(separator: " ")
        return MessageItem(message, client: "", texts: StoredMessageTexts(text: text), zone: .utc)
      }
      window.resize(height)
      window.use(layout)
    }

    /// Answers as a reader does.
    func answer(_ request: PageRequest) -> PageAnswer {
      let found: ArraySlice<MessageItem>
      switch request.place {
      case .after(let id): found = items.drop { $0.message.id <= id }.prefix(request.count)
      case .from(let id): found = items.drop { $0.message.id < id }.prefix(request.count)
      case .before(let id): found = items.prefix { $0.message.id < id }.suffix(request.count)
      case .around(let id):
        let middle = items.firstIndex { $0.message.id >= id } ?? items.endIndex
        found = items[max(0, middle - request.count / 2)..<min(items.count, middle + request.count / 2)]
      }
      return PageAnswer(
        request: request, items: Array(found), isFirst: found.first?.message.id == items.first?.message.id,
        isLast: found.last?.message.id == items.last?.message.id)
    }

    /// What is on the screen, by names of rows; nothing of it is an estimate.
    mutating func screen() throws -> [RowTable.Key] {
      book.use(layout, version: window.rows.version)
      return try (0..<window.height).compactMap { row in
        guard window.top + row < window.rows.count else { return nil }
        return try #require(window.rows.model(at: window.top + row), "row \(row)").key
      }
    }

    /// Has another thread lay out what is not seen.
    mutating func layOut() -> Bool {
      book.change()
      guard let request = book.nextRequest(window.rows, seen: window.top..<window.top + window.height) else {
        return false
      }
      request.layOut { answer in if book.accept(answer) { window.take(answer.texts) } }
      return !request.texts.isEmpty
    }
  }

  /// Pages that come in front of what is seen.
  private static let pages = LongRun.times(15, of: 50)

  /// Pages come in front of what is seen, their rows first estimated and then counted: no row of the screen moves.
  @Test(arguments: [40, 80, 140]) func nothingJumpsWhilePagesComeInFront(_ width: Int) throws {
    var bench = Bench(2_700, seed: UInt64(width))
    bench.layout.width = width
    bench.window.use(bench.layout)
    bench.window.open(PageRequest.Choice(), at: .before(.max))
    var (pages, estimates) = (0, 0)
    for _ in 0..<100_000 where pages < Self.pages {
      guard let request = bench.window.nextRequest() else {
        bench.window.move(-1)
        continue
      }
      let isInFront = if case .before(let id) = request.place { id != .max } else { false }
      let before = try bench.screen()
      let isTaken = bench.window.accept(bench.answer(request))
      #expect(isTaken)
      guard isInFront else { continue }
      pages += 1
      let after = try bench.screen()
      #expect(after == before, "page \(pages)")
      if !bench.window.rows.estimated(near: 0).isEmpty { estimates += 1 }
      // Every third time the other thread is late.
      if pages % 3 != 0, bench.layOut() {
        let counted = try bench.screen()
        #expect(counted == before, "page \(pages), counted")
        #expect(bench.window.rows.estimated(near: 0).isEmpty)
      }
      #expect(bench.window.items.count <= MessageWindow.limit)
    }
    #expect(pages == Self.pages && estimates > pages * 4 / 5)
  }

  /// The same on the other side, and while the list is read again.
  @Test func nothingJumpsWhilePagesComeBehind() throws {
    var bench = Bench(2_000, seed: 9)
    bench.window.open(PageRequest.Choice())
    var random = SeededRandom(10)
    for step in 0..<LongRun.times(400, of: 1_500) {
      if random.once(in: 20) { bench.window.refresh() }
      while let request = bench.window.nextRequest() {
        guard bench.window.isLoaded else {
          _ = bench.window.accept(bench.answer(request))
          continue
        }
        let before = try bench.screen()
        _ = bench.window.accept(bench.answer(request))
        let after = try bench.screen()
        // What was blank may have rows now.
        #expect(after.prefix(before.count) == before[...], "step \(step)")
      }
      if random.once(in: 3) { _ = bench.layOut() }
      bench.window.moveRows([1, 1, 3, 17, -1, -3][Int(random.next() % 6)])
      let row = bench.window.rows.row(of: bench.window.focus) - bench.window.top
      let height = bench.window.rows.textHeight(of: bench.window.focus)
      // The whole text is on the screen, or fills it.
      #expect(
        height <= bench.window.height
          ? row >= 0 && row + height <= bench.window.height : row <= 0 && row + height >= bench.window.height)
    }
  }

  /// Moving down line by line and page by page shows every line of every text.
  @Test(arguments: [1, 11]) func everyLineIsSeen(_ step: Int) throws {
    var bench = Bench(200, seed: 11, height: 12)
    bench.window.open(PageRequest.Choice())
    var seen: Set<RowTable.Key> = []
    for _ in 0..<5_000 {
      while let request = bench.window.nextRequest() { _ = bench.window.accept(bench.answer(request)) }
      try seen.formUnion(bench.screen())
      let before = (bench.window.focus, bench.window.screenRow)
      bench.window.moveRows(step)
      if before == (bench.window.focus, bench.window.screenRow) { break }
    }
    #expect(bench.window.selected?.message.id == bench.items.last?.message.id)
    var missing: [RowTable.Key] = []
    for item in bench.items {
      let rows = TextRow.rows(RowContext(item: item, previous: nil, fields: nil, wrapped: bench.layout))
      let keys = rows.indices.map { RowTable.Key(message: item.message.id, place: .text, number: $0 + 1) }
      missing += keys.filter { !seen.contains($0) }
    }
    #expect(missing.isEmpty)
  }

  /// What rows show of a text is all of it, in no more cells than there are.
  @Test func rowsShowTheText() {
    for (i, width) in [40, 57, 80, 200].enumerated() {
      let bench = Bench(300, seed: UInt64(20 + i))
      let layout = RowLayout(width: width, showsClient: true, wraps: true)
      for item in bench.items {
        let rows = TextRow.rows(RowContext(item: item, previous: nil, fields: nil, wrapped: layout))
        guard !rows.isEmpty else { continue }
        let lines = rows.map { model in
          var grid = Grid(width: width, height: 1)
          grid.put(model.laidOut(layout), row: 0)
          return grid.text(row: 0)
        }
        func letters(_ text: String) -> String { String(text.filter { !$0.isWhitespace }) }
        #expect(letters(lines.joined()) == letters("“\(item.text)”"))
        #expect(abs(rows.count - TextRow.estimate(item, layout)) <= 2 + rows.count / 3)
      }
    }
  }

  @Test func theKeyAndTheCommandWrap() throws {
    var bench = BrowserTests.Bench()
    try bench.settle()
    try bench.press(Key("a"), Key("W"))
    #expect(bench.browser.wrapsText)
    bench.browser.handle(.key(Key(":")), at: bench.now)
    bench.browser.handle(.paste("wrap"), at: bench.now)
    try bench.press(Key(.enter))
    #expect(!bench.browser.wrapsText && bench.browser.input == nil)
  }
}
