import IMEngine
import IMOutput
package import IMStore
import IMTerminal
package import IMWire

/// A message with all that its row shows, as the thread that reads makes it: the thread that paints formats nothing.
package struct MessageItem: Equatable, Sendable {
  /// The message.
  package let message: StoredMessage
  /// The time of day by the local clock: `12:00:31.204`.
  package let time: String
  /// The connection's client, for messages of several sessions.
  package let client: String
  /// Its retries: `R2`; empty without one.
  let retries: String
  /// The time to its answer: `23.1 ms`; empty without one.
  let roundTrip: String
  /// The outcome in words: `✓`, `unanswered: network`, `rejected: not_authorized`; then further facts, the most important first: `late`, `1 after the
  /// answer`.
  private let outcomes: [String]
  /// The times of delivery and reading: `read after 5.03 s`, and in short `read 5.03 s`.
  private let receipts: [String], shortReceipts: [String]
  /// The name of the status with which it was rejected; `nil` for other messages.
  private let rejection: String?
  /// What is wrong with it, as a letter: `!` failed, `R` retried, `~` late, duplicate or unknown; a blank for nothing.
  package let mark: String
  /// Its topic; empty where it has none, or the store does not have it.
  package let topic: String
  /// What it says, where the store has it; empty where it has not.
  package let text: String
  /// Cells that the text takes in one line, and line breaks that it has: what is known of its rows before it is wrapped.
  let textCells: Int, textBreaks: Int

  /// A row of its parts. `zone` says what local time is.
  package init(_ message: StoredMessage, client: String, texts: StoredMessageTexts, zone: LocalZone) {
    self.message = message
    self.client = client
    topic = texts.topic ?? ""
    // Of a message whose profile does not name what it says, all texts.
    text = texts.text ?? (message.role == .message ? texts.other : nil) ?? ""
    (textCells, textBreaks) = (cells(plainText(text)), text.reduce(0) { $0 + ($1.isNewline ? 1 : 0) })
    time = Self.clock(message.time, zone)
    outcomes = Self.outcomes(message)
    let receipts = [("delivered", message.deliveredAfter), ("read", message.readAfter)].compactMap { name, after in
      after.map { (name, Words.shortLength($0)) }
    }
    self.receipts = receipts.map { "\($0) after \($1)" }
    // A message that was read was also delivered.
    shortReceipts = receipts.suffix(1).map { "\($0) \($1)" }
    rejection = message.fate == .rejected ? message.status : nil
    retries = message.retries > 0 ? "R\(message.retries)" : ""
    roundTrip = message.latency.map(Words.shortLength) ?? ""
    mark =
      !message.problems.isDisjoint(with: [.rejected, .unanswered, .damaged])
      ? "!" : message.problems.contains(.retried) ? "R" : message.problems == [] ? " " : "~"
  }

  /// A time of day by the local clock, with milliseconds.
  package static func clock(_ time: Timestamp, _ zone: LocalZone) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(time.advanced(by: Int64(zone.offset(at: time.seconds)) * 1_000_000_000))
    return String(out.text.dropFirst(11).prefix(12))
  }

  /// The day of a moment by the local clock: `2026-11-21`.
  static func date(_ time: Timestamp, _ zone: LocalZone) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(time.advanced(by: Int64(zone.offset(at: time.seconds)) * 1_000_000_000))
    return String(out.text.prefix(10))
  }

  /// The outcome, and as many further facts as fit into `width` cells. `hasReceipts` includes the time of reading, and `isShort` shortens it.
  package func outcome(width: Int = .max, isShort: Bool = false, hasReceipts: Bool = true) -> String {
    var text = outcomes[0]
    // The mark at the beginning of the row already shows the failure.
    if cells(text) > width, let rejection, Int(rejection) == nil { text = rejection }
    var further = outcomes.dropFirst() + (hasReceipts ? isShort ? shortReceipts : receipts : [])
    var room = width - cells(text)
    while let next = further.popFirst(), cells(next) + 2 <= room {
      text += ", \(next)"
      room -= cells(next) + 2
    }
    return text
  }

  /// What became of a message, in few words: most succeed, and a sign says that.
  private static func outcomes(_ message: StoredMessage) -> [String] {
    var text: String
    switch message.fate {
    case .acked, .ackedAfterRetry: text = "✓"
    case .unacknowledged: text = "one-way"
    case .some(let fate): text = fate.name
    case nil: text = "?"
    }
    if message.fate == .rejected, let status = message.status {
      text += ": \(status)"
    } else if let cause = message.cause {
      text += ": \(cause.name)"
    }
    var all = [text]
    if message.problems.contains(.late) { all.append("late") }
    if message.duplicates > 0 { all.append("\(message.duplicates) after the answer") }
    return all
  }
}
