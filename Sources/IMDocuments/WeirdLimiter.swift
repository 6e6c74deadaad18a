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
    /// The number of preceding issues with the same name, the same place and, if it counts, the same time.
    var repetition: UInt32
  }

  /// The properties that distinguish an issue from others of its name and direction.
  private struct Place: BitwiseCopyable {
    var offset: UInt64
    /// Counts only if `Issue.isKnownByTime`; otherwise 0.
    var microseconds: Int64
    var repetition: UInt32 = 0

    init(_ issue: Issue) {
      offset = issue.streamOffset
      microseconds = issue.isKnownByTime ? issue.timestamp.microseconds : 0
    }
  }

  private struct Entry {
    var kind: IssueKind
    var count: UInt64 = 0
    var suppressed: UInt64 = 0
    var written: UInt32 = 0
    var windowStart: Timestamp
    var last: Issue
    /// The places of the last issue of each direction, the client's first.
    var places: InlineArray<2, Place?> = [nil, nil]
    /// The repetition of `last`.
    var repetition: UInt32 = 0

    /// Registers an issue.
    mutating func take(_ issue: Issue) {
      count += 1
      last = issue
      let way = Int(issue.direction.rawValue & 1)
      var place = Place(issue)
      if let before = places[way], before.offset == place.offset, before.microseconds == place.microseconds {
        place.repetition = before.repetition &+ 1
      }
      places[way] = place
      repetition = place.repetition
    }
  }

  private static let window: Int64 = 60_000_000_000
  private var entries: [Entry] = []

  /// Counts an issue; `nil` when it gets no document.
  mutating func admit(_ issue: Issue, limit: UInt32) -> Admission? {
    let place: Int
    if let known = entries.firstIndex(where: { $0.kind == issue.kind }) {
      place = known
    } else {
      place = entries.count
      entries.append(Entry(kind: issue.kind, windowStart: issue.timestamp, last: issue))
    }
    entries[place].take(issue)
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
    let admission = Admission(
      count: entries[place].count, suppressed: entries[place].suppressed, repetition: entries[place].repetition)
    entries[place].suppressed = 0
    return admission
  }
}
