import Glibc
import IMCapture
import IMEngine
import IMOutput
import IMSystem
import IMTerminal

/// How much of files has been read.
struct FileShare {
  /// Bytes of those whose size is known: of regular files.
  let total: Int64

  init(_ files: [String]) {
    var size: Int64 = 0
    for file in files {
      var info = stat()
      if stat(file, &info) == 0, info.st_mode & S_IFMT == S_IFREG { size += Int64(info.st_size) }
    }
    total = size
  }

  /// Bytes of packets and of what a capture file says of each.
  static func bytes(_ statistics: CaptureStatistics) -> UInt64 { statistics.deliveredBytes + statistics.delivered * 16 }

  /// The share that has been read, at most 1; `nil` where the size is not known.
  func read(_ statistics: CaptureStatistics) -> Double? {
    total > 0 ? min(1, Double(Self.bytes(statistics)) / Double(total)) : nil
  }
}

/// One line on standard error that says how far something is, at most ten times a second, on a terminal only.
struct ProgressLine {
  private let isActive: Bool
  /// When the work began.
  let begun: Double
  private var shownAt: Double
  private var isShown = false

  /// A line that is not there yet; nothing is shown before half a second.
  init(isWanted: Bool) {
    isActive = isWanted && isatty(STDERR_FILENO) == 1
    begun = MonotonicClock.seconds()
    shownAt = begun + 0.4
  }

  /// Shows what `text` makes of the present time, if the line is due.
  mutating func show(_ text: (Double) -> String) {
    guard isActive else { return }
    let now = MonotonicClock.seconds()
    guard now - shownAt >= 0.1 else { return }
    shownAt = now
    isShown = true
    // A line that wraps cannot be taken back. The last column stays free: some terminals wrap there.
    let width = max(1, (Output(descriptor: STDERR_FILENO, name: "standard error").terminalWidth ?? 80) - 1)
    var line = "\r\u{1b}[K" + prefix(text(now), cells: width)
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Takes the line away.
  mutating func end() {
    guard isShown else { return }
    isShown = false
    _ = write(STDERR_FILENO, "\r\u{1b}[K", 4)
  }
}

/// How far a long file is: one line on standard error, at most ten times a second, on a terminal only.
final class Progress {
  private let files: FileShare
  private let name: String
  private var line: ProgressLine

  init(isWanted: Bool, input: InputOptions) {
    files = FileShare(input.files)
    name = shown(input.files.first ?? "")
    line = ProgressLine(isWanted: isWanted && files.total > 0)
  }

  /// Shows how far the run is.
  func update(_ driver: Driver) {
    let begun = line.begun
    line.show { now in
      let done = FileShare.bytes(driver.statistics)
      let share = files.read(driver.statistics) ?? 0
      let rate = Double(done) / max(0.001, now - begun)
      let left = share > 0 ? (now - begun) * (1 - share) / share : 0
      let frames = driver.engine.totals.decodedConnections
      return "\(name) \(Int(share * 100)) % \(megabytes(Double(done))) of \(megabytes(Double(files.total))) "
        + "\(megabytes(rate))/s \(count(frames, "connection")) \(Int(left.rounded())) s left"
    }
  }

  /// Takes the line away.
  func end() { line.end() }

  private func megabytes(_ bytes: Double) -> String {
    let tenths = Int((bytes / 100_000).rounded())
    return "\(tenths / 10).\(tenths % 10) MB"
  }
}
