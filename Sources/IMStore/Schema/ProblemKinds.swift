import IMEngine

/// What can be wrong with a message or a stream, as the store's `problem_kind` names it.
///
/// A message has a bit for each kind that is its own, so that the next one of some kinds is found in one index. What concerns a
/// stream has the name of its issue in every other output.
package struct ProblemKinds: OptionSet, Sendable, Hashable {
  /// One bit for each.
  package let rawValue: Int64
  /// The kinds whose bits are set in `rawValue`.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The answer refused it.
  package static let rejected = ProblemKinds(rawValue: 1)
  /// No answer came.
  package static let unanswered = ProblemKinds(rawValue: 2)
  /// No copy had a right checksum.
  package static let damaged = ProblemKinds(rawValue: 4)
  /// It was sent more than once before an answer came.
  package static let retried = ProblemKinds(rawValue: 8)
  /// The answer came after the time for it.
  package static let late = ProblemKinds(rawValue: 16)
  /// It was sent again after its answer.
  package static let duplicate = ProblemKinds(rawValue: 32)
  /// The capture lacks bytes among which an answer may have been.
  package static let unknown = ProblemKinds(rawValue: 64)

  /// All kinds.
  package static let all = ProblemKinds(rawValue: 127)

  /// The kinds of messages by their names, in the order of their bits.
  package static let names = ["rejected", "unanswered", "damaged", "retried", "late", "duplicate", "unknown"]

  /// What is wrong with a message.
  init(of exchange: Exchange) {
    var kinds: ProblemKinds =
      switch exchange.fate {
      case .rejected: .rejected
      case .unanswered: .unanswered
      case .damaged: .damaged
      case .unknown: .unknown
      case .acked, .ackedAfterRetry, .pending, .unacknowledged: []
      }
    if exchange.repeats > 0 { kinds.insert(.retried) }
    if exchange.duplicates > 0 { kinds.insert(.duplicate) }
    if exchange.flags.contains(.late) { kinds.insert(.late) }
    self = kinds
  }

  /// Whether the kind with bit `bit` is what became of the message, of which there is a cause.
  func isFate(_ bit: Int) -> Bool { !ProblemKinds(rawValue: Int64(1) << Int64(bit)).isDisjoint(with: .fates) }

  /// The kinds that say what became of the message, of which there is a cause.
  static let fates: ProblemKinds = [.rejected, .unanswered, .damaged, .unknown]

  /// The number in `problem_kind` of the kind with bit `bit`: from 1.
  static func id(ofBit bit: Int) -> Int64 { Int64(bit) + 1 }

  /// The number in `problem_kind` of an issue; `nil` for one that the fate of its message tells.
  static func id(of kind: IssueKind) -> Int64? {
    switch kind {
    case .unanswered, .lateAck, .heartbeatMissed: nil
    default: 100 + Int64(kind.rawValue)
    }
  }
}
