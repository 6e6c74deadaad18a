/// Sessions without a connection, in the order in which they lost it: which one is forgotten first when there is no room.
///
/// Sessions that have carried nothing but their handshake go before those that a client has used, so that a client which opens many
/// does not push out what others need. An entry is checked when it comes up: a session that is back, or gone, is passed
/// over. So each costs the same, however many there are.
struct EvictionQueue: Sendable {
  private struct Entry: Sendable {
    var session: SessionID
    var since: Moment
  }

  private struct Line: Sendable {
    var entries: [Entry] = []
    var head = 0

    mutating func popFirst() -> Entry? {
      guard head < entries.count else { return nil }
      head += 1
      let entry = entries[head - 1]
      if head == entries.count {
        entries.removeAll(keepingCapacity: entries.count <= 1_024)
        head = 0
      } else if head >= 1_024, head * 2 > entries.count {
        entries.removeFirst(head)
        head = 0
      }
      return entry
    }
  }

  private var unused = Line()
  private var used = Line()

  /// Entries, including those of sessions that are back or gone.
  var count: Int { unused.entries.count - unused.head + used.entries.count - used.head }

  /// Notes a session that has lost its last connection.
  mutating func append(_ session: SessionID, since: Moment, isUsed: Bool) {
    if isUsed {
      used.entries.append(Entry(session: session, since: since))
    } else {
      unused.entries.append(Entry(session: session, since: since))
    }
  }

  /// Takes the next session out that `isStill` without a connection since that moment; `nil` when there is none.
  mutating func popFirst(_ isStill: (SessionID, Moment) -> Bool) -> SessionID? {
    while let entry = unused.popFirst() { if isStill(entry.session, entry.since) { return entry.session } }
    while let entry = used.popFirst() { if isStill(entry.session, entry.since) { return entry.session } }
    return nil
  }

  /// Forgets entries that are about nothing any more, once they are more than `limit`.
  mutating func compact(above limit: Int, _ isStill: (SessionID, Moment) -> Bool) {
    guard count > limit else { return }
    unused = Line(entries: unused.entries[unused.head...].filter { isStill($0.session, $0.since) })
    used = Line(entries: used.entries[used.head...].filter { isStill($0.session, $0.since) })
  }
}
