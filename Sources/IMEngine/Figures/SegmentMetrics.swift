package import IMWire

/// What the segments of one direction were, as far as they were not simply the next ones. Definitions: `docs/metrics.md`.
///
/// Acknowledgments, keep-alives and windows are counted for the side that sent them, like everything else.
package struct SegmentMetrics: Equatable, Sendable, BitwiseCopyable {
  /// Segments sent again: payload, a SYN or a FIN that was captured before, and payload that fills a hole too late to have
  /// only been overtaken. The next three are among them.
  package var retransmissions: UInt32 = 0
  /// Of these, those within 20 ms of the second duplicate acknowledgment that asked for them.
  package var fast: UInt32 = 0
  /// Of these, those of bytes that the receiver had acknowledged, also selectively.
  package var spurious: UInt32 = 0
  /// Of these, those that followed the last copy, or the last new payload, by 200 ms or more.
  package var timeouts: UInt32 = 0
  /// Segments that were overtaken by later ones, and came soon behind them.
  package var outOfOrder: UInt32 = 0
  /// Segments that the network lost: retransmissions that the receiver needed, and holes that it told of by selective
  /// acknowledgments and that were closed by a retransmission which was not captured.
  package var lost: UInt32 = 0
  /// Packets of this side that were captured twice.
  package var copies: UInt32 = 0
  /// Holes of bytes that the receiver acknowledged and that were not captured, and these bytes.
  package var missedHoles: UInt32 = 0
  /// Bytes of these holes.
  package var missedBytes: UInt64 = 0
  /// Acknowledgments that repeat the last one.
  package var duplicateAcks: UInt32 = 0
  /// Segments of at most one byte just below the next number, and the answers that this side gave to the other's.
  package var keepAlives: UInt32 = 0, keepAliveAcks: UInt32 = 0
  /// Segments that closed this side's window, or kept it closed.
  package var zeroWindows: UInt32 = 0
  /// FINs after the first: the other side did not acknowledge that this one closes.
  package var finsAgain: UInt32 = 0
  /// Times from a segment of this side to its acknowledgment.
  package var roundTrips = AckRoundTrips()

  /// All zero.
  package init() {}

  /// Adds another's counts.
  package mutating func add(_ other: SegmentMetrics) {
    retransmissions &+= other.retransmissions
    fast &+= other.fast
    spurious &+= other.spurious
    timeouts &+= other.timeouts
    outOfOrder &+= other.outOfOrder
    lost &+= other.lost
    copies &+= other.copies
    missedHoles &+= other.missedHoles
    missedBytes &+= other.missedBytes
    duplicateAcks &+= other.duplicateAcks
    keepAlives &+= other.keepAlives
    keepAliveAcks &+= other.keepAliveAcks
    zeroWindows &+= other.zeroWindows
    finsAgain &+= other.finsAgain
    roundTrips.add(other.roundTrips)
  }
}

/// Times from a segment to its acknowledgment, in ticks of 256 ns.
///
/// One segment at a time is timed in each direction, as senders do it (RFC 6298, section 3), and none that was sent twice
/// (Karn's rule).
package struct AckRoundTrips: Equatable, Sendable, BitwiseCopyable {
  private var sum: UInt64 = 0
  /// How many were measured.
  package private(set) var count: UInt32 = 0
  private var least: UInt32 = .max, most: UInt32 = 0

  /// None.
  package init() {}

  /// The shortest; `nil` when there is none, as the others are.
  package var minimum: Nanoseconds? { count == 0 ? nil : Nanoseconds(Int64(least) << 8) }
  /// The longest.
  package var maximum: Nanoseconds? { count == 0 ? nil : Nanoseconds(Int64(most) << 8) }
  /// The mean.
  package var mean: Nanoseconds? { count == 0 ? nil : Nanoseconds(Int64(clamping: sum / UInt64(count)) << 8) }

  /// The tick of a time, which comes round after 18 minutes.
  @inline(__always)
  static func tick(_ time: Timestamp) -> UInt32 { UInt32(truncatingIfNeeded: time.nanoseconds >> 8) }

  /// DirectionState of the ticks there are: a time that is as long or longer is one that went back.
  private static var turned: UInt32 { 1 << 31 }

  /// The time since a tick; zero where the clock went back.
  static func age(of begin: UInt32, at now: Timestamp) -> Nanoseconds {
    let ticks = tick(now) &- begin
    return ticks < turned ? Nanoseconds(Int64(ticks) << 8) : .zero
  }

  /// Adds the time between two ticks; one that a clock which went back makes negative is left out.
  @inline(never)
  mutating func record(from begin: UInt32, to end: UInt32) {
    let ticks = end &- begin
    guard ticks < Self.turned else { return }
    least = min(least, ticks)
    most = max(most, ticks)
    sum &+= UInt64(ticks)
    count &+= 1
  }

  /// Adds another's.
  package mutating func add(_ other: AckRoundTrips) {
    least = min(least, other.least)
    most = max(most, other.most)
    sum &+= other.sum
    count &+= other.count
  }
}
