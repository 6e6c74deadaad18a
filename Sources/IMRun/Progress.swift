import Glibc
package import IMCapture
import IMEngine
import IMOutput
import IMSystem
import IMTerminal

/// How much of files has been read.
package struct FileShare {
  /// Bytes of those whose size is known: of regular files.
  let total: Int64

  /// The share of `files`, whose sizes are read now.
  package init(_ files: [String]) {
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
  package func read(_ statistics: CaptureStatistics) -> Double? {
    total > 0 ? min(1, Double(Self.bytes(statistics)) / Double(total)) : nil
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
