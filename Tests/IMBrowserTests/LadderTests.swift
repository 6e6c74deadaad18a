import IMEngine
import IMOutput
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser
@testable import IMStore

/// The ladder: parts of it in memory, and what its lines say.
@Suite struct LadderTests {
  private struct Bench {
    var view = LadderView()
    let finder: LadderFinder

    init(_ source: ListedMessages, height: Int = 20) {
      finder = LadderFinder(source)
      view.list.resize(height)
    }

    mutating func settle() throws {
      for _ in 0..<20 {
        guard let request = view.nextRequest() else { return }
        let another = view.nextRequest()
        #expect(another == nil)
        let part = try #require(try finder.part(request))
        let isTaken = view.accept(part)
        #expect(isTaken)
        #expect(view.list.items.count < 1_500)
        #expect(Set(view.list.items.map(\.id)).count == view.list.items.count)
      }
      Issue.record("it never rests")
    }
  }

  /// Moving down and up again through a ladder of many parts sees each copy, answer and issue once, in the order of time.
  @Test func everyLineIsSeenOnce() throws {
    let source = ListedMessages.drawn(4_000, seed: 21)
    let wanted = source.moments(ofConnection: 2)
    var bench = Bench(source)
    bench.view.open(PageChoice(connection: 2), at: .after(0))
    try bench.settle()
    var seen: [LadderItem] = []
    for isDown in [true, false] {
      seen = []
      for _ in 0..<2 * wanted.count {
        let item = try #require(bench.view.list.selected)
        if seen.last?.id == item.id { break }
        seen.append(item)
        bench.view.list.move(isDown ? 1 : -1)
        try bench.settle()
      }
      let events = seen.filter { $0.line.row != nil }
      #expect(events.count == wanted.count)
      #expect(Set(seen.map(\.id)).count == seen.count)
    }
    #expect(bench.view.isFirst)
  }

  /// Another part in place of this one leaves the selected line where it is on the screen.
  @Test func anotherPartMovesNothing() throws {
    let source = ListedMessages.drawn(4_000, seed: 22)
    var bench = Bench(source)
    bench.view.open(PageChoice(session: 3), at: .around(source.messages[2_000].id))
    try bench.settle()
    var random = SeededRandom(3)
    for _ in 0..<300 {
      bench.view.list.move(Int(random.next() % 31) - 15)
      let (id, row) = (bench.view.list.selected?.id, bench.view.list.index - bench.view.list.top)
      try bench.settle()
      #expect(bench.view.list.selected?.id == id)
      #expect(bench.view.list.index - bench.view.list.top == row)
    }
    bench.view.restart(at: .before(.max))
    try bench.settle()
    #expect(bench.view.isLast && bench.view.list.index == bench.view.list.items.count - 1)
    bench.view.jump(to: source.messages[7].id)
    try bench.settle()
    #expect(bench.view.isFirst)
  }

  /// While messages come, lines in the middle of a part may have others, too: the part is asked for again, once, and the same line stays
  /// selected.
  @Test func aWatchedPartIsReadAgain() throws {
    var bench = Bench(ListedMessages.drawn(4_000, seed: 23))
    bench.view.open(PageChoice(connection: 2), at: .around(2_000))
    try bench.settle()
    let (selected, row) = (bench.view.list.selected?.id, bench.view.list.index - bench.view.list.top)
    let rests = bench.view.nextRequest() == nil
    #expect(rests && selected != nil)
    bench.view.refresh()
    let again = bench.view.nextRequest()
    let wanted = try #require(again)
    let part = try #require(try bench.finder.part(wanted))
    let isTaken = bench.view.accept(part)
    #expect(isTaken && bench.view.list.selected?.id == selected)
    #expect(bench.view.list.index - bench.view.list.top == row)
    try bench.settle()
    #expect(bench.view.list.selected?.id == selected)
  }

