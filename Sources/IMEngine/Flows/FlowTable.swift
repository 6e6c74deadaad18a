import CMachine
import IMWire

/// Where flows are, by index.
typealias FlowPlaces = Pool<Flow>.Places

/// The flow that a packet seems to belong to.
struct FlowGuess {
  /// `nil` where none has the packet's hash, or the packet is no plain one.
  var flow: Ref<Flow>?
  /// Its index.
  var index: UInt32 = 0
  /// `FlowTable.generation` when the table named it.
  var generation: UInt32 = 0
}

/// Finds the flow of a segment: open addressing over the pool, with the hash's upper half stored beside the index.
struct FlowTable: ~Copyable {
  private var slots: UnsafeMutablePointer<UInt64>
  private var mask: Int
  let hasher: FlowHasher
  private(set) var pool = Pool<Flow>()
  /// What a flow costs in memory: its place, two slots, and its entries in the queues of those that open and end.
  static var costPerFlow: Int { Pool<Flow>.costPerElement + 16 + 2 * MemoryLayout<ClosingQueue.Entry>.stride }
  /// Flows in the table.
  private(set) var count = 0
  /// Counts flows that were taken out: what was found before one of them was may be out of date.
  private(set) var generation: UInt32 = 0

  /// Slots of an empty table, 32 KiB of them: small captures need no more.
  private static var firstSlots: Int { 1 << 12 }

  /// An empty table. `seed` keeps senders from choosing addresses that collide.
  init(seed: UInt64) {
    mask = Self.firstSlots - 1
    slots = .allocate(capacity: mask + 1)
    slots.initialize(repeating: 0, count: mask + 1)
    hasher = FlowHasher(seed: seed)
  }

  deinit { slots.deallocate() }

  @inline(__always)
  private func hash(_ key: FlowKey) -> UInt64 { hasher.hash(key) }

  /// Asks for the slots of packets of which flows are about to be looked for.
  @inline(__always)
  func prefetchSlots(_ packets: UnsafePointer<ParsedPacket>, count: Int) {
    let slots = slots, mask = mask
    for i in 0..<count { imdump_prefetch(slots + (Int(truncatingIfNeeded: packets[i].hash) & mask)) }
  }

  /// Asks for the slot of a key.
  func prefetchSlot(_ key: FlowKey) { imdump_prefetch(slots + (Int(truncatingIfNeeded: hash(key)) & mask)) }

  /// Looks for the flows of plain packets by nothing but their hash, and asks for their lines.
  @inline(__always)
  func locate(_ packets: UnsafePointer<ParsedPacket>, count: Int, into guesses: UnsafeMutablePointer<FlowGuess>) {
    let slots = slots, mask = mask, places = pool.places
    let generation = generation
    var (packet, guess) = (packets, guesses)
    let end = packets + count
    while packet < end {
      guess.pointee.flow = nil
      if packet.pointee.isPlain {
        let hash = packet.pointee.hash
        var place = Int(truncatingIfNeeded: hash) & mask
        while slots[place] != 0 {
          if (slots[place] ^ hash) >> 32 == 0 {
            let index = UInt32(truncatingIfNeeded: slots[place]) &- 1
            let flow = places.pointer(index)
            flow.prefetch(at: 0)
            flow.prefetch(at: 64)
            flow.prefetch(at: 128)
            flow.prefetch(at: 192)
            guess.pointee.flow = flow
            guess.pointee.index = index
            guess.pointee.generation = generation
            break
          }
          place = (place &+ 1) & mask
        }
      }
      packet += 1
      guess += 1
    }
  }

  /// The index of the flow with `key`, or `nil`.
  @inline(__always)
  func find(_ key: FlowKey) -> UInt32? { find(key, hash(key)) }

  /// The same, given the key's hash.
  @inline(__always)
  func find(_ key: FlowKey, _ h: UInt64) -> UInt32? {
    let tag = h & 0xffff_ffff_0000_0000
    var i = Int(truncatingIfNeeded: h) & mask
    while true {
      let slot = slots[i]
      if slot == 0 { return nil }
      if slot & 0xffff_ffff_0000_0000 == tag {
        let index = UInt32(truncatingIfNeeded: slot) &- 1
        if pool.pointer(index).pointee.key == key { return index }
      }
      i = (i &+ 1) & mask
    }
  }

  /// Adds a flow whose key is not in the table.
  @inline(never)
  mutating func insert(_ flow: Flow) -> UInt32 {
    if count &* 2 > mask { grow() }
    let index = pool.allocate(flow)
    pool.pointer(index).pointee.index = index
    place(index, flow.key)
    count += 1
    return index
  }

  /// Takes the flow at `index` out of the table, so that its key finds nothing; its place in the pool stays.
  mutating func unlink(_ index: UInt32) {
    var i = Int(truncatingIfNeeded: hash(pool.pointer(index).pointee.key)) & mask
    while slots[i] != 0, UInt32(truncatingIfNeeded: slots[i]) != index &+ 1 { i = (i &+ 1) & mask }
    guard slots[i] != 0 else { return }
    count -= 1
    generation &+= 1
    // Close the gap, so that later entries of the run are still found.
    var hole = i
    var j = i
    while true {
      j = (j &+ 1) & mask
      let slot = slots[j]
      if slot == 0 { break }
      let home = Int(truncatingIfNeeded: hash(pool.pointer(UInt32(truncatingIfNeeded: slot) &- 1).pointee.key)) & mask
      if (j &- home) & mask >= (j &- hole) & mask {
        slots[hole] = slot
        hole = j
      }
    }
    slots[hole] = 0
  }

  /// Gives the place of an unlinked flow back.
  mutating func release(_ index: UInt32) { pool.release(index) }

  /// Where the flows are; it holds until one is inserted.
  @inline(__always)
  var places: FlowPlaces { pool.places }

  @inline(__always)
  func pointer(_ index: UInt32) -> Ref<Flow> { pool.pointer(index) }

  /// Calls `body` with each flow.
  func forEach(_ body: (Ref<Flow>) -> Void) {
    for index in 0..<UInt32(truncatingIfNeeded: pool.count) {
      let flow = pointer(index)
      if flow.pointee.serial != 0 { body(flow) }
    }
  }

  private func place(_ index: UInt32, _ key: FlowKey) {
    let h = hash(key)
    var i = Int(truncatingIfNeeded: h) & mask
    while slots[i] != 0 { i = (i &+ 1) & mask }
    slots[i] = h & 0xffff_ffff_0000_0000 | UInt64(index &+ 1)
  }

  private mutating func grow() {
    let old = slots
    let oldCount = mask + 1
    mask = oldCount * 2 - 1
    slots = .allocate(capacity: mask + 1)
    slots.initialize(repeating: 0, count: mask + 1)
    for i in 0..<oldCount where old[i] != 0 {
      let index = UInt32(truncatingIfNeeded: old[i]) &- 1
      place(index, pool.pointer(index).pointee.key)
    }
    old.deallocate()
  }
}
