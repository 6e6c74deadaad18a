import Glibc
import IMEndpoint

/// A conversation as it is shown: on a terminal as a screen with marks that change, else as lines of events.
struct ChatView {
  private struct Entry {
    var text: String
    /// The state of a message of one's own.
    var state: MessageState?
  }

  /// Whether both ends of this are a person's.
  let isTerminal: Bool
  private let me: String
  private let peer: String
  private var entries: [Entry] = []
  private var saved = termios()
  private var connection = "connecting"
  private var isDirty = true
  /// What is being typed.
  var draft = "" {
    didSet { isDirty = true }
  }
  /// Whether the other one is typing.
  var isPeerTyping = false {
    didSet { isDirty = true }
  }

  init(me: String, peer: String) {
    self.me = me
    self.peer = peer
    isTerminal = isatty(0) == 1 && isatty(1) == 1
  }

  /// Whether no message of one's own waits for anything.
  var areAllRead: Bool { entries.allSatisfy { $0.state?.isFinal ?? true } }

  // MARK: what happens

  /// A line was sent; the number under which its mark is kept.
  mutating func sent(_ text: String) -> Int {
    add(Entry(text: "\(me): \(Self.plain(text))", state: .created))
    return entries.count - 1
  }

  /// A message has come.
  mutating func came(_ sender: String, _ text: String) {
    isPeerTyping = false
    add(Entry(text: "\(Self.plain(sender)): \(Self.plain(text))"))
  }

  /// A message of one's own has come to another state.
  mutating func mark(_ place: Int, _ state: MessageState) {
    guard place < entries.count, entries[place].state != state else { return }
    entries[place].state = state
    isDirty = true
    if !isTerminal, state == .delivered || state == .read || state == .failed {
      say("[\(state)] \(entries[place].text)\n")
    }
  }

  /// The connection has come to another state.
  mutating func state(_ state: ConnectionState, _ reason: DisconnectReason?) {
    connection = "\(state)" + (reason.map { " (\($0))" } ?? "")
    isDirty = true
    if !isTerminal { say("[\(connection)]\n") }
  }

  /// Something else that the person should know.
  mutating func note(_ text: String) { add(Entry(text: "* " + text)) }

  private mutating func add(_ entry: Entry) {
    entries.append(entry)
    isDirty = true
    if !isTerminal, entry.state == nil { say(entry.text + "\n") }
  }

  /// Text of others commands no terminal.
  private static func plain(_ text: String) -> String {
    var plain = ""
    for scalar in text.unicodeScalars {
      let isShown =
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
      plain.unicodeScalars.append(isShown ? scalar : "\u{fffd}")
    }
    return plain
  }

  // MARK: the screen

  /// Takes the terminal over.
  mutating func begin() {
    guard isTerminal else { return }
    tcgetattr(0, &saved)
    var raw = saved
    raw.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    raw.c_iflag &= ~tcflag_t(ICRNL)
    tcsetattr(0, TCSANOW, &raw)
    say("\u{1b}[?1049h")
    show()
  }

  /// Gives the terminal back, and leaves the conversation on it.
  mutating func end() {
    guard isTerminal else { return }
    tcsetattr(0, TCSANOW, &saved)
    say("\u{1b}[?1049l" + entries.map { line($0) + "\n" }.joined())
  }

  /// Draws what has changed.
  mutating func show() {
    guard isTerminal, isDirty else { return }
    isDirty = false
    var size = winsize()
    _ = ioctl(1, UInt(TIOCGWINSZ), &size)
    let (rows, columns) = (max(5, Int(size.ws_row)), max(20, Int(size.ws_col)))
    var screen = "\u{1b}[H\u{1b}[7m" + Self.cut(" \(me) to \(peer) · \(connection)", columns) + "\u{1b}[K\u{1b}[0m\r\n"
    let shown = entries.suffix(rows - 3)
    for entry in shown { screen += Self.cut(line(entry), columns) + "\u{1b}[K\r\n" }
    for _ in shown.count..<rows - 3 { screen += "\u{1b}[K\r\n" }
    screen += (isPeerTyping ? "\u{1b}[2m\(peer) is typing\u{1b}[0m" : "") + "\u{1b}[K\r\n"
    let room = columns - 3
    screen += "> " + (draft.count > room ? String(draft.suffix(room)) : draft) + "\u{1b}[K"
    say(screen)
  }

  private func line(_ entry: Entry) -> String { entry.text + (entry.state.map { "  " + Self.sign($0) } ?? "") }

  private static func sign(_ state: MessageState) -> String {
    switch state {
    case .created, .sending, .sent: "·"
    case .retrying: "↻"
    case .delivered: "✓"
    case .read: "✓✓"
    case .failed, .cancelled: "✗"
    }
  }

  private static func cut(_ text: String, _ columns: Int) -> String {
    text.count <= columns ? text : String(text.prefix(columns - 1)) + "…"
  }
}
