import CPrefetch
import IMWire

/// The flows of the next packets, as far as they are known.
///
/// A packet's flow is looked for in steps, some packets ahead, so that the cache lines it needs are on their way when it
/// is taken: its place in the table, then the flow, then what the tracker keeps of it.
struct Lookahead {
  /// How many packets ahead each step is made.
  static var first: Int { 9 }
  static var second: Int { 6 }
  static var third: Int { 4 }
  static var fourth: Int { 3 }

  var hashes: InlineArray<16, UInt64> = InlineArray(repeating: 0)
  /// Hashes of the exchanges that the packets' first frames belong to; 0 where that is not known.
  var exchanges: InlineArray<16, UInt64> = InlineArray(repeating: 0)
  var flows: InlineArray<16, UnsafeMutablePointer<Flow>?> = InlineArray(repeating: nil)
}

extension Engine {
  /// Makes the steps that are due when the packet at `i` of `count` is taken.
  @inline(__always)
  mutating func lookahead(_ bytes: borrowing Bytes, _ records: Span<PacketRecord>, _ i: Int, _ count: Int) {
    if i &+ Lookahead.first < count {
      let record = records[unchecked: i &+ Lookahead.first]
      let start = Int(record.offset)
      var hash: UInt64 = 0
      if record.linkType == LinkType.ethernet, record.capturedLength >= 54,
        bytes.u32(start &+ 12) & 0xffff_ff00 == 0x0800_4500, bytes.u8(start &+ 14) == 0x45
      {
        let a = bytes.u32(start &+ 26)
        let b = bytes.u32(start &+ 30)
        let p = bytes.u16(start &+ 34)
        let q = bytes.u16(start &+ 36)
        let forward = a < b || (a == b && p <= q)
        var key = FlowKey()
        key.a = forward ? UInt64(a) << 32 | UInt64(b) : UInt64(b) << 32 | UInt64(a)
        key.ports = forward ? UInt32(p) << 16 | UInt32(q) : UInt32(q) << 16 | UInt32(p)
        hash = reassembler.flows.hashed(key)
        reassembler.flows.prefetchSlot(hash)
      }
      ahead.hashes[(i &+ Lookahead.first) & 15] = hash
    }
    if i &+ Lookahead.second < count {
      let hash = ahead.hashes[(i &+ Lookahead.second) & 15]
      ahead.flows[(i &+ Lookahead.second) & 15] = hash == 0 ? nil : reassembler.flows.prefetchFlow(hash)
    }
    if i &+ Lookahead.third < count, let flow = ahead.flows[(i &+ Lookahead.third) & 15] {
      let figures = flow.pointee.figures
      if figures != .max {
        let place = UnsafeRawPointer(tracker.figures.pointer(figures))
        imdump_prefetch(place)
        imdump_prefetch(place + 64)
      }
      let session = flow.pointee.session
      if session != .max { imdump_prefetch(tracker.sessions.pointer(session)) }
    }
    if i &+ Lookahead.fourth < count {
      let place = (i &+ Lookahead.fourth) & 15
      ahead.exchanges[place] = 0
      if let flow = ahead.flows[place], flow.pointee.profile.rawValue == currentPlanIndex {
        ahead.exchanges[place] = prefetchExchange(bytes, records[unchecked: i &+ Lookahead.fourth], flow)
      }
    }
    if i &+ 1 < count {
      let hash = ahead.exchanges[(i &+ 1) & 15]
      if hash != 0 { tracker.table.prefetchExchange(hash) }
    }
  }

  /// Asks for the exchange that the first frame of a packet belongs to; gives its hash, 0 when there is none.
  ///
  /// A guess: the packet is taken for what its flow's packets usually are, and nothing is decided by it.
  @inline(__always)
  private func prefetchExchange(
    _ bytes: borrowing Bytes, _ record: PacketRecord, _ flow: UnsafeMutablePointer<Flow>
  ) -> UInt64 {
    let plan = currentPlan
    let tcp = Int(record.offset) &+ 34
    let payload = tcp &+ Int(bytes.u8(tcp &+ 12) >> 4) &* 4
    let end = Int(record.offset) &+ Int(record.capturedLength)
    guard end &- payload >= Int(plan.pointee.headerCount), plan.pointee.sequence.isPresent,
      bytes.u64(payload) & plan.pointee.magicMask == plan.pointee.magic
    else { return 0 }
    let side =
      bytes.u32(tcp &- 8) < bytes.u32(tcp &- 4)
        || (bytes.u32(tcp &- 8) == bytes.u32(tcp &- 4) && bytes.u16(tcp) <= bytes.u16(tcp &+ 2)) ? 0 : 1
    let direction = flow.pointee.direction(side)
    let kind = plan.kind(plan.pointee.type.read(bytes, payload))
    return tracker.table.prefetchSlot(
      flow.pointee.session, kind.pointee.role == .acknowledgment ? direction.reversed : direction,
      plan.pointee.sequence.read(bytes, payload))
  }
}
