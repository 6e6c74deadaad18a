import IMEngine
import IMWire

/// What the rules need to know of one connection.
final class MonitoredConnection {
  @exclusivity(unchecked) var info: ConnectionInfo
  /// The index of its server in the table; `nil` while nothing decodes it, or where the table is full.
  @exclusivity(unchecked) var endpoint: UInt32?
  /// Whether its last report has come.
  var isOver = false
  /// Heartbeats without an answer, in a row.
  var missedInARow: UInt64 = 0
  /// When the last heartbeat was sent, the last interval and the jitter (RFC 3550), in microseconds.
  private var beatAt: Int64?
  private var beatInterval: Int64?
  private var jitter = 0.0

  init(_ info: ConnectionInfo) { self.info = info }

  /// Takes note of a heartbeat; gives the jitter in milliseconds, from the third one on.
  func beat(at time: Timestamp) -> Double? {
    let now = time.microseconds
    defer { beatAt = now }
    guard let last = beatAt else { return nil }
    let interval = max(0, now - last)
    defer { beatInterval = interval }
    guard let previous = beatInterval else { return nil }
    jitter += (Double(abs(interval - previous)) - jitter) / 16
    return jitter / 1_000
  }
}
