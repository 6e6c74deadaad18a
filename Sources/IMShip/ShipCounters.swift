/// What a run of `imdump ship` did, and how far it is behind.
package struct ShipCounters: Equatable, Sendable {
  /// Documents of this and of earlier runs, by what became of them.
  package var totals = ShipState.Totals()
  /// Requests by what became of them.
  package var done: UInt64 = 0, again: UInt64 = 0, denied: UInt64 = 0
  /// Bytes of documents that are done with, and of the bodies that were sent.
  package var bytes: UInt64 = 0, sentBytes: UInt64 = 0
  /// Bytes of documents that are not sent yet.
  package var lagBytes: UInt64 = 0
  /// Seconds since the time of the oldest document that is not sent; 0 where all are.
  package var lagSeconds = 0.0

  /// None.
  package init() {}

  /// The counters as OpenMetrics text.
  package var text: String {
    func family(_ name: String, _ type: String, _ help: String, _ samples: [(String, String)]) -> String {
      let suffix = type == "counter" ? "_total" : ""
      return "# TYPE \(name) \(type)\n# HELP \(name) \(help)\n"
        + samples.map { "\(name)\(suffix)\($0.0) \($0.1)\n" }.joined()
    }
    return family(
      "imdump_ship_documents", "counter", "Documents by outcome.",
      [
        ("{outcome=\"stored\"}", "\(totals.stored)"), ("{outcome=\"known\"}", "\(totals.known)"),
        ("{outcome=\"refused\"}", "\(totals.refused)"), ("{outcome=\"lost\"}", "\(totals.lost)"),
      ])
      + family(
        "imdump_ship_lost_files", "counter", "Files that were gone before all of them was sent.",
        [("", "\(totals.lostFiles)")])
      + family(
        "imdump_ship_requests", "counter", "Requests of this run by outcome.",
        [("{outcome=\"done\"}", "\(done)"), ("{outcome=\"again\"}", "\(again)"), ("{outcome=\"denied\"}", "\(denied)")])
      + family("imdump_ship_bytes", "counter", "Bytes of documents that this run has finished.", [("", "\(bytes)")])
      + family("imdump_ship_sent_bytes", "counter", "Bytes of request bodies, compressed.", [("", "\(sentBytes)")])
      + family("imdump_ship_lag_bytes", "gauge", "Bytes of documents that are not sent yet.", [("", "\(lagBytes)")])
      + family(
        "imdump_ship_lag_seconds", "gauge", "Age of the oldest document that is not sent yet.",
        [("", "\((lagSeconds * 1_000).rounded() / 1_000)")])
      + "# EOF\n"
  }
}
