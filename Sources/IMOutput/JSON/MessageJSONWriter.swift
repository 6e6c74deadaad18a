package import IMEngine
import IMWire

/// One message as one JSON object: `imdump messages --json`.
package struct MessageJSONWriter {
  private let hasNames: Bool

  /// A writer; without `hasNames` it leaves out who talks, so that lines of a capture and of its redacted copy are the same.
  package init(hasNames: Bool = true) { self.hasNames = hasNames }

  /// Appends one line.
  package func write(_ record: MessageRecord, _ exchange: Exchange, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      identity(record, &lines)
      lines.exact("len", UInt64(record.bodyCount))
      outcome(record, exchange, &lines)
      list("ts", record.copies, &lines)
      lines.instant("time", exchange.firstAt)
      lines.openList("crc")
      for status in record.checksums { lines.item(name: status.name) }
      lines.closeList()
      answers(record, exchange, &lines)
      lines.exact("retries", exchange.repeats)
      lines.exact("dup_after_ack", exchange.duplicates)
      if let latency = exchange.latency?.microseconds { lines.signed("rtt_us", latency) }
      if let roundTrip = exchange.roundTrip?.microseconds { lines.signed("rtt_karn_us", roundTrip) }
      if let latency = record.deliveredAfter?.microseconds { lines.signed("delivered_us", latency) }
      if let latency = record.readAfter?.microseconds { lines.signed("read_us", latency) }
      if exchange.flags.contains(.late) { lines.literal("\"late\":true") }
      if !record.tlvs.isEmpty {
        var next = 0
        lines.openList("tlv")
        tree(record.tlvs, &next, depth: 0, &lines)
        lines.closeList()
      }
      if let compression = record.compression { lines.name("comp", compression) }
      if record.flags != 0 {
        lines.openList("flags")
        FrameFlagNames.write(record.flags, to: &lines.writer)
        lines.closeList()
      }
      if let owner = record.owner { lines.owner(owner) }
    }
  }

  /// Whose message it is, and of which type.
  private func identity(_ record: MessageRecord, _ lines: inout JSONLines) {
    lines.exact("conn", record.connection.serial)
    if hasNames {
      lines.endpoint("client", record.connection.client)
      lines.endpoint("server", record.connection.server)
    }
    lines.writer.carriers(record.connection, hasNames: hasNames)
    lines.name("dir", record.direction == .clientToServer ? "c2s" : "s2c")
    lines.name("type", record.type)
    lines.name("role", record.role.name)
    if let sequence = record.sequence { lines.exact("seq", sequence) }
    if hasNames, let session = record.session {
      if record.sessionIsNumber { lines.digits("session", session) } else { lines.string("session", session) }
    }
  }

  /// What became of it.
  private func outcome(_ record: MessageRecord, _ exchange: Exchange, _ lines: inout JSONLines) {
    lines.name("fate", exchange.fate.name)
    if let cause = exchange.cause { lines.name("cause", cause.name) }
    guard let status = record.status else { return }
    lines.exact("status", status.number)
    if let name = record.statusName { lines.string("status_name", name) }
  }

  /// When it was acknowledged: one that names a later message has answered this one, too.
  private func answers(_ record: MessageRecord, _ exchange: Exchange, _ lines: inout JSONLines) {
    guard record.answers.isEmpty, exchange.isAnswered else { return list("acks", record.answers, &lines) }
    lines.openList("acks")
    lines.item(exchange.ackedAt.microseconds)
    lines.closeList()
  }

  private func list(_ key: StaticString, _ values: ShortList<Int64>, _ lines: inout JSONLines) {
    lines.openList(key)
    for value in values { lines.item(value) }
    lines.closeList()
  }

  /// `[tag, length, children or null], ...`; at most as deep as the decoder walks.
  private func tree(_ tlvs: [TLVRef], _ next: inout Int, depth: UInt16, _ lines: inout JSONLines) {
    while next < tlvs.count, tlvs[next].depth == depth {
      let tlv = tlvs[next]
      next += 1
      lines.openList()
      lines.item(Int64(tlv.tag))
      lines.item(Int64(tlv.count))
      if tlv.isList {
        lines.openList()
        tree(tlvs, &next, depth: depth + 1, &lines)
        lines.closeList()
      } else {
        lines.literal("null")
      }
      lines.closeList()
    }
  }
}
