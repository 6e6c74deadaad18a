import CMachine
import IMWire

/// Segments of one direction that cannot be delivered yet, in sequence order, without overlap.
///
/// Distances are taken from `base`, the next sequence number to deliver, so that wrap-around does not matter. An insert
/// is a binary search and, for data that does not belong at the end, a move of 40-byte entries.
struct SegmentQueue: ~Copyable {
  /// One segment, or the part of it that was new.
  struct Entry {
    var start: UInt32
    var count: UInt32
    /// Bytes behind it that the capture's snaplen cut off.
    var cut: UInt32
    /// Its packet's acknowledgment number; 0 where it has none.
    var acknowledged: UInt32
    var timestamp: Timestamp
    var number: UInt64
    /// The bytes, with `RawBuffer.slack` readable ones behind them.
    var bytes: UnsafeMutableRawPointer
  }

  /// What an insert did.
  struct Insertion {
    /// Bytes that were new, and bytes that were there already.
    var added = 0, repeated = 0
    /// Whether a repeated byte differed, with hashes of both copies of the first chunk that did.
    var conflict: (kept: UInt64, other: UInt64)?
  }

  private var entries = RingQueue<Entry>()
  private let budget: MemoryBudget
  /// What the budget was told of.
  private var accounted = 0

  init(budget: MemoryBudget) { self.budget = budget }
  /// Payload bytes held.
  private(set) var byteCount = 0
  /// What delivered bytes are dated with: nothing behind a filled hole is older than the packet that filled it.
  var contiguousSince = Timestamp.distantPast
  /// When the highest payload beyond the hole came.
  var highestAt = Timestamp.distantPast

  deinit {
    for i in 0..<entries.count { entries[i].bytes.deallocate() }
    budget.held -= accounted
  }

  /// A queue that was longer gives its ring back when it is empty.
  private static var keptRing: Int { 8 }

  /// Empties it, for another direction; it counts as holding nothing until then.
  mutating func retire(_ store: SegmentStore) {
    while let entry = entries.popFirst() { store.take(back: entry) }
    if entries.capacity > Self.keptRing { entries = RingQueue() }
    byteCount = 0
    contiguousSince = .distantPast
    highestAt = .distantPast
    budget.held -= accounted
    accounted = 0
  }

  /// Tells the budget what is held now.
  private mutating func account() {
    let now = memory
    budget.held += now - accounted
    accounted = now
  }

  var isEmpty: Bool { entries.isEmpty }
  /// Segments held.
  var count: Int { entries.count }
  /// The first segment's sequence number; `nil` when there is none.
  var firstStart: UInt32? { entries.first?.start }
  /// When the first segment came; `nil` when there is none.
  var firstTimestamp: Timestamp? { entries.first?.timestamp }
  /// Whether bytes came behind `begin`, and not behind `end`, before which others are missing; `next` is what is to come
  /// next. Not looked for beyond the first 64 segments.
  func hasHole(after begin: Timestamp, upTo end: Timestamp, next: UInt32) -> Bool {
    var expected = next
    for i in 0..<min(64, entries.count) {
      let entry = entries[i]
      if entry.start != expected, entry.timestamp > begin, entry.timestamp <= end { return true }
      expected = entry.start &+ entry.count &+ entry.cut
    }
    return false
  }

  /// The number behind the last segment; `nil` when there is none.
  var lastEnd: UInt32? { entries.last.map { $0.start &+ $0.count } }
  /// Memory held, in bytes.
  var memory: Int { 128 + byteCount + entries.count * (2 * MemoryLayout<Entry>.stride + RawBuffer.slack + 16) }

