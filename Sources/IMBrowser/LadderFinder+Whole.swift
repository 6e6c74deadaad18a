package import IMOutput
package import IMStore
import IMWire

extension LadderFinder {
  /// Rows of a whole ladder beside those of frames, at most.
  private static let issueLimit = 10_000

  /// The whole ladder of a choice, to be written to a file: the rows of its first `limit` frames, with how many frames are left out behind them. `nil`
  /// when `isStale` says that nobody wants it any more.
  ///
  /// `progress` is told how many messages were read. Memory is that of the rows; what is left out is counted page by page.
  package func whole(
    _ choice: PageChoice, limit: Int, isStale: () -> Bool = { false }, progress: (Int) -> Void = { _ in }
  ) throws(StoreError) -> Ladder? {
    var messages: [StoredLadderMessage] = []
    var rows = 0, last: Int64 = 0
    /// The first message that is left out, and the frames of all of these.
    var leftOut: (from: Timestamp, frames: Int)?
    while true {
      if isStale() { return nil }
      let page = try source.ladderMessages(after: last, choice, count: Self.reach)
      for message in page {
        if leftOut == nil, rows + message.frameCount > limit, !messages.isEmpty { leftOut = (message.message.time, 0) }
        if leftOut != nil {
          leftOut?.frames += message.frameCount
        } else {
          messages.append(message)
          rows += message.frameCount
        }
      }
      progress(messages.count)
      guard page.count == Self.reach, let next = page.last?.message.id else { break }
      last = next
    }
    let end = leftOut?.from
    var part = LadderPart(isFirst: true, isLast: end == nil, messages, end: end, limit: limit + Self.issueLimit)
    try addIssues(to: &part, choice, from: choice.times?.lowerBound ?? .distantPast, to: end ?? Self.end(choice))
    part.sort()
    if choice.session != nil { try part.tellConnections(source) }
    var ladder = try ladder(choice, of: part, first: messages.first?.message)
    ladder.rows = part.ladderRows
    ladder.leftOutBehind = UInt64(clamping: (leftOut?.frames ?? 0) + part.leftOut)
    return ladder
  }

  private static func end(_ choice: PageChoice) -> Timestamp {
    // Both ends of the time of issues are included.
    choice.times.map { $0.upperBound.advanced(by: -1_000) } ?? .distantFuture
  }
}

extension StoredLadderMessage {
  /// The rows of its own that it has.
  fileprivate var frameCount: Int { copies.count + answers.count }
}
