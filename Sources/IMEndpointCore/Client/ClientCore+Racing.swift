/// Messages whose answer is overdue.
///
/// A retry on the same connection only adds bytes: the kernel sends what was lost anyway. What helps is another connection,
/// whose retransmission timer has not been doubled. But where the answer is late because the way is full, every
/// additional byte makes it later; the kernel's figures tell the one from the other.
extension ClientCore {
  /// After how many nanoseconds an answer is overdue.
  @inline(__always)
  var overdueAfter: Int64 {
    switch configuration.resend {
    case .sameConnection(let wait, _): return wait.wholeNanoseconds
    case .racing(let policy):
      guard !roundTrips.isEmpty else { return policy.unknownRoundTrip.wholeNanoseconds }
      let grown = Int64(policy.factor * Double(roundTrips.short)) + policy.margin.wholeNanoseconds
      return max(policy.minimum.wholeNanoseconds, grown)
    }
  }

  mutating func planRace(at now: Instant) {
    let moment = now.advanced(byNanoseconds: overdueAfter)
    raceAt = moment
    wake(by: moment)
  }

  /// Looks for what is overdue, and asks for the facts.
  mutating func checkRace(at now: Instant) {
    let wait = overdueAfter
    var next: Instant?
    var isOverdue = false
    for place in sessions.indices {
      let first = sessions[place].traffic.pending.first
      guard first >= 0 else { continue }
      let due = sessions[place].traffic.pending[first].lastSentAt.advanced(byNanoseconds: wait)
      if due <= now { isOverdue = true } else if due < next ?? .distantFuture { next = due }
    }
    raceAt = next
    wake(by: next)
    guard isOverdue else {
      if wantsAnother { standDown() }
      return
    }
    guard let racing else {
      retryOnSameConnection(at: now)
      return
    }
    if openMask == 0 {
      raceAt = nil
      return
    }
    if measuring != 0 {
      // The facts did not come: what is not known counts as loss.
      for place in 0..<8 where measuring & Self.bit(place) != 0 { links[place].facts = nil }
      measuring = 0
      decideRace(racing, at: now)
    } else {
      for place in 0..<8 where openMask & Self.bit(place) != 0 && links[place].outstanding > 0 {
        measuring |= Self.bit(place)
        commands.append(.measure(connection(place)))
      }
      if measuring == 0 { decideRace(racing, at: now) }
    }
    let recheck = now.advanced(by: racing.recheck)
    raceAt = min(recheck, next ?? .distantFuture)
    wake(by: raceAt)
  }

  /// Whether the way is full: behind a queue even the shortest of the last round trips are long, while loss leaves some of
  /// them as short as they ever were. The kernel's smoothed round trip cannot tell the two apart, since it takes a lost
  /// acknowledgment for a long way.
  @inline(__always)
  func isQueue(_ racing: RacingPolicy) -> Bool {
    guard racing.queueFactor > 0, !roundTrips.isEmpty else { return false }
    let limit = Int64(Double(roundTrips.least) * racing.queueFactor) + racing.queueMargin.wholeNanoseconds
    return roundTrips.recent > limit
  }

  /// Whether what a connection carries may go out on another one as well.
  private func mayRace(_ link: ClientLink, _ wait: Int64, _ racing: RacingPolicy, at now: Instant) -> Bool {
    guard let facts = link.facts else { return true }
    if isQueue(racing) { return false }
    if !hasTimedOut(facts) {
      guard let unacknowledged = facts.unacknowledged else { return facts.retransmits == nil }
      guard unacknowledged == 0 else { return false }
    }
    // Either it was lost, or the answer of the peer, whose kernel has it all; or else the path or the peer is slow.
    if isLossy { return true }
    let patience = max(racing.patience.wholeNanoseconds, Int64(racing.patienceFactor * Double(wait)))
    return now.nanoseconds(since: link.waitingSince) >= patience
  }

  private func hasTimedOut(_ facts: TransportFacts) -> Bool { facts.retransmits ?? 0 > 0 || facts.backoff ?? 0 > 0 }

  /// Nothing is overdue any more: no other connection is wanted.
  mutating func standDown() {
    wantsAnother = false
    isProbing = false
    guard !isWarm else { return }
    for place in 0..<8 where openingMask & Self.bit(place) != 0 { abort(place) }
  }

