import IMStore
import IMTerminal
import IMWire
import Testing

@testable import IMBrowser

/// Commands behind `:`.
@Suite struct TypedCommandTests {
  @Test(arguments: [
    ("sessions", "sessions", ""), (":se", "sessions", ""), ("q", "quit", ""), ("  goto  1,204 ", "goto", "1,204"),
    ("filter type == data", "filter", "type == data"), ("gr block", "graph", "block"),
  ]) func lines(_ line: String, _ name: String, _ rest: String) throws {
    let parsed = try CommandTable.parse(line)
    #expect(parsed.command.name == name && parsed.rest == rest)
  }

  @Test(arguments: [
    ("laddr", "no command 'laddr'; did you mean ladder?"), ("xyz", "no command 'xyz'; Tab lists them"),
    ("p", "'p' is ambiguous: problems, previous or pin"), ("quit now", ":quit takes no argument"),
    ("sesions", "no command 'sesions'; did you mean sessions?"),
  ]) func mistakes(_ line: String, _ text: String) {
    #expect(throws: CommandTable.Mistake(text: text)) { try CommandTable.parse(line) }
  }

  @Test(arguments: [
    ("so", ["sort "]), ("sort r", ["sort round-trip", "sort retries", "sort reverse"]),
    ("graph b", ["graph braille", "graph block"]),
    ("filter type == data && rtt", ["filter type == data && rtt_ms", "filter type == data && rtt_us"]),
    ("nothing x", []),
  ]) func completions(_ line: String, _ wanted: [String]) {
    #expect(CommandTable.completions(line, fields: StoredFilter.fieldNames).map(\.line) == wanted)
  }

  private func typed(_ text: String, _ bench: inout BrowserTests.Bench) throws {
    for letter in text.unicodeScalars { bench.browser.handle(.key(Key(letter)), at: bench.now) }
    try bench.settle()
  }

  @Test func eachCommandDoesWhatItSays() throws {
    var bench = BrowserTests.Bench()
    try bench.settle()
    func run(_ line: String) throws {
      try typed(":" + line, &bench)
      try bench.press(Key(.enter))
      #expect(bench.browser.input == nil, "\(line): \(bench.browser.filterError ?? "")")
    }
    try run("messages")
    #expect(bench.browser.screen == .messages)
    try run("goto 400")
    #expect(bench.browser.messages.selected?.message.id ?? 0 >= 400)
    let moment = bench.source.messages[700].time
    try run("goto \(MessageItem.date(moment, .utc)) \(MessageItem.clock(moment, .utc))")
    let found = try #require(bench.browser.messages.selected?.message)
    #expect(found.time.microseconds >= moment.microseconds / 1_000 * 1_000 && found.id <= bench.source.messages[700].id)
    try run("filter retries > 0")
    #expect(bench.browser.messages.choice.filter == "retries > 0")
    try run("filter")
    #expect(bench.browser.messages.choice.filter == "")
    try run("next retried")
    #expect(bench.browser.messages.selected?.message.problems.contains(.retried) ?? false)
    try run("time \(MessageItem.clock(moment, .utc).prefix(8)) 23:59:59")
    #expect(bench.browser.times?.lowerBound.seconds == moment.seconds)
    try run("time")
    #expect(bench.browser.times == nil)
    try run("ladder")
    #expect(bench.browser.screen == .ladder)
    try run("sort lost reverse")
    #expect(bench.browser.screen == .sessions && bench.browser.sessionSignal.value.order.sort == .lost)
    #expect(bench.browser.sessionSignal.value.order.isReversed)
    try run("goto 3")
    #expect(bench.browser.sessions.selected?.id == 3)
    try run("pin")
    #expect(bench.browser.sessionSignal.value.order.pins == [3])
    try run("graph block")
    #expect(bench.browser.graph == .block)
    try run("problems")
    #expect(bench.browser.screen == .problems)
    try run("sessions")
    try run("help")
    #expect(bench.browser.overlay == .help(0))
    try bench.press(Key(.escape))
    try run("quit")
    #expect(bench.browser.takeWishes() == [.quit])
  }

  /// Letters that are typed are text: none of them does what it does as a key, in a command as in a filter.
  @Test func lettersAreText() throws {
    for begin in [":", "/"] {
      var bench = BrowserTests.Bench()
      try bench.settle()
      let order = bench.browser.sessionSignal.value.order
      try bench.press(Key(Unicode.Scalar(begin)!))
      try typed("qsrpaPlv[]{}!m?W1", &bench)
      #expect(bench.browser.input?.text == "qsrpaPlv[]{}!m?W1")
      #expect(bench.browser.screen == .sessions && bench.browser.overlay == nil)
      #expect(bench.browser.takeWishes() == [] && bench.browser.timeline.brush == nil)
      try bench.press(Key(.escape))
      #expect(bench.browser.input == nil && bench.browser.sessionSignal.value.order == order)
    }
  }
}
