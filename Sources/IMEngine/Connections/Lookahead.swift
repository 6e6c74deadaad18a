import CMachine
import IMWire

/// What packets that were read seem to need, so that it can be asked for before their turn comes.
struct Lookahead: ~Copyable {
  /// Packets of which each step is made at once: more than that ask for more cache lines than can be on their way, and
  /// nothing else is done meanwhile.
  static var group: Int { 8 }

  /// The flows of the packets, as far as their hashes tell.
  let guesses: UnsafeMutablePointer<FlowGuess>
  /// The exchanges that first frames of packets seem to belong to; those of the group that was last asked for stand in front
  /// of the end.
  let wanted: UnsafeMutablePointer<WantedExchange>
  var wantedEnd: UnsafeMutablePointer<WantedExchange>
  /// The flows of the group that was last asked for of which something is held beyond a hole; the first `troubledCount`.
  let troubled: UnsafeMutablePointer<Ref<Flow>>
  var troubledCount = 0

  init() {
    guesses = .allocate(capacity: PacketStage.capacity)
    guesses.initialize(repeating: FlowGuess(), count: PacketStage.capacity)
    wanted = .allocate(capacity: Self.group)
    wanted.initialize(repeating: WantedExchange(session: 0, sequence: 0), count: Self.group)
    wantedEnd = wanted
    troubled = .allocate(capacity: Self.group)
  }

  deinit {
    guesses.deallocate()
    wanted.deallocate()
    troubled.deallocate()
  }
}

extension Connections {
  /// Makes the steps that are due before the first of `count` packets is taken.
  mutating func beginLookahead(_ bytes: borrowing Bytes, _ packets: UnsafePointer<ParsedPacket>, count: Int) {
    let group = Lookahead.group
    reassembler.flows.prefetchSlots(packets, count: count)
    locate(packets, 0, min(3 * group, count))
    askForFigures(bytes, packets, 0, min(group, count))
    askForExchanges()
    askForFigures(bytes, packets, group, min(2 * group, count))
  }

  /// Asks for the cache lines that packets need, while the group in front of them, which begins at `place`, is taken: their
  /// flows three groups ahead, what the tracker keeps of those two, and their exchanges one.
  ///
  /// What is looked up is a guess that is confirmed when a packet's turn comes.
  mutating func lookAhead(_ bytes: borrowing Bytes, _ packets: UnsafePointer<ParsedPacket>, from place: Int, count: Int)
  {
    let group = Lookahead.group
    askForExchanges()
    if lookahead.troubledCount > 0 { askForTrouble() }
    askForFigures(bytes, packets, place &+ 2 &* group, min(place &+ 3 &* group, count))
    locate(packets, place &+ 3 &* group, min(place &+ 4 &* group, count))
  }

  @inline(__always)
  private func locate(_ packets: UnsafePointer<ParsedPacket>, _ start: Int, _ end: Int) {
    reassembler.flows.locate(packets + start, count: end &- start, into: lookahead.guesses + start)
  }

  @inline(__always)
  private func askForExchanges() {
    var wanted = lookahead.wanted
    while wanted < lookahead.wantedEnd {
      tracker.prefetchExchange(wanted.pointee)
      wanted += 1
    }
  }

  /// Prefetches the data of flows that hold bytes beyond a hole: those bytes, the flow's anomaly record, and the time when bytes turned out to be
  /// missing. The pointers to them were prefetched one group earlier.
  @inline(never)
  private mutating func askForTrouble() {
    for i in 0..<lookahead.troubledCount {
      let flow = lookahead.troubled[i]
      for side in 0...1 {
        guard let queue = flow.state(side).pointee.queue else { continue }
        queue.prefetch(at: 0)
        queue.prefetch(at: 64)
      }
      anomalyRecords.existing(flow)?.prefetch()
      tracker.prefetchLosses(of: flow)
    }
    lookahead.troubledCount = 0
  }

  /// Asks for the figures and the session of each packet's flow, and takes note of the exchange that its first frame belongs
  /// to in `lookahead.wanted`.
  ///
  /// The packet is taken for what its flow's packets usually are, and nothing is decided by it.
  @inline(__always)
  private mutating func askForFigures(
    _ bytes: borrowing Bytes, _ packets: UnsafePointer<ParsedPacket>, _ start: Int, _ last: Int
  ) {
    var wanted = lookahead.wanted
    lookahead.troubledCount = 0
    var (packet, guess) = (packets + start, lookahead.guesses + start)
    let figurePlaces = tracker.figures.places
    // Frames that wait for others ask themselves.
    let looksForExchanges = !streams.records.isBatched
    let plan = streams.currentPlan, planIndex = streams.protocols.currentIndex
    // If other parts of a header vary in size, its number has no fixed offset.
    let hasPlace = plan.pointee.sequence.isPresent && plan.pointee.general == nil
    let least = hasPlace ? Int(plan.pointee.headerCount) : .max
    let (magic, magicMask) = (plan.pointee.magic, plan.pointee.magicMask)
    let end = packets + last
    while packet < end {
      defer {
        packet += 1
        guess += 1
      }
      guard let flow = guess.pointee.flow else { continue }
      if flow.holdsSegments {
        // The last cache line of the flow has the index of its anomaly record.
        flow.prefetch(at: 256)
        lookahead.troubled[lookahead.troubledCount] = flow
        lookahead.troubledCount &+= 1
      }
      let figures = flow.pointee.figures
      if figures != .max {
        let place = figurePlaces.pointer(figures)
        place.prefetch(at: 0)
        place.prefetch(at: 64)
      }
      let session = flow.pointee.session
      guard looksForExchanges, session != .max else { continue }
      let place = tracker.sessions.pointer(session)
      place.prefetch(at: 0)
      place.prefetch(at: 64)
      let payload = packet.pointee.segment.payload
      guard packet.pointee.segment.payloadCount >= least, flow.pointee.profile.rawValue == planIndex,
        bytes.u64(payload) & magicMask == magic
      else { continue }
      wanted.pointee = WantedExchange(session: session, sequence: plan.pointee.sequence.read(bytes, payload))
      tracker.table.prefetchSlots(wanted.pointee)
      wanted += 1
    }
    lookahead.wantedEnd = wanted
  }
}
