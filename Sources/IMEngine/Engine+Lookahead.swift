import CMachine
import IMWire

extension Engine {
  /// Asks for the cache lines that the packets in `stage` need, each step for all of them before the next: their places in
  /// the flow table, then their flows, then what the tracker keeps of those, then their exchanges.
  ///
  /// What is looked up is a guess that is confirmed when a packet's turn comes.
  mutating func lookAhead(_ bytes: borrowing Bytes, count: Int) {
    let packets = UnsafePointer(stage.packets)
    reassembler.flows.prefetchSlots(packets, count: count)
    reassembler.flows.locate(packets, count: count, into: guesses)
    guessGeneration = reassembler.flows.generation
    let found = askForFigures(bytes, packets, count: count)
    for i in 0..<found { tracker.table.prefetchExchange(exchangeHashes[i]) }
  }

  /// Asks for the figures and the session of each packet's flow, and for the slot of the exchange that its first frame
  /// belongs to. Gives how many of those it has put into `exchangeHashes`.
  ///
  /// The packet is taken for what its flow's packets usually are, and nothing is decided by it.
  @inline(__always)
  private func askForFigures(_ bytes: borrowing Bytes, _ packets: UnsafePointer<ParsedPacket>, count: Int) -> Int {
    var hash = exchangeHashes
    var (packet, guess) = (packets, guesses)
    let figurePlaces = tracker.figures.places
    let plan = currentPlan, planIndex = currentPlanIndex
    let least = plan.pointee.sequence.isPresent ? Int(plan.pointee.headerCount) : .max
    let (magic, magicMask) = (plan.pointee.magic, plan.pointee.magicMask)
    let end = packets + count
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
      if session != .max { imdump_prefetch(tracker.sessions.pointer(session)) }
      let payload = packet.pointee.segment.payload
      guard packet.pointee.segment.payloadCount >= least, flow.pointee.profile.rawValue == planIndex,
        bytes.u64(payload) & magicMask == magic
      else { continue }
      hash.pointee = tracker.table.prefetchSlots(session, plan.pointee.sequence.read(bytes, payload))
      hash += 1
    }
    return hash - exchangeHashes
  }
}
