/// A stretch of one direction that was captured without a hole.
struct StreamPiece {
  /// Its first byte's place, counted from the direction's first sequence number without wrapping.
  var start: Int
  /// Its bytes.
  var count: Int
  /// Their content, or nothing where there was no room for it.
  var content: [UInt8]

  var end: Int { start + count }
  var isKept: Bool { count == content.count }
}

/// The pieces of one direction in order, none touching another's bytes.
///
/// They stand in blocks of at most 512, so that a piece in the middle of a million costs a block's move, not all of
/// theirs: bytes that a hostile sender scatters cost about as much as any.
struct StreamPieces {
  /// Where a piece stands; the place behind the last one is (number of blocks, 0).
  struct Place: Equatable {
    var block: Int
    var index: Int
  }

  private static var blockLimit: Int { 512 }
  /// A piece that has reached this many bytes is not extended, so that growing does not copy a long stream.
  static var pieceLimit: Int { 1 << 20 }

  private var blocks: [[StreamPiece]] = []

  /// The place behind the last piece.
  var endPlace: Place { Place(block: blocks.count, index: 0) }

  /// All pieces, in order.
  var all: some Sequence<StreamPiece> { blocks.lazy.joined() }

  /// The piece at `place`, or `nil` at the end.
  subscript(place: Place) -> StreamPiece? {
    place.block < blocks.count ? blocks[place.block][place.index] : nil
  }

  /// The place of the first piece that ends behind `position`.
  func first(endingAfter position: Int) -> Place {
    guard let last = blocks.last?.last, last.end > position else { return endPlace }
    let block = Self.partition(blocks.count) { (blocks[$0].last?.end ?? .max) > position }
    let index = Self.partition(blocks[block].count) { blocks[block][$0].end > position }
    return Place(block: block, index: index)
  }

  /// The place after `place`.
  func next(_ place: Place) -> Place {
    place.index + 1 < blocks[place.block].count
      ? Place(block: place.block, index: place.index + 1) : Place(block: place.block + 1, index: 0)
  }

  /// How much memory the piece just before `place` would grow by for `count` more bytes of content that begin at `start`;
  /// `nil` when it does not end there, or is as long as it may be.
  func growth(before place: Place, at start: Int, _ count: Int) -> Int? {
    let block = place.index > 0 ? place.block : place.block - 1
    guard block >= 0, block < blocks.count else { return nil }
    let piece = blocks[block][place.index > 0 ? place.index - 1 : blocks[block].count - 1]
    guard piece.end == start, piece.isKept, piece.count < Self.pieceLimit else { return nil }
    let wanted = piece.count + count
    return wanted <= piece.content.capacity ? 0 : max(2 * piece.content.capacity, wanted) - piece.content.capacity
  }

  /// Lengthens the piece just before `place` when it ends at `start` and is of the same kind; false when it does not.
  mutating func extend(before place: Place, at start: Int, _ count: Int, _ content: RawSpan?) -> Bool {
    let block = place.index > 0 ? place.block : place.block - 1
    guard block >= 0, block < blocks.count else { return false }
    let index = place.index > 0 ? place.index - 1 : blocks[block].count - 1
    guard blocks[block][index].end == start, blocks[block][index].isKept == (content != nil) else { return false }
    if let content {
      guard blocks[block][index].count < Self.pieceLimit else { return false }
      let wanted = blocks[block][index].count + count
      if wanted > blocks[block][index].content.capacity {
        blocks[block][index].content.reserveCapacity(max(2 * blocks[block][index].content.capacity, wanted))
      }
      content.withUnsafeBytes { blocks[block][index].content.append(contentsOf: $0) }
    }
    blocks[block][index].count += count
    return true
  }

  /// Puts a piece before `place`, which becomes meaningless.
  mutating func insert(_ piece: StreamPiece, before place: Place) {
    if place == endPlace {
      if let count = blocks.last?.count, count < Self.blockLimit {
        blocks[blocks.count - 1].append(piece)
      } else {
        blocks.append([piece])
      }
      return
    }
    blocks[place.block].insert(piece, at: place.index)
    guard blocks[place.block].count > Self.blockLimit else { return }
    let half = blocks[place.block].count / 2
    let tail = Array(blocks[place.block][half...])
    blocks[place.block].removeSubrange(half...)
    blocks.insert(tail, at: place.block + 1)
  }

  /// The first of `0..<count` for which `isBehind` holds, which holds for all after it.
  private static func partition(_ count: Int, _ isBehind: (Int) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBehind(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
