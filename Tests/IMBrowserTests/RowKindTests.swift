import IMEngine
import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Kinds of rows, and which messages have which.
@Suite struct RowKindTests {
  private static func item(_ change: (inout StoredMessage) -> Void) -> MessageItem {
    var random = SeededRandom(1)
    var message = StoredMessage.made(7, time: 1_760_000_000_000_000, random: &random)
    (message.problems, message.fate, message.retries, message.latency, message.cause) = ([], .acked, 0, 20_000, nil)
    (message.type, message.role) = ("data", .message)
    change(&message)
    return MessageItem(message, client: "10.0.0.1:20000", texts: StoredMessageTexts(text: "hello"), zone: .utc)
  }

  /// Every kind that is registered, in one list: each message's own row, and what each row says on a wide screen.
  @Test func allKindsInOneList() {
    let items = [
      Self.item { _ in },
      Self.item { $0.latency = nil },
      Self.item { ($0.problems, $0.fate) = (.unanswered, .unanswered) },
      Self.item { ($0.problems, $0.retries) = (.retried, 2) },
      Self.item { ($0.type, $0.role) = ("heartbeat", .heartbeat) },
      Self.item { $0.time = $0.time.advanced(by: 30_000_000_000) },
    ].enumerated().map { i, item in
      var message = item.message
      message.id = Int64(i + 1)
      let text = i == 1 ? String(repeating: "long ", count: 40) : item.text
      return MessageItem(message, client: item.client, texts: StoredMessageTexts(text: text), zone: .utc)
    }
    let fields = [
      StoredDetail("id", "4"), StoredDetail("capture", "/tmp/night.pcap"),
      StoredDetail("copies", "[1000,3001000,9001500]"), StoredDetail("crc", "ok"), StoredDetail("session", "张三"),
      StoredDetail("server", "192.168.0.1:8080"),
    ]
    var rows = RowTable(items, unfolded: [4: fields])
    rows.use(RowLayout(width: 120, showsClient: true, wraps: true))
    rows.measure(around: 0, reach: 100)
    let layout = RowLayout(width: 120, showsClient: true, wraps: true)
    let kinds = (0..<rows.count).compactMap { rows.model(at: $0).map { "\(type(of: $0.model))" } }
    #expect(
      kinds == [
        "AnsweredRow", "MessageRow", "TextRow", "TextRow", "ErrorRow", "RetryRow", "FrameHeaderRow", "CopyRow",
        "CopyRow", "FieldRow",
        "FieldRow", "HeartbeatRow", "PauseRow", "AnsweredRow",
      ])
    #expect(Set(kinds) == Set(RowKinds.all.map { "\($0)" }))
    var grid = Grid(width: 120, height: rows.count)
    for row in 0..<rows.count {
      guard let (_, model) = rows.model(at: row) else { continue }
      grid.put(model.laidOut(layout), row: row)
    }
    let text = (0..<rows.count).map { row in
      String(String(grid.text(row: row).reversed().drop { $0 == " " }.reversed()))
    }
    #expect(text[4].hasPrefix("!") && text[4].contains("unanswered"))
    #expect(text[5].hasPrefix("R") && text[5].contains(" R2   "))
    #expect(text[6] == "   ├ packet 14 of night.pcap, 20 B at 350 of its stream")
    #expect(text[7] == "   ├ R1 after 3.0 s" && text[8] == "   ├ R2 after 9.0 s")
    #expect(text[9] == "   ├ crc ok  session 张三")
    #expect(text[10] == "   └ server 192.168.0.1:8080")
    #expect(text[12] == "    ┄ 30.0 s without a message ┄")
  }

  /// At 80 columns, a row fits without truncation; only message text may be longer.
  @Test(
    arguments: [
      (.acked, nil, 0, 2_024_000, "", "✓, read 2.02 s"), (.acked, nil, 0, 122_400, "", "✓, read 122.4 ms"),
      (.acked, nil, 1, 2_024_000, "", "✓, 1 after the answer"), (.acked, nil, 0, 2_024_000, "hello", "✓  “hello”"),
      (.rejected, "not_authorized", 0, nil, "", "not_authorized"), (.rejected, "135", 0, nil, "", "rejected: 135"),
      (.unanswered, nil, 0, nil, "", "unanswered: network"),
    ] as [(Fate, String?, Int64, Int64?, String, String)])
  func noRowIsCut(
    _ fate: Fate, _ status: String?, _ duplicates: Int64, _ readAfter: Int64?, _ text: String, _ end: String
  ) {
    var message = Self.item { _ in }.message
    (message.fate, message.status, message.duplicates, message.readAfter) = (fate, status, duplicates, readAfter)
    message.cause = fate == .unanswered ? .network : nil
    message.sequence = "14209862"
    let item = MessageItem(message, client: "10.0.0.1:20000", texts: StoredMessageTexts(text: text), zone: .utc)
    var grid = Grid(width: 80, height: 1)
    grid.put(MessageRow(item: item).parts(RowLayout(width: 80, showsClient: true)), row: 0, width: 80)
    let line = String(grid.text(row: 0).reversed().drop { $0 == " " }.reversed())
    #expect(line.hasSuffix("  20.0 ms \(end)") || fate == .unanswered && line.hasSuffix(" \(end)"), "\(line)")
    // On a wide screen, the whole outcome is shown.
    #expect(fate != .acked || readAfter == nil || item.outcome().contains("read after"))
  }

  /// Whoever paints copies the same cells that it would have made.
  @Test(arguments: [40, 80, 200]) func rowsThatWereLaidOutAreThoseThatArePainted(_ width: Int) {
    let items = ListedMessages.drawn(200, seed: 3).messages.map {
      MessageItem($0, client: "张三😀", texts: StoredMessageTexts(text: "晚上吃什么👍🏽"), zone: .utc)
    }
    let rows = RowTable(items)
    let layout = RowLayout(width: width, showsClient: true)
    var book = RowCache()
    book.use(layout, version: 1)
    let wanted = book.nextRequest(rows, seen: 90..<110)
    let another = book.nextRequest(rows, seen: 90..<110)
    #expect(another == nil)
    guard let wanted else {
      Issue.record("nothing was asked for")
      return
    }
    #expect(wanted.rows.count == rows.count - 20)
    #expect(wanted.rows.first?.key == rows.model(at: 110)?.key && wanted.rows[1].key == rows.model(at: 89)?.key)
    wanted.layOut { book.accept($0) }
    for row in 0..<rows.count {
      guard let (key, model) = rows.model(at: row) else { continue }
      var direct = Grid(width: width, height: 1)
      direct.put(model.parts(layout), row: 0, width: width)
      #expect(book.cells(key, model, layout) == direct.cellRow(0))
    }
    #expect(book.madeWhilePainting == 20 && book.found == rows.count - 20)
    let rest = book.nextRequest(rows, seen: 90..<110)
    #expect(rest == nil)
  }

  /// An answer for another width is never shown.
  @Test func rowsOfAnotherWidthAreDropped() throws {
    let rows = RowTable(
      ListedMessages.drawn(100, seed: 4).messages.map {
        MessageItem($0, client: "", texts: StoredMessageTexts(), zone: .utc)
      })
    var book = RowCache()
    book.use(RowLayout(width: 80, showsClient: true), version: 1)
    let found = book.nextRequest(rows, seen: 0..<10)
    let old = try #require(found)
    book.use(RowLayout(width: 200, showsClient: true), version: 1)
    var taken = 0
    old.layOut { if book.accept($0) { taken += 1 } }
    #expect(taken == 0 && book.count == 0)
    let next = book.nextRequest(rows, seen: 0..<10)
    let new = try #require(next)
    new.layOut { book.accept($0) }
    for row in 10..<rows.count {
      guard let (key, model) = rows.model(at: row) else { continue }
      #expect(book.cells(key, model, new.layout).count == 200)
    }
    // Nobody wants what is asked for behind another request.
    var answers = 0
    new.layOut(isStale: { true }) { _ in answers += 1 }
    #expect(answers == 0)
  }
}
