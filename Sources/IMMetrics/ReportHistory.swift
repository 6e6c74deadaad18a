package import IMEngine

/// What the reports of one connection have said, so that the next one tells what came since.
package struct ReportHistory: Sendable {
  private var counts = ReportCounts(), pings = PingCounts()
  private var isReconnectTold = false, isEndTold = false

  /// What a report says that those before it did not.
  package struct News: Sendable {
    /// What was counted, and what became of a carrier's pings.
    package let counts: ReportCounts, pings: PingCounts
    /// Whether it is the first to say that a session came back on the connection, and that the connection has ended.
    package let isReconnect: Bool, isEnd: Bool
    /// Whether frames were decoded on the connection.
    package let isDecoded: Bool
  }

  /// No report yet.
  package init() {}

  /// Takes a report, which counts `told`; `isDecoded` where a frame of the connection has come.
  package mutating func take(
    _ report: borrowing ConnectionReport, _ told: ReportCounts, isDecoded: Bool
  ) -> News {
    let all = PingCounts(report)
    let news = News(
      counts: told.since(counts), pings: all.since(pings), isReconnect: report.rare.isReconnect && !isReconnectTold,
      isEnd: isDecoded && report.reason != .open && !isEndTold, isDecoded: isDecoded)
    // Nothing comes after the last report.
    counts = report.isFinal ? ReportCounts() : told
    pings = all
    if news.isReconnect { isReconnectTold = true }
    if news.isEnd { isEndTold = true }
    return news
  }
}
