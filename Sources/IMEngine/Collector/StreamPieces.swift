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

  /// Where the piece stands just before `place`, when it ends at `start`.
  private func piece(before place: Place, endingAt start: Int) -> Place? {
    let block = place.index > 0 ? place.block : place.block - 1
    guard block >= 0, block < blocks.count else { return nil }
    let index = place.index > 0 ? place.index - 1 : blocks[block].count - 1
    return blocks[block][index].end == start ? Place(block: block, index: index) : nil
  }

  /// How much memory `count` bytes of content take that begin at `start`, just before `place`.
  func growth(before place: Place, at start: Int, _ count: Int) -> Int {
    guard let known = piece(before: place, endingAt: start), blocks[known.block][known.index].isKept else {
      return StreamPiece.room(count)
    }
    return blocks[known.block][known.index].growth(count)
  }

  /// Lengthens the piece just before `place` when it ends at `start` and is of the same kind; false when it does not. Content
  /// without `memory` is not kept.
  mutating func extend(before place: Place, at start: Int, _ content: RawSpan, _ memory: StreamMemory?) -> Bool {
    guard let known = piece(before: place, endingAt: start),
      blocks[known.block][known.index].isKept == (memory != nil)
    else { return false }
    if let memory {
      blocks[known.block][known.index].append(content, memory)
    } else {
      blocks[known.block][known.index].append(content.byteCount)
    }
    return true
  }

  /// Takes the last piece out.
  mutating func popLast() -> StreamPiece? {
    guard let block = blocks.indices.last else { return nil }
    let piece = blocks[block].popLast()
    if blocks[block].isEmpty { blocks.removeLast() }
    return piece
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
    let state = blocks[place.block].count / 2
    let tail = Array(blocks[place.block][state...])
    blocks[place.block].removeSubrange(state...)
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
