package import IMMetrics
package import IMWire

/// The cells of `imdump streams`, for other tables of connections.
package struct ConnectionCells {
  private let columns: [String: ConnectionColumns.Column]
  private let style: ConnectionColumns.Style

  /// Cells with the names of the plans in `profiles`, and times in `zone`.
  package init(profiles: [String], zone: LocalZone) {
    columns = Dictionary(uniqueKeysWithValues: ConnectionColumns().all.map { ($0.title, $0) })
    style = ConnectionColumns.Style(profiles: profiles, zone: zone)
  }

  /// A connection's cell in the column with this title of `imdump streams`; `nil` where there is no such column.
  package func text(_ title: String, of row: ListedConnection) -> String? { columns[title]?.cell(row, style) }
}
