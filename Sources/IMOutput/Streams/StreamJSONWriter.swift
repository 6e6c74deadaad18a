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
    JSONLines.line(to: &out) { lines in
      lines.signed("id", Int64(stream.id))
      lines.exact("first_frame", stream.firstFrame)
      lines.string("client", StreamName.spaced(stream.client))
      lines.string("server", StreamName.spaced(stream.server))
      let note = CarrierNote(stream.directions.first?.content ?? [])
      if let client = note.client { lines.string("proxied_client", StreamName.spaced(client)) }
      if !note.carriers.isEmpty {
        lines.key("carrier")
        lines.writer.names(note.carriers)
      }
      lines.flag("saw_syn", stream.sawSYN)
      lines.signed("first_us", stream.firstSeen.microseconds)
      lines.signed("last_us", stream.lastSeen.microseconds)
      MetricTrees.stream.write(stream, &lines)
      lines.openList("dirs")
      for (i, direction) in stream.directions.enumerated() { write(direction, StreamName.sides[i & 1], &lines) }
      lines.closeList()
    }
  }

  private func write(_ direction: CollectedDirection, _ name: String, _ lines: inout JSONLines) {
    lines.openItem()
    lines.name("dir", name)
    MetricTrees.streamSide.write(direction, &lines) { name, lines in
      guard name == "payload_captured" else { return }
      ranges("ranges", direction.ranges, &lines)
      ranges("gaps", direction.gaps, &lines)
    }
    lines.close()
  }

  private func ranges(_ key: StaticString, _ ranges: [StreamRange], _ lines: inout JSONLines) {
    lines.openList(key)
    for range in ranges {
      lines.openList()
      lines.item(Int64(range.offset))
      lines.item(Int64(range.count))
      lines.closeList()
    }
    lines.closeList()
  }
}

/// How streams and their sides are called in output.
enum StreamName {
  /// Client to server, server to client.
  static let sides = ["c2s", "s2c"]

  /// `192.0.2.1 8080` or `2001:db8::1 8080`.
  static func spaced(_ endpoint: Endpoint) -> String { "\(endpoint.address) \(endpoint.port)" }
}
