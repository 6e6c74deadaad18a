import IMWire

/// How long a connection may be silent and live on: a silence is survived when the peer acknowledges what ended it.
extension Tracker {
  /// Takes note of a frame behind a silence that is longer than every one that was survived so far.
  @inline(never)
  func noteSilence(
    _ silence: Nanoseconds, _ frame: UnsafePointer<Frame>, _ figure: Ref<ConnectionFigures>,
    _ side: FlowSide
  ) {
    figure.pointee.resolveSilence(side.flow)
    let new = SilenceLength(silence)
    guard silence > figure.pointee.longestSilence, new.time > figure.pointee.ended.time else { return }
    figure.pointee.ended = new
    figure.pointee.silenceSide = UInt8(truncatingIfNeeded: side.number)
    figure.pointee.silenceEnd = UInt32(truncatingIfNeeded: frame.pointee.streamOffset &+ UInt64(frame.pointee.count))
  }
}

extension ConnectionFigures {
  /// Counts the silence that waits as survived when the frame that ended it was acknowledged.
  mutating func resolveSilence(_ flow: Ref<Flow>) {
    guard !ended.isNone else { return }
    let direction = flow.pointee.direction(Int(silenceSide))
    guard flow.hasAcknowledged(silenceEnd, direction) == true else { return }
    longestSilence = max(longestSilence, ended.time)
    ended = SilenceLength()
  }
}
