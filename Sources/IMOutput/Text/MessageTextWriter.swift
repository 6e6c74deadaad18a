package import IMEngine
import IMWire

/// One message and its fate as a line to read, but for the time at its beginning: `imdump messages`.
package struct MessageTextWriter {
  private let style: TextStyle

  /// A writer.
  package init(style: TextStyle) { self.style = style }

  /// Appends one line.
  package func write(_ record: MessageRecord, _ exchange: Exchange, to out: inout ByteWriter) {
    out.connection(record.connection)
    out.endpoint(record.direction == .clientToServer ? record.connection.client : record.connection.server)
    out.literal(" > ")
    out.endpoint(record.direction == .clientToServer ? record.connection.server : record.connection.client)
    out.literal(" ")
    out.text(record.type)
    if let sequence = record.sequence {
      out.literal(" seq ")
      out.number(sequence)
    }
    if var session = record.session {
      out.literal(" session ")
      session.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: 64) }
    }
    out.literal(" len ")
    out.number(UInt64(record.bodyCount))
    out.literal(": ")
    let isBad = exchange.fate == .unanswered || exchange.fate == .damaged || exchange.fate == .rejected
    if style.isColoured { out.text(isBad ? "\u{1b}[31m" : exchange.copies > 1 ? "\u{1b}[33m" : "") }
    out.text(exchange.fate.name)
    if style.isColoured { out.literal("\u{1b}[0m") }
    if let latency = exchange.latency?.microseconds {
      out.literal(" after ")
      out.milliseconds(latency)
      out.literal(" ms")
    }
    explain(record, exchange, to: &out)
    if exchange.flags.contains(.late) { out.literal(", late") }
    for (name, latency) in record.receipts {
      out.text(", \(name) after ")
      out.milliseconds(latency.microseconds)
      out.literal(" ms")
    }
    if exchange.copies > 1 {
      out.literal(", ")
      out.number(exchange.copies)
      out.literal(" copies")
      if exchange.duplicates > 0 {
        out.literal(" (")
        out.number(exchange.duplicates)
        out.literal(" after the answer)")
      }
    }
    if exchange.acks > 1 {
      out.literal(", ")
      out.number(exchange.acks)
      out.literal(" answers")
    }
    if record.checksums.contains(.bad) { out.literal(", crc bad") }
    out.literal("\n")
    if let lines = record.details?.lines { lines.withUnsafeBytes { out.raw($0) } }
  }

  /// Why it did not succeed, and what status the answer has.
  private func explain(_ record: MessageRecord, _ exchange: Exchange, to out: inout ByteWriter) {
    let peer: StaticString = record.direction == .clientToServer ? "server" : "client"
    switch exchange.cause {
    case .network:
      out.literal(", the ")
      out.literal(peer)
      out.literal("'s TCP never acknowledged it")
    case .peer:
      out.literal(", though the ")
      out.literal(peer)
      out.literal("'s TCP acknowledged it")
    case .capture: out.literal(", the answer may be in bytes missing from the capture")
    case .checksum: out.literal(", every copy had a bad checksum")
    case .limit: out.literal(", it was dropped at a memory limit while still open")
    case .status, nil: break
    }
    guard let status = record.status else { return }
    out.literal(", status ")
    out.number(status.number)
    if let name = record.statusName {
      out.literal(" ")
      out.text(name)
    }
  }
}
