package import IMWire

/// What is known of one direction of WebSocket frames.
struct WebSocketReader {
  /// Where it stands.
  enum State {
    /// In front of the server's answer, or of the client's request.
    case upgrade
    /// At a frame's header.
    case header
    /// In a message's payload; so many bytes of the frame are to come.
    case payload
    /// Bytes are missing or are no frame: the next frame is looked for.
    case lost
    /// It turned out to be something else: nothing is read any more.
    case ended
  }

  /// What becomes of a compressed message's payload.
  enum Message {
    /// None is open.
    case none
    /// Handed on as it is.
    case plain
    /// Inflated.
    case compressed
    /// Its beginning is missing, or it cannot be inflated: passed over.
    case unreadable
    /// It is not known whether one is open.
    case unknown
  }

  var state = State.header
  var message = Message.none
  /// Whether frames of this direction are masked, and whether messages may be compressed.
  let isMasked: Bool
  var allowsCompression: Bool
  /// Whether it is known that they may.
  var isCompressionKnown = false
  /// Whether the window is kept from message to message.
  var keepsWindow = true
  /// The frame in hand: its key, what is to come of it and what has come, whether it is its message's last.
  var key: UInt32?
  var remaining = 0
  var phase = 0
  var isFinal = false
  /// Bytes that wait: the beginning of a header, a control frame, or what a search looks at.
  var held: Ref<PartialFrame>?
  var offsets = CarrierOffsets()
  /// What the budget was told that `offsets` and the inflater hold.
  var accounted = 0
  var inflater: RawInflater?
  /// Of the message in hand, compressed bytes and what they made; bytes on the wire that have made nothing yet, and where
  /// they begin.
  var packed = 0, unpacked = 0
  /// Whether what it was given last ended with a final block.
  var isBehindFinalBlock = false
  /// Whether it was told that its frames have a mask, or lack one, against the rules.
  var hasToldMask = false
  var idle = 0, idleFrom: UInt64 = 0
  /// Bytes of compressed messages passed over since the last one that was read, and where they begin.
  var unread: UInt64 = 0, unreadFrom: UInt64 = 0
  /// Where on the wire the frames' own bytes begin that are passed over in search of one.
  var innerSkippedFrom: UInt64 = 0
  /// The messages whose bytes are held, in order: where each begins in the carried stream, and where it ends; `.max` as long as the
  /// last one does not.
  private var messages: [(start: UInt64, end: UInt64)] = []
  private var firstMessage = 0
  /// Whether a gap that a control frame may fill is in the middle of a message: the fragments after it tell. They begin at `doubtFrom` of
  /// TCP's stream.
  var isInDoubt = false
  var doubtFrom = UInt64.max
  /// The last ping without an answer: when it came and what it said.
  var pingAt: Timestamp?
  var pingHash: UInt64 = 0

  init(isMasked: Bool, state: State) {
    self.isMasked = isMasked
    self.state = state
    allowsCompression = true
    if state == .lost { message = .unknown }
  }

  /// The same with another copy of `held`, and with the inflater, which this one has no more. The budget was told nothing of it.
  mutating func detached(held: Ref<PartialFrame>?) -> WebSocketReader {
    var copy = self
    (copy.held, copy.accounted) = (held, 0)
    if message != .compressed, !keepsWindow { copy.inflater = nil } else { inflater = nil }
    return copy
  }

  /// A message begins with the next byte that is handed on.
  mutating func beginMessage() {
    loseMessage()
    messages.append((offsets.end, .max))
  }

  /// The message that is open is over.
  mutating func endMessage() {
    guard let last = messages.last, last.end == .max else { return }
    messages[messages.count - 1].end = offsets.end
    // One without bytes is none that could be read.
    if last.start == offsets.end { messages.removeLast() }
    firstMessage = min(firstMessage, messages.count)
  }

  /// Bytes of the open message are missing: nothing is read of it.
  mutating func loseMessage() {
    if messages.last?.end == .max { messages.removeLast() }
    firstMessage = min(firstMessage, messages.count)
  }

