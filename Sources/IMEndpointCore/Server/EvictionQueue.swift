/// Sessions without a connection, in the order in which they lost it: which one is forgotten first when there is no room.
///
/// Sessions that have carried nothing but their handshake go before those that a client has used, so that a client which opens many
/// does not push out what others need. An entry is checked when it comes up: a session that is back, or gone, is passed
/// over. So each costs the same, however many there are.
struct EvictionQueue: Sendable {
  private struct Entry: Sendable {
    var session: SessionID
    var since: Instant
  }

  private var unused = FIFOQueue<Entry>()
  private var used = FIFOQueue<Entry>()

  /// Entries, including those of sessions that are back or gone.
  var count: Int { unused.count + used.count }

  /// Notes a session that has lost its last connection.
  mutating func append(_ session: SessionID, since: Instant, isUsed: Bool) {
    if isUsed {
      used.append(Entry(session: session, since: since))
    } else {
      unused.append(Entry(session: session, since: since))
    }
  }

  /// Takes the next session out that `isStill` without a connection since that moment; `nil` when there is none.
  mutating func popFirst(_ isStill: (SessionID, Instant) -> Bool) -> SessionID? {
    while let entry = unused.popFirst() { if isStill(entry.session, entry.since) { return entry.session } }
    while let entry = used.popFirst() { if isStill(entry.session, entry.since) { return entry.session } }
    return nil
  }

  /// Forgets entries that are about nothing any more, once they are more than `limit`.
  mutating func compact(above limit: Int, _ isStill: (SessionID, Instant) -> Bool) {
    guard count > limit else { return }
    unused.filter { isStill($0.session, $0.since) }
    used.filter { isStill($0.session, $0.since) }
  }
}
