import IMWire

/// The time, as packets tell it. All stages share one: what a packet brings about is dated by the packet.
///
/// A class of plain fields that nobody holds on to while another writes them, so accesses are not checked.
final class PacketClock {
  /// The interval at which expired exchanges are searched for and open connections are reported on.
  static var tick: Nanoseconds { .milliseconds(100) }

  /// When the packet in hand came, or the last one; while something that has become due is done, when that became due.
  @exclusivity(unchecked) var lastPacketAt = Timestamp.distantPast
  /// How far what becomes due has been done.
  @exclusivity(unchecked) var now = Timestamp.distantPast
  /// The next moment at which something other than a packet happens: the earlier one of the two below.
  @exclusivity(unchecked) private(set) var wake = Timestamp.distantPast
  /// When holes are looked at next, and when everything else is.
  @exclusivity(unchecked) private(set) var holesAt = Timestamp.distantPast
  @exclusivity(unchecked) private(set) var due = Timestamp.distantPast

  /// Whether packets came whose times are unknown: then no round trip is one.
  @exclusivity(unchecked) var isTimeless = false

  /// The moment that has come: the last packet's, or a later one's before it.
  ///
  /// What becomes due has no segment in hand: where the last one stood, another may have been read ahead.
  @inline(__always)
  var moment: Timestamp { max(lastPacketAt, now) }

  /// The last multiple of `tick` since the epoch that is not after `time`.
  static func tick(before time: Timestamp) -> Timestamp {
    let partial = time.nanoseconds % tick.count
    let (start, isBelowAll) = time.nanoseconds.subtractingReportingOverflow(
      partial < 0 ? partial + tick.count : partial)
    return isBelowAll ? time : Timestamp(nanoseconds: start)
  }

  /// Nothing but holes is looked at before `time`.
  func sleep(until time: Timestamp) {
    due = time
    wake = min(due, holesAt)
  }
  /// Holes are not looked at before `time`.
  func sleep(untilHoles time: Timestamp) {
    holesAt = time
    wake = min(due, holesAt)
  }
  /// Something other than a hole is due at `time`.
  func wake(by time: Timestamp) {
    due = min(due, time)
    wake = min(wake, time)
  }
  /// A hole is due at `time`.
  func wake(forHoleAt time: Timestamp) {
    holesAt = min(holesAt, time)
    wake = min(wake, time)
  }
  /// Something has run short: what is due is looked at before the next packet.
  func wakeNow() { wake(by: .distantPast) }
}
