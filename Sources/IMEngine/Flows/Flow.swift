import IMWire

/// What is known of one direction of a connection.
enum DirectionPhase: UInt8 {
  /// No sequence number is known.
  case fresh
  /// Data came without a SYN before it; it is held for a moment in case earlier data follows it.
  case held
  /// `next` is known.
  case open
}

/// Facts of one direction that are true or not.
struct DirectionFlags: OptionSet {
  let rawValue: UInt16
  /// A SYN of this side was seen; `next` began one behind it.
  static let syn = DirectionFlags(rawValue: 1)
  /// A FIN of this side was seen; it stands at `finSequence`.
  static let fin = DirectionFlags(rawValue: 2)
  /// Everything up to the FIN was delivered.
  static let finished = DirectionFlags(rawValue: 4)
  /// `acknowledged` holds a number.
  static let acknowledged = DirectionFlags(rawValue: 8)
  /// A hole waits in the queue of holes; it may be given up to `holeMark`.
  static let holeScheduled = DirectionFlags(rawValue: 16)
  /// A packet of this side had a right TCP checksum, so wrong ones are damage.
  static let goodChecksum = DirectionFlags(rawValue: 32)
  /// The decoder has lost its place in this direction.
  static let lost = DirectionFlags(rawValue: 64)
  /// A SYN+ACK of this side was seen.
  static let synAck = DirectionFlags(rawValue: 128)
  /// The stream began with its first byte (a SYN was seen) and nothing has been lost yet.
  static let fromStart = DirectionFlags(rawValue: 256)
  /// No data yet, but a bare ACK told where it will begin: `next`.
  static let hinted = DirectionFlags(rawValue: 512)
  /// `passOver` bytes are to be passed over.
  static let passing = DirectionFlags(rawValue: 1024)
  /// The protocol travels in WebSocket frames; `partial` holds what they carry.
  static let carried = DirectionFlags(rawValue: 2048)
  /// Its reader has memory for what was compressed.
  static let inflating = DirectionFlags(rawValue: 4096)
  /// Its frames end at a delimiter.
  static let delimited = DirectionFlags(rawValue: 8192)
  /// A silence that the other side ended waits for a packet of this side; see `Silences`.
  static let awaited = DirectionFlags(rawValue: 16384)
  /// Its connection is another one as it looks after a NAT, or before it; on one side only, it may be.
  static let twin = DirectionFlags(rawValue: 32768)
  /// What keeps bytes from being read where their packet holds them: `lost`, `passing`, `carried` and `delimited`.
  static var detour: DirectionFlags { DirectionFlags(rawValue: 64 | 1024 | 2048 | 8192) }
}

/// One direction of a connection: the bytes its side sends. 64 bytes, one cache line.
struct DirectionState {
  /// The next sequence number that was not delivered.
  var next: UInt32 = 0
  /// The highest acknowledgment that the other side has sent for these bytes.
  var acknowledged: UInt32 = 0
  /// Offset in the stream of `next`: bytes delivered and bytes lost.
  var offset: UInt64 = 0
  /// Segments beyond a hole, or held.
  var queue: Ref<SegmentQueue>?
  /// Delivered bytes that the decoder has not used yet.
  var partial: Ref<PartialFrame>?
  /// Bytes of its packets on the wire.
  var wireBytes: UInt64 = 0
  /// Packets seen.
  var packets: UInt32 = 0
  /// Bytes still to come of a frame that a gap has cut; they are passed over.
  var passOver: UInt32 = 0
  /// The number behind the segment whose acknowledgment is timed, and the tick at which it came; 0 is none.
  var timedEnd: UInt32 = 0
  var timedAt: UInt32 = 0
  var flags: DirectionFlags = []
  /// The window of its last packet, as it travels.
  var window: UInt16 = 0
  var phase = DirectionPhase.fresh
  /// Half of `Flow.firstSequence`, in bytes that would otherwise be padding.
  fileprivate var firstHalf: UInt16 = 0

  /// The sequence number of the stream's first byte: `next` and `offset` move together, but for a FIN's one.
  var firstSequence: UInt32 {
    next &- UInt32(truncatingIfNeeded: offset) &- (flags.contains(.finished) ? 1 : 0)
  }
}

/// What of one direction is seldom asked for. 32 bytes: both directions' have one cache line.
struct ColdDirectionState {
  /// Times from its segments to their acknowledgments.
  var roundTrips = AckRoundTrips()
  /// The SYN's sequence number.
  var initial: UInt32 = 0
  /// Where the FIN stands.
  var finSequence: UInt32 = 0
  /// A hole below this is given up when its time has come.
  var holeMark: UInt32 = 0
}

