/// What waits to be written to one connection.
///
/// Small frames stand behind one another in one piece; a large body is kept as it is, a piece of its own. All of them are
/// offered at once, to be written in one call. Nothing is kept when nothing waits.
struct OutgoingBytes: Sendable {
  private var pieces: [[UInt8]] = []
  /// Whether the last piece is the body of a frame, to which nothing is added.
  private var endsShared = false
  private var head = 0
  /// Bytes that wait.
  private(set) var byteCount = 0

  /// Bodies from here on are not copied.
  static var sharedBodyCount: Int { 16_384 }
  /// A piece of frames that has so many bytes gets no more.
  private static var pieceCount: Int { 65_536 }
  /// The most pieces that are offered at once.
  static var gatheredCount: Int { 64 }

  var isEmpty: Bool { byteCount == 0 }

  /// Appends a frame.
  mutating func append(_ header: FrameHeader, _ body: [UInt8]) {
    if pieces.isEmpty || endsShared || pieces[pieces.count - 1].count >= Self.pieceCount {
      pieces.append([])
      endsShared = false
    }
    header.append(to: &pieces[pieces.count - 1])
    byteCount += FrameHeader.byteCount + body.count
    if body.count >= Self.sharedBodyCount {
      pieces.append(body)
      endsShared = true
    } else if !body.isEmpty {
      pieces[pieces.count - 1].append(contentsOf: body)
    }
  }

  /// Writes until nothing waits or `write` takes less than it was offered.
  /// - Returns: bytes written.
  mutating func drain(_ write: (OutgoingPieces) -> Int) -> Int {
    var total = 0
    while !pieces.isEmpty {
      let offered = OutgoingPieces(pieces.prefix(Self.gatheredCount), droppingFirst: head)
      let waiting = offered.byteCount
      let written = min(waiting, max(0, write(offered)))
      total += written
      take(written)
      if written < waiting { break }
    }
    byteCount -= total
    return total
  }

  private mutating func take(_ count: Int) {
    head += count
    var done = 0
    while done < pieces.count, head >= pieces[done].count {
      head -= pieces[done].count
      done += 1
    }
    if done == pieces.count { pieces = [] } else { pieces.removeFirst(done) }
  }

  /// Forgets what waits.
  mutating func removeAll() {
    pieces = []
    head = 0
    byteCount = 0
  }
}
