import Glibc
import IMEngine
import IMOutput
import IMSystem

/// The figures of a live run on a terminal, painted anew every second: `imdump stats -i`.
///
/// They stand on the terminal's alternate screen, so that what was there before is there again when the run is over.
final class StatsScreen {
  private static let interval = 1.0

  private let output: Output
  private let title: String
  private let begun = MonotonicClock.seconds()
  private var painted = -Double.infinity
  private var isShown = false

  /// A screen for `output`, which is a terminal.
  init(_ output: Output, title: String) {
    self.output = output
    self.title = title
  }

  deinit { end() }

  /// Whether a second is over.
  var isDue: Bool { MonotonicClock.seconds() - painted >= Self.interval }

  /// Paints `lines`, as many as there is room for.
  func paint(_ lines: [String]) {
    painted = MonotonicClock.seconds()
    // Alternate screen, no cursor.
    var text = isShown ? "" : "\u{1b}[?1049h\u{1b}[?25l"
    isShown = true
    let seconds = Int(MonotonicClock.seconds() - begun)
    let clock = "\(seconds / 3_600):\(Self.two(seconds / 60 % 60)):\(Self.two(seconds % 60))"
    let all = ["\(title), \(clock); Ctrl-C ends", ""] + lines
    let height = max(2, output.terminalHeight ?? 24)
    let left = all.count - height + 1
    let shown = left > 1 ? all.prefix(height - 1) + ["... \(left) more lines: enlarge the terminal"] : all
    text += "\u{1b}[H" + shown.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J"
    put(text)
  }

  /// Gives the terminal back.
  func end() {
    guard isShown else { return }
    isShown = false
    put("\u{1b}[?25h\u{1b}[?1049l")
  }

  private func put(_ text: String) {
    var text = text
    text.withUTF8 { output.write(UnsafeRawBufferPointer($0)) }
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
