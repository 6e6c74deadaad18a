import IMStore
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// The part of a long list that is in memory.
@Suite struct MessageWindowTests {
  private struct Bench {
    var window = MessageWindow()
    let finder: PageFinder

    init(_ source: ListedMessages, height: Int = 20) {
      finder = PageFinder(source, zone: .utc)
      window.resize(height)
    }

    /// Answers until nothing is asked for any more.
    mutating func settle() throws {
      for _ in 0..<200 {
        guard let request = window.nextRequest() else { return }
        let another = window.nextRequest()
        #expect(another == nil)
        let answer = try #require(try finder.page(request))
        let isTaken = window.accept(answer)
        #expect(isTaken)
        #expect(window.items.count <= MessageWindow.limit)
      }
      Issue.record("it never rests")
    }

    var ids: [Int64] { window.items.map(\.message.id) }
  }

  /// Whatever is pressed, what is in memory is a part of the list without holes, and what is seen is in it.
  @Test(arguments: [0, 1, 30, 700, 3_000]) func itIsAPartOfTheList(_ count: Int) throws {
    let source = ListedMessages.drawn(count, seed: UInt64(count))
    let all = source.messages.map(\.id)
    var random = SeededRandom(4)
    var bench = Bench(source)
    bench.window.open(PageRequest.Choice())
    try bench.settle()
    for step in 0..<400 {
      switch random.next() % 9 {
      case 0: bench.window.move(1)
      case 1: bench.window.move(-1)
      case 2: bench.window.move(19)
      case 3: bench.window.move(-19)
      case 4: bench.window.restart(at: .after(0))
      case 5: bench.window.restart(at: .before(.max))
      case 6: if !all.isEmpty { bench.window.jump(to: random.one(of: all)) }
      case 7: bench.window.select(screenRow: Int(random.next() % 20))
      default: bench.window.resize(5 + Int(random.next() % 40))
      }
      try bench.settle()
      let ids = bench.ids
      if all.isEmpty {
        #expect(ids.isEmpty && bench.window.isFirst && bench.window.isLast)
        continue
      }
      let first = try #require(all.firstIndex(of: ids[0]))
      #expect(ids == Array(all[first..<first + ids.count]), "step \(step)")
      #expect(!bench.window.isFirst || ids.first == all.first)
      #expect(!bench.window.isLast || ids.last == all.last)
      #expect((0..<bench.window.height).contains(bench.window.screenRow))
      #expect(bench.window.top >= 0)
      // Rows that are seen are there, as far as the list has any.
      let rows = bench.window.rows.count
      #expect(bench.window.top + bench.window.height <= rows || bench.window.isLast || rows < bench.window.height)
      #expect(bench.window.rows.row(of: bench.window.focus) - bench.window.top == bench.window.screenRow)
    }
  }

  @Test func movingDownSeesEveryMessageOnce() throws {
    let source = ListedMessages.drawn(2_000, seed: 8)
    var bench = Bench(source)
    bench.window.open(PageRequest.Choice())
    try bench.settle()
    var seen: [Int64] = []
    for _ in 0..<source.messages.count {
      seen.append(try #require(bench.window.selected).message.id)
      bench.window.move(1)
      try bench.settle()
    }
    #expect(seen == source.messages.map(\.id))
    for id in seen.reversed() {
      #expect(bench.window.selected?.message.id == id)
      bench.window.move(-1)
      try bench.settle()
    }
  }

  /// Messages that come while one is looked at move nothing.
  @Test func whatComesMovesNothing() throws {
    let source = ListedMessages.drawn(300, seed: 2)
    var random = SeededRandom(3)
    var bench = Bench(source)
    bench.window.open(PageRequest.Choice(), at: .around(source.messages[250].id))
    try bench.settle()
    let (selected, row) = (bench.window.selected?.message.id, bench.window.screenRow)
    for _ in 0..<10_000 / 50 {
      for _ in 0..<50 {
        let last = source.messages[source.messages.count - 1]
        source.messages.append(.made(last.id + 1, time: last.time.microseconds + 1_000, random: &random))
      }
      bench.window.grow()
      try bench.settle()
      #expect(bench.window.selected?.message.id == selected && bench.window.screenRow == row)
      #expect(bench.window.items.count <= MessageWindow.limit)
    }
  }

  @Test func pagesOfAnotherListAreDropped() throws {
    let source = ListedMessages.drawn(300, seed: 2)
    var bench = Bench(source)
    bench.window.open(PageRequest.Choice())
    let request = bench.window.nextRequest()
    let old = try #require(request)
    bench.window.open(PageRequest.Choice(PageChoice(session: 2)))
    let answer = try #require(try bench.finder.page(old))
    let isTaken = bench.window.accept(answer)
    #expect(!isTaken)
    #expect(bench.window.items.isEmpty)
    try bench.settle()
    #expect(bench.window.items.allSatisfy { $0.message.session == 2 })
  }

  /// An unfolded message stays selected; its rows are seen as far as there is room, and the list is the same behind them.
  @Test func unfoldingShowsWhatIsBeneath() throws {
    let source = ListedMessages.drawn(3_000, seed: 5)
    var random = SeededRandom(6)
    var bench = Bench(source)
    bench.window.open(PageRequest.Choice())
    try bench.settle()
    let fields = (0..<30).map { StoredDetail("name\($0)", String(repeating: "x", count: 30)) }
    for step in 0..<2_000 {
      switch random.next() % 4 {
      case 0: bench.window.unfold(fields)
      case 1: bench.window.fold()
      case 2: bench.window.move(Int(random.next() % 60) - 25)
      default: bench.window.resize(3 + Int(random.next() % 50))
      }
      if step % 4 == 0 {
        let (id, rows) = (bench.window.selected?.message.id, bench.window.rows.rows(of: bench.window.focus))
        bench.window.unfold(fields)
        #expect(bench.window.selected?.message.id == id && bench.window.isUnfolded)
        #expect(bench.window.rows.rows(of: bench.window.focus).count >= rows.count)
        let shown = bench.window.top..<bench.window.top + bench.window.height
        let wanted =
          bench.window.rows.row(of: bench.window.focus)..<bench.window.rows.rows(of: bench.window.focus).upperBound
        #expect(wanted.count > shown.count ? bench.window.screenRow == 0 : shown.contains(wanted.upperBound - 1))
      }
      try bench.settle()
      #expect((0..<bench.window.height).contains(bench.window.screenRow) && bench.window.top >= 0)
      #expect(bench.window.rows.row(of: bench.window.focus) - bench.window.top == bench.window.screenRow)
      #expect(bench.window.rows.itemCount == bench.window.items.count)
    }
  }

  /// A message may have a row in front of it, so rows and messages are related; the relation is what it is built as.
  @Test func rowsAndMessagesBelongTogether() {
    let source = ListedMessages.drawn(400, seed: 12)
    let items = source.messages.map { MessageItem($0, client: "", texts: StoredMessageTexts(), zone: .utc) }
    let rows = RowTable(items)
    var pauses = 0
    var row = 0
    for (i, item) in items.enumerated() {
      if i > 0, item.message.time.nanoseconds(since: items[i - 1].message.time) >= 10_000_000_000 {
        #expect(rows.item(at: row) == nil)
        pauses += 1
        row += 1
      }
      #expect(rows.row(of: i) == row && rows.item(at: row) == i)
      row += 1
    }
    #expect(rows.count == row && pauses > 3)
    #expect(rows.item(at: row) == nil && rows.item(at: -1) == nil && rows.row(of: 9_999) == 0)
  }
}
