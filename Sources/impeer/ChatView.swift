import Glibc
import IMEndpoint

/// A conversation as it is shown: on a terminal as a screen with marks that change, else as lines of events.
struct ChatView {
  private struct Entry {
    var text: String
    /// The state of a message of one's own, and why it has failed.
    var state: MessageState?
    var reason: FailureReason?
    /// How far a large message is.
    var progress: TransferProgress?
  }

  /// Whether both ends of this are a person's.
  let isTerminal: Bool
  private let me: String
  private let peer: String
  private var entries: [Entry] = []
  private var saved = termios()
  private var connection = "connecting"
  private var isDirty = true
  /// Large messages that come, by the names of their transfers, and the quarters that were reported without a terminal.
  private var coming: [UInt64: TransferProgress] = [:]
  private var quarters: [UInt64: Int] = [:]
  /// The size that the screen was drawn for.
  private var shown: (rows: UInt16, columns: UInt16) = (0, 0)
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

  /// Whether the server has accepted or refused every message of one's own.
  var areAllSettled: Bool {
    entries.allSatisfy { entry in
      switch entry.state {
      case .created, .sending, .sent, .retrying: false
      case nil, .accepted, .delivered, .read, .failed, .cancelled: true
      }
    }
  }

  // MARK: what happens

  /// A line was sent; the number under which its mark is kept.
  mutating func sent(_ text: String) -> Int {
    add(Entry(text: "\(me): \(TerminalText.plain(text))", state: .created))
    return entries.count - 1
  }

  /// A message has come.
  mutating func came(_ sender: String, _ text: String) {
    isPeerTyping = false
    add(Entry(text: "\(TerminalText.plain(sender)): \(TerminalText.plain(text))"))
  }

  /// A user has sent something that is no text.
  mutating func reported(_ sender: String, _ what: String) {
    isPeerTyping = false
    add(Entry(text: "\(TerminalText.plain(sender)) \(TerminalText.plain(what))"))
  }

  /// A message of one's own has come to another state, and why.
  mutating func mark(_ place: Int, _ state: MessageState, _ reason: FailureReason? = nil) {
    guard place < entries.count, entries[place].state != state else { return }
    entries[place].state = state
    entries[place].reason = reason
    isDirty = true
    guard !isTerminal else { return }
    switch state {
    case .accepted, .delivered, .read, .failed:
      say("[\(state)\(reason.map { ": \($0)" } ?? "")] \(entries[place].text)\n")
    case .created, .sending, .sent, .retrying, .cancelled: break
    }
  }

  /// So much of a large message of one's own is at the server.
  mutating func progress(_ place: Int, _ progress: TransferProgress) {
    guard place < entries.count else { return }
    entries[place].progress = progress.byteCount < progress.total ? progress : nil
    isDirty = true
    if isNews(UInt64(place), progress) { say("[sending \(Self.percent(progress)) %] \(entries[place].text)\n") }
  }

  /// So much of a large message that comes is here.
  mutating func progress(of name: UInt64, _ progress: TransferProgress) {
    coming[name] = progress
    isDirty = true
    if isNews(~name, progress) { say("[receiving \(Self.percent(progress)) %]\n") }
  }

  /// A large message is here, or will not come.
  mutating func finished(_ name: UInt64) {
    coming[name] = nil
    quarters[~name] = nil
    isDirty = true
  }

  /// Without a terminal, each quarter of what takes a while is reported.
  private mutating func isNews(_ name: UInt64, _ progress: TransferProgress) -> Bool {
    guard !isTerminal, progress.total >= 1 << 20, progress.byteCount < progress.total else { return false }
    let quarter = Self.percent(progress) / 25
    guard quarter > quarters[name] ?? 0 else { return false }
    quarters[name] = quarter
    return true
  }

  private static func percent(_ progress: TransferProgress) -> Int {
    Int(Double(progress.byteCount) / Double(max(1, progress.total)) * 100)
  }

  /// A bar of 20 columns, and the share in words.
  private static func bar(_ progress: TransferProgress) -> String {
    let percent = percent(progress)
    let full = min(20, max(0, percent / 5))
    return String(repeating: "█", count: full) + String(repeating: "░", count: 20 - full)
      + " \(percent) % of \(max(1, progress.total >> 20)) MiB"
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

  /// Draws what has changed, and all where the terminal has another size.
  mutating func show() {
    guard isTerminal else { return }
    var size = winsize()
    _ = ioctl(1, UInt(TIOCGWINSZ), &size)
    guard isDirty || size.ws_row != shown.rows || size.ws_col != shown.columns else { return }
    isDirty = false
    shown = (size.ws_row, size.ws_col)
    let (rows, columns) = (max(5, Int(size.ws_row)), max(20, Int(size.ws_col)))
    let title = TerminalText.beginning(" \(me) to \(peer) · \(connection)", columns)
    var screen = "\u{1b}[H\u{1b}[7m\(title)\u{1b}[K\u{1b}[0m\r\n"
    // The last lines that fit; a long message takes several.
    var lines: [String] = []
    for entry in entries.reversed() where lines.count < rows - 3 {
      lines = TerminalText.wrapped(line(entry), columns) + lines
    }
    for name in coming.keys.sorted() {
      if let progress = coming[name] { lines.append("receiving " + Self.bar(progress)) }
    }
    lines = lines.suffix(rows - 3)
    for line in lines { screen += line + "\u{1b}[K\r\n" }
    for _ in lines.count..<rows - 3 { screen += "\u{1b}[K\r\n" }
    screen += (isPeerTyping ? "\u{1b}[2m\(peer) is typing\u{1b}[0m" : "") + "\u{1b}[K\r\n"
    screen += "> " + TerminalText.end(TerminalText.plain(draft), columns - 3) + "\u{1b}[K"
    say(screen)
  }

  private func line(_ entry: Entry) -> String {
    entry.text + (entry.progress.map { "  " + Self.bar($0) } ?? "") + (entry.state.map { "  " + Self.sign($0) } ?? "")
      + (entry.reason.map { " \($0)" } ?? "")
  }

  private static func sign(_ state: MessageState) -> String {
    switch state {
    case .created, .sending, .sent: "·"
    case .retrying: "↻"
    case .accepted: "✓"
    case .delivered: "✓✓"
    case .read: "✓✓ read"
    case .failed, .cancelled: "✗"
    }
  }
}
