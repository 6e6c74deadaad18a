/// A piece of memory whose size is a power of two.
///
/// It belongs to whoever holds it, who frees it or hands it back to a pool, once.
package struct Storage {
  /// Its first byte.
  package let base: UnsafeMutableRawPointer
  /// Its size in bytes, a power of two.
  package let capacity: Int

  /// Gives the memory back to the system.
  package func free() { base.deallocate() }
}

/// The memory that the connections of one loop share for bytes on their way in and out.
///
/// Pieces come in powers of two. A few of each size are kept for the next connection that needs one, so a loop that serves
/// ten thousand connections of which some speak at any one time holds memory for those.
package struct BufferPool: ~Copyable {
  /// The smallest piece, in bytes.
  package static var smallest: Int { 256 }
  /// The largest piece that is kept when it is handed back.
  private static var largestKept: Int { 1 << 20 }

  private var kept: [[Storage]]
  /// Bytes kept for reuse.
  package private(set) var idleBytes = 0
  /// Bytes that connections hold.
  package private(set) var lentBytes = 0
  /// The most bytes kept for reuse.
  private let idleLimit: Int

  /// An empty pool that keeps at most `idleLimit` bytes for reuse.
  package init(idleLimit: Int = 4 << 20) {
    kept = Array(repeating: [], count: 64)
    self.idleLimit = idleLimit
  }

  /// A piece of `size` bytes, which is a power of two.
  package mutating func take(_ size: Int) -> Storage {
    lentBytes += size
    let place = size.trailingZeroBitCount
    if let piece = kept[place].popLast() {
      idleBytes -= size
      return piece
    }
    return Storage(base: .allocate(byteCount: size, alignment: 16), capacity: size)
  }

  /// Takes back a piece that `take` gave out.
  package mutating func recycle(_ piece: Storage) {
    lentBytes -= piece.capacity
    guard piece.capacity <= Self.largestKept, idleBytes + piece.capacity <= idleLimit else { return piece.free() }
    idleBytes += piece.capacity
    kept[piece.capacity.trailingZeroBitCount].append(piece)
  }

  deinit {
    for pieces in kept { for piece in pieces { piece.free() } }
  }
}
