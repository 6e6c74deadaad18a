import IMMetrics

/// The rules by what they want to hear of, as indices.
struct AlertInterests {
  /// Rules of fates and of round trips.
  let resolved: [Int]
  /// Rules of messages that are counted when they are sent, and of those that are counted when their fate is decided.
  let messages: [Int], decidedMessages: [Int]
  /// Rules of logins and others that open a session and were refused, and of answers that came late.
  let rejections: [Int], lateAnswers: [Int]
  /// Rules of checksums, and of the time that messages wait.
  let checksums: [Int], open: [Int]
  /// Rules of heartbeats without an answer, and of the times between heartbeats.
  let beats: [Int], jitter: [Int]
  /// Rules of connections: those that were tried, failed, were refused, and are a session's further one.
  let attempts: [Int], failures: [Int], refused: [Int], reconnects: [Int]
  /// Rules of packets that the capture dropped.
  let drops: [Int]
  /// Rules of what connections report, with the figures that they count.
  let reports: [(index: Int, figure: Metric<ReportCounts>)]
  /// Whether a rule has groups of sessions.
  let groupsSessions: Bool

  init(_ rules: [AlertRule]) {
    func watching(_ samples: RuleSamples) -> [Int] { rules.indices.filter { rules[$0].metric.samples == samples } }
    resolved = rules.indices.filter {
      switch rules[$0].metric.samples {
      case .fates, .roundTrips: true
      default: false
      }
    }
    let all = watching(.messages)
    messages = all.filter { !rules[$0].countsDecided }
    decidedMessages = all.filter { rules[$0].countsDecided }
    rejections = watching(.refusedHandshakes)
    lateAnswers = watching(.lateAnswers)
    checksums = watching(.checksums)
    open = watching(.ages)
    beats = watching(.missedHeartbeats)
    jitter = watching(.heartbeatChanges)
    attempts = watching(.attempts)
    failures = watching(.failedConnections)
    refused = watching(.refusedConnections)
    reconnects = watching(.reconnects)
    drops = watching(.packets)
    reports = rules.indices.compactMap { index in rules[index].metric.reported.map { (index, $0) } }
    groupsSessions = rules.contains { $0.grouping == .session }
  }
}
