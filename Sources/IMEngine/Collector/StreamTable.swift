import CMachine
import IMWire

/// The streams of a capture in the order of their first packets, and the newest one between two ends: open addressing, with
/// the hash's upper half beside the stream's number.
///
/// Streams stand in chunks that never move.
struct StreamTable: ~Copyable {
  private static var chunkCount: Int { 256 }
  private var chunks: [UnsafeMutablePointer<StreamState>] = []
  private var slots: UnsafeMutablePointer<UInt64>
  /// Slots of an empty table, 8 KiB of them: small captures need no more.
  private static var firstSlots: Int { 1 << 10 }
  private var mask = Self.firstSlots - 1
  private var used = 0
  private let hasher: FlowHasher
  /// Streams held.
  private(set) var count = 0

  /// An empty table. `seed` keeps senders from choosing addresses that collide.
  init(seed: UInt64) {
    slots = Self.newSlots(mask + 1)
    hasher = FlowHasher(seed: seed)
  }

  deinit {
    for (i, chunk) in chunks.enumerated() {
      chunk.deinitialize(count: min(Self.chunkCount, count - i * Self.chunkCount))
      chunk.deallocate()
    }
    slots.deallocate()
  }

  private static func newSlots(_ count: Int) -> UnsafeMutablePointer<UInt64> {
    let slots = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
    slots.initialize(repeating: 0, count: count)
    return slots
  }

  /// The stream with the number `index`, from 0.
  @inline(__always)
  func pointer(_ index: Int) -> UnsafeMutablePointer<StreamState> {
    chunks[index / Self.chunkCount] + index % Self.chunkCount
  }

  @inline(__always)
  func hash(_ key: FlowKey) -> UInt64 { hasher.hash(key) }

  /// The number of the newest stream between the ends of `key`, whose hash is `hash`.
  func find(_ key: FlowKey, _ hash: UInt64) -> Int? {
    let slot = slots[slot(key, hash)]
    return slot == 0 ? nil : Self.index(slot)
  }

  /// Asks for the slot where a key of that hash stands.
  @inline(__always)
  func prefetchSlot(_ hash: UInt64) { imdump_prefetch(slots + (Int(truncatingIfNeeded: hash) & mask)) }

  /// Asks for the stream whose hash that seems to be; gives it.
  @inline(__always)
  func prefetchStream(_ hash: UInt64) -> UnsafeMutablePointer<StreamState>? {
    var i = Int(truncatingIfNeeded: hash) & mask
    while slots[i] != 0 {
      if (slots[i] ^ hash) >> 32 == 0 {
        let stream = pointer(Self.index(slots[i]))
        let start = UnsafeRawPointer(stream)
        for line in stride(from: 0, to: MemoryLayout<StreamState>.size, by: 64) { imdump_prefetch(start + line) }
        return stream
      }
      i = (i + 1) & mask
    }
    return nil
  }

  private static func index(_ slot: UInt64) -> Int { Int(truncatingIfNeeded: slot & 0xffff_ffff) - 1 }

  /// Where the newest stream between those ends stands, or would.
  private func slot(_ key: FlowKey, _ hash: UInt64) -> Int {
    var i = Int(truncatingIfNeeded: hash) & mask
    while slots[i] != 0, (slots[i] ^ hash) >> 32 != 0 || pointer(Self.index(slots[i])).pointee.key != key {
      i = (i + 1) & mask
    }
    return i
  }

  /// Adds a stream, whose ends have the hash `hash`; it is the newest one between them. Gives its number; `nil` where there are
  /// as many as have one.
  mutating func add(_ stream: StreamState, _ hash: UInt64) -> Int? {
    guard count < Int(UInt32.max) - 1 else { return nil }
    let index = count
    if index % Self.chunkCount == 0 { chunks.append(.allocate(capacity: Self.chunkCount)) }
    count += 1
    pointer(index).initialize(to: stream)
    let place = slot(stream.key, hash)
    used += slots[place] == 0 ? 1 : 0
    slots[place] = hash & 0xffff_ffff_0000_0000 | UInt64(index + 1)
    if used * 2 > mask { grow() }
    return index
  }

  private mutating func grow() {
    let old = slots
    let places = 0...mask
    mask = mask * 2 + 1
    slots = Self.newSlots(mask + 1)
    for i in places where old[i] != 0 {
      var place = Int(truncatingIfNeeded: hasher.hash(pointer(Self.index(old[i])).pointee.key)) & mask
      while slots[place] != 0 { place = (place + 1) & mask }
      slots[place] = old[i]
    }
    old.deallocate()
  }

  /// Hands out the streams with their numbers, in order; each is forgotten then. Nothing can be found afterwards.
  mutating func drain(_ body: (Int, StreamState) -> Void) {
    slots.update(repeating: 0, count: mask + 1)
    used = 0
    let last = count
    count = 0
    for i in 0..<last {
      body(i, pointer(i).move())
      if (i + 1) % Self.chunkCount == 0 || i + 1 == last { chunks[i / Self.chunkCount].deallocate() }
    }
    chunks = []
  }
}
