import IMEngine
import IMWire

/// Decides which issues of one connection get a document: so many of each name in a minute of packet time.
///
/// It counts occurrences by connection and name, which nothing else does: the ledger counts them over the run.
struct WeirdLimiter {
  /// What a document says of its name: occurrences on this connection so far, and those without a document since the
  /// last one.
  struct Admission: Equatable {
    var count: UInt64
    var suppressed: UInt64
    /// The document's number on its connection, from 1.
    var number: UInt32
  }

  private struct Entry {
    var kind: IssueKind
    var count: UInt64 = 0
    var suppressed: UInt64 = 0
    var written: UInt32 = 0
    var windowStart: Timestamp
    var last: Issue
  }

  private static let window: Int64 = 60_000_000_000
  private var entries: [Entry] = []
  private var number: UInt32 = 0

  /// Counts an issue; `nil` when it gets no document.
  mutating func admit(_ issue: Issue, limit: UInt32) -> Admission? {
    let place: Int
    if let known = entries.firstIndex(where: { $0.kind == issue.kind }) {
      place = known
    } else {
      place = entries.count
      entries.append(Entry(kind: issue.kind, windowStart: issue.timestamp, last: issue))
    }
    entries[place].count += 1
    entries[place].last = issue
    if issue.timestamp.nanoseconds(since: entries[place].windowStart) >= Self.window {
      entries[place].windowStart = issue.timestamp
      entries[place].written = 0
    }
    guard entries[place].written < limit else {
      entries[place].suppressed += 1
      return nil
    }
    entries[place].written += 1
    return admission(place)
  }

  /// Calls `body` for each name with issues that got no document: with the last of them, at the connection's end.
  mutating func drain(_ body: (Issue, Admission) -> Void) {
    for place in entries.indices where entries[place].suppressed > 0 {
      // The document speaks for the last one itself.
      entries[place].suppressed -= 1
      let last = entries[place].last
      body(last, admission(place))
    }
  }

  private mutating func admission(_ place: Int) -> Admission {
    number += 1
    let admission = Admission(count: entries[place].count, suppressed: entries[place].suppressed, number: number)
    entries[place].suppressed = 0
    return admission
  }
}
