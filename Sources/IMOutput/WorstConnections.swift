package import IMEngine
import IMMetrics

/// The connections with the most trouble: a bounded list, whatever the capture's size.
package struct WorstConnections {
  /// How many are kept.
  package static let maximumCount = 20

  /// One of them.
  package struct Entry {
    /// The connection at its end.
    package var report: ConnectionReport
    /// Its `problemScore`, never 0.
    package var score: UInt64
  }

  /// The worst first; of equals, the earlier connection.
  package private(set) var entries: [Entry] = []

  /// Nothing yet.
  package init() {}

  /// Considers a connection that is over.
  package mutating func add(_ report: ConnectionReport) {
    let score = report.problemScore
    guard score > 0 else { return }
    let place = entries.firstIndex { ($0.score, report.info.serial) < (score, $0.report.info.serial) }
    if place == nil, entries.count == Self.maximumCount { return }
    entries.insert(Entry(report: report, score: score), at: place ?? entries.count)
    if entries.count > Self.maximumCount { entries.removeLast() }
  }
}
