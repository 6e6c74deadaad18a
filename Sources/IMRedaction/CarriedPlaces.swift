import IMEngine

/// Where the stream that WebSocket frames carry stands on the wire.
final class CarriedPlaces {
  /// Payload of one frame.
  struct Piece {
    /// Its place in the stream that is carried, and on the wire.
    var inner: UInt64, wire: UInt64
    var count: Int
    /// The mask's key, and how many bytes of it came before.
    var key: UInt32?
    var phase: Int
  }

  /// A compressed message.
  struct Message {
    /// What it says, by its place in the stream that is carried.
    var inner: Range<UInt64>
    /// Its bytes on the wire.
    var pieces: [Piece]
    /// Whether the next one may refer to it.
    var keepsWindow: Bool
  }

  private var pieces: [Piece] = []
  /// Compressed messages, and the pieces of the one that has not ended.
  private var messages: [Message] = []
  private var packed: [Piece] = []
  /// Where what has been carried ends.
  private var end: UInt64 = 0
  /// The new bytes of the stream that is carried, as far as messages are compressed: with shapes, and without.
  private var new = StreamPatches(), plain = StreamPatches()

  /// Nothing is carried yet.
  init() {}

  /// Whether messages are compressed.
  var isPacked: Bool { !messages.isEmpty || !packed.isEmpty }

  /// Memory that is kept until the connection is over.
  var byteCount: Int {
    2 * new.byteCount + messages.count * (MemoryLayout<Message>.stride + 96)
      + (packed.count + pieces.count) * MemoryLayout<Piece>.stride
  }

  func add(_ piece: Piece) {
    pieces.append(piece)
    end = piece.inner + UInt64(piece.count)
  }

  /// Adds a piece of a compressed message.
  func add(packed piece: Piece) { packed.append(piece) }

  /// Ends a compressed message, which says what stands in front of `inner` of the stream that is carried.
  func endMessage(at inner: UInt64, keepsWindow: Bool) {
    messages.append(Message(inner: end..<max(end, inner), pieces: packed, keepsWindow: keepsWindow))
    packed = []
    end = max(end, inner)
  }

  /// Gives the masked bytes that stand for compressed messages, with their places on the wire. Gives how many of them are gone,
  /// since what stands for them would have had another length.
  func pack(_ body: ([UInt8], UInt64) -> Void) -> UInt64 {
    new.finish()
    plain.finish()
    var history: [UInt8] = []
    var gone: UInt64 = 0
    for message in messages {
      let count = message.pieces.reduce(0) { $0 + $1.count }
      let none = [UInt8](repeating: 0, count: message.inner.count)
      var made: [UInt8]?
      let start = Int64(message.inner.lowerBound)
      for content in [new.apply(to: none, at: start), plain.apply(to: none, at: start)] where made == nil {
        made = FittingDeflater.message(content, count: count, history: history[...])
        if made != nil { history = Array((history + content).suffix(FittingDeflater.window)) }
      }
      if made == nil {
        gone += 1
        // It says nothing, so that those behind it can still be read.
        made = FittingDeflater.message([], count: count)
      }
      if !message.keepsWindow { history = [] }
      guard var rest = made?[...] else { continue }
      for piece in message.pieces {
        var bytes = Array(rest.prefix(piece.count))
        rest = rest.dropFirst(piece.count)
        Self.mask(&bytes, piece.key, piece.phase)
        body(bytes, piece.wire)
      }
    }
    messages = []
    return gone
  }

  /// Gives the masked bytes for `new`, which stand at `offset` of the stream that is carried, with their places on the wire. What
  /// is in front of it is not asked for again.
  func place(_ new: [UInt8], plain: [UInt8]?, at offset: UInt64) -> [(bytes: [UInt8], wire: UInt64)] {
    var made: [(bytes: [UInt8], wire: UInt64)] = []
    if let plain {
      self.new.put(new, at: offset)
      self.plain.put(plain, at: offset)
    }
    let end = offset + UInt64(new.count)
    pieces.removeAll { $0.inner + UInt64($0.count) <= offset }
    for piece in pieces {
      let from = max(piece.inner, offset)
      let to = min(piece.inner + UInt64(piece.count), end)
      guard from < to else { continue }
      var bytes = Array(new[Int(from - offset)..<Int(to - offset)])
      Self.mask(&bytes, piece.key, piece.phase + Int(from - piece.inner))
      made.append((bytes, piece.wire + (from - piece.inner)))
    }
    return made
  }

  /// Puts a mask on bytes, or takes it off; `phase` of its bytes came before.
  static func mask(_ bytes: inout [UInt8], _ key: UInt32?, _ phase: Int) {
    guard let key else { return }
    for i in bytes.indices { bytes[i] ^= UInt8(truncatingIfNeeded: key >> UInt32(8 * (3 - (phase + i) & 3))) }
  }
}
