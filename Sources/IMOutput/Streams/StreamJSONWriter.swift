package import IMEngine
import IMWire

/// Writes collected streams as JSON, one object a line; the same streams give the same bytes.
///
///     {"id":1,"first_frame":1,"client":"192.0.2.1 40000","server":"192.0.2.2 8080","saw_syn":true,...,
///      "analysis":{"retransmission":0,...},"dirs":[{"dir":"c2s","packets":7,...,"ranges":[[0,120]],"gaps":[],...},{...}]}
///
/// Times are microseconds; `analysis` counts by the rules of Wireshark's TCP analysis, and names every event for the
/// stream, and for each direction those that happened.
package struct StreamJSONWriter {
  /// A writer.
  package init() {}

  /// Appends one stream and a line feed.
  package func write(_ stream: CollectedStream, to out: inout ByteWriter) {
    out.literal("{\"id\":")
    out.number(Int64(stream.id))
    out.literal(",\"first_frame\":")
    out.number(stream.firstFrame)
    out.literal(",\"client\":")
    out.jsonString(StreamName.spaced(stream.client))
    out.literal(",\"server\":")
    out.jsonString(StreamName.spaced(stream.server))
    let note = CarrierNote(stream.directions.first?.content ?? [])
    if let client = note.client {
      out.literal(",\"proxied_client\":")
      out.jsonString(StreamName.spaced(client))
    }
    if !note.carriers.isEmpty {
      out.literal(",\"carrier\":")
      out.names(note.carriers)
    }
    out.literal(",\"saw_syn\":")
    out.text(stream.sawSYN ? "true" : "false")
    out.literal(",\"first_us\":")
    out.number(stream.firstSeen.microseconds)
    out.literal(",\"last_us\":")
    out.number(stream.lastSeen.microseconds)
    if let rtt = stream.serverHandshake { microseconds("handshake_rtt_server_us", rtt, &out) }
    if let rtt = stream.clientHandshake { microseconds("handshake_rtt_client_us", rtt, &out) }
    out.literal(",\"analysis\":")
    analysis(stream.analysis, of: StreamEvent.allCases, &out)
    out.literal(",\"dirs\":[")
    for (i, direction) in stream.directions.enumerated() {
      if i > 0 { out.literal(",") }
      write(direction, StreamName.sides[i & 1], &out)
    }
    out.literal("]}\n")
  }

  private func write(_ direction: CollectedDirection, _ name: String, _ out: inout ByteWriter) {
    out.literal("{\"dir\":\"")
    out.text(name)
    out.literal("\"")
    number("packets", Int64(clamping: direction.packets), &out)
    number("wire_bytes", Int64(clamping: direction.wireBytes), &out)
    number("payload_captured", Int64(clamping: direction.payloadCaptured), &out)
    out.literal(",\"ranges\":")
    ranges(direction.ranges, &out)
    out.literal(",\"gaps\":")
    ranges(direction.gaps, &out)
    number("overlap_bytes", Int64(direction.overlapBytes), &out)
    number("overlap_conflict_bytes", Int64(direction.conflictBytes), &out)
    if direction.resetBytes > 0 { number("rst_payload_bytes_left_out", Int64(direction.resetBytes), &out) }
    if direction.farBytes > 0 { number("far_bytes_left_out", Int64(direction.farBytes), &out) }
    if direction.damagedBytes > 0 { number("checksum_bytes_left_out", Int64(direction.damagedBytes), &out) }
    if direction.bytesNotKept > 0 { number("limit_bytes_not_kept", Int64(direction.bytesNotKept), &out) }
    if direction.payloadLeftOut > 0 { number("limit_bytes_left_out", Int64(direction.payloadLeftOut), &out) }
    out.literal(",\"analysis\":")
    analysis(direction.analysis, of: StreamEvent.allCases.filter { direction.analysis[$0] > 0 }, &out)
    let trips = direction.acknowledgments
    if trips.count > 0 {
      out.literal(",\"ack_rtt_karn_us\":{\"n\":")
      out.number(trips.count)
      microseconds("min", trips.least, &out)
      microseconds("mean", trips.mean, &out)
      microseconds("max", trips.most, &out)
      out.literal("}")
    }
    out.literal("}")
  }

  private func number(_ name: StaticString, _ value: Int64, _ out: inout ByteWriter) {
    out.literal(",\"")
    out.literal(name)
    out.literal("\":")
    out.number(value)
  }

  /// Nanoseconds as microseconds with up to three decimals.
  private func microseconds(_ name: StaticString, _ nanoseconds: Int64, _ out: inout ByteWriter) {
    out.literal(",\"")
    out.literal(name)
    out.literal("\":")
    out.thousandths(nanoseconds)
  }

  private func ranges(_ ranges: [StreamRange], _ out: inout ByteWriter) {
    out.literal("[")
    for (i, range) in ranges.enumerated() {
      if i > 0 { out.literal(",") }
      out.literal("[")
      out.number(Int64(range.offset))
      out.literal(",")
      out.number(Int64(range.count))
      out.literal("]")
    }
    out.literal("]")
  }

  private func analysis(_ analysis: StreamAnalysis, of events: [StreamEvent], _ out: inout ByteWriter) {
    out.literal("{")
    for (i, event) in events.enumerated() {
      out.text(i > 0 ? ",\"" : "\"")
      out.text(event.name)
      out.literal("\":")
      out.number(analysis[event])
    }
    out.literal("}")
  }
}

/// How streams and their sides are called in output.
enum StreamName {
  /// Client to server, server to client.
  static let sides = ["c2s", "s2c"]

  /// `192.0.2.1 8080` or `2001:db8::1 8080`.
  static func spaced(_ endpoint: Endpoint) -> String { "\(endpoint.address) \(endpoint.port)" }
}