  /// The facts are there: sends what is overdue on other connections, as far as there are any and the budget allows it.
  mutating func decideRace(_ racing: RacingPolicy, at now: Instant) {
    let wait = overdueAfter
    var raceable: UInt8 = 0
    var isDoubtful = false
    for place in 0..<8 where openMask & Self.bit(place) != 0 && links[place].outstanding > 0 {
      guard now.nanoseconds(since: links[place].waitingSince) >= min(wait, racing.minimum.wholeNanoseconds) else {
        continue
      }
      guard mayRace(links[place], wait, racing, at: now) else {
        if let facts = links[place].facts, hasTimedOut(facts), !isQueue(racing) { isDoubtful = true }
        continue
      }
      raceable |= Self.bit(place)
      if links[place].suspectSince == nil {
        links[place].suspectSince = now
        links[place].silence = links[place].waitingSince.nanoseconds(since: links[place].heardAt)
      }
    }
    guard raceable != 0 else {
      if isDoubtful { probe(at: now) } else if wantsAnother { standDown() }
      return
    }
    isProbing = false
    abandonDead(racing, at: now)
    var needsMore = false
    for place in sessions.indices where sessions[place].announced != 0 && mayTransmit(place) {
      var entry = sessions[place].traffic.pending.first
      for _ in 0..<min(512, sessions[place].traffic.pending.count) where entry >= 0 {
        let next = sessions[place].traffic.pending.after(entry)
        let pending = sessions[place].traffic.pending[entry]
        guard now.nanoseconds(since: pending.lastSentAt) >= wait else { break }
        if pending.carriers & openMask & ~raceable == 0 {
          guard let link = freshLink(besides: pending.carriers) else {
            needsMore = true
            break
          }
          guard budget.take() else { break }
          metrics.messageTimeouts += 1
          if pending.kind == .heartbeat, pending.transmissions == 1 { lostBeat() }
          retransmit(entry, of: place, on: link, at: now)
          warm(racing, at: now)
        }
        entry = next
      }
    }
    if needsMore {
      warm(racing, at: now)
      if !wantsAnother { heartbeat.lost() }
      tellQuality()
      wantsAnother = true
    }
    steer(at: now)
  }

  private mutating func lostBeat() {
    metrics.heartbeatsLost += 1
    heartbeat.lost()
    tellQuality()
  }

  private mutating func warm(_ racing: RacingPolicy, at now: Instant) {
    guard racing.warmConnections > 1 else { return }
    warmUntil = now.advanced(by: racing.warmth)
    wake(by: warmUntil)
  }

  /// A connection that is not stalled and does not carry the frame yet.
  private func freshLink(besides carriers: UInt8) -> Int? {
    var best: Int?
    for place in 0..<8 where openMask & ~carriers & Self.bit(place) != 0 && links[place].suspectSince == nil {
      if let known = best, links[known].outstanding <= links[place].outstanding { continue }
      best = place
    }
    return best
  }

  /// Drops connections that have been stalled for long while another one works; what they carried goes out again.
  private mutating func abandonDead(_ racing: RacingPolicy, at now: Instant) {
    let limit = max(racing.abandon.wholeNanoseconds, overdueAfter * 6)
    guard (0..<8).contains(where: { openMask & Self.bit($0) != 0 && links[$0].suspectSince == nil }) else { return }
    for place in 0..<8 where openMask & Self.bit(place) != 0 {
      guard let since = links[place].suspectSince, now.nanoseconds(since: since) >= limit else { continue }
      heartbeat.died(after: links[place].silence)
      drop(place, at: now)
    }
  }

  /// The article's code: the same connection again, and given up one wait after the last transmission.
  private mutating func retryOnSameConnection(at now: Instant) {
    guard case .sameConnection(let wait, let transmissions) = configuration.resend else { return }
    for place in sessions.indices {
      var entry = sessions[place].traffic.pending.first
      for _ in 0..<sessions[place].traffic.pending.count where entry >= 0 {
        let next = sessions[place].traffic.pending.after(entry)
        let pending = sessions[place].traffic.pending[entry]
        guard now >= pending.lastSentAt.advanced(by: wait) else { break }
        if pending.kind == .heartbeat {
          entry = next
          continue
        }
        metrics.messageTimeouts += 1
        if let link = bestLink(), Int(pending.transmissions) < transmissions {
          retransmit(entry, of: place, on: link, at: now)
        } else {
          giveUp(entry, of: place)
        }
        entry = next
      }
    }
    if raceAt == nil || raceAt ?? now <= now { planRace(at: now) }
  }

  /// Gives a frame up.
  mutating func giveUp(_ entry: Int32, of place: Int, because reason: FailureReason = .timedOut) {
    let pending = sessions[place].traffic.pending[entry]
    withdraw(entry, of: place)
    if pending.kind == .data { failed(pending.id, place, because: reason) }
  }

  /// A message will not arrive.
  mutating func failed(_ message: MessageID, _ place: Int, because reason: FailureReason) {
    metrics.messagesFailed += 1
    tell(.failure(message, sessions[place].id, reason))
    tell(message, sessions[place].id, .failed)
  }

  /// Takes a frame out that is not waited for any more.
  mutating func withdraw(_ entry: Int32, of place: Int) {
    let carriers = sessions[place].traffic.pending[entry].carriers
    for link in 0..<8 where carriers & Self.bit(link) != 0 {
      links[link].outstanding = max(0, links[link].outstanding - 1)
      let pending = sessions[place].traffic.pending[entry]
      if Self.isHeldBack(pending) { links[link].window.released(pending.body.count) }
    }
    sessions[place].traffic.pending.remove(entry)
  }
}
