import CMachine
import IMWire

/// Packets of which each step is made at once: more than that ask for more cache lines than can be on their way, and nothing
/// else is done meanwhile.
enum Lookahead {
  static var group: Int { 8 }
}

extension Engine {
  /// Makes the steps that are due before the first of `count` packets in `stage` is taken.
  mutating func beginLookahead(_ bytes: borrowing Bytes, count: Int) {
    let group = Lookahead.group
    reassembler.flows.prefetchSlots(UnsafePointer(stage.packets), count: count)
    locate(0, min(3 * group, count))
    askForFigures(bytes, 0, min(group, count))
    askForExchanges()
    askForFigures(bytes, group, min(2 * group, count))
  }

  /// Asks for the cache lines that packets need, while the group in front of them, which begins at `place`, is taken: their
  /// flows three groups ahead, what the tracker keeps of those two, and their exchanges one.
  ///
  /// What is looked up is a guess that is confirmed when a packet's turn comes.
  mutating func lookAhead(_ bytes: borrowing Bytes, from place: Int, count: Int) {
    let group = Lookahead.group
    askForExchanges()
    askForFigures(bytes, place &+ 2 &* group, min(place &+ 3 &* group, count))
    locate(place &+ 3 &* group, min(place &+ 4 &* group, count))
  }

  @inline(__always)
  private func locate(_ start: Int, _ end: Int) {
    reassembler.flows.locate(UnsafePointer(stage.packets) + start, count: end &- start, into: guesses + start)
  }

  @inline(__always)
  private func askForExchanges() {
    var wanted = wantedExchanges
    while wanted < wantedExchangesEnd {
      tracker.prefetchExchange(wanted.pointee)
      wanted += 1
    }
  }

  /// Asks for the figures and the session of each packet's flow, and takes note of the exchange that its first frame belongs
  /// to in `wantedExchanges`.
  ///
  /// The packet is taken for what its flow's packets usually are, and nothing is decided by it.
  @inline(__always)
  private mutating func askForFigures(_ bytes: borrowing Bytes, _ start: Int, _ last: Int) {
    var wanted = wantedExchanges
    var (packet, guess) = (UnsafePointer(stage.packets) + start, guesses + start)
    let figurePlaces = tracker.figures.places
    let plan = currentPlan, planIndex = currentPlanIndex
    let least = plan.pointee.sequence.isPresent ? Int(plan.pointee.headerCount) : .max
    let (magic, magicMask) = (plan.pointee.magic, plan.pointee.magicMask)
    let end = UnsafePointer(stage.packets) + last
    while packet < end {
      defer {
        packet += 1
        guess += 1
      }
      guard let flow = guess.pointee.flow else { continue }
      let figures = flow.pointee.figures
      if figures != .max {
        let place = UnsafeRawPointer(figurePlaces.pointer(figures))
        imdump_prefetch(place)
        imdump_prefetch(place + 64)
      }
      let session = flow.pointee.session
      guard session != .max else { continue }
      let place = UnsafeRawPointer(tracker.sessions.pointer(session))
      imdump_prefetch(place)
      imdump_prefetch(place + 64)
      let payload = packet.pointee.segment.payload
      guard packet.pointee.segment.payloadCount >= least, flow.pointee.profile.rawValue == planIndex,
        bytes.u64(payload) & magicMask == magic
      else { continue }
      wanted.pointee = WantedExchange(session: session, sequence: plan.pointee.sequence.read(bytes, payload))
      tracker.table.prefetchSlots(wanted.pointee)
      wanted += 1
    }
    wantedExchangesEnd = wanted
  }
}
