import Glibc
import IMTerminal

/// One line on standard error that shows the progress of work, at most ten times a second, on a terminal only.
package struct ProgressLine {
  private let isActive: Bool
  /// The time when the work began.
  package let begun: Double
  private var shownAt: Double
  private var isShown = false

  /// A hidden line; nothing is shown in the first half second.
  package init(isWanted: Bool) {
    isActive = isWanted && isatty(STDERR_FILENO) == 1
    begun = MonotonicClock.seconds()
    shownAt = begun + 0.4
  }

  /// Shows the text that `text` returns for the present time, if the line is due.
  package mutating func show(_ text: (Double) -> String) {
    guard isActive else { return }
    let now = MonotonicClock.seconds()
    guard now - shownAt >= 0.1 else { return }
    shownAt = now
    isShown = true
    // A line that wraps cannot be erased. The last column stays free: some terminals wrap there.
    let width = max(1, (Output(descriptor: STDERR_FILENO, name: "standard error").terminalWidth ?? 80) - 1)
    var line = "\r\u{1b}[K" + prefix(text(now), cells: width)
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Erases the line.
  package mutating func end() {
    guard isShown else { return }
    isShown = false
    _ = write(STDERR_FILENO, "\r\u{1b}[K", 4)
  }
}
