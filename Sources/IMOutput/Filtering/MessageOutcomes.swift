package import IMEngine
import IMFilter

/// What became of each message of a capture, by `Exchange.id`: for filters over frames, which come before that is known.
///
/// An engine that reads the same packets with the same options gives the same numbers. 8 bytes a message.
package final class MessageOutcomes: EngineSink {
  /// What filters ask of a message, of each frame that belongs to it.
  package struct Outcome: Sendable {
    let fate: Fate
    let cause: Cause?
    let retries: UInt16, duplicates: UInt16
    let isLate: Bool
  }

  /// What of a frame's message is known only when it is over.
  package static let fields: Set<Int> = Set(
    [MessageField.fate, .cause, .retries, .dup, .late].map(\.rawValue))
  /// What it must be told by an engine.
  package static let needs: EngineOptions.Needs = [.finished]

  private var outcomes: [Outcome?] = []

  /// Nothing known.
  package init() {}

  /// What became of the message with this number; `nil` of what is none.
  package subscript(id: UInt32) -> Outcome? { id < outcomes.count ? outcomes[Int(id)] : nil }

  /// Takes note of one that is over.
  package func finished(_ exchange: borrowing Exchange) {
    let place = Int(exchange.id)
    while outcomes.count <= place { outcomes.append(nil) }
    outcomes[place] = Outcome(
      fate: exchange.fate, cause: exchange.cause, retries: exchange.repeats, duplicates: exchange.duplicates,
      isLate: exchange.flags.contains(.late))
  }
}
