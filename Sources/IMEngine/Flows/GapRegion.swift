import IMWire

/// Bytes of a stream that stand next to each other and belong to no frame yet.
struct GapChunk {
  /// One delivery: it begins at `start`, and whatever stands in it was not complete before `timestamp`.
  struct Mark {
    var start: Int
    var timestamp: Timestamp
    var number: UInt64
    /// The acknowledgment number of its packet; 0 where it is not known.
    var acknowledged: UInt32
  }

  /// Offset in the stream of the first byte.
  var start: Int
  var bytes: [UInt8]
  /// The deliveries, the first at `start`; their times do not go back.
  var marks: [Mark]
  /// Offset in the stream of the byte behind the last one.
  var end: Int { start + bytes.count }

  /// Appends what follows. What it completes is no older than what stands in front of it.
  mutating func append(_ next: GapChunk) {
    bytes += next.bytes
    for mark in next.marks { append(mark) }
  }

  mutating func append(_ mark: Mark) {
    if let last = marks.last, last.timestamp > mark.timestamp {
      marks.append(
        Mark(start: mark.start, timestamp: last.timestamp, number: last.number, acknowledged: mark.acknowledged))
    } else {
      marks.append(mark)
    }
  }

  /// The part from `place` on, which lies in `start...end`; this keeps the part before it.
  mutating func cut(at place: Int) -> GapChunk {
    var back = GapChunk(start: place, bytes: [UInt8](bytes[(place - start)...]), marks: [])
    bytes.removeSubrange((place - start)...)
    let first = marks.lastIndex { $0.start <= place } ?? 0
    back.marks = [Mark](marks[first...])
    if !back.marks.isEmpty, back.marks[0].start < place { back.marks[0].start = place }
    marks.removeAll { $0.start >= place && $0.start > start }
    return back
  }
}

/// A chunk of a stream in which frames are missing: from the end of the last frame before a gap to the next known frame.
///
/// It holds the bytes that came of it, so that what comes late can be joined to what stands around it.
struct GapRegion {
  /// Offsets in the stream of the first byte and of the one behind the last.
  var start: Int
  var end: Int
  /// Whether a frame begins at `start`.
  var isKnown: Bool
  /// How many bytes from `start` on make its first frame, as far as that is known.
  var needed = 0
  /// How many bytes there were when they were last searched for a frame.
  var searched = 0
  /// What came of it, in order; between two pieces there may be a hole.
  var pieces: [GapChunk] = []

  /// A gap region has at most so many pieces; what would make more is not kept.
  static var maximumPieces: Int { 64 }

  /// Bytes held.
  var held: Int { pieces.reduce(0) { $0 + $1.bytes.count } }

  /// Adds those bytes of `chunk`, the first of which is the stream's at `place`, that lie inside and are not there yet;
  /// gives their number.
  mutating func fill(at place: Int, _ bytes: borrowing Bytes, _ chunk: StreamChunk) -> Int {
    if pieces.count == Self.maximumPieces { join() }
    var added = 0
    var position = max(place, start)
    let last = min(place + chunk.count, end)
    var i = pieces.firstIndex { $0.end > position } ?? pieces.count
    while position < last {
      if i < pieces.count, pieces[i].start <= position {
        position = pieces[i].end
        i += 1
        continue
      }
      let stop = i < pieces.count ? min(last, pieces[i].start) : last
      let first = chunk.offset + position - place
      let new = bytes.span.withUnsafeBytes { [UInt8]($0[first..<first + stop - position]) }
      let mark = GapChunk.Mark(
        start: position, timestamp: chunk.timestamp, number: chunk.number, acknowledged: chunk.acknowledged)
      if i > 0, pieces[i - 1].end == position {
        pieces[i - 1].bytes += new
        pieces[i - 1].append(mark)
      } else if pieces.count < Self.maximumPieces {
        pieces.insert(GapChunk(start: position, bytes: new, marks: [mark]), at: i)
        i += 1
      } else {
        break
      }
      added += stop - position
      position = stop
      // A long piece is not copied for each short one in front of it.
      if i < pieces.count, pieces[i].start == stop, pieces[i].bytes.count <= 2 * pieces[i - 1].bytes.count {
        let next = pieces.remove(at: i)
        position = max(position, next.end)
        pieces[i - 1].append(next)
      }
    }
    return added
  }

  /// Bytes from the first piece's beginning to the first hole.
  var run: Int {
    var end = pieces.first?.start ?? 0
    for piece in pieces where piece.start == end { end = piece.end }
    return end - (pieces.first?.start ?? 0)
  }

  /// Joins pieces that touch.
  mutating func join() {
    guard pieces.count > 1 else { return }
    var joined: [GapChunk] = []
    for piece in pieces {
      if let last = joined.last, last.end == piece.start {
        joined[joined.count - 1].append(piece)
      } else {
        joined.append(piece)
      }
    }
    pieces = joined
  }

  /// The part from `place` on, where a frame begins; this keeps the part before it.
  mutating func cut(at place: Int) -> GapRegion {
    var back = GapRegion(start: place, end: end, isKnown: true)
    end = place
    if let i = pieces.firstIndex(where: { $0.end > place }) {
      back.pieces = [GapChunk](pieces[i...])
      pieces.removeSubrange(i...)
      if back.pieces[0].start < place {
        var front = back.pieces[0]
        back.pieces[0] = front.cut(at: place)
        pieces.append(front)
      }
    }
    return back
  }
}
