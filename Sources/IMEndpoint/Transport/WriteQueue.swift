#if canImport(Glibc)
  package import Glibc
#endif

/// Bytes that wait to be written to one connection, in pieces that one gathered write takes together.
///
/// What is appended is copied once, into the last piece while it has room and into a larger one after it, so many small
/// messages of one turn leave in one system call. Pieces come from the loop's pool and go back as soon as they are written.
package struct WriteQueue: ~Copyable {
  private struct Piece {
    var storage: Storage
    var start: Int
    var end: Int
  }

  /// The largest piece taken for small appends, and the most pieces of one write.
  private static var largestPiece: Int { 65_536 }
  private static var mostPieces: Int { 64 }

  private var pieces: [Piece] = []
  /// The first piece that is not written in full.
  private var first = 0
  /// Bytes that wait.
  package private(set) var count = 0

  /// Nothing waits.
  package init() {}

  /// Whether nothing waits.
  package var isEmpty: Bool { count == 0 }

  /// Adds a copy of `bytes` at the end.
  package mutating func append(_ bytes: RawSpan, from pool: inout BufferPool) {
    bytes.withUnsafeBytes { append($0, from: &pool) }
  }

  /// Adds a copy of `bytes` at the end.
  package mutating func append(_ bytes: UnsafeRawBufferPointer, from pool: inout BufferPool) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    var copied = 0
    if first < pieces.count {
      let last = pieces.count - 1
      copied = min(bytes.count, pieces[last].storage.capacity - pieces[last].end)
      (pieces[last].storage.base + pieces[last].end).copyMemory(from: source, byteCount: copied)
      pieces[last].end += copied
    }
    let rest = bytes.count - copied
    if rest > 0 {
      var size = BufferPool.smallest
      while size < rest || (size < count * 2 && size < Self.largestPiece) { size *= 2 }
      let storage = pool.take(size)
      storage.base.copyMemory(from: source + copied, byteCount: rest)
      pieces.append(Piece(storage: storage, start: 0, end: rest))
    }
    count += bytes.count
  }

  /// Lends what waits as the vectors of one gathered write, and lets go of the bytes that `body` says were written.
  ///
  /// `body` returns a number below one when nothing was; that number is returned.
  package mutating func write(
    giveBackTo pool: inout BufferPool, _ body: (UnsafePointer<iovec>, Int) -> Int
  ) -> Int {
    let used = min(pieces.count - first, Self.mostPieces)
    guard used > 0 else { return 0 }
    let written = withUnsafeTemporaryAllocation(of: iovec.self, capacity: used) { vectors in
      for i in 0..<used {
        let piece = pieces[first + i]
        vectors.initializeElement(
          at: i, to: iovec(iov_base: piece.storage.base + piece.start, iov_len: piece.end - piece.start))
      }
      guard let start = vectors.baseAddress else { return 0 }
      return body(UnsafePointer(start), used)
    }
    if written > 0 { consume(written, &pool) }
    return written
  }

  private mutating func consume(_ byteCount: Int, _ pool: inout BufferPool) {
    var rest = min(byteCount, count)
    count -= rest
    while rest > 0, first < pieces.count {
      let step = min(rest, pieces[first].end - pieces[first].start)
      pieces[first].start += step
      rest -= step
      if pieces[first].start == pieces[first].end {
        pool.giveBack(pieces[first].storage)
        first += 1
      }
    }
    if first == pieces.count {
      pieces = []
      first = 0
    } else if first >= 32 {
      pieces.removeFirst(first)
      first = 0
    }
  }

  /// Drops everything that waits.
  package mutating func clear(_ pool: inout BufferPool) {
    while first < pieces.count {
      pool.giveBack(pieces[first].storage)
      first += 1
    }
    pieces = []
    first = 0
    count = 0
  }

  deinit {
    for piece in pieces[first...] { piece.storage.free() }
  }
}
