/// The bytes that wait on a connection, in the pieces they are kept in, for a transport to write as many as are taken.
///
/// It shares the memory of the queue and is good for one call: a transport that keeps it makes the queue copy.
public struct OutgoingPieces: Sendable {
  private let pieces: ArraySlice<[UInt8]>
  private let head: Int
  /// Bytes in all pieces.
  public let byteCount: Int

  /// `pieces`, of the first of which `head` bytes have been written.
  public init(_ pieces: ArraySlice<[UInt8]>, droppingFirst head: Int = 0) {
    self.pieces = pieces
    self.head = head
    byteCount = pieces.reduce(-head) { $0 + $1.count }
  }

  /// How many there are.
  public var count: Int { pieces.count }

  /// Calls `body` with the bytes of the piece at `place`, from 0.
  public func withPiece<Result>(_ place: Int, _ body: (RawSpan) -> Result) -> Result {
    let piece = pieces[pieces.startIndex + place]
    return body(piece.span.bytes.extracting(droppingFirst: place == 0 ? head : 0))
  }

  /// Calls `write` with one piece after the other until it takes less than it was offered; the bytes taken.
  public func forEach(_ write: (RawSpan) -> Int) -> Int {
    var total = 0
    for place in 0..<count {
      var offered = 0
      total += withPiece(place) { bytes in
        offered = bytes.byteCount
        let taken = offered == 0 ? 0 : min(offered, max(0, write(bytes)))
        offered -= taken
        return taken
      }
      if offered > 0 { break }
    }
    return total
  }
}
