import IMEngine
import IMMetrics
import IMWire

/// What the rules need to know of one connection.
final class MonitoredConnection {
  @exclusivity(unchecked) var info: ConnectionInfo
  /// The index of its server in the table; `nil` while nothing decodes it, or where the table is full.
  @exclusivity(unchecked) var endpoint: UInt32?
  /// Who has its end of this host, once that is known.
  var owner: String?
  /// Whether its last report has come.
  var isOver = false
  /// What its last report counted, where a rule wants to know.
  var told = ReportCounts()
  /// Heartbeats without an answer, in a row.
  var missedInARow: UInt64 = 0

  init(_ info: ConnectionInfo) { self.info = info }
}
