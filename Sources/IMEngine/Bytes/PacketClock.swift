import IMWire

/// The time, as packets tell it. All stages share one: what a packet brings about is dated by the packet.
///
/// A class of plain fields that nobody holds on to while another writes them, so accesses are not checked.
final class PacketClock {
  /// When the packet in hand came, or the last one.
  @exclusivity(unchecked) var lastPacketAt = Timestamp.distantPast
  /// How far what becomes due has been done.
  @exclusivity(unchecked) var now = Timestamp.distantPast
  /// The next moment at which something other than a packet happens.
  @exclusivity(unchecked) private(set) var wake = Timestamp.distantPast

  /// The moment that has come: the last packet's, or a later one's before it.
  ///
  /// What becomes due has no segment in hand: where the last one stood, another may have been read ahead.
  @inline(__always)
  var moment: Timestamp { max(lastPacketAt, now) }

  /// Nothing is to happen before `time`.
  func sleep(until time: Timestamp) { wake = time }
  /// Something is to happen at `time`, or earlier.
  func wake(by time: Timestamp) { wake = min(wake, time) }
  /// Something has run short: what is due is looked at before the next packet.
  func wakeNow() { wake = .distantPast }
}