  @Test func whatLinesSay() throws {
    let at: Int64 = 1_760_000_000_000_000
    func message(_ id: Int64, _ time: Int64, retries: Int64 = 0, latency: Int64?, fate: Fate) -> StoredMessage {
      StoredMessage(
        id: id, time: Timestamp(microseconds: at + time), connection: 1, session: 1, direction: .clientToServer,
        type: "text", sequence: "\(id)", byteCount: 9, fate: fate, cause: nil, retries: retries, duplicates: 0,
        latency: latency, problems: [], capture: 1, packet: id, streamOffset: id)
    }
    let stored = [
      StoredLadderMessage(
        message: message(1, 0, latency: 18_000, fate: .acked), copies: [at], answers: [at + 18_000], status: "ok",
        answerType: "text_ack"),
      StoredLadderMessage(
        message: message(2, 3_120_000, retries: 1, latency: 3_198_000, fate: .ackedAfterRetry),
        copies: [at + 3_120_000, at + 6_120_000], answers: [at + 6_318_000]),
      StoredLadderMessage(
        message: message(3, 40_000_000, latency: nil, fate: .unanswered), copies: [at + 40_000_000], answers: [],
        isHeartbeat: true),
    ]
    var part = LadderPart(isFirst: true, isLast: true, stored)
    part.add(
      StoredStreamIssue(
        id: 1, time: Timestamp(microseconds: at + 7_000_000), kind: "orphan_ack", direction: .serverToClient,
        byteCount: 0),
      1)
    part.sort()
    var ladder = Ladder(
      serial: 1, client: "", server: "", profile: "", session: nil, firstSeen: Timestamp(microseconds: at))
    ladder.heartbeat = (15_000_000, false)
    let lines = part.items(of: ladder).map { "\($0.line.time)|\($0.line.mark)|\($0.line.label)|\($0.line.remark)" }
    #expect(
      lines == [
        "+0.000||text 1|", "+0.018||text_ack 1: ok|RTT 18.0 ms", "+3.120||text 2|",
        "+6.120|R1|text 2 retry Δ3.0 s|",
        "+6.318||answer to text 2|3.2 s after the first copy (ambiguous, not in RTT)",
        "+7.000|?|answer|message not in the capture",
        "|!|33.0 s without a frame: 1 heartbeat missing, usual every 15.0 s|",
        "+40.000|!|text 3|no answer",
      ])
  }

  /// In the ladder of a session, times count from where the connection of each row began.
  @Test func timesOfASessionCountFromItsConnections() throws {
    let at: Int64 = 1_760_000_000_000_000
    var random = SeededRandom(4)
    let moments = [(1, 1, 145_507), (2, 1, 8_900_000), (3, 2, 88_238_009)] as [(Int64, Int64, Int64)]
    let messages = moments.map { id, connection, time in
      var message = StoredMessage.made(id, time: at + time, random: &random)
      (message.connection, message.session, message.fate) = (connection, 1, .acked)
      return message
    }
    let source = ListedMessages(messages)
    source.starts = [1: Timestamp(microseconds: at), 2: Timestamp(microseconds: at + 88_093_434)]
    let finder = LadderFinder(source)
    let request = LadderRequest(generation: 1, choice: PageChoice(session: 1), place: .after(0))
    let items = try #require(try finder.part(request)).items
    func time(_ id: Int64) -> String? { items.first { $0.id.kind == .copy(0) && $0.message.id == id }?.line.time }
    #expect([1, 2, 3].map { time($0) } == ["+0.145", "+8.900", "+0.144"])
    // The line that names the next connection counts as its first row does.
    #expect(items.filter { $0.line.form == .note }.map(\.line.time) == ["+0.145", "+0.144"])
    // A file has the same times.
    let whole = try #require(try finder.whole(PageChoice(session: 1), limit: 100))
    #expect(whole.lines.map(\.time) == items.map(\.line.time))
  }

  /// What is written to a file is what moving through the ladder sees; with a limit, the beginning of it.
  @Test func theWholeLadderHasEveryLine() throws {
    let source = ListedMessages.drawn(1_500, seed: 24)
    let finder = LadderFinder(source)
    let choice = PageChoice(connection: 2)
    var counts: [Int] = []
    let whole = try #require(try finder.whole(choice, limit: 100_000, progress: { counts.append($0) }))
    #expect(whole.rows.map(\.at.microseconds) == source.moments(ofConnection: 2))
    #expect(whole.leftOutBehind == 0 && whole.serial == 2 && whole.profile == "tjp")
    #expect(counts == counts.sorted() && counts.last == source.messages.filter { $0.connection == 2 }.count)
    func isFrame(_ row: Ladder.Row) -> Bool { if case .step = row.event { true } else { false } }
    let all = whole.lines
    for limit in [1, 7, 100, 600] {
      let part = try #require(try finder.whole(choice, limit: limit))
      #expect(!part.rows.isEmpty && part.rows.filter(isFrame).count <= limit + 40)
      // What is left out has a line behind all others.
      let lines = part.lines.dropLast()
      let different = zip(lines, all).first { $0 != $1 }
      #expect(different == nil)
      #expect(part.leftOutBehind > 0)
      // Of what is behind the limit, issues are not counted.
      let frames = part.rows.filter(isFrame).count + Int(part.leftOutBehind)
      #expect((0...70).contains(whole.rows.filter(isFrame).count - frames))
    }
    #expect(try finder.whole(choice, limit: 100, isStale: { true }) == nil)
    #expect(try #require(try finder.whole(PageChoice(connection: 9), limit: 100)).rows.isEmpty)
  }

  /// A ladder is saved as it is shown: that of its session or connection and of its time, and not the list behind it.
  @Test func aLadderIsSaved() throws {
    var bench = BrowserTests.Bench()
    try bench.settle()
    bench.browser.accept(.captures(["a.pcap"]))
    try bench.press(Key("l"))
    for (key, form, name) in [("e", .ladder, "ladder.txt"), ("w", .packets, "messages.pcapng")]
      as [(Unicode.Scalar, SaveRequest.Form, String)]
    {
      bench.browser.handle(.key(Key(key)), at: bench.now)
      bench.browser.handle(.key(Key(.enter)), at: bench.now)
      #expect(
        bench.browser.saving.awaited
          == SaveRequest(form: form, name: name, choice: PageRequest.Choice(PageChoice(session: 1)), selected: []))
      try bench.settle()
      try bench.press(Key("y"))
      #expect(bench.browser.note == "written" && bench.browser.screen == .ladder)
    }
  }

  @Test func aLineOpensItsMessage() throws {
    var bench = BrowserTests.Bench()
    try bench.settle()
    bench.browser.accept(.captures(["a.pcap"]))
    try bench.press(Key("l"))
    #expect(bench.browser.screen == .ladder)
    let first = try #require(bench.browser.ladder.list.selected)
    #expect(first.message.session == 1)
    try bench.press(Key("G"), Key(.enter))
    #expect(bench.browser.screen == .frame && bench.browser.frame != nil)
    try bench.press(Key(.escape))
    #expect(bench.browser.screen == .ladder && bench.browser.ladder.isLast)
    try bench.press(Key(.escape))
    #expect(bench.browser.screen == .sessions)
    #expect(bench.browser.note == nil)
  }
}