  /// Inserts `count` bytes at `offset` as the chunk at `start`; `base` is at or below everything in the queue.
  mutating func insert(
    _ bytes: borrowing Bytes, _ offset: Int, _ count: Int, start: UInt32, cut: UInt32, base: UInt32,
    timestamp: Timestamp, number: UInt64, acknowledged: UInt32, policy: OverlapPolicy, _ store: SegmentStore
  ) -> Insertion {
    var result = Insertion()
    let first = Int(start &- base)
    let end = first + count
    // The first entry that ends behind our start.
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let entry = entries[middle]
      if Int(entry.start &- base) + Int(entry.count) <= first { low = middle + 1 } else { high = middle }
    }
    var position = first
    var i = low
    while position < end {
      let entryStart = i < entries.count ? Int(entries[i].start &- base) : .max
      if position < entryStart {
        let stop = min(end, entryStart)
        let new = Self.copy(
          bytes, from: offset + position - first, count: stop - position, start: base &+ UInt32(position),
          cut: stop == end ? cut : 0, timestamp: timestamp, number: number, acknowledged: acknowledged, store)
        entries.insert(new, at: i)
        byteCount += stop - position
        result.added += stop - position
        position = stop
        i += 1
      } else {
        let entry = entries[i]
        let stop = min(end, entryStart + Int(entry.count))
        let ours = offset + position - first
        let theirs = position - entryStart
        let length = stop - position
        result.repeated += length
        if !Self.equal(bytes, ours, entry.bytes + theirs, length) {
          let kept = fingerprint(UnsafeRawPointer(entry.bytes + theirs), length)
          let other = bytes.span.withUnsafeBytes { fingerprint($0.baseAddress.map { $0 + ours }, length) }
          if result.conflict == nil { result.conflict = (kept, other) }
          if policy == .last {
            bytes.span.withUnsafeBytes { raw in
              if let source = raw.baseAddress {
                (entry.bytes + theirs).copyMemory(from: source + ours, byteCount: length)
              }
            }
          }
        }
        position = stop
        i += 1
      }
    }
    account()
    return result
  }

  /// Asks for the bytes of the first segment.
  mutating func prefetchFirst() {
    guard let first = entries.first else { return }
    imdump_prefetch(first.bytes)
    imdump_prefetch(first.bytes + min(64, Int(first.count)))
    imdump_prefetch(first.bytes + min(128, Int(first.count)))
  }

  /// Takes the first segment when it begins at `next` or before; the caller owns its bytes then.
  mutating func pop(at next: UInt32) -> Entry? {
    guard let first = entries.first, first.start.isAtOrBefore(next) else { return nil }
    byteCount -= Int(first.count)
    defer { account() }
    return entries.popFirst()
  }

  /// An entry with a copy of the `count` bytes at `offset`.
  private static func copy(
    _ bytes: borrowing Bytes, from offset: Int, count: Int, start: UInt32, cut: UInt32, timestamp: Timestamp,
    number: UInt64, acknowledged: UInt32, _ store: SegmentStore
  ) -> Entry {
    let memory = store.takeBlock(count + RawBuffer.slack)
    bytes.span.withUnsafeBytes { raw in
      if let source = raw.baseAddress { memory.copyMemory(from: source + offset, byteCount: count) }
    }
    (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: RawBuffer.slack)
    return Entry(
      start: start, count: UInt32(count), cut: cut, acknowledged: acknowledged, timestamp: timestamp, number: number,
      bytes: memory)
  }

  private static func equal(
    _ bytes: borrowing Bytes, _ offset: Int, _ other: UnsafeRawPointer, _ count: Int
  ) -> Bool {
    bytes.span.withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { return count == 0 }
      return UnsafeRawBufferPointer(start: base + offset, count: count)
        .elementsEqual(UnsafeRawBufferPointer(start: other, count: count))
    }
  }
}

/// FNV-1a over 64 bits: names the two copies of a conflict; not for tables.
func fingerprint(_ start: UnsafeRawPointer?, _ count: Int) -> UInt64 {
  var h: UInt64 = 0xcbf2_9ce4_8422_2325
  guard let start else { return h }
  for i in 0..<count {
    h = (h ^ UInt64(start.load(fromByteOffset: i, as: UInt8.self))) &* 0x100_0000_01b3
  }
  return h
}