  /// The message with the byte at `offset` of the carried stream, or the next one after it.
  mutating func message(at offset: UInt64) -> (start: UInt64, end: UInt64)? {
    var i = firstMessage
    while i < messages.count, messages[i].end <= offset { i += 1 }
    return i < messages.count ? messages[i] : nil
  }

  /// Forgets the messages that end in front of `offset`.
  mutating func forgetMessages(before offset: UInt64) {
    while firstMessage < messages.count, messages[firstMessage].end <= offset { firstMessage += 1 }
    if firstMessage == messages.count {
      messages.removeAll(keepingCapacity: true)
      firstMessage = 0
    } else if firstMessage > 32, firstMessage > messages.count / 2 {
      messages.removeFirst(firstMessage)
      firstMessage = 0
    }
  }

  /// Bytes that a reader takes without what it holds.
  static var cost: Int { MemoryLayout<WebSocketReader>.stride + 64 }

  /// Tells the budget what is held now.
  mutating func account(_ budget: MemoryBudget) {
    let held = messages.capacity * MemoryLayout<(UInt64, UInt64)>.stride
    let now = offsets.memory + held + (inflater == nil ? 0 : RawInflater.cost)
    budget.held += now - accounted
    accounted = now
  }

  /// Frees what it holds.
  mutating func clear(_ budget: MemoryBudget) {
    inflater?.destroy()
    inflater = nil
    if let held { held.free() }
    held = nil
    budget.held -= accounted
    accounted = 0
  }
}

/// What a WebSocket frame is.
package enum WebSocketFrameType: UInt8, CaseIterable, Sendable {
  case continuation, text, binary, close, ping, pong

  /// The type by the header's opcode, which is a known one.
  init(opcode: UInt8) { self = Self(rawValue: opcode < 8 ? opcode : opcode &- 5) ?? .continuation }

  /// The name in documents.
  package var name: StaticString {
    switch self {
    case .continuation: "continuation"
    case .text: "text"
    case .binary: "binary"
    case .close: "close"
    case .ping: "ping"
    case .pong: "pong"
    }
  }
}

/// What was counted of a connection's WebSocket frames.
package struct WebSocketMetrics: Sendable, BitwiseCopyable {
  /// Frames by `WebSocketFrameType`, client to server first.
  package var frames: InlineArray<2, InlineArray<6, UInt64>> = [
    InlineArray(repeating: 0), InlineArray(repeating: 0),
  ]
  /// Messages whose last frame came, by direction.
  package var messages: InlineArray<2, UInt64> = [0, 0]
  /// Compressed messages that began, by direction.
  package var compressed: InlineArray<2, UInt64> = [0, 0]
  /// Pings that were answered, by the direction of the ping.
  package var answered: InlineArray<2, UInt32> = [0, 0]
  /// Pongs that answer no ping that was seen.
  package var unasked: InlineArray<2, UInt32> = [0, 0]
  /// Times from ping to pong: their sum in microseconds.
  package private(set) var roundTripSum: Int64 = 0
  /// The shortest and the longest, in whole microseconds.
  package private(set) var roundTripMinimum = Nanoseconds(.max), roundTripMaximum = Nanoseconds.zero
  /// The reason that the first close frame gave; 0 where it gave none, or none came.
  package var closeStatus: UInt16 = 0
  /// Whether a close frame came.
  package var isClosed = false
  /// Bytes of compressed messages that could not be inflated.
  package var notInflated: UInt64 = 0

  /// All zero.
  package init() {}

  /// Takes note of the pong that answers a ping of the direction `way`.
  mutating func answered(_ way: Int, after time: Nanoseconds) {
    answered[way] &+= 1
    roundTripSum &+= time.microseconds
    let roundTrip = Nanoseconds.microseconds(time.microseconds)
    roundTripMinimum = min(roundTripMinimum, roundTrip)
    roundTripMaximum = max(roundTripMaximum, roundTrip)
  }
}
