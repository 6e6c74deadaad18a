import IMTestSupport
import Testing

@testable import IMTerminal

/// What terminals send, as keys.
@Suite struct InputParserTests {
  private static func key(_ code: Key.Code, _ modifiers: Modifiers = []) -> InputEvent { .key(Key(code, modifiers)) }
  private static func letter(_ character: Unicode.Scalar) -> InputEvent { .key(Key(character)) }

  private static let cases: [(bytes: String, events: [InputEvent])] = [
    ("q", [letter("q")]), ("张", [letter("张")]), ("\r", [key(.enter)]), ("\u{7f}", [key(.backspace)]),
    ("\t", [key(.tab)]),
    ("\u{3}", [key(.character("c"), .control)]), ("\u{1b}a", [key(.character("a"), .alt)]),
    ("\u{1b}[A", [key(.up)]), ("\u{1b}OA", [key(.up)]), ("\u{1b}[1;5C", [key(.right, .control)]),
    ("\u{1b}[H", [key(.home)]), ("\u{1b}[4~", [key(.end)]), ("\u{1b}[5~", [key(.pageUp)]),
    ("\u{1b}[6;2~", [key(.pageDown, .shift)]),
    ("\u{1b}OP", [key(.function(1))]), ("\u{1b}[15~", [key(.function(5))]), ("\u{1b}[Z", [key(.backTab)]),
    ("\u{1b}[<0;10;7M", [.mouse(Mouse(.press(0), row: 6, column: 9))]),
    ("\u{1b}[<0;10;7m", [.mouse(Mouse(.release(0), row: 6, column: 9))]),
    ("\u{1b}[<64;1;1M", [.mouse(Mouse(.wheelUp, row: 0, column: 0))]),
    ("\u{1b}[<65;300;200M", [.mouse(Mouse(.wheelDown, row: 199, column: 299))]),
    ("\u{1b}[<35;1;1M", []), ("\u{1b}[M !!", []), ("\u{1b}[200~a\u{1b}[Bq\n\u{1b}[201~", [.paste("a\u{1b}[Bq\n")]),
    ("\u{1b}]0;title\u{7}", []), ("\u{1b}P1$r0m\u{1b}\\", []), ("\u{1b}[?1;2c", []), ("\u{1b}[99999999999999~", []),
  ]

  @Test(arguments: cases.indices) func sequences(_ index: Int) {
    var parser = InputParser()
    #expect(parser.feed(Self.cases[index].bytes.utf8) == Self.cases[index].events)
    #expect(parser.patience == nil)
  }

  /// However a stream of keys is cut, it is the same keys.
  @Test func cutsChangeNothing() {
    var random = SeededRandom(5)
    for _ in 0..<2_000 {
      var bytes: [UInt8] = []
      var wanted: [InputEvent] = []
      for _ in 0..<1 + Int(random.next() % 8) {
        let one = random.one(of: Self.cases)
        bytes += Array(one.bytes.utf8)
        wanted += one.events
      }
      var parser = InputParser()
      var found: [InputEvent] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = 1 + Int(random.next() % 5)
        found += parser.feed(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      #expect(found == wanted)
    }
  }

  @Test func escapeAloneIsAKeyWhenNothingFollows() {
    var parser = InputParser()
    #expect(parser.feed([0x1b]) == [])
    #expect(parser.patience == .milliseconds(50))
    #expect(parser.timeout() == [Self.key(.escape)])
    #expect(parser.patience == nil)
    #expect(parser.timeout() == [])
    #expect(parser.feed("\u{1b}\u{1b}[A".utf8) == [Self.key(.escape), Self.key(.up)])
    _ = parser.feed("\u{1b}[".utf8)
    #expect(parser.timeout() == [Self.key(.character("["), .alt)])
    _ = parser.feed("\u{1b}[200~text".utf8)
    #expect(parser.timeout() == [.paste("text")])
    #expect(parser.feed("q".utf8) == [Self.letter("q")])
  }

  /// Bytes that nobody means: no trap, what is held is bounded, and a timeout always leads back to keys.
  @Test func anyBytesLeadBack() {
    var random = SeededRandom(6)
    for _ in 0..<500 {
      var parser = InputParser()
      for _ in 0..<20 {
        let bytes = random.bytes(64).map {
          random.once(in: 4) ? UInt8(0x1b) : random.once(in: 4) ? UInt8(ascii: "[") : $0
        }
        for case .key(let key) in parser.feed(bytes) {
          if case .character(let scalar) = key.code { #expect(scalar.value >= 0x20 && scalar.value != 0x7f) }
        }
      }
      _ = parser.timeout()
      #expect(parser.patience == nil)
      #expect(parser.feed("q".utf8) == [Self.letter("q")])
    }
  }

  @Test func pastedTextIsBounded() {
    var parser = InputParser()
    _ = parser.feed("\u{1b}[200~".utf8)
    for _ in 0..<200 { #expect(parser.feed([UInt8](repeating: 0x61, count: 1_000)) == []) }
    let events = parser.feed("\u{1b}[201~q".utf8)
    guard case .paste(let text) = events.first else {
      Issue.record("nothing was pasted")
      return
    }
    #expect(text.utf8.count == 65_536 && events.last == Self.letter("q"))
  }
}
