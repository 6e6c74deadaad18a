import IMStore
import IMTerminal
import IMTestSupport
import IMWire
import Testing

@testable import IMBrowser

/// The list of sessions from its five inputs: what was written, the column, the direction, the filter and the pins.
@Suite struct CombinedSessionTests {
  /// Sessions as they are behind a commit: a function of its number.
  private static func sessions(_ commit: Int) -> [StoredSession] {
    var random = SeededRandom(UInt64(commit / 3 + 1))
    return (1...12 + commit % 7).map { .made(Int64($0), name: "name\($0 % 5)", random: &random) }
  }

  /// Drawn schedules: keys and commits at any time, answers late and out of turn. What is shown in the end is what comes
  /// of the inputs as they are in the end, and what is shown on the way is never older than what was shown before.
  @Test func theLastInputsWin() throws {
    for seed in 0..<LongRun.times(150, of: 1_000) {
      var random = SeededRandom(UInt64(seed) &* 77 &+ 5)
      var browser = Browser(BrowsedSource(files: ["a.db"], isStore: true), zone: .utc)
      var travelling: [(at: Int, request: SessionsRequest)] = []
      var asked: [SessionsRequest] = []
      var shown = -1
      var requests = 0
      for now in 0..<900 {
        let time = Duration.milliseconds(now)
        if now < 400 {
          if random.once(in: 4) { browser.commit(8 * now, isLast: false, at: time) }
          if random.once(in: 30) {
            browser.handle(.key(random.one(of: [Key("s"), Key("r"), Key("p"), Key("j")])), at: time)
          }
          if random.once(in: 60) {
            for key in [Key("/"), Key("n"), Key(random.one(of: ["1", "a", "x"])), Key(.enter)] {
              browser.handle(.key(key), at: time)
            }
          }
          if random.once(in: 80) { browser.handle(.key(Key(.escape)), at: time) }
        }
        for case .sessions(let request) in browser.takeRequests(at: time) {
          requests += 1
          asked.append(request)
          travelling.append((now + Int(random.next() % 90), request))
        }
        for (at, request) in travelling where at == now {
          let rows = try #require(request.order.arrange(Self.sessions(request.commit)))
          browser.accept(.sessions(request, rows, SessionTotals(rows)))
          guard browser.sessionsShown == request else { continue }
          let place = try #require(asked.lastIndex(of: request))
          #expect(place >= shown, "seed \(seed): older than what was shown")
          shown = place
        }
        travelling.removeAll { $0.at <= now }
      }
      let inputs = browser.sessionSignal.value
      #expect(browser.sessionsShown == inputs && browser.deadline == nil, "seed \(seed)")
      #expect(browser.sessions.items == inputs.order.arrange(Self.sessions(inputs.commit)), "seed \(seed)")
      // Four hundred milliseconds in which hardly one passes without a change.
      #expect(requests <= 20, "seed \(seed)")
    }
  }

  /// However many commits are seen as one, the list is never eight behind.
  @Test(arguments: [1, 3, 7, 9, 11, 40]) func commitsThatAreSeenTogether(_ step: Int) {
    var browser = Browser(BrowsedSource(files: ["a.db"], isStore: true), zone: .utc)
    for number in stride(from: 17, to: 600, by: step) {
      browser.commit(number, isLast: false, at: .milliseconds(number * 5))
      #expect(number - browser.sessionSignal.value.commit < 8)
    }
  }
}
