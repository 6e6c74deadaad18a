import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// Metrics over time, and the brush that limits lists to a time range.
@Suite struct TimeStripTests {
  @Test(arguments: [
    (GraphStyle.block, "▁ ▂▅█"), (.ascii, "_ .+@"), (.braille, "⡀⣴⡇"),
  ]) func valuesAreDrawn(_ style: GraphStyle, _ wanted: String) {
    // Nothing is lower than little, and what is not known is no line.
    let drawn = style.draw([0, nil, 1, 50, 100])
    #expect(drawn == wanted)
    #expect(cells(drawn) == (style == .braille ? 3 : 5))
  }

  @Test func dotsWhereTheTerminalHasThem() {
    #expect(GraphStyle(isUTF8: true, term: "xterm") == .braille)
    #expect(GraphStyle(isUTF8: true, term: "linux") == .ascii)
    #expect(GraphStyle(isUTF8: false, term: "xterm") == .ascii)
  }

  @Test func columnsCoverEveryStretch() {
    let values = (0..<97).map { Double?.some(Double($0)) }
    for count in 1...120 {
      let sums = Timeline.columns(values, count, isSum: true)
      #expect(sums.count == min(count, 97))
      #expect(sums.compactMap { $0 }.reduce(0, +) == 96 * 97 / 2)
      #expect(Timeline.columns(values, count, isSum: false).last == 96)
    }
    #expect(Timeline.columns([nil, nil, 3, nil], 2, isSum: false) == [nil, 3])
  }

  @Test func anyMovesOfTheBrushStayInTheTime() {
    var timeline = Timeline()
    timeline.beginBrush(at: nil, isForward: true)
    #expect(timeline.brush == nil)
    timeline.figures = StoredPeriods(start: 1_000, width: 10, periods: Array(repeating: StoredPeriod(), count: 103))
    timeline.step = 4
    var random = SeededRandom(5)
    timeline.beginBrush(at: Timestamp(seconds: 1_055, fraction: 0), isForward: true)
    #expect(timeline.brush == 4..<8 && timeline.brushed?.lowerBound == Timestamp(seconds: 1_040, fraction: 0))
    for _ in 0..<2_000 {
      let cells = Int(random.next() % 9) - 4
      if random.once(in: 2) { timeline.moveBrush(cells) } else { timeline.widenBrush(cells) }
      guard let brush = timeline.brush else {
        Issue.record("the brush is gone")
        return
      }
      #expect(!brush.isEmpty && brush.lowerBound >= 0 && brush.upperBound <= 103)
    }
  }

  /// All lists show the time of the brush only, and what was selected is selected again afterwards.
  @Test func theRoundTripKeepsTheCursor() throws {
    var bench = BrowserTests.Bench()
    try bench.settle()
    _ = bench.browser.render(width: 80, height: 24)
    try bench.press(Key("a"), Key("G"))
    let (selected, row) = (bench.browser.messages.selected?.message.id, bench.browser.messages.screenRow)
    for _ in 0..<3 {
      // From the end to the beginning of the time.
      try bench.press(Key("["))
      for _ in 0..<400 { bench.browser.handle(.key(Key("[")), at: bench.now) }
      let brushed = try #require(bench.browser.timeline.brushed)
      try bench.press(Key(.enter))
      #expect(bench.browser.times == brushed && bench.browser.timeline.brush == nil)
      let shown = bench.browser.messages.items.map(\.message)
      let wanted = bench.source.messages.filter { brushed.contains($0.time) }
      #expect(!wanted.isEmpty && shown.allSatisfy { brushed.contains($0.time) })
      #expect(bench.browser.messages.selected?.message.id != selected)
      #expect(bench.browser.equivalentCommand.contains("time_us >= \(brushed.lowerBound.microseconds)"))
      try bench.press(Key(.escape))
      #expect(bench.browser.times == nil && bench.browser.screen == .messages)
      #expect(bench.browser.messages.selected?.message.id == selected)
      #expect(bench.browser.messages.screenRow == row)
    }
    // Who has moved meanwhile stays there.
    try bench.press(Key("]"))
    for _ in 0..<400 { bench.browser.handle(.key(Key("[")), at: bench.now) }
    try bench.press(Key(.enter), Key("g"))
    let other = bench.browser.messages.selected?.message.id
    try bench.press(Key(.escape))
    #expect(bench.browser.messages.selected?.message.id == other && other != selected)
  }

  @Test func sessionsLastIntoATime() throws {
    var random = SeededRandom(9)
    let sessions = (1...200).map { id -> StoredSession in
      var session = StoredSession.made(Int64(id), name: nil, random: &random)
      let first = Int64(random.next() % 1_000)
      session.first = random.once(in: 9) ? nil : Timestamp(seconds: first, fraction: 0)
      session.last = session.first.map { Timestamp(seconds: $0.seconds + Int64(random.next() % 200), fraction: 0) }
      return session
    }
    var order = SessionOrder()
    let (from, to) = (Timestamp(seconds: 400, fraction: 0), Timestamp(seconds: 500, fraction: 0))
    order.times = from..<to
    order.sort = .number
    let shown = try #require(order.arrange(sessions)).map(\.id)
    // Second by second: a session is there in one of them.
    let wanted = sessions.filter { session in
      guard let first = session.first, let last = session.last else { return false }
      return (400..<500).contains { (first.seconds...last.seconds).contains($0) }
    }
    #expect(shown == wanted.map(\.id) && !shown.isEmpty)
  }
}