/// How far a connection has come.
package enum ConnectionPhase: UInt8, Sendable, BitwiseCopyable {
  /// Packets, but no SYN: the capture began later than the connection.
  case midstream
  /// A SYN was seen.
  case opening
  /// SYN and SYN+ACK were seen.
  case accepted
  /// The handshake is complete.
  case established
  /// One side has sent its FIN.
  case closing
  /// Over.
  case closed
}

/// What a segment tells of its connection's opening or end.
enum PhaseEvent {
  /// The client's SYN, and the server's SYN+ACK.
  case syn, synAck
  /// The client's acknowledgment of the SYN+ACK.
  case ack
  /// Data behind an acknowledgment.
  case data
  /// A FIN up to which everything was delivered, the first of the two.
  case fin
  /// The second FIN, a reset, or that nobody goes on waiting.
  case end
}

extension ConnectionPhase {
  /// The phase behind an event; the same one where the event tells nothing new.
  func behind(_ event: PhaseEvent) -> ConnectionPhase {
    switch (self, event) {
    case (.midstream, .syn): .opening
    case (.midstream, .synAck), (.opening, .synAck): .accepted
    // Where the capture missed the SYN+ACK, data tells that it was sent.
    case (.accepted, .ack), (.opening, .data): .established
    case (.closed, _): .closed
    case (_, .fin): .closing
    case (_, .end): .closed
    default: self
    }
  }
}

/// Why a connection is over, or that it is not.
package enum CloseReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  /// Not over when the capture ended.
  case open
  /// Both FINs.
  case fin
  /// A reset inside the window.
  case reset
  /// A reset answered the SYN.
  case refused
  /// Nothing answered the SYN.
  case timeout
  /// A new connection took the same addresses and ports.
  case reused
  /// Forgotten to keep within the memory limit.
  case evicted

  /// The name in documents.
  package var name: String {
    switch self {
    case .open: "open"
    case .fin: "fin"
    case .reset: "rst"
    case .refused: "refused"
    case .timeout: "timeout"
    case .reused: "reused"
    case .evicted: "evicted"
    }
  }
}

/// One TCP connection. Plain data in a pool; what a packet touches stands in the first three cache lines: the key with
/// what decoding asks first, and one line a direction.
struct Flow {
  var key: FlowKey
  var phase = ConnectionPhase.midstream
  /// The side that is the client.
  var client: UInt8 = 0
  /// The plan that decodes this flow.
  var profile = FlowProfile.unknown
  /// The connection's number in this run, from 1; 0 in a place that no flow uses.
  var serial: UInt32
  /// The tracker's session that the last frame belonged to, its number on the wire, folded, and the tracker's figures of
  /// this connection.
  var session: UInt32 = .max
  var sessionKey: UInt32 = .max
  var figures: UInt32 = .max
  var lastSeen: Timestamp
  /// Side 0's and side 1's direction, at byte 64.
  var directionStates: InlineArray<2, DirectionState> = [DirectionState(), DirectionState()]
  /// What of them is seldom asked for, at byte 192.
  var coldDirectionStates: InlineArray<2, ColdDirectionState> = [ColdDirectionState(), ColdDirectionState()]

  /// `closeReason` in the low four bits, `resetSide` and whether there is one above them.
  private var closing: UInt8 = 0
  /// Whether SYN or SYN+ACK told the client; else it is the side that spoke first.
  var clientIsCertain = false
  /// Whether a message told which variant of its protocol it speaks; else that is a guess.
  var variantIsCertain = false
  /// Whether the connection's end was reported.
  var reported = false
  /// Whether it is about to be forgotten, so that no message may wait for it.
  var isLeaving = false
  /// Whether it stands among those that hold bytes; see `BufferingQueue`.
  var isHolder = false
  /// SYNs of the client, those sent again included.
  var synCount: UInt16 = 0
  var firstSeen: Timestamp
  /// When it was over; `distantFuture` while it is not.
  var closedAt = Timestamp.distantFuture
  /// From the SYN to the SYN+ACK and from there to the ACK; negative when not seen.
  var serverHandshake = Nanoseconds(-1), clientHandshake = Nanoseconds(-1)
  /// When the last SYN came, and from there on when the last SYN+ACK did.
  var openingAt = Timestamp.distantPast
  /// The client's clock in its last SYN; 0 where it told none.
  var synClock: UInt32 = 0
  /// What was out of the ordinary on it; `.max` where nothing was.
  var anomalyRecord: UInt32 = .max
  /// What is kept of its carriers; `.max` where it has none.
  var carrier: UInt32 = .max
  /// Its place in the table; what runs for every packet has it at hand.
  var index: UInt32 = 0

  /// A connection whose first packet came at `now`, with the TCP sequence number `sequence`.
  init(key: FlowKey, serial: UInt32, client: UInt8, at now: Timestamp, sequence: UInt32) {
    self.key = key
    self.serial = serial
    self.client = client
    firstSeen = now
    lastSeen = now
    directionStates[0].firstHalf = UInt16(truncatingIfNeeded: sequence &>> 16)
    directionStates[1].firstHalf = UInt16(truncatingIfNeeded: sequence)
  }

