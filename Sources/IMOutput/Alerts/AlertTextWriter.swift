package import IMAlerts
import IMEngine
import IMMetrics
import IMWire

/// An alert as a line to read:
///
///     12:00:40.000000 ** loss-high firing (page): loss 0.041 > 0.02 for 120 s on 192.0.2.9:8080; 41 of 1000,
///       10.0.0.7:51234 (#2) to 10.0.0.9:51111 (#31)
///
/// in one line: what is wrong, of how many, and the first and the last connection concerned.
package struct AlertTextWriter {
  private let isColoured: Bool
  private var times: TimeText

  /// A writer in the style of the frames' lines.
  package init(style: TextStyle) {
    isColoured = style.isColoured
    times = TimeText(style)
  }

  /// Appends the line.
  package mutating func write(_ event: AlertEvent, to out: inout ByteWriter) {
    times.write(event.at, to: &out)
    if isColoured { out.text(event.state == .resolved ? "\u{1B}[32m" : "\u{1B}[31m") }
    out.literal("** ")
    out.text(event.rule.name)
    out.literal(" ")
    out.text(event.state.rawValue)
    if isColoured { out.literal("\u{1B}[0m") }
    out.text(" (\(event.rule.severity.rawValue)): \(event.reason)")
    if event.state != .resolved, event.affected > 0, event.affected < event.samples {
      out.text("; \(event.affected) of \(event.samples)")
    }
    if event.state != .resolved, event.connection == nil, let first = event.first {
      out.literal("; ")
      Self.write(first.connection, to: &out)
      if let last = event.last, last.connection.serial != first.connection.serial {
        out.literal(" to ")
        Self.write(last.connection, to: &out)
      }
    }
    if let evidence = event.evidence { out.text("; evidence \(evidence)") }
    out.literal("\n")
  }

  private static func write(_ connection: ConnectionInfo, to out: inout ByteWriter) {
    out.endpoint(connection.client)
    if connection.serial > 0 { out.text(" (#\(connection.serial))") }
  }
}
