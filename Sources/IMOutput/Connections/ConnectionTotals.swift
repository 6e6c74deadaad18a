import IMEngine
package import IMMetrics
import IMWire

/// How the connections of a list ended, counted, and the server that all of them went to.
package struct ConnectionTotals {
  private var byReason = [UInt64](repeating: 0, count: CloseReason.allCases.count)
  private var resets: [UInt64] = [0, 0]
  private var server: Endpoint?
  private var hasOneServer = true
  /// Connections.
  package private(set) var count: UInt64 = 0

  /// None.
  package init() {}

  /// Adds a connection.
  package mutating func add(_ row: ListedConnection) {
    count += 1
    byReason[Int(row.reason.rawValue)] += 1
    if let direction = row.resetBy { resets[Int(direction.rawValue)] += 1 }
    if let server, server != row.info.server { hasOneServer = false }
    server = row.info.server
  }

  /// `8 connections to 203.0.113.10:8080: 3 open, 2 fin, 2 rst (1 by the client, 1 by the server), 1 refused`, and at the end how
  /// many of them the list shows, where that is not all. It is broken to fit `width` columns.
  package func text(shown: UInt64, all: UInt64, width: Int?) -> String {
    var head = IMOutput.count(count, "connection")
    if all > count { head += " of \(grouped(all))" }
    if hasOneServer, count > 1, let server { head += " to \(server)" }
    let parts = CloseReason.allCases.compactMap { reason -> String? in
      let count = byReason[Int(reason.rawValue)]
      guard count > 0 else { return nil }
      guard reason == .reset else { return "\(grouped(count)) \(reason.name)" }
      let sides = zip(resets, ["client", "server"]).filter { $0.0 > 0 }.map { "\(grouped($0)) by the \($1)" }
      return "\(grouped(count)) \(reason.name)" + (sides.isEmpty ? "" : " (\(sides.joined(separator: ", ")))")
    }
    let more = shown < count ? "; \(grouped(shown)) shown" : ""
    return wrapped(head + (parts.isEmpty ? "" : ": ") + parts.joined(separator: ", ") + more, width)
  }
}
