package import IMMetrics
import IMTerminal
import IMWire

/// The last minute of a live run beside the whole of it, and the clients with the most trouble: the head of `imdump stats -i`.
package struct LivePeriodsWriter {
  private let columns: FigureColumns<PeriodSnapshot>
  private let hasChecksums: Bool
  private static let minute = "last minute", whole = "since start"

  /// A writer. `hasChecksums`: whether a profile has some.
  package init(hasChecksums: Bool) {
    self.hasChecksums = hasChecksums
    // What is told of connections when they end is in the tables.
    columns = FigureColumns(.periods, Catalogue.periods) { $0.moment != .end }
  }

  /// The figures, a line for each; in two blocks side by side where a terminal of `width` columns has room for them.
  package func lines(minute: PeriodSeries.Row, whole: PeriodSeries.Row, width: Int) -> [String] {
    let cells = [minute, whole].map { columns.cells(PeriodSnapshot($0, hasChecksums: hasChecksums)) }
    let rows = columns.titles.indices.map { [columns.titles[$0], cells[0][$0], cells[1][$0]] }
    let half = (rows.count + 1) / 2
    let blocks = [Array(rows[..<half]), Array(rows[half...])].map { table($0) }
    let left = blocks[0].map(IMTerminal.cells).max() ?? 0
    guard left + 4 + (blocks[1].map(IMTerminal.cells).max() ?? 0) <= width else { return table(rows) }
    return blocks[0].indices.map { line in
      let first = blocks[0][line]
      guard line < blocks[1].count else { return first }
      return first + String(repeating: " ", count: left + 4 - IMTerminal.cells(first)) + blocks[1][line]
    }
  }

  /// Clients with what did not succeed, the worst first; none where everything did.
  package func lines(clients: [ClientTrouble], width: Int) -> [String] {
    guard !clients.isEmpty else { return [] }
    var table = TextTable(["clients with the most trouble", "lost", "rejected", "retries"])
    for client in clients {
      table.add([client.name] + [client.lost, client.rejected, client.retries].map(grouped))
    }
    return lines(table, width)
  }

  private func table(_ rows: [[String]]) -> [String] {
    var table = TextTable(["", Self.minute, Self.whole])
    for row in rows { table.add(row) }
    return lines(table, nil)
  }

  private func lines(_ table: TextTable, _ width: Int?) -> [String] {
    var out = ByteWriter()
    table.write(to: &out, width: width)
    return out.text.split(separator: "\n").map(String.init)
  }
}

/// What did not succeed of a client's messages, and of those to it.
package struct ClientTrouble: Equatable, Sendable {
  /// Its address.
  package let name: String
  /// Messages that were lost, that were refused, and copies that were sent again.
  package var lost: UInt64 = 0, rejected: UInt64 = 0, retries: UInt64 = 0

  /// A client without trouble.
  package init(name: String) { self.name = name }

  /// Whether it comes before another one.
  package func isWorse(than other: ClientTrouble) -> Bool {
    (lost + rejected, retries, other.name) > (other.lost + other.rejected, other.retries, name)
  }
}
