import Glibc

/// A terminal that shows screens: in raw mode, on its alternate screen, with reports of the mouse; and how it was before.
///
/// Of one thread. `end` gives the terminal back; so does `deinit`. What a fault of the process must do is `leaving`.
package final class TerminalSession {
  /// What is written when a session begins: alternate screen, no cursor, no wrapping, pasted text in brackets.
  private static let entering = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[?2004h"
  private static let mouseOn = "\u{1b}[?1000h\u{1b}[?1006h", mouseOff = "\u{1b}[?1006l\u{1b}[?1000l"
  /// What is written when it ends, whatever was on.
  package static let leaving = "\u{1b}[0m\(mouseOff)\u{1b}[?2004l\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"

  private let input: Int32
  private let output: Int32
  private var before = termios()
  private var isOn = false
  /// Whether the terminal reports the mouse; then it selects no text.
  package private(set) var hasMouse: Bool
  /// The error of the first write that failed: the terminal is gone.
  package private(set) var error: Int32?

  /// A session at the descriptors of a terminal; `nil` where one of them is none.
  package init?(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, hasMouse: Bool = true) {
    guard isatty(input) == 1, isatty(output) == 1, tcgetattr(input, &before) == 0 else { return nil }
    self.input = input
    self.output = output
    self.hasMouse = hasMouse
  }

  deinit { end() }

  /// Takes the terminal.
  package func begin() {
    guard !isOn else { return }
    isOn = true
    // A shell may have changed it since.
    tcgetattr(input, &before)
    var raw = before
    cfmakeraw(&raw)
    tcsetattr(input, TCSADRAIN, &raw)
    write(Self.entering + (hasMouse ? Self.mouseOn : ""))
  }

  /// Gives the terminal back as it was.
  package func end() {
    guard isOn else { return }
    isOn = false
    write(Self.leaving)
    tcsetattr(input, TCSADRAIN, &before)
  }

  /// Has the terminal report the mouse, or leave it to whoever selects text with it.
  package func setMouse(_ isOn: Bool) {
    hasMouse = isOn
    if self.isOn { write(isOn ? Self.mouseOn : Self.mouseOff) }
  }

  /// Puts text on the clipboard of whoever sits at the terminal, where it allows that: OSC 52, of 64 KiB at most.
  package func copy(_ text: String) {
    guard isOn else { return }
    write("\u{1b}]52;c;\(base64(text.utf8.prefix(64 << 10)))\u{7}")
  }

  /// Stops the process as Ctrl-Z does, with the terminal given back meanwhile. Returns when it goes on.
  package func suspend() {
    let wasOn = isOn
    end()
    signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    TerminalSignals.listen(SIGTSTP)
    if wasOn { begin() }
  }

  /// Takes the terminal again after the process was stopped by somebody else and a shell has used it.
  package func resume() {
    guard isOn else { return }
    isOn = false
    begin()
  }

  /// The columns and rows of the terminal; 80 and 24 where it does not tell.
  package var size: (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Writes a frame, in one write(2) where the terminal takes it.
  package func write(_ bytes: [UInt8]) {
    var done = 0
    while done < bytes.count, error == nil {
      let n = bytes.withUnsafeBytes { Glibc.write(output, $0.baseAddress.map { $0 + done }, bytes.count - done) }
      if n > 0 {
        done += n
      } else if n < 0, errno == EAGAIN {
        var writable = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        _ = poll(&writable, 1, 1_000)
      } else if n < 0, errno != EINTR {
        error = errno
      }
    }
  }

  private func write(_ text: String) { write(Array(text.utf8)) }

  /// Reads the bytes that have come; empty where there are none, `nil` where the terminal is gone.
  package func read() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let n = Glibc.read(input, &bytes, bytes.count)
    if n > 0 { return Array(bytes[..<n]) }
    return n < 0 && (errno == EINTR || errno == EAGAIN) ? [] : nil
  }

  /// The descriptor on which keys come.
  package var descriptor: Int32 { input }
}

/// Bytes in Base64, as RFC 4648 has it.
func base64(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  var (held, count) = (0, 0)
  for byte in bytes {
    held = held << 8 | Int(byte)
    count += 8
    while count >= 6 {
      count -= 6
      text.append(digits[held >> count & 63])
    }
    held &= (1 << count) - 1
  }
  if count > 0 { text.append(digits[held << (6 - count) & 63]) }
  while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
  return String(decoding: text, as: UTF8.self)
}
