import IMStore

/// The kinds of problems of messages, in the order of the digits after `'`.
enum ProblemNames {
  static var all: [String] { ProblemKinds.names }

  /// What the keys are said to find, in the help and in docs/browse.md.
  static let helps = [
    "the next rejected message", "the next unanswered message", "the next damaged message",
    "the next message with retries",
    "the next message that was answered late", "the next message with duplicates",
    "the next message whose outcome is unknown", "the next missed heartbeat",
    "the next frame without an answer that is no message",
  ]

  /// The digits with their kinds, in at most `width` cells where that is 80 or more.
  static func digits(width: Int) -> String {
    let long = [
      "rejected", "unanswered", "damaged", "retried", "late", "duplicate", "unknown", "heartbeat missed",
      "other frame unanswered",
    ]
    let short = ["rejected", "unanswered", "damaged", "retried", "late", "dup", "unknown", "hb", "other"]
    func text(_ words: [String], _ separator: String) -> String {
      words.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: separator)
    }
    let whole = " next: " + text(long, "  ")
    return whole.count <= width ? whole : "'" + text(short, " ")
  }

  /// The kind with an index.
  static func kind(_ index: Int) -> ProblemKinds { ProblemKinds(rawValue: 1 << Int64(index)) }

  /// Kinds from the worst one on, in ranks; what concerns a stream follows the first four ranks.
  private static let ranks: [ProblemKinds] = [
    [.unanswered, .damaged], .rejected, .heartbeatMissed, .controlUnanswered, [], .retried, .late, .duplicate, .unknown,
  ]

  private static func rank(_ count: StoredProblemCount) -> Int {
    guard let bit = count.bit else { return 4 }
    return ranks.firstIndex { $0.rawValue & bit != 0 } ?? ranks.count
  }

  /// Problems in the order of the list: the worst kind first, and of kinds that are as bad the most frequent.
  static func worstFirst(_ counts: [StoredProblemCount]) -> [StoredProblemCount] {
    counts.enumerated().sorted { one, other in
      let (mine, others) = (rank(one.element), rank(other.element))
      if mine != others { return mine < others }
      return one.element.count != other.element.count
        ? one.element.count > other.element.count : one.offset < other.offset
    }.map(\.element)
  }
}
