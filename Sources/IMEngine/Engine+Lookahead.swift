import CMachine
import IMWire

/// How many packets ahead of its turn each step of a packet is made.
///
/// A packet is read, and its flow is looked for, some packets before it is taken, so that the cache lines it needs are on
/// their way: its place in the flow table, then the flow, then what the tracker keeps of it, then its exchange. What is
/// read stays; what is looked up is a guess that `find` confirms.
enum Lookahead {
  static var read: Int { 14 }
  static var flow: Int { 10 }
  static var figures: Int { 7 }
  static var exchangeSlot: Int { 4 }
  static var exchange: Int { 2 }
  /// Packets that may be between the first step and the last, a power of two.
  static var room: Int { 16 }
}

/// A packet that was read ahead of its turn, and what is known of it already.
struct Arrival {
  /// The packet's segment; it counts where `isRead`.
  var segment = Segment()
  /// The hash of the segment's key, for the flow table.
  var hash: UInt64 = 0
  /// The hash of the exchange that its first frame belongs to; 0 where that is not known.
  var exchange: UInt64 = 0
  /// The flow that the table named, `nil` where it named none or was not asked.
  var flow: UnsafeMutablePointer<Flow>?
  /// That flow's index.
  var index: UInt32 = 0
  /// `FlowTable.generation` when it did.
  var generation: UInt32 = 0
  /// Whether the segment is complete; else the packet is parsed when its turn comes.
  var isRead = false
}

extension Engine {
  /// What stands for the packet at `i` of the batch.
  @inline(__always)
  func arrival(_ i: Int) -> UnsafeMutablePointer<Arrival> { arrivals + (i & arrivalMask) }

  /// Makes the steps of a batch's first packets that are due before any is taken.
  mutating func beginLookahead(_ bytes: borrowing Bytes, _ records: Span<PacketRecord>, isPrepared: Bool) {
    let count = records.count
    for i in 0..<min(Lookahead.read, count) {
      if !isPrepared { preparer.readAhead(bytes, records[unchecked: i], arrival(i)) }
      askForFlowSlot(arrival(i))
    }
    for i in 0..<min(Lookahead.flow, count) { findAhead(arrival(i)) }
    for i in 0..<min(Lookahead.figures, count) { askForFigures(arrival(i)) }
    for i in 0..<min(Lookahead.exchangeSlot, count) { askForSlot(bytes, arrival(i)) }
  }

  /// Makes the steps that are due when the packet at `i` is taken.
  @inline(__always)
  mutating func lookahead(_ bytes: borrowing Bytes, _ records: Span<PacketRecord>, _ i: Int, isPrepared: Bool) {
    let count = records.count
    if i &+ Lookahead.read < count {
      let arrival = arrival(i &+ Lookahead.read)
      if !isPrepared { preparer.readAhead(bytes, records[unchecked: i &+ Lookahead.read], arrival) }
      askForFlowSlot(arrival)
    }
    if i &+ Lookahead.flow < count { findAhead(arrival(i &+ Lookahead.flow)) }
    if i &+ Lookahead.figures < count { askForFigures(arrival(i &+ Lookahead.figures)) }
    if i &+ Lookahead.exchangeSlot < count { askForSlot(bytes, arrival(i &+ Lookahead.exchangeSlot)) }
    if i &+ Lookahead.exchange < count {
      let hash = arrival(i &+ Lookahead.exchange).pointee.exchange
      if hash != 0 { tracker.table.prefetchExchange(hash) }
    }
  }

  @inline(__always)
  private func askForFlowSlot(_ arrival: UnsafeMutablePointer<Arrival>) {
    if arrival.pointee.isRead { reassembler.flows.prefetchSlot(arrival.pointee.hash) }
  }

  @inline(__always)
  private func findAhead(_ arrival: UnsafeMutablePointer<Arrival>) {
    guard arrival.pointee.isRead, let index = reassembler.flows.prefetchFlow(arrival.pointee.hash) else { return }
    arrival.pointee.flow = reassembler.flows.pointer(index)
    arrival.pointee.index = index
    arrival.pointee.generation = reassembler.flows.generation
  }

  @inline(__always)
  private func askForFigures(_ arrival: UnsafeMutablePointer<Arrival>) {
    guard let flow = arrival.pointee.flow else { return }
    let figures = flow.pointee.figures
    if figures != .max {
      let place = UnsafeRawPointer(tracker.figures.pointer(figures))
      imdump_prefetch(place)
      imdump_prefetch(place + 64)
    }
    let session = flow.pointee.session
    if session != .max {
      let place = UnsafeRawPointer(tracker.sessions.pointer(session))
      imdump_prefetch(place)
      imdump_prefetch(place + 64)
    }
  }

  /// Asks for the slot of the exchange that a packet's first frame belongs to.
  ///
  /// A guess: the packet is taken for what its flow's packets usually are, and nothing is decided by it.
  @inline(__always)
  private func askForSlot(_ bytes: borrowing Bytes, _ arrival: UnsafeMutablePointer<Arrival>) {
    guard let flow = arrival.pointee.flow, flow.pointee.profile.rawValue == currentPlanIndex else { return }
    let plan = currentPlan
    let payload = arrival.pointee.segment.payload
    guard arrival.pointee.segment.payloadCount >= Int(plan.pointee.headerCount), plan.pointee.sequence.isPresent,
      bytes.u64(payload) & plan.pointee.magicMask == plan.pointee.magic
    else { return }
    arrival.pointee.exchange = tracker.prefetchExchanges(
      flow.pointee.session, plan.pointee.sequence.read(bytes, payload))
  }
}
