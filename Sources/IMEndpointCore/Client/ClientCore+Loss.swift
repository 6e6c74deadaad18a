/// Whether the path loses segments, or is only slow.
///
/// What is late is sent again by the kernel, also where nothing was lost: at first its timer knows less of the path than a
/// queue can add. So a retransmission proves nothing. What proves a loss is that something was overtaken, since a queue
/// keeps the order: an answer to a later question while an earlier one has none; segments that come out of order; or a
/// retransmission that the peer did not have twice.
extension ClientCore {
  /// A loss that was seen counts for so long.
  static var lossMemory: Duration { .seconds(60) }

  /// Whether the path was seen to lose something lately.
  @inline(__always)
  var isLossy: Bool { lossUntil != nil }

  mutating func sawLoss(at now: Instant) {
    lossUntil = now.advanced(by: Self.lossMemory)
    isProbing = false
    probes = 0
  }

  mutating func forgetLoss(at now: Instant) {
    if let until = lossUntil, now >= until { lossUntil = nil }
  }

  /// Looks for a loss in what the kernel says of a connection.
  mutating func weigh(_ facts: TransportFacts, on link: Int, at now: Instant) {
    if let outOfOrder = facts.outOfOrder, outOfOrder > links[link].outOfOrder {
      links[link].outOfOrder = outOfOrder
      sawLoss(at: now)
    }
    guard let total = facts.totalRetransmits else { return }
    guard let needless = facts.needlessRetransmits else {
      if total > links[link].provenLosses {
        links[link].provenLosses = total
        sawLoss(at: now)
      }
      return
    }
    // What is under way now may still turn out to be needless, and so may what was sent less than a round trip ago. A
    // round trip is as long as the last one, or as something has waited.
    let explained = needless &+ (facts.retransmits ?? 0)
    let lost = total - min(total, explained)
    guard lost > links[link].provenLosses else {
      links[link].unexplainedSince = nil
      return
    }
    let since = links[link].unexplainedSince ?? now
    links[link].unexplainedSince = since
    let waited = links[link].outstanding > 0 ? now.nanoseconds(since: links[link].waitingSince) : 0
    guard now.nanoseconds(since: since) >= max(200_000_000, roundTrips.last, waited) else { return }
    links[link].provenLosses = lost
    links[link].unexplainedSince = nil
    sawLoss(at: now)
  }

  /// One connection more is asked for: if its SYN overtakes what waits, that was lost. On a path that is only slow it costs
  /// what it takes to see that, so each further one waits twice as long, two seconds to a minute.
  mutating func probe(at now: Instant) {
    guard !wantsAnother, openingMask == 0, now >= probeAt else { return }
    probes = min(probes + 1, 6)
    probeAt = now.advanced(by: .seconds(min(60, 1 << probes)))
    wantsAnother = true
    isProbing = true
    steer(at: now)
  }

  /// Looks whether the new connection's SYN has overtaken something: an earlier one, or what another connection carries.
  mutating func weighOpening(_ link: Int, at now: Instant) {
    let asked = links[link].requestedAt
    for other in 0..<8 where other != link {
      if openingMask & Self.bit(other) != 0, links[other].requestedAt < asked { sawLoss(at: now) }
      guard openMask & Self.bit(other) != 0, links[other].outstanding > 0, links[other].waitingSince < asked else {
        continue
      }
      // What the peer's kernel has, its application has not answered: that is no matter of the path.
      if links[other].facts?.unacknowledged ?? 0 > 0 { sawLoss(at: now) }
    }
  }
}
