import IMTLS
import IMWire

/// A gap region of a direction whose protocol is in TLS records or WebSocket frames: from the first byte of the gap to the first frame of
/// the protocol that was found after it.
///
/// It holds the state of all readers of the direction as it was before the gap, and the bytes that followed the gap. Bytes that arrive
/// late are read with that state, and what they lack of their neighbours is here.
struct GapReplay {
  /// The bytes, with offsets of TCP's stream. Those before `gapRegion.start` were read.
  var gapRegion: GapRegion
  /// The direction before the gap; of it `flags`, `passOver` and `partial`, a copy, are used.
  var state: DirectionState
  /// The state of TLS records, and what was held of them, copied.
  var side: TLSSavedSide?
  var way: TLSReader.Way?
  /// The state of WebSocket frames.
  var reader: WebSocketReader?
  /// Where the first frame of the protocol after the gap begins: what comes from there on was decoded. `.max` until it is found.
  var limit = UInt64.max
  /// Where the first record, and the first WebSocket frame, begin that were read after the gap: they were counted.
  var records = UInt64.max
  var frames = UInt64.max
  /// Bytes that were counted as not read although all of the region may be read yet.
  var unread = TLSUnreadBytes()
  /// Whether a late byte came.
  var isFilled = false
  /// The time of the last byte that was read.
  var latest = Timestamp.distantPast
  /// Bytes that the budget counts for it.
  var accounted = 0

  /// The most regions of a direction, and the most bytes that follow a gap in one.
  static var most: Int { 8 }
  static var mostBytes: Int { 4 << 20 }
  /// Bytes that one takes without what it holds.
  static var cost: Int { MemoryLayout<GapReplay>.stride + TLSSavedSide.cost }

  /// Whether the first frame after the gap is still looked for.
  var isOpen: Bool { limit == .max }
}

/// The gap regions of one direction, in the order of the stream. Only the last one may be open.
struct GapReplays {
  var all: [GapReplay] = []

  /// The place of the open region.
  var open: Int? { all.last?.isOpen == true ? all.count - 1 : nil }

  /// The protocol's next frame was found at `place` of TCP's stream.
  mutating func close(at place: UInt64) {
    guard let open else { return }
    all[open].limit = place
  }
}
