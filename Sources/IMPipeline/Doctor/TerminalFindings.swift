import Glibc
import IMOutput
import IMSystem
import IMTerminal
import IMWire

/// Whether the locale is one of UTF-8, which all output is in.
func localeFinding() -> Finding {
  let names = ["LC_ALL", "LC_CTYPE", "LANG"]
  let chosen = names.lazy.compactMap { name in getenv(name).map { (name, String(cString: $0)) } }.first {
    !$0.1.isEmpty
  }
  let told = chosen.map { "\($0.0)=\($0.1)" } ?? "no locale is set"
  guard setlocale(LC_CTYPE, "") != nil else {
    return .note("locale", "\(told), which is not installed", advice: "LC_ALL=C.UTF-8")
  }
  let codes = String(cString: nl_langinfo(nl_item(CODESET)))
  guard codes == "UTF-8" else {
    return .note("locale", "\(told): \(codes), but output is UTF-8", advice: "LC_ALL=C.UTF-8")
  }
  return .ok("locale", told)
}

/// The zone of the times in text.
func zoneFinding() -> Finding {
  let now = Timestamp.wallClock
  let name = LocalZone.local.name(at: now.seconds)
  return .ok("zone", name == "UTC" ? "times in text are UTC" : "times in text are local, \(name); --utc shows UTC")
}

/// What standard output is.
func terminalFinding(_ output: Output) -> Finding {
  guard output.isTerminal else {
    return .ok("terminal", "standard output is not a terminal: lines are not cut, and have no colors")
  }
  let kind = getenv("TERM").map { String(cString: $0) } ?? ""
  let size =
    output.terminalWidth.flatMap { width in output.terminalHeight.map { "\(width)x\($0)" } } ?? "of unknown size"
  if kind.isEmpty || kind == "dumb" {
    return .note("terminal", "\(size), TERM is \(kind.isEmpty ? "not set" : kind): no colors and no repainting")
  }
  let isPlain = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
  return .ok("terminal", "\(size), \(kind)\(isPlain ? ", NO_COLOR is set" : "")")
}

/// Whether the terminal gives characters as many cells as columns of text are made for; `nil` where there is no terminal.
func widthFinding() -> Finding? {
  guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return nil }
  let samples = ["e\u{301}", "张", "가", "ｱ", "⣿", "👍", "👍🏽", "👨‍👩‍👧", "🇩🇪", "🖼️"]
  guard let found = TerminalWidths.measure(samples) else {
    return .note("widths", "not measured: the terminal does not report its cursor position")
  }
  let wrong = zip(samples, found).filter { cells($0) != $1 }
  guard !wrong.isEmpty else {
    return .ok("widths", "CJK, emoji and combining characters have the expected width")
  }
  let told = wrong.map { "\($0) takes \($1) instead of \(cells($0))" }
  return .note(
    "widths", told.joined(separator: ", "), advice: "columns after such characters may be shifted in this terminal")
}

/// Asks a terminal how far the cursor moved.
enum TerminalWidths {
  /// Milliseconds that an answer may take.
  private static let patience: Int32 = 500

  /// The cells that the terminal of standard input and output gives each of `texts`; `nil` where it does not tell. The line
  /// it stands in is empty afterwards.
  static func measure(_ texts: [String]) -> [Int]? {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
    var raw = before
    // Signals too: the mode must be given back, and it takes a moment only.
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0 else { return nil }
    defer {
      send("\r\u{1b}[K")
      // What came late is thrown away.
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
    }
    var widths: [Int] = []
    for text in texts {
      send("\r\u{1b}[K\(text)\u{1b}[6n")
      guard let column = answer() else { return nil }
      widths.append(column - 1)
    }
    return widths
  }

  private static func send(_ text: String) {
    let bytes = Array(text.utf8)
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      done += max(0, count)
    }
  }

  /// The column of the report `ESC [ row ; column R` that comes next; `nil` where none comes in time.
  private static func answer() -> Int? {
    var bytes: [UInt8] = []
    while bytes.count < 64 {
      var poller = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, patience) > 0 else { return nil }
      var byte: UInt8 = 0
      guard read(STDIN_FILENO, &byte, 1) == 1 else { return nil }
      bytes.append(byte)
      if byte == UInt8(ascii: "R"), let column = column(bytes) { return column }
    }
    return nil
  }

  /// The column that a cursor position report at the end of `bytes` names; keys that were pressed may stand in front of it.
  static func column(_ bytes: [UInt8]) -> Int? {
    guard bytes.last == UInt8(ascii: "R"), let start = bytes.lastIndex(of: 0x1b), start + 1 < bytes.count,
      bytes[start + 1] == UInt8(ascii: "[")
    else { return nil }
    let numbers = bytes[(start + 2)..<(bytes.count - 1)].split(
      separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard numbers.count == 2, Int(String(decoding: numbers[0], as: UTF8.self)) != nil else { return nil }
    return Int(String(decoding: numbers[1], as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
  }
}
