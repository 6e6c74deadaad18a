import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Texts in rows of their own: rows of several heights.
@Suite struct WrapTests {
  @Test(arguments: [
    ("one two three", 8, ["one two ", "three"]), ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ("张三李四王五", 5, ["张三", "李四", "王五"]), ("", 5, []),
  ]) func rowsOfAText(_ text: String, _ width: Int, _ wanted: [String]) {
    #expect(TextRows.wrap(text, width: width, limit: 9) == wanted)
  }

  @Test func whatIsTooLongEndsWithAnEllipsis() {
    let rows = TextRows.wrap(String(repeating: "x", count: 500), width: 10, limit: 3)
    #expect(rows == ["xxxxxxxxxx", "xxxxxxxxxx", "xxxxxxxxx…"])
  }

  /// What a screen shows, as text.
  private func screen(_ window: MessageWindow) -> [[RowPart]] {
    (0..<window.height).map { row in
      window.rows.model(at: window.top + row)?.parts(RowLayout(width: 60, showsClient: false)) ?? []
    }
  }

  /// Fifty pages come in front of what is seen, whose rows have other heights: not a row of the screen changes.
  @Test func pagesInFrontMoveNothing() throws {
    let source = ListedMessages.drawn(4_000, seed: 31)
    let finder = PageFinder(source, zone: .utc)
    var window = MessageWindow()
    window.resize(20)
    window.wrap(14)
    var random = SeededRandom(6)
    func item(_ message: StoredMessage) -> MessageItem {
      MessageItem(
        message, client: "", text: String(repeating: "word ", count: Int(message.id * 7 % 23)), zone: .utc)
    }
    func answer(_ request: PageRequest) throws {
      var page = try #require(try finder.page(request))
      page.items = page.items.map { item($0.message) }
      let isTaken = window.accept(page)
      #expect(isTaken)
    }
    window.open(PageRequest.Choice(), at: .around(source.messages[3_000].id))
    while let request = window.nextRequest() { try answer(request) }
    var pages = 0
    while pages < 50 {
      window.move(-Int(random.next() % 12))
      guard let request = window.nextRequest() else { continue }
      // It is known before a page comes where the row stands, and it stands there afterwards.
      let (before, row, id) = (screen(window), window.screenRow, window.selected?.message.id)
      guard case .before = request.place else {
        try answer(request)
        continue
      }
      try answer(request)
      pages += 1
      #expect(window.screenRow == row && window.selected?.message.id == id)
      #expect(screen(window) == before, "page \(pages)")
      #expect(window.items.count <= MessageWindow.limit)
    }
    // The relation is the one that a whole new table has.
    var texts = TextRows(width: 14)
    texts.keep(window.items)
    let whole = RowTable(window.items, texts: texts)
    #expect(whole.count == window.rows.count && window.rows.count > window.items.count)
    for i in window.items.indices {
      #expect(whole.row(of: i) == window.rows.row(of: i) && whole.height(of: i) == window.rows.height(of: i))
      for row in 0..<whole.height(of: i) { #expect(window.rows.item(at: whole.row(of: i) + row) == i) }
    }
  }
}
