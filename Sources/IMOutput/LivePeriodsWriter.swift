package import IMMetrics
import IMTerminal
import IMWire

/// The last minute of a live run beside the whole run, and the clients with the most problems: the head of `imdump stats -i`.
package struct LivePeriodsWriter {
  private let columns: MetricColumns<PeriodSnapshot>
  private let hasChecksums: Bool
  private static let minute = "last minute", whole = "since start"

  /// A writer. `hasChecksums`: whether a profile has some.
  package init(hasChecksums: Bool) {
    self.hasChecksums = hasChecksums
    // Metrics that are known when connections end are in the tables.
    columns = MetricColumns(.periods, Catalogue.periods) { $0.moment != .end }
  }

  /// A line for each metric, in two blocks side by side if a terminal of `width` columns has room for them. The percentiles of the whole
  /// run are those of `total`, as in the tables below.
  package func lines(
    minute: PeriodSeries.Row, whole: PeriodSeries.Row, total: EndpointMetrics, width: Int
  ) -> [String] {
    let cells = [minute, whole].map { columns.cells(PeriodSnapshot($0, hasChecksums: hasChecksums)) }
    let exact = Self.roundTrips(total)
    var rows = columns.titles.indices.map { i in
      let title = columns.titles[i]
      return [title, cells[0][i], exact[title] ?? cells[1][i]]
    }
    // A percentage alone does not say whether to get up.
    let lost = [minute, whole].map { grouped($0.metrics.messages.both.lost) }
    rows.insert(["lost"] + lost, at: rows.firstIndex { $0[0] == "loss" } ?? 0)
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

  /// The cells of the table of round trips by the titles that periods have for them: `p50 c2s`.
  private static func roundTrips(_ total: EndpointMetrics) -> [String: String] {
    let columns = MetricColumns(.roundTrips, Catalogue.servers)
    var cells: [String: String] = [:]
    for (way, name) in ["c2s", "s2c"].enumerated() {
      for (title, cell) in zip(columns.titles, columns.cells(ServerSnapshot(total), way: way)) {
        cells["\(title) \(name)"] = cell
      }
    }
    return cells
  }

  /// A table of clients, in their order; no lines without clients.
  package func lines(clients: [ClientProblems], width: Int) -> [String] {
    guard !clients.isEmpty else { return [] }
    var table = TextTable(["clients with the most problems", "lost", "rejected", "retries"])
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

/// Counts of lost, rejected and retried messages of one client, in both directions.
package struct ClientProblems: Equatable, Sendable {
  /// Its address.
  package let name: String
  /// Lost messages, rejected messages, and retries.
  package var lost: UInt64 = 0, rejected: UInt64 = 0, retries: UInt64 = 0

  /// A client without problems.
  package init(name: String) { self.name = name }

  /// Whether it comes before another one.
  package func isWorse(than other: ClientProblems) -> Bool {
    (lost + rejected, retries, other.name) > (other.lost + other.rejected, other.retries, name)
  }
}
