package import IMTerminal

/// What a key does.
package enum BrowserAction: Hashable, Sendable {
  case up, down, pageUp, pageDown, home, end
  case open, back, filter, sort, reverse, pin, allMessages, problems
  case nextProblem, previousProblem, nextOfKind(Int)
  case follow, mark, savePackets, saveRows, saveLadder
  case left, right, otherPane, unfold, texts, wrap, clock
  case tab(BrowserTab)
  case ladder, graph, typeCommand
  /// Moves the brush by so many cells, or makes it longer by as many.
  case brush(Int), widenBrush(Int)
  case help, command, mouse, redraw, suspend, quit

  /// Whether it selects something else on the screen.
  var moves: Bool {
    switch self {
    case .up, .down, .pageUp, .pageDown, .home, .end, .nextProblem, .previousProblem, .nextOfKind: true
    default: false
    }
  }
}

/// The keys of a screen. Keys, the bottom line and help come from one table, so none can be forgotten in another.
package struct KeyMap: Sendable {
  /// A row of the table.
  package struct Row: Sendable {
    /// The keys.
    package let keys: [Key]
    /// What help calls them.
    package let label: String
    /// What they do.
    package let action: BrowserAction
    /// What help says of them.
    package let help: String
    /// A word for the bottom line; `nil` for keys that have no place there.
    package var word: String?
    /// The key that is pressed before them; `nil` for none.
    package var prefix: Key?
  }

  /// A key, after the one that is pressed before it.
  private struct Chord: Hashable, Sendable {
    let prefix: Key?, key: Key
  }

  /// The rows, in the order of help.
  package let rows: [Row]
  private let actions: [Chord: BrowserAction]
  private let prefixes: Set<Key>

  init(_ rows: [Row]) {
    self.rows = rows
    actions = Dictionary(
      rows.flatMap { row in row.keys.map { (Chord(prefix: row.prefix, key: $0), row.action) } }
    ) { first, _ in first }
    prefixes = Set(rows.compactMap(\.prefix))
  }

  /// What a key does, after another one where that is a prefix; `nil` for nothing.
  package func action(_ key: Key, after prefix: Key? = nil) -> BrowserAction? {
    actions[Chord(prefix: prefix, key: key)]
  }

  /// Whether a key waits for another one.
  package func isPrefix(_ key: Key) -> Bool { prefixes.contains(key) }

  /// The keymap of a screen.
  package static func of(_ screen: Browser.Screen) -> KeyMap {
    switch screen {
    case .problems: .problems
    case .sessions: .sessions
    case .connections: .connections
    case .messages: .messages
    case .types: .types
    case .ladder: .ladder
    case .frame: .frame
    }
  }

  /// The same where Space selects rows.
  private static let movingAmongMarks = moving.map { row in
    row.action == .pageDown
      ? Row(keys: row.keys.filter { $0 != Key(" ") }, label: "PgDn ^F", action: row.action, help: row.help) : row
  }

  private static let moving: [Row] = [
    Row(keys: [Key(.up), Key("k")], label: "↑ k", action: .up, help: "the row above"),
    Row(keys: [Key(.down), Key("j")], label: "↓ j", action: .down, help: "the row below"),
    Row(keys: [Key(.pageUp), .control("b")], label: "PgUp ^B", action: .pageUp, help: "a screen up"),
    Row(
      keys: [Key(.pageDown), .control("f"), Key(" ")], label: "PgDn ^F Space", action: .pageDown, help: "a screen down"),
    Row(keys: [Key(.home), Key("g")], label: "Home g", action: .home, help: "the first row"),
    Row(keys: [Key(.end), Key("G")], label: "End G", action: .end, help: "the last row"),
  ]

  private static let general: [Row] =
    BrowserTab.allCases.map { tab in
      Row(keys: [tab.key], label: tab.label, action: .tab(tab), help: tab.help)
    } + [
      Row(
        keys: [Key("[")], label: "[", action: .brush(-1),
        help: "select a time range in the graph; move it left"),
      Row(
        keys: [Key("]")], label: "]", action: .brush(1),
        help: "move it right; Enter: show only this range; Esc: cancel"),
      Row(keys: [Key("{")], label: "{", action: .widenBrush(-1), help: "make the range shorter"),
      Row(keys: [Key("}")], label: "}", action: .widenBrush(1), help: "make it longer"),
      Row(keys: [Key("v")], label: "v", action: .graph, help: "draw metrics over time in dots, bars or letters"),
      Row(keys: [Key(":")], label: ":", action: .typeCommand, help: "type a command; Tab completes it"),
      Row(
        keys: [Key("!")], label: "!", action: .command, help: "the equivalent command line", word: "command"),
      Row(
        keys: [Key("m")], label: "m", action: .mouse,
        help: "give the mouse to the terminal, or take it back"
      ),
      Row(keys: [.control("l")], label: "^L", action: .redraw, help: "redraw the screen"),
      Row(keys: [.control("z")], label: "^Z", action: .suspend, help: "suspend; fg resumes"),
      Row(keys: [Key("?"), Key(.function(1))], label: "? F1", action: .help, help: "this help", word: "help"),
      Row(keys: [Key("q"), .control("c")], label: "q ^C", action: .quit, help: "quit", word: "quit"),
    ]

  /// The key before a digit that goes to the next problem of a kind.
  static let problemPrefix = Key("'")

  private static let back = Row(
    keys: [Key(.escape), Key(.backspace), Key(.left), Key("h")], label: "Esc ← h", action: .back,
    help: "clear the filter, then go back", word: "back")

  /// Keys of the list of sessions.
  package static let sessions = KeyMap(
    [
      Row(
        keys: [Key(.enter), Key(.right)], label: "Enter →", action: .open, help: "the session's messages", word: "open"),
      Row(keys: [Key("l")], label: "l", action: .ladder, help: "the session's ladder", word: "ladder"),
      Row(
        keys: [Key("/")], label: "/", action: .filter, help: "only sessions with these words in name or addresses",
        word: "filter"),
      Row(keys: [Key("s")], label: "s", action: .sort, help: "sort by the next column", word: "sort"),
      Row(keys: [Key("r")], label: "r", action: .reverse, help: "reverse the order"),
      Row(
        keys: [Key("p")], label: "p", action: .pin, help: "pin the session to the top, or unpin it", word: "pin"
      ),
      Row(keys: [Key("a")], label: "a", action: .allMessages, help: "messages of all sessions", word: "all"),
      Row(keys: [Key("P")], label: "P", action: .problems, help: "problems by kind and cause", word: "problems"),
      Row(keys: [Key(.escape)], label: "Esc", action: .back, help: "clear the filter, then the time range"),
    ] + moving + general)

  /// Keys of the list of messages.
  package static let messages = KeyMap(
    [
      Row(
        keys: [Key(.enter), Key(.right)], label: "Enter →", action: .open, help: "the message's bytes and fields",
        word: "bytes"),
      Row(
        keys: [Key("l")], label: "l", action: .ladder, help: "the ladder of the message's connection", word: "ladder"),
      back,
      Row(
        keys: [Key("/")], label: "/", action: .filter, help: "only messages that match a -Y filter",
        word: "filter"),
      Row(
        keys: [Key("f")], label: "f", action: .follow,
        help: "follow new messages, or stop following",
        word: "follow"),
      Row(keys: [Key(" ")], label: "Space", action: .mark, help: "select or deselect the message"),
      Row(
        keys: [Key("w")], label: "w", action: .savePackets,
        help: "save the packets of the selected messages, or of all listed ones, as a capture", word: "pcap"),
      Row(
        keys: [Key("e")], label: "e", action: .saveRows,
        help: "save the selected messages, or all listed ones, as CSV or JSON lines", word: "export"),
      Row(
        keys: [Key("x")], label: "x", action: .unfold,
        help: "show or hide the fields of the message below it"),
      Row(keys: [Key("u")], label: "u", action: .texts, help: "show or hide topics and message text"),
      Row(keys: [Key("W")], label: "W", action: .wrap, help: "wrap or cut the text of messages"),
      Row(keys: [Key("n")], label: "n", action: .nextProblem, help: "the next message with a problem", word: "next!"),
      Row(keys: [Key("N")], label: "N", action: .previousProblem, help: "the previous message with a problem"),
    ]
      + ProblemNames.helps.enumerated().map { i, help in
        Row(
          keys: [Key(.character(Unicode.Scalar(UInt8(0x31 + i))))], label: "'\(i + 1)", action: .nextOfKind(i),
          help: help, prefix: problemPrefix)
      } + [Row(keys: [Key("P")], label: "P", action: .problems, help: "problems by kind and cause")] + movingAmongMarks
      + general)

  /// Keys of the list of connections.
  package static let connections = KeyMap(
    [
      Row(
        keys: [Key(.enter), Key(.right)], label: "Enter →", action: .open, help: "the connection's messages",
        word: "messages"),
      Row(keys: [Key("l")], label: "l", action: .ladder, help: "the connection's ladder", word: "ladder"),
      back,
      Row(
        keys: [Key("/")], label: "/", action: .filter,
        help: "only connections with these words in addresses, profile or state", word: "filter"),
    ] + moving + general)

  /// Keys of the list of types.
  package static let types = KeyMap(
    [
      Row(
        keys: [Key(.enter), Key(.right), Key("l")], label: "Enter → l", action: .open,
        help: "the messages of the type or topic",
        word: "messages"),
      back,
    ] + moving + general)

  /// Keys of a ladder.
  package static let ladder = KeyMap(
    [
      Row(
        keys: [Key(.enter), Key(.right)], label: "Enter →", action: .open,
        help: "the bytes and fields of the line's message",
        word: "bytes"),
      back,
      Row(
        keys: [Key("n")], label: "n", action: .nextProblem, help: "the next message with a problem", word: "next!"),
      Row(keys: [Key("N")], label: "N", action: .previousProblem, help: "the previous message with a problem"),
      Row(
        keys: [Key("t")], label: "t", action: .clock, help: "times of day, or since the connection began", word: "times"
      ),
      Row(
        keys: [Key("w")], label: "w", action: .savePackets,
        help: "save the packets of the ladder's messages as a capture", word: "pcap"),
      Row(
        keys: [Key("e")], label: "e", action: .saveLadder, help: "save the ladder as text or SVG",
        word: "export"),
    ] + moving + general)

  /// Keys of the list of problems.
  package static let problems = KeyMap(
    [
      Row(
        keys: [Key(.enter), Key(.right), Key("l")], label: "Enter → l", action: .open,
        help: "the messages with the problem", word: "open"),
      back,
    ] + moving + general)

  /// Keys of the bytes and parts of a message.
  package static let frame = KeyMap(
    [
      Row(
        keys: [Key(.tab), Key(.backTab)], label: "Tab", action: .otherPane, help: "switch between fields and bytes",
        word: "pane"),
      Row(keys: [Key(.left), Key("h")], label: "← h", action: .left, help: "the byte before"),
      Row(keys: [Key(.right), Key("l")], label: "→ l", action: .right, help: "the next byte"),
      Row(
        keys: [Key(.escape), Key(.backspace)], label: "Esc", action: .back, help: "back to the messages", word: "back"),
    ] + moving + general)
}
