package import IMEngine
import IMWire

/// Writes collected streams as a table for people: a heading, and one line a stream.
///
///       id  client                server              packets  bytes c>s  bytes s>c  gaps  missing  retr  ooo  lost  ...
///        1  192.0.2.1:40000       192.0.2.2:8080           12        310        120     1      300     2    0     1
///
/// Columns are as wide as their widest value. Everything printed is a number or an address made here, so that no byte
/// of a capture reaches the terminal as it came.
package struct StreamTableWriter {
  /// A column: its heading, whether it stands to the right, and what it says of a stream.
  private struct Column {
    var title: String
    var isRight: Bool
    var text: (CollectedStream, StreamAnalysis) -> String

    init(title: String, isRight: Bool, text: @escaping (CollectedStream) -> String) {
      self.title = title
      self.isRight = isRight
      self.text = { stream, _ in text(stream) }
    }

    /// How often an event happened.
    init(title: String, event: StreamEvent) {
      self.title = title
      isRight = true
      text = { _, analysis in "\(analysis[event])" }
    }
  }

  private static func number(_ title: String, _ value: @escaping (CollectedStream) -> UInt64) -> Column {
    Column(title: title, isRight: true) { "\(value($0))" }
  }

  private let columns: [Column] =
    [
      number("id") { UInt64($0.id) },
      Column(title: "client", isRight: false) { "\($0.client)" },
      Column(title: "server", isRight: false) { "\($0.server)" },
      number("packets") { $0.directions.reduce(0) { $0 + $1.packets } },
      number("bytes c>s") { StreamTableWriter.captured($0.directions.first) },
      number("bytes s>c") { StreamTableWriter.captured($0.directions.last) },
      number("gaps") { $0.directions.reduce(0) { $0 + UInt64($1.gaps.count) } },
      number("missing") { $0.directions.reduce(0) { $1.gaps.reduce($0) { $0 &+ UInt64($1.count) } } },
    ] + StreamEvent.allCases.compactMap { event in event.column.map { Column(title: $0, event: event) } }
    + [
      Column(title: "rtt ms", isRight: true) { StreamTableWriter.roundTrip($0) },
      Column(title: "", isRight: false) { StreamTableWriter.remarks($0) },
    ]

  /// A writer.
  package init() {}

  /// A table without lines.
  package func table() -> TextTable {
    TextTable(columns.map(\.title), left: Set(columns.indices.filter { !columns[$0].isRight }))
  }

  /// Adds the line of a stream to such a table.
  package func add(_ stream: CollectedStream, to table: inout TextTable) {
    let analysis = stream.analysis
    table.add(columns.map { $0.text(stream, analysis) })
  }

  /// Appends the table of `streams`, for a terminal of `width` columns if it goes to one.
  package func write(_ streams: [CollectedStream], width: Int? = nil, to out: inout ByteWriter) {
    var table = table()
    for stream in streams { add(stream, to: &table) }
    table.write(to: &out, width: width)
  }

  private static func captured(_ direction: CollectedDirection?) -> UInt64 {
    direction?.ranges.reduce(0) { $0 &+ UInt64($1.count) } ?? 0
  }

  /// The handshake's round trip as the capture saw it from both sides, or the least of the acknowledgments'.
  private static func roundTrip(_ stream: CollectedStream) -> String {
    let acknowledgments = stream.directions.map(\.acknowledgments).filter { $0.count > 0 }.map(\.least).max()
    guard let time = stream.handshake ?? acknowledgments, time >= .zero else { return "-" }
    var text = ByteWriter(capacity: 32)
    text.milliseconds(time.microseconds)
    return text.text
  }

  /// What a reader should know before trusting the line.
  private static func remarks(_ stream: CollectedStream) -> String {
    var remarks: [String] = []
    if !stream.sawSYN { remarks.append("no SYN") }
    let note = CarrierNote(stream.directions.first?.content ?? [])
    if !note.carriers.isDisjoint(with: .proxy) {
      remarks.append(note.client.map { "PROXY for \($0)" } ?? "PROXY")
    }
    if note.carriers.contains(.webSocket) { remarks.append("WebSocket") }
    let conflicts = stream.directions.reduce(0) { $0 + $1.conflictBytes }
    if conflicts > 0 { remarks.append("\(conflicts) conflicting bytes") }
    if !stream.isComplete { remarks.append("over the limits: incomplete") }
    return remarks.joined(separator: ", ")
  }
}

extension StreamEvent {
  /// What its column is called in the table of streams; `nil` where it has none.
  fileprivate var column: String? {
    switch self {
    case .retransmission: "retrans"
    case .outOfOrder: "out of order"
    case .captureDuplicate: "captured twice"
    case .lostSegment: "lost"
    case .duplicateAck: "dup acks"
    case .keepAlive: "keep-alives"
    case .zeroWindow: "zero windows"
    default: nil
    }
  }
}
