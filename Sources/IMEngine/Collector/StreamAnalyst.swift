import IMWire

/// Says of each segment of a stream what it is, by the rules of Wireshark 4.0's TCP analysis.
///
/// The rules are heuristics of a tool and are kept here so that imdump's figures can be held against it; the engine's
/// own figures do not come from here. The split of retransmissions into its kinds and out-of-order segments is the
/// softest part.
struct StreamAnalyst {
  /// A segment that waits for its acknowledgment.
  struct Unacknowledged {
    var sequence: UInt32
    var end: UInt32
    var time: Timestamp
    /// Sent more than once: its acknowledgment tells no round trip (Karn).
    var isAmbiguous: Bool
  }

  /// What is remembered of one side.
  struct Side {
    /// The number before the first byte: the SYN's, or a guess.
    var base: UInt32?
    var sawSYN = false
    var sawSYNACK = false
    /// The number expected next, and when it last rose.
    var next: UInt32?
    var nextTime = Timestamp.distantPast
    /// The highest number that its peer can acknowledge by what was captured without a hole.
    var acknowledgeable: UInt32?
    /// The last acknowledgment it sent, and when; 0 is none.
    var lastAck: UInt32 = 0
    var lastAckTime = Timestamp.distantPast
    var duplicateAcks = 0
    /// The last window it sent, as it travels, and whether the scale of its SYN applies to it.
    var window: UInt16?
    var windowIsScaled = false
    var windowScale: UInt8?
    /// What its last segment was.
    var lastWasKeepAlive = false
    var lastWasProbe = false
    var unacknowledged: [Unacknowledged] = []

    /// The last window in bytes; `nil` when the handshake was not captured.
    var scaledWindow: UInt32? {
      guard let window, sawSYN || sawSYNACK else { return nil }
      return UInt32(window) << UInt32(windowIsScaled ? windowScale ?? 0 : 0)
    }
  }

  /// Segments of one side that may wait; further ones are not remembered.
  static var unacknowledgedLimit: Int { 1_000 }
  /// How soon after the last acknowledgment a fast retransmission comes.
  static var fastLimit: Nanoseconds { .milliseconds(20) }
  /// How soon after the highest number an overtaken segment comes when no round trip is known.
  static var outOfOrderLimit: Nanoseconds { .milliseconds(3) }

  var sides = InlineArray<2, Side>(repeating: Side())
  /// The SYNs, since the last reset, and when the SYN+ACK was captured.
  var syns: SYNTimes?
  var synAckTime: Timestamp?
  /// From the last SYN to the acknowledgment of the SYN+ACK.
  var handshake: Nanoseconds?
  private(set) var serverHandshake: Nanoseconds?
  private(set) var clientHandshake: Nanoseconds?

  /// Whether `segment` opens another connection between the same ends: a SYN with another number.
  func startsAnew(_ segment: Segment) -> Bool {
    guard segment.flags.contains(.syn), !segment.flags.contains(.ack), let base = sides[segment.side].base else {
      return false
    }
    return base != segment.sequence
  }

  /// Whether two duplicate acknowledgments in a row have asked for `segment`.
  func isAskedFor(_ segment: Segment) -> Bool {
    let peer = sides[1 - segment.side]
    return segment.sequenceCount > 0 && peer.duplicateAcks >= 2 && peer.lastAck == segment.sequence
  }

  /// Notes the first numbers of both sides and the times of the handshake. A copy tells neither.
  mutating func open(_ segment: Segment, _ bytes: borrowing Bytes) {
    let (own, other) = (segment.side, 1 - segment.side)
    let (isSYN, isACK) = (segment.flags.contains(.syn), segment.flags.contains(.ack))
    if sides[own].base == nil, !segment.isNumberless {
      sides[own].base = isSYN ? segment.sequence : segment.sequence &- 1
      sides[own].sawSYN = isSYN && !isACK
      sides[own].sawSYNACK = isSYN && isACK
    }
    if isACK, sides[other].base == nil { sides[other].base = segment.acknowledgment &- 1 }
    let now = segment.timestamp
    if segment.flags.contains(.rst) {
      if synAckTime == nil { syns = nil }
      return
    }
    let clocks = isSYN ? SegmentOptions.clocks(segment.options, bytes) : nil
    switch (isSYN, isACK) {
    case (true, false):
      // Behind its own acknowledgment nobody can time it.
      guard sides[own].sawSYN else { break }
      syns = SYNTimes(first: syns?.first ?? now, last: now, count: (syns?.count ?? 0) + 1, clock: clocks?.own ?? 0)
    case (true, true):
      // Later than that nobody waits for it.
      if synAckTime == nil, let syns, now.time(since: syns.first) <= Connections.synPatience {
        serverHandshake = syns.roundTrip(to: now, echoing: clocks?.echoed ?? 0)
      }
      synAckTime = now
    case (false, true) where handshake == nil && sides[own].sawSYN && sides[other].sawSYNACK:
      handshake = syns.map { now.time(since: $0.last) }
      clientHandshake = synAckTime.map { max(.zero, now.time(since: $0)) }
    default: break
    }
  }
}

extension Segment {
  /// Whether it is a reset without a number of its own, as it answers a segment that has none to go by: its 0 is nobody's
  /// next byte.
  var isNumberless: Bool { flags.contains(.rst) && sequence == 0 }
}
