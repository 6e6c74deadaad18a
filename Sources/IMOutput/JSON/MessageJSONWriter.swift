package import IMEngine
import IMWire

/// One message as one JSON object: `imdump messages --json`.
package struct MessageJSONWriter {
  /// A writer.
  package init() {}

  /// Appends one line.
  package func write(_ record: MessageRecord, _ exchange: Exchange, to out: inout ByteWriter) {
    out.literal("{\"conn\":")
    out.number(record.connection.serial)
    out.literal(",\"client\":\"")
    out.endpoint(record.connection.client)
    out.literal("\",\"server\":\"")
    out.endpoint(record.connection.server)
    out.literal("\"")
    out.carriers(record.connection)
    out.literal(",\"dir\":\"")
    out.literal(record.direction == .clientToServer ? "c2s" : "s2c")
    out.literal("\",\"type\":\"")
    out.text(record.type)
    out.literal("\"")
    if let sequence = record.sequence {
      out.literal(",\"seq\":")
      out.number(sequence)
    }
    if let session = record.session {
      out.literal(",\"session\":")
      if record.sessionIsNumber { out.text(session) } else { out.jsonString(session) }
    }
    out.literal(",\"len\":")
    out.number(UInt64(record.bodyCount))
    out.literal(",\"fate\":\"")
    out.text(exchange.fate.name)
    out.literal("\"")
    if let cause = exchange.cause {
      out.literal(",\"cause\":\"")
      out.text(cause.name)
      out.literal("\"")
    }
    if let status = record.status {
      out.literal(",\"status\":")
      out.number(status.number)
      if let name = record.statusName {
        out.literal(",\"status_name\":")
        out.jsonString(name)
      }
    }
    out.literal(",\"ts\":")
    list(record.copies, to: &out)
    out.literal(",\"crc\":[")
    for (i, status) in record.checksums.enumerated() {
      if i > 0 { out.literal(",") }
      out.literal("\"")
      out.text(status.name)
      out.literal("\"")
    }
    out.literal("],\"acks\":")
    list(record.answers, to: &out)
    out.literal(",\"retries\":")
    out.number(exchange.repeats)
    out.literal(",\"dup_after_ack\":")
    out.number(exchange.duplicates)
    if let latency = exchange.latency {
      out.literal(",\"rtt_us\":")
      out.number(latency)
    }
    if let roundTrip = exchange.roundTrip {
      out.literal(",\"rtt_karn_us\":")
      out.number(roundTrip)
    }
    if exchange.flags.contains(.late) { out.literal(",\"late\":true") }
    if !record.tlvs.isEmpty {
      out.literal(",\"tlv\":")
      var next = 0
      tree(record.tlvs, &next, depth: 0, to: &out)
    }
    if let compression = record.compression {
      out.literal(",\"comp\":\"")
      out.literal(compression)
      out.literal("\"")
    }
    if record.flags != 0 {
      out.literal(",\"flags\":[")
      FrameFlagNames.write(record.flags, to: &out)
      out.literal("]")
    }
    if let owner = record.owner {
      out.literal(",")
      out.owner(owner)
    }
    out.literal("}\n")
  }

  private func list(_ values: ShortList<Int64>, to out: inout ByteWriter) {
    out.literal("[")
    for (i, value) in values.enumerated() {
      if i > 0 { out.literal(",") }
      out.number(value)
    }
    out.literal("]")
  }

  /// `[[tag, length, children or null], ...]`; at most as deep as the decoder walks.
  private func tree(_ tlvs: [TLVRef], _ next: inout Int, depth: UInt16, to out: inout ByteWriter) {
    out.literal("[")
    var isFirst = true
    while next < tlvs.count, tlvs[next].depth == depth {
      let tlv = tlvs[next]
      next += 1
      if !isFirst { out.literal(",") }
      isFirst = false
      out.literal("[")
      out.number(tlv.tag)
      out.literal(",")
      out.number(tlv.count)
      out.literal(",")
      if tlv.isList { tree(tlvs, &next, depth: depth + 1, to: &out) } else { out.literal("null") }
      out.literal("]")
    }
    out.literal("]")
  }
}
