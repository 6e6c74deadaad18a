import IMEndpoint
import IMWire

/// A server's core behind a NAT that forgets: on a connection that was silent for too long no byte passes any more, in
/// neither direction, and neither end is told.
struct ForgetfulCore: EndpointCore {
  /// The core that does the work.
  var inner: ServerCore
  /// The longest silence that the path survives; nil is any.
  let memory: Duration?
  /// When something last passed on each connection, by its place; nil on one that is forgotten.
  private var passed: [(id: ConnectionID, at: Instant?)] = []

  init(_ inner: ServerCore, memory: Duration?) {
    self.inner = inner
    self.memory = memory
  }

  mutating func accepted(from remote: Endpoint, at now: Instant) -> ConnectionID? {
    let id = inner.accepted(from: remote, at: now)
    if memory != nil, let id {
      while passed.count <= Int(id.place) { passed.append((id, now)) }
      passed[Int(id.place)] = (id, now)
    }
    return id
  }

  mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake {
    guard passes(connection, at: now) else { return Intake(consumed: bytes.byteCount, wanted: 1) }
    return inner.received(bytes, on: connection, at: now)
  }

  mutating func drain(_ connection: ConnectionID, at now: Instant, _ write: (OutgoingPieces) -> Int) -> Bool {
    if passes(connection, at: now) { return inner.drain(connection, at: now, write) }
    return inner.drain(connection, at: now) { $0.byteCount }
  }

  private mutating func passes(_ connection: ConnectionID, at now: Instant) -> Bool {
    let place = Int(connection.place)
    guard let memory, place < passed.count, passed[place].id == connection else { return true }
    guard let last = passed[place].at else { return false }
    let isKnown = now.nanoseconds(since: last) <= memory.wholeNanoseconds
    passed[place].at = isKnown ? now : nil
    return isKnown
  }

  mutating func setWallClock(unixSeconds: Int64, at now: Instant) {
    inner.setWallClock(unixSeconds: unixSeconds, at: now)
  }

  mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Instant) {
    inner.opened(connection, local: local, at: now)
  }

  mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    inner.closed(connection, because: reason, at: now)
  }

  mutating func descriptorsRanOut(at now: Instant) { inner.descriptorsRanOut(at: now) }

  mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Instant) {
    inner.measured(facts, on: connection, at: now)
  }

  mutating func pathChanged(to path: NetworkPath, at now: Instant) { inner.pathChanged(to: path, at: now) }
  var deadline: Instant? { inner.deadline }
  mutating func deadlineReached(at now: Instant) { inner.deadlineReached(at: now) }
  mutating func nextCommand() -> TransportCommand? { inner.nextCommand() }
}
