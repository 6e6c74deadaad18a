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
  /// No answer came to a message. Together with `damaged`: the messages that were lost.
  package static let unanswered = ProblemKinds(rawValue: 2)
  /// No copy of a message had a right checksum.
  package static let damaged = ProblemKinds(rawValue: 4)
  /// It was sent more than once before an answer came.
  package static let retried = ProblemKinds(rawValue: 8)
  /// The answer came after the time for it.
  package static let late = ProblemKinds(rawValue: 16)
  /// It was sent again after its answer.
  package static let duplicate = ProblemKinds(rawValue: 32)
  /// The capture lacks bytes among which an answer may have been.
  package static let unknown = ProblemKinds(rawValue: 64)

  /// A heartbeat without an answer: it is no message, and none was lost.
  package static let heartbeatMissed = ProblemKinds(rawValue: 128)
  /// A control frame, a receipt or another frame that is no message went without an answer.
  package static let controlUnanswered = ProblemKinds(rawValue: 256)

  /// All kinds.
  package static let all = ProblemKinds(rawValue: 511)

  /// The kinds of messages by their names, in the order of their bits.
  package static let names = [
    "rejected", "unanswered", "damaged", "retried", "late", "duplicate", "unknown", "heartbeat_missed",
    "control_unanswered",
  ]

  /// What is wrong with a message, or with another exchange, whose type has this role.
  init(of exchange: Exchange, role: FrameRole) {
    var kinds: ProblemKinds =
      switch exchange.fate {
      case .rejected: .rejected
      case .unanswered where role == .message: .unanswered
      case .damaged where role == .message: .damaged
      case .unanswered, .damaged: role == .heartbeat ? .heartbeatMissed : .controlUnanswered
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
  static let fates: ProblemKinds = [
    .rejected, .unanswered, .damaged, .unknown, .heartbeatMissed, .controlUnanswered,
  ]

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
