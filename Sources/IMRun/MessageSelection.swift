import IMEngine
import IMFilter
import IMOutput
import IMSystem
import IMWire

/// Which messages `imdump messages` is about, besides what a filter says; where nothing is chosen, all.
package struct MessageChoice: Sendable {
  /// Messages that were lost: no answer came, or no copy was undamaged. Heartbeats and control frames are no messages.
  package var lost = false
  /// Messages that were answered with a refusal.
  package var rejected = false
  /// Messages that were sent again before their answer came.
  package var retried = false
  /// Those with a damaged copy.
  package var damaged = false

  /// Lost and rejected messages.
  package var failed: Bool {
    get { lost && rejected }
    set { (lost, rejected) = (newValue, newValue) }
  }

  /// Whose messages, and of which time.
  package var scope = MessageScope()

  /// All messages.
  package init() {}

  /// Whether nothing is chosen.
  package var isEmpty: Bool { !choosesFates && scope.isEmpty }
  /// Whether messages are chosen by what became of them.
  var choosesFates: Bool { lost || rejected || retried || damaged }
}

/// Whose messages a command is about, and of which time.
package struct MessageScope: Sendable {
  /// Those of these sessions; empty for all.
  package var sessions: [String] = []
  /// Those on these connections, by number; empty for all.
  package var connections: [UInt32] = []
  /// Those whose first copy came from then on, and up to then, as text.
  package var from: String?, to: String?

  /// All messages.
  package init() {}

  /// Whether it has all messages.
  var isEmpty: Bool { sessions.isEmpty && connections.isEmpty && from == nil && to == nil }
}

/// The sessions and connections of a scope of which some message was seen.
package final class ScopeFindings {
  private var scope: MessageScope
  private var hasMessages = false

  fileprivate init(_ scope: MessageScope) { self.scope = scope }

  fileprivate func note(_ record: MessageRecord) {
    hasMessages = hasMessages || record.role == .message
    if let session = record.session, let place = scope.sessions.firstIndex(of: session) {
      scope.sessions.remove(at: place)
    }
    if let place = scope.connections.firstIndex(of: record.connection.serial) { scope.connections.remove(at: place) }
  }

  /// Reports selected sessions and connections without a message, if the capture has messages at all.
  package func tell() {
    guard hasMessages else { return }
    if !scope.sessions.isEmpty {
      logError(
        "no message of \(scope.sessions.count == 1 ? "session" : "sessions") "
          + "\(scope.sessions.joined(separator: ", ")); 'imdump messages --by session' lists sessions")
    }
    if !scope.connections.isEmpty {
      let numbers = scope.connections.map { "#\($0)" }.joined(separator: ", ")
      logError("no message on connection \(numbers); 'imdump streams' lists connections")
    }
  }
}

/// Says of a message whose fate is final whether it is wanted: by the choice, where one applies, and by the filter.
package struct MessageSelection {
  let choice: MessageChoice
  let filter: Filter?
  /// The named fields of profiles, where the filter names some.
  let names: NamedFilterFields?
  /// When messages begin that are wanted; `nil` for any time.
  private let times: TimeRange?
  /// What was found of the scope of `choice`; `nil` where it names no session and no connection.
  let findings: ScopeFindings?

  /// A selection by `choice` and by a filter over messages. `times` is what the scope's texts mean.
  package init(_ choice: MessageChoice, _ filter: Run.MessageFilter, times: TimeRange? = nil) {
    self.choice = choice
    self.times = times
    findings =
      choice.scope.sessions.isEmpty && choice.scope.connections.isEmpty ? nil : ScopeFindings(choice.scope)
    self.filter = filter.filter
    names = filter.names
  }

  /// The fields that are kept with messages, by their indices in the schema of `names`.
  package var keptFields: [Int] { filter?.fieldsUsed ?? [] }

  /// Whether the filter looks into bodies, which have to be kept for it.
  var needsBodies: Bool { filter?.fieldsUsed.contains(MessageField.tlv.rawValue) ?? false }

  /// Whether the message is wanted.
  func includes(_ record: MessageRecord, _ exchange: Exchange, _ plan: ProtocolPlan) -> Bool {
    if let findings {
      findings.note(record)
      let scope = choice.scope
      guard scope.connections.isEmpty || scope.connections.contains(record.connection.serial),
        scope.sessions.isEmpty || record.session.map(scope.sessions.contains) ?? false
      else { return false }
    }
    if let times, !times.contains(exchange.firstAt) { return false }
    if choice.choosesFates {
      let isMessage = record.role == .message
      let isLost = isMessage && (exchange.fate == .unanswered || exchange.fate == .damaged)
      let isWanted =
        (choice.lost && isLost) || (choice.rejected && isMessage && exchange.fate == .rejected)
        || (choice.retried && isMessage && exchange.repeats > 0)
        || (choice.damaged && record.checksums.contains(.bad))
      guard isWanted else { return false }
    }
    guard let filter else { return true }
    return filter.matches(MessageFilterRecord(record: record, exchange: exchange, plan: plan, names: names))
  }
}
