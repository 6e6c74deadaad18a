/// Where the bytes that a carrier has handed on stand on the wire.
///
/// What is handed on is a stream of its own with offsets of its own. Of a compressed message nobody can say which of its
/// bytes on the wire made which byte of what it says; each gets its share, so that all shares together are what travelled.
struct CarrierOffsets {
  /// A chunk that was handed on at once.
  private struct Piece {
    /// Its place in the stream that was handed on, and on the wire.
    var inner: UInt64, wire: UInt64
    var innerCount: Int, wireCount: Int
    /// Payload bytes on the wire in front of it.
    var before: UInt64
  }

  private var pieces: [Piece] = []
  private var first = 0
  /// Where the next byte that is handed on stands, and how many payload bytes have made what was.
  private(set) var end: UInt64 = 0
  private var wireTotal: UInt64 = 0

  /// Bytes that it holds.
  var memory: Int { pieces.capacity * MemoryLayout<Piece>.stride }

  /// Takes note of `innerCount` bytes that `wireCount` bytes at `wire` have made.
  mutating func append(_ innerCount: Int, wire: UInt64, wireCount: Int) {
    if let last = pieces.last, last.innerCount == last.wireCount, innerCount == wireCount,
      last.wire &+ UInt64(last.wireCount) == wire
    {
      pieces[pieces.count - 1].innerCount += innerCount
      pieces[pieces.count - 1].wireCount += wireCount
    } else {
      pieces.append(
        Piece(inner: end, wire: wire, innerCount: innerCount, wireCount: wireCount, before: wireTotal))
    }
    end &+= UInt64(innerCount)
    wireTotal &+= UInt64(wireCount)
  }

  /// The place on the wire of the byte at `inner`.
  func wire(_ inner: UInt64) -> UInt64 {
    guard let piece = piece(inner) else { return inner }
    return piece.wire &+ share(piece, inner)
  }

  /// The same, or where that begins which made the byte where a share is all that is known.
  func wireFloor(_ inner: UInt64) -> UInt64 {
    guard let piece = piece(inner), piece.innerCount != piece.wireCount else { return wire(inner) }
    return piece.wire
  }

  /// The bytes on the wire that have made `count` bytes from `inner` on.
  func wireCount(_ inner: UInt64, _ count: Int) -> Int {
    Int(truncatingIfNeeded: total(inner &+ UInt64(count)) &- total(inner))
  }

  /// Forgets what stands in front of `inner`.
  mutating func forget(before inner: UInt64) {
    while first + 1 < pieces.count, pieces[first + 1].inner <= inner { first += 1 }
    guard first > 32, first > pieces.count / 2 else { return }
    pieces.removeFirst(first)
    first = 0
  }

  /// Forgets all places; nothing of what was handed on is asked for again.
  mutating func clear() {
    pieces = []
    first = 0
  }

  /// Payload bytes in front of the byte at `inner`.
  private func total(_ inner: UInt64) -> UInt64 {
    guard inner < end, let piece = piece(inner) else { return wireTotal }
    return piece.before &+ share(piece, inner)
  }

  private func share(_ piece: Piece, _ inner: UInt64) -> UInt64 {
    let into = min(inner &- piece.inner, UInt64(piece.innerCount))
    guard piece.innerCount != piece.wireCount, piece.innerCount > 0 else { return into }
    return into &* UInt64(piece.wireCount) / UInt64(piece.innerCount)
  }

  private func piece(_ inner: UInt64) -> Piece? {
    var low = first
    var high = pieces.count
    guard low < high else { return nil }
    while high - low > 1 {
      let middle = (low + high) / 2
      if pieces[middle].inner <= inner { low = middle } else { high = middle }
    }
    return inner >= pieces[low].inner ? pieces[low] : nil
  }
}
