package import IMEngine

extension ConnectionReport {
  /// What went wrong with messages, for lists that have the worst connections first: four points for a message, a control frame or a
  /// receipt that failed, two for a missed heartbeat, one for a retry, a gap, a damaged frame, or an end by a reset. 0 for a connection
  /// that nothing decodes.
  package var problemScore: UInt64 {
    guard let figures else { return 0 }
    var score = UInt64(rare.deliberateCopies) + UInt64(gapCount) + UInt64(figures.checksums[2])
    score += UInt64(rare.failedControls) * 4
    for way in 0...1 { score += (rare.fates[way].lost + UInt64(rare.fates[way].rejected)) * 4 }
    if reason == .reset { score += 1 }
    return score + UInt64(heartbeats?.missed ?? 0) * 2
  }
}
