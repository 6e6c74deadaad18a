package import IMEngine
import IMMetrics

/// Writes collected streams as a table for people: a heading, and one line a stream.
///
///       id  client                server              packets  bytes c>s  bytes s>c  gaps  missing  retr  ooo  lost  ...
///        1  192.0.2.1:40000       192.0.2.2:8080           12        310        120     1      300     2    0     1
///
/// Columns are as wide as their widest value. Everything printed is a number or an address made here, so that no byte
/// of a capture reaches the terminal as it came.
package struct StreamTableWriter {
  private let columns = MetricColumns(.streams, Catalogue.streams, isGrouped: false)

  /// A writer.
  package init() {}

  /// A table without lines.
  package func table() -> TextTable {
    let titles = ["id", "client", "server"] + columns.titles + [""]
    return TextTable(titles, left: [1, 2, titles.count - 1])
  }

  /// Adds the line of a stream to such a table.
  package func add(_ stream: CollectedStream, to table: inout TextTable) {
    table.add(
      ["\(stream.id)", "\(stream.client)", "\(stream.server)"] + columns.cells(stream) + [Self.remarks(stream)])
  }

  /// Appends the table of `streams`, for a terminal of `width` columns if it goes to one.
  package func write(_ streams: [CollectedStream], width: Int? = nil, to out: inout ByteWriter) {
    var table = table()
    for stream in streams { add(stream, to: &table) }
    table.write(to: &out, width: width)
  }

  /// What a reader should know before trusting the line.
  private static func remarks(_ stream: CollectedStream) -> String {
    var remarks: [String] = []
    if !stream.sawSYN { remarks.append("no SYN") }
    let note = CarrierNote(stream.directions.first?.content ?? [])
    if !note.carriers.isDisjoint(with: .proxy) {
      remarks.append(note.client.map { "PROXY for \($0)" } ?? "PROXY")
    }
    if note.carriers.contains(.tls) { remarks.append("TLS") }
    if note.carriers.contains(.webSocket) { remarks.append("WebSocket") }
    let conflicts = stream.directions.reduce(0) { $0 + $1.conflictBytes }
    if conflicts > 0 { remarks.append("\(conflicts) conflicting bytes") }
    if !stream.isComplete { remarks.append("over the limits: incomplete") }
    return remarks.joined(separator: ", ")
  }
}
