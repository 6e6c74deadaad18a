import IMWire

/// Delivered bytes that the decoder could not use yet, with the times at which they became contiguous.
struct PartialFrame: ~Copyable {
  /// One delivery: the packet that made the bytes from `position` on contiguous.
  struct Mark {
    private var place: Int32
    /// The acknowledgment number of that packet; 0 where it is not known.
    var acknowledged: UInt32
    var timestamp: Timestamp
    var number: UInt64

    init(position: Int, timestamp: Timestamp, number: UInt64, acknowledged: UInt32) {
      place = Int32(truncatingIfNeeded: position)
      self.acknowledged = acknowledged
      self.timestamp = timestamp
      self.number = number
    }

    /// Where its first byte is in the memory; negative where that byte was passed over and its memory reused.
    var position: Int {
      get { Int(place) }
      set { place = Int32(truncatingIfNeeded: newValue) }
    }
  }

  private var buffer = RawBuffer()
  private let budget: MemoryBudget
  /// What the budget was told of.
  private var accounted = 0

  init(budget: MemoryBudget) { self.budget = budget }

  deinit { budget.held -= accounted }

  /// Tells the budget what is held now.
  private mutating func account() {
    let now = memory
    budget.held += now - accounted
    accounted = now
  }

  /// The used part of the buffer.
  private(set) var start = 0
  private(set) var end = 0
  /// Offset in the stream of the byte at `start`.
  private(set) var streamOffset: UInt64 = 0
  private var marks: [Mark] = []
  private var firstMark = 0
  /// Decoding makes no sense before so many bytes are there.
  var needed = 0
  /// How far the search for a frame has come.
  struct Search: Equatable {
    /// The place, as an offset in the stream, before which everything but `candidates` was found to be none.
    var reached: UInt64 = 0
    /// Places where one may begin when more bytes have come, in order; at most 32.
    var candidates: [UInt64] = []
    /// Bytes that were held for the sake of candidates which were none, as far as they were many.
    var wasted = 0
    /// What the search may still cost, in places looked at. Each delivery adds to it, and each of its bytes, so that nobody
    /// can send what is dearer than that: headers by the thousand whose frames all overlap.
    var credit = 0
    /// The same for the search by other variants of the protocol.
    var othersCredit = 0
    /// How much was held when these were tried last.
    var othersHeld = 0
  }
  var search = Search()
  private static var creditPerDelivery: Int { 32 }
  private static var creditPerByte: Int { 16 }

  /// Bytes held.
  var count: Int { end - start }
  /// Memory held, in bytes.
  var memory: Int { 256 + buffer.capacity + marks.capacity * MemoryLayout<Mark>.stride }

  /// The readable memory; the held bytes stand at `start..<end` of it, and it moves when bytes are appended.
  var memoryStart: UnsafeRawPointer { UnsafeRawPointer(buffer.pointer) }
  /// How much of it may be read, slack included.
  var readableCount: Int { buffer.capacity + RawBuffer.slack }

  /// Appends a chunk of `bytes`; the first of them is the stream's at `streamOffset`.
  mutating func append(_ bytes: borrowing Bytes, _ chunk: StreamChunk, streamOffset: UInt64) {
    if count == 0 { self.streamOffset = streamOffset }
    // Moving much to gain little room, again and again, would cost more than growing.
    if start > 0, start >= count / 4, end + chunk.count > buffer.capacity { slide() }
    buffer.append(bytes, chunk.offset, chunk.count, at: end)
    marks.append(
      Mark(
        position: end, timestamp: chunk.timestamp, number: chunk.number, acknowledged: chunk.acknowledged))
    end += chunk.count
    let more = Self.creditPerDelivery + chunk.count * Self.creditPerByte
    search.credit += more
    search.othersCredit += more
    account()
  }

  /// Forgets what choosing a plan has asked of the bytes and what it has cost.
  mutating func beginSearch() {
    needed = 0
    search.credit = deliveryCount * Self.creditPerDelivery + count * Self.creditPerByte
    search.othersCredit = search.credit
  }

  /// Drops the first `count` bytes.
  mutating func consume(_ count: Int) {
    start += count
    streamOffset &+= UInt64(count)
    while firstMark + 1 < marks.count, marks[firstMark + 1].position <= start { firstMark += 1 }
    if start == end { reset() }
  }

  /// Drops everything.
  mutating func reset() {
    start = 0
    end = 0
    needed = 0
    search.candidates.removeAll()
    marks.removeAll(keepingCapacity: true)
    firstMark = 0
    shrink()
    account()
  }

  /// Lets memory go that only something unusually long needs.
  private mutating func shrink() {
    if buffer.capacity > Self.keptCapacity { buffer = RawBuffer() }
    if marks.capacity > Self.keptMarks { marks = [] }
  }

  /// What an empty one keeps, in bytes and in deliveries: a frame of 64 KiB in segments of 128 bytes.
  private static var keptCapacity: Int { 64 << 10 }
  private static var keptMarks: Int { 512 }

  /// Empties it, for another direction; it counts as holding nothing until then.
  mutating func retire() {
    reset()
    search = Search()
    streamOffset = 0
    budget.held -= accounted
    accounted = 0
  }

  /// The delivery that brought the byte at `position`, which lies in `start..<end`.
  mutating func mark(at position: Int) -> Mark { chunk(at: position).mark }

  /// That delivery, and where it ends.
  mutating func chunk(at position: Int) -> (mark: Mark, end: Int) {
    var low = firstMark
    var high = marks.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if marks[middle].position <= position { low = middle } else { high = middle }
    }
    return (marks[low], low + 1 < marks.count ? marks[low + 1].position : end)
  }

  /// Whether a delivery begins at `position`.
  mutating func startsDelivery(at position: Int) -> Bool { mark(at: position).position == position }

  /// How many deliveries the bytes came in.
  var deliveryCount: Int { marks.count - firstMark }

  /// The deliveries that the first `count` bytes came in: where each stands in the memory, and how long it is.
  mutating func deliveries(_ count: Int) -> [(position: Int, count: Int, mark: Mark)] {
    var result: [(position: Int, count: Int, mark: Mark)] = []
    let last = min(end, start + count)
    for i in firstMark..<max(firstMark, marks.count) {
      if marks[i].position >= last { break }
      let from = max(start, marks[i].position)
      let to = min(last, i + 1 < marks.count ? marks[i + 1].position : end)
      if from < to { result.append((from, to - from, marks[i])) }
    }
    return result
  }

  private mutating func slide() {
    buffer.pointer.copyMemory(from: buffer.pointer + start, byteCount: end - start)
    marks.removeFirst(firstMark)
    firstMark = 0
    for i in marks.indices { marks[i].position -= start }
    end -= start
    start = 0
  }
}
