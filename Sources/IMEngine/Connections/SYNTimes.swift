import IMWire

/// The SYNs of a connection, as far as its handshake's round trip depends on them.
struct SYNTimes: BitwiseCopyable {
  /// When the first and the last one were sent.
  var first: Timestamp, last: Timestamp
  /// How many they were.
  var count: Int
  /// The sender's clock in the last one; 0 where it told none.
  var clock: UInt32

  /// The time to a SYN+ACK at `now` from the SYN that it answers: the last one, unless it echoes another's clock, and
  /// of more than two SYNs nobody can tell which that is.
  func roundTrip(to now: Timestamp, echoing echo: UInt32) -> Nanoseconds? {
    if count > 1, clock != 0, echo != 0, echo != clock {
      return count == 2 ? max(.zero, now.time(since: first)) : nil
    }
    return max(.zero, now.time(since: last))
  }
}