  /// The TCP sequence number of its first packet, from either side.
  var firstSequence: UInt32 {
    UInt32(directionStates[0].firstHalf) &<< 16 | UInt32(directionStates[1].firstHalf)
  }

  /// Why the connection is over; `open` while it is not.
  var closeReason: CloseReason {
    get { CloseReason(rawValue: closing & 0x0f) ?? .open }
    set { closing = closing & 0xf0 | newValue.rawValue }
  }

  /// The side whose reset ended the connection; `nil` where none did.
  var resetSide: Int? {
    get { closing & 0x10 == 0 ? nil : Int(closing &>> 5 & 1) }
    set { closing = closing & 0xcf | (newValue.map { 0x10 | UInt8(truncatingIfNeeded: $0 & 1) &<< 5 } ?? 0) }
  }

  /// Whether a frame has said that types which are answered on demand are.
  var asksForAnswers: Bool {
    get { closing & 0x40 != 0 }
    set { closing = closing & ~0x40 | (newValue ? 0x40 : 0) }
  }

  /// Whether a frame has announced that bodies are compressed from then on.
  var isCompressed: Bool {
    get { closing & 0x80 != 0 }
    set { closing = closing & ~0x80 | (newValue ? 0x80 : 0) }
  }

  /// Goes on to the phase behind an event; whether that is another one.
  @discardableResult
  mutating func enter(_ event: PhaseEvent) -> Bool {
    let old = phase
    phase = old.behind(event)
    return phase != old
  }

  /// The direction in which side `side` sends.
  @inline(__always)
  func direction(_ side: Int) -> Direction { side == Int(client) ? .clientToServer : .serverToClient }

  /// The side that sends in `direction`.
  func side(_ direction: Direction) -> Int { direction == .clientToServer ? Int(client) : 1 - Int(client) }
}

/// What decodes a flow: a place in the engine's table of plans, or why nothing does.
struct FlowProfile: Equatable {
  var rawValue: UInt8
  /// Not decided yet.
  static let unknown = FlowProfile(rawValue: 255)
  /// None of the plans' protocols.
  static let none = FlowProfile(rawValue: 254)
  /// TLS: counted, not read.
  static let tls = FlowProfile(rawValue: 253)
  /// Whether it is a plan.
  @inline(__always) var isPlan: Bool { rawValue < 253 }
  /// The most plans that there may be.
  static var planCount: Int { 64 }
  /// The plan's index, whichever version of it. Only of a plan.
  @inline(__always) var plan: UInt8 { rawValue & 63 }
  /// 0 for a plan as it is now; 1 and 2 for what it was before it was read again, see `Engine.reload`; 3 for its variant.
  var generation: UInt8 { rawValue &>> 6 }
  /// How many plans, the first ones, may have a variant.
  static var variantCount: Int { 61 }
  /// The variant of the plan at `index`.
  static func variant(of index: Int) -> FlowProfile {
    FlowProfile(rawValue: UInt8(truncatingIfNeeded: 192 + min(variantCount - 1, index)))
  }
  /// The other variant of its protocol, of which it is one; `nil` where it is a plan that was read again.
  var otherVariant: FlowProfile? {
    switch generation {
    case 0: plan < Self.variantCount ? .variant(of: Int(plan)) : nil
    case 3: FlowProfile(rawValue: plan)
    default: nil
    }
  }
  /// What is told of it: the plan's index, or one of the values from 253 on.
  @inline(__always) var told: UInt8 { isPlan ? plan : rawValue }
}

extension Ref<Flow> {
  /// The half of `side`.
  @inline(__always)
  func state(_ side: Int) -> Ref<DirectionState> {
    Ref<DirectionState>((bytes + 64).assumingMemoryBound(to: DirectionState.self) + side)
  }

  /// The tail of `side`.
  @inline(__always)
  func tail(_ side: Int) -> Ref<ColdDirectionState> {
    Ref<ColdDirectionState>((bytes + 192).assumingMemoryBound(to: ColdDirectionState.self) + side)
  }
}

extension Ref<Flow> {
  /// Whether one of its directions holds segments beyond a hole, or before it is known where it begins.
  @inline(__always)
  var holdsSegments: Bool {
    Ref<SegmentQueue>.bits(state(0).pointee.queue) | Ref<SegmentQueue>.bits(state(1).pointee.queue) != 0
  }
}

extension Flow {
  /// Whether a SYN or a SYN+ACK was seen.
  var sawSyn: Bool { directionStates[0].flags.contains(.syn) || directionStates[1].flags.contains(.syn) }

  /// When the handshake was complete; `nil` when that was not seen.
  var establishedAt: Timestamp? {
    guard clientHandshake >= .zero else { return nil }
    return openingAt.advanced(by: clientHandshake)
  }
}
