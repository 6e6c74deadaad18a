import IMEngine
import IMFilter
import IMOutput
import IMWire

/// Which messages `imdump messages` is about, besides what a filter says; where nothing is chosen, all.
package struct MessageChoice: Sendable {
  /// Messages that were lost: no answer came, or no copy was undamaged. Heartbeats and control frames are no messages.
  package var lost = false
  /// Messages that were answered with a refusal.
  package var rejected = false
  /// Those with more than one copy.
  package var retried = false
  /// Those with a damaged copy.
  package var damaged = false

  /// Lost and rejected messages.
  package var failed: Bool {
    get { lost && rejected }
    set { (lost, rejected) = (newValue, newValue) }
  }

  /// All messages.
  package init() {}

  /// Whether nothing is chosen.
  var isEmpty: Bool { !lost && !rejected && !retried && !damaged }
}

/// Says of a message whose fate is final whether it is wanted: by the choice, where one applies, and by the filter.
struct MessageSelection {
  let choice: MessageChoice
  let filter: Filter?
  /// The named fields of profiles, where the filter names some.
  let names: NamedFilterFields?

  /// A selection by `choice` and by a filter over messages.
  init(_ choice: MessageChoice, _ filter: Run.MessageFilter) {
    self.choice = choice
    self.filter = filter.filter
    names = filter.names
  }

  /// The fields that are kept with messages, by their indices in the schema of `names`.
  var keptFields: [Int] { filter?.fieldsUsed ?? [] }

  /// Whether the filter looks into bodies, which have to be kept for it.
  var needsBodies: Bool { filter?.fieldsUsed.contains(MessageField.tlv.rawValue) ?? false }

  /// Whether the message is wanted.
  func includes(_ record: MessageRecord, _ exchange: Exchange, _ plan: ProtocolPlan) -> Bool {
    if !choice.isEmpty {
      let isMessage = record.role == .message
      let isLost = isMessage && (exchange.fate == .unanswered || exchange.fate == .damaged)
      let isWanted =
        (choice.lost && isLost) || (choice.rejected && isMessage && exchange.fate == .rejected)
        || (choice.retried && exchange.copies > 1)
        || (choice.damaged && record.checksums.contains(.bad))
      guard isWanted else { return false }
    }
    guard let filter else { return true }
    return filter.matches(MessageFilterRecord(record: record, exchange: exchange, plan: plan, names: names))
  }
}
