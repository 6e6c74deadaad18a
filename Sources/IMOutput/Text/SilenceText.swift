package import IMMetrics
import IMWire

/// How long nothing may cross a connection, in words: what an operator does with the longest silence that was survived and the shortest
/// that was not.
package enum SilenceText {
  /// Shorter silences in front of a connection's end, in microseconds, are no word about heartbeats: no client sends them so often.
  private static let least: Int64 = 5_000_000

  /// `up to 60.02 s survived, 400.04 s did not: keep the heartbeat below 60 s`; `nil` where every silence was survived.
  package static func verdict(_ metrics: EndpointMetrics) -> String? {
    guard let fatal = metrics.shortestFatalSilence, fatal >= least else { return nil }
    let killed = seconds(fatal)
    guard let survived = metrics.longestSilenceSurvived else {
      return "no connection survived \(killed) without a packet: keep the heartbeat below \(limit(fatal))"
    }
    guard survived < fatal else {
      return "up to \(seconds(survived)) survived, but \(killed) did not on another connection: "
        + "it has a different path, or the silence was not the cause"
    }
    return "up to \(seconds(survived)) survived, \(killed) did not: keep the heartbeat below \(limit(survived))"
  }

  private static func seconds(_ microseconds: Int64) -> String {
    MetricSentences.text(.microseconds(microseconds), .time)
  }

  /// A whole number of seconds that is not above.
  private static func limit(_ microseconds: Int64) -> String {
    "\(grouped(UInt64(max(1, microseconds / 1_000_000)))) s"
  }
}
