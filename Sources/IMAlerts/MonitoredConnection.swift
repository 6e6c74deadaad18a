import IMEngine
import IMMetrics
import IMWire

/// What the rules need to know of one connection.
final class MonitoredConnection {
  @exclusivity(unchecked) var info: ConnectionInfo
  /// The index of its server in the table; `nil` while nothing decodes it, or where the table is full.
  @exclusivity(unchecked) var endpoint: UInt32?
  /// Whether its last report has come.
  var isOver = false
  /// What its last report counted, where a rule wants to know.
  var told = ReportCounts()
  /// Heartbeats without an answer, in a row.
  var missedInARow: UInt64 = 0
  /// When the last heartbeat was sent, and the last interval, in microseconds.
  private var beatAt: Int64?
  private var beatInterval: Int64?

  init(_ info: ConnectionInfo) { self.info = info }

  /// Takes note of a heartbeat; gives how much its interval differs from the one before in milliseconds, from the third on.
  func beat(at time: Timestamp) -> Double? {
    let now = time.microseconds
    defer { beatAt = now }
    guard let last = beatAt else { return nil }
    let interval = max(0, now - last)
    defer { beatInterval = interval }
    guard let previous = beatInterval else { return nil }
    return Double(abs(interval - previous)) / 1_000
  }
}
