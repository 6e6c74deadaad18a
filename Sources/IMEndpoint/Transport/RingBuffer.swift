/// The bytes of one connection that have arrived and are not yet a whole message.
///
/// The kernel writes straight into its free room (`withFreeRoom`, two regions when the room wraps), and the codec reads the
/// bytes where they lie (`withBytes`). Nothing is moved byte by byte: a message that wraps around the end is straightened
/// once, and that can happen once a turn of the ring. A message longer than the ring makes it grow, up to `limit`, as its
/// bytes arrive: what a header promises takes no memory.
///
/// Storage is there only while bytes are: it is borrowed from the loop's `BufferPool` when something arrives, changed for a
/// smaller piece when little is left, and handed back when nothing is. A connection that is idle holds none.
package struct RingBuffer: ~Copyable {
  private var storage: Storage?
  /// Where the oldest byte lies.
  private var head = 0
  /// Bytes held.
  package private(set) var count = 0
  /// The most bytes it will hold.
  package let limit: Int

  /// An empty ring without storage that will hold at most `limit` bytes, a power of two.
  package init(limit: Int) {
    precondition(limit > 0 && limit & (limit - 1) == 0, "the limit of a ring is a power of two")
    self.limit = limit
  }

  /// Bytes of storage it has at present.
  package var capacity: Int { storage?.capacity ?? 0 }

  /// Bytes it could still take.
  package var room: Int { limit - count }

  /// Makes room for at least `minimum` more bytes, growing if need be; false when that would pass the limit.
  package mutating func reserve(_ minimum: Int, from pool: inout BufferPool) -> Bool {
    guard minimum <= limit - count else { return false }
    guard capacity - count < minimum else { return true }
    var wanted = max(capacity, BufferPool.smallest)
    while wanted - count < minimum { wanted *= 2 }
    move(to: pool.take(min(wanted, limit)), &pool)
    return true
  }

  /// Hands out the free room as up to two regions in the order in which they fill, and takes what `body` wrote into them.
  ///
  /// `body` returns how many bytes it wrote, or a number below one when it wrote none; that number is returned.
  package mutating func withFreeRoom(
    _ body: (UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    guard let storage else { return 0 }
    let tail = (head + count) & (storage.capacity - 1)
    let free = storage.capacity - count
    let first = min(free, storage.capacity - tail)
    let written = body(
      UnsafeMutableRawBufferPointer(start: storage.base + tail, count: first),
      UnsafeMutableRawBufferPointer(start: storage.base, count: free - first))
    if written > 0 { count += min(written, free) }
    return written
  }

  /// Moves the held bytes into one piece where they wrap around the end. Cost: a copy of them, once a turn of the ring.
  package mutating func straighten(_ pool: inout BufferPool) {
    if let storage, head + count > storage.capacity { move(to: pool.take(storage.capacity), &pool) }
  }

  /// Lends the held bytes, oldest first: all of them after `straighten`, else those before the wrap.
  package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
    guard let storage else { return body(RawSpan()) }
    let bytes = UnsafeRawBufferPointer(start: storage.base + head, count: min(count, storage.capacity - head))
    return body(bytes.bytes)
  }

  /// Lets the oldest `byteCount` bytes go.
  package mutating func consume(_ byteCount: Int) {
    guard byteCount < count, let storage else {
      head = 0
      count = 0
      return
    }
    head = (head + max(0, byteCount)) & (storage.capacity - 1)
    count -= max(0, byteCount)
  }

  /// Hands back storage that is not needed while no bytes arrive: all of it, or what exceeds twice the bytes held.
  package mutating func settle(_ pool: inout BufferPool) {
    guard let storage else { return }
    if count == 0 {
      pool.recycle(storage)
      self.storage = nil
      head = 0
      return
    }
    var wanted = BufferPool.smallest
    while wanted < count { wanted *= 2 }
    if wanted <= storage.capacity / 4 { move(to: pool.take(wanted), &pool) }
  }

  private mutating func move(to other: Storage, _ pool: inout BufferPool) {
    if let storage {
      let first = min(count, storage.capacity - head)
      other.base.copyMemory(from: storage.base + head, byteCount: first)
      if count > first { (other.base + first).copyMemory(from: storage.base, byteCount: count - first) }
      pool.recycle(storage)
    }
    storage = other
    head = 0
  }

  deinit { storage?.free() }
}
