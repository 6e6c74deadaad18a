import IMWire

/// The length of a silence in 32 bits: microseconds up to 35 minutes, then steps of a millisecond up to 24 days.
struct SilenceLength: BitwiseCopyable {
  private var bits: UInt32 = 0
  private static var coarse: UInt32 { 1 << 31 }

  init() {}

  /// A silence of so many nanoseconds.
  init(nanoseconds: Int64) {
    let microseconds = max(1, nanoseconds / 1_000)
    bits =
      microseconds < Int64(Self.coarse)
      ? UInt32(truncatingIfNeeded: microseconds)
      : Self.coarse | UInt32(clamping: min(microseconds / 1_000, Int64(Self.coarse) - 1))
  }

  /// Whether there is none.
  var isNone: Bool { bits == 0 }
  /// Its length in nanoseconds.
  var nanoseconds: Int64 {
    bits & Self.coarse == 0 ? Int64(bits) * 1_000 : Int64(bits & ~Self.coarse) * 1_000_000
  }
}

/// How long a connection may be silent and live on: a silence is survived when the peer acknowledges what ended it.
extension Tracker {
  /// Takes note of a frame behind a silence that is longer than every one that was survived so far.
  @inline(never)
  func noteSilence(
    _ silence: Int64, _ frame: UnsafePointer<Frame>, _ figure: UnsafeMutablePointer<ConnectionFigures>,
    _ flow: UnsafeMutablePointer<Flow>, _ direction: Direction
  ) {
    figure.pointee.resolveSilence(flow)
    let new = SilenceLength(nanoseconds: silence)
    guard silence > figure.pointee.longestSilence, new.nanoseconds > figure.pointee.ended.nanoseconds else { return }
    figure.pointee.ended = new
    figure.pointee.silenceSide = UInt8(truncatingIfNeeded: flow.pointee.side(direction))
    figure.pointee.silenceEnd = UInt32(truncatingIfNeeded: frame.pointee.streamOffset &+ UInt64(frame.pointee.count))
  }
}

extension ConnectionFigures {
  /// Counts the silence that waits as survived when the frame that ended it was acknowledged.
  mutating func resolveSilence(_ flow: UnsafeMutablePointer<Flow>) {
    guard !ended.isNone else { return }
    let direction = flow.pointee.direction(Int(silenceSide))
    guard flow.hasAcknowledged(silenceEnd, direction) == true else { return }
    longestSilence = max(longestSilence, ended.nanoseconds)
    ended = SilenceLength()
  }
}
