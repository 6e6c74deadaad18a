import IMEngine
import IMOutput
import IMReport
import IMWire

/// The last frames of a connection; and, once there was a problem, those from shortly before it on. Bounded: made for captures that
/// have no end, in which nothing can be read a second time.
struct LadderTrail {
  /// A row, and the exchange that its frame belongs to.
  private struct Entry {
    var row: Ladder.Row
    var exchange: UInt32
  }

  /// Rows that are kept while all is well, twice as many at times; rows in front of a problem; and rows from there on.
  static let length = 48, lead = 12, limit = 90

  private var entries: [Entry] = []
  private(set) var before: UInt64 = 0, behind: UInt64 = 0
  /// When the first problem began that is shown.
  private(set) var troubleAt: Timestamp?
  /// When the last copy of a message that was sent again came, by its exchange; a few.
  private var copies: [(exchange: UInt32, at: Timestamp)] = []

  /// Takes a frame of the exchange with this number.
  mutating func frame(_ step: Ladder.Step, at: Timestamp, of exchange: UInt32) {
    var step = step
    if step.copy > 0, exchange != .max {
      if step.copy > 1 {
        let last =
          copies.last { $0.exchange == exchange }?.at
          ?? entries.last { $0.exchange == exchange && $0.row.isCopy }?.row.at
        step.sinceCopy = last.map { at.nanoseconds(since: $0) / 1_000 }
        copies.removeAll { $0.exchange == exchange }
        copies.append((exchange, at))
        if copies.count > 8 { copies.removeFirst() }
      }
    }
    append(Entry(row: Ladder.Row(at: at, event: .step(step)), exchange: exchange))
  }

  /// Takes what TCP did, or what the capture lacks.
  mutating func note(_ text: String, at: Timestamp) {
    append(Entry(row: Ladder.Row(at: at, event: .note(text, isTrouble: true)), exchange: .max))
  }

  /// The fate of a message was decided, or decided anew.
  mutating func resolved(_ exchange: Exchange) {
    guard let place = entries.lastIndex(where: { $0.exchange == exchange.id && $0.row.isFirstCopy }),
      case .step(var step) = entries[place].row.event
    else { return }
    step.fate = exchange.fate
    step.cause = exchange.cause
    if exchange.flags.contains(.late) { step.facts.insert(.late) }
    entries[place].row.event = .step(step)
  }

  /// Something went wrong: rows from shortly before it on stay.
  mutating func trouble(_ at: Timestamp) {
    guard troubleAt.map({ at < $0 }) ?? true else { return }
    let isFirst = troubleAt == nil
    troubleAt = at
    guard isFirst else { return }
    let first = entries.firstIndex { $0.row.at >= at } ?? entries.count
    drop(max(0, first - Self.lead))
  }

  /// What went wrong was before the time that is shown.
  mutating func forgetTrouble() {
    troubleAt = nil
    before += behind
    behind = 0
    trim()
  }

  private mutating func append(_ entry: Entry) {
    guard troubleAt != nil else {
      entries.append(entry)
      if entries.count > 2 * Self.length { trim() }
      return
    }
    if entries.count < Self.limit {
      entries.append(entry)
    } else if case .step = entry.row.event {
      behind += 1
    }
  }

  private mutating func trim() { drop(max(0, entries.count - Self.length)) }

  private mutating func drop(_ count: Int) {
    for entry in entries.prefix(count) { if case .step = entry.row.event { before += 1 } }
    entries.removeFirst(count)
  }

  /// The rows in the order in which they came.
  var rows: [Ladder.Row] {
    entries.map(\.row).enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }
}

extension Ladder.Row {
  fileprivate var isCopy: Bool { if case .step(let step) = event { step.copy > 0 } else { false } }
  fileprivate var isFirstCopy: Bool { if case .step(let step) = event { step.copy == 1 } else { false } }
}
