/// What waits to be written to one connection.
///
/// Small frames stand behind one another in one piece, so that all of them go in one write; a large body is kept as it
/// is and goes in a piece of its own. Nothing is kept when nothing waits.
struct OutgoingBytes: Sendable {
  private struct Piece {
    var bytes: [UInt8]
    var isShared: Bool
  }

  private var pieces: [Piece] = []
  private var head = 0
  /// Bytes that wait.
  private(set) var byteCount = 0

  /// Bodies from here on are not copied.
  static var sharedBodyCount: Int { 16_384 }
  private static var pieceCount: Int { 65_536 }

  var isEmpty: Bool { byteCount == 0 }

  /// Appends a frame.
  mutating func append(_ header: FrameHeader, _ body: [UInt8]) {
    if pieces.isEmpty || pieces[pieces.count - 1].isShared || pieces[pieces.count - 1].bytes.count >= Self.pieceCount {
      pieces.append(Piece(bytes: [], isShared: false))
    }
    header.append(to: &pieces[pieces.count - 1].bytes)
    byteCount += FrameHeader.byteCount + body.count
    if body.count >= Self.sharedBodyCount {
      pieces.append(Piece(bytes: body, isShared: true))
    } else if !body.isEmpty {
      pieces[pieces.count - 1].bytes.append(contentsOf: body)
    }
  }

  /// Writes until nothing waits or `write` takes less than it was offered.
  /// - Returns: bytes written.
  mutating func drain(_ write: (RawSpan) -> Int) -> Int {
    var total = 0
    while let piece = pieces.first {
      let waiting = piece.bytes.count - head
      let written =
        waiting == 0 ? 0 : min(waiting, max(0, write(piece.bytes.span.bytes.extracting(droppingFirst: head))))
      total += written
      guard written == waiting else {
        head += written
        break
      }
      head = 0
      pieces.removeFirst()
    }
    byteCount -= total
    if pieces.isEmpty { pieces = [] }
    return total
  }

  /// Forgets what waits.
  mutating func removeAll() {
    pieces = []
    head = 0
    byteCount = 0
  }
}
