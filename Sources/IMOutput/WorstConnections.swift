package import IMEngine

/// The connections with the most trouble: a bounded list, whatever the capture's size.
package struct WorstConnections {
  /// How many are kept.
  package static let maximumCount = 20

  /// One of them.
  package struct Entry {
    /// The connection at its end.
    package var report: ConnectionReport
    /// Its trouble, never 0: four points for a message, a control frame or a receipt that failed, two for a missed
    /// heartbeat, one for a retry, a gap, a damaged frame, or an end by a reset.
    package var score: UInt64
  }

  /// The worst first; of equals, the earlier connection.
  package private(set) var entries: [Entry] = []

  /// Nothing yet.
  package init() {}

  /// Considers a connection that is over.
  package mutating func add(_ report: ConnectionReport) {
    let score = Self.score(report)
    guard score > 0 else { return }
    if entries.count == Self.maximumCount, let last = entries.last, last.score >= score { return }
    let place =
      entries.firstIndex { ($0.score, report.info.serial) < (score, $0.report.info.serial) } ?? entries.count
    entries.insert(Entry(report: report, score: score), at: place)
    if entries.count > Self.maximumCount { entries.removeLast() }
  }

  /// The trouble of a connection, as `Entry.score` counts it; 0 for one that nothing decodes.
  package static func score(_ report: borrowing ConnectionReport) -> UInt64 {
    guard let figures = report.figures else { return 0 }
    var score = UInt64(report.rare.retries) + UInt64(report.gapCount) + UInt64(figures.checksums[2])
    score += UInt64(report.rare.failedControls) * 4
    for way in 0...1 {
      let fates = report.rare.fates[way]
      score += UInt64(fates.unanswered + fates.damaged + fates.rejected) * 4
    }
    if report.reason == .reset { score += 1 }
    return score + UInt64(report.heartbeats?.missed ?? 0) * 2
  }
}
