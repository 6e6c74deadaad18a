import IMEngine
package import IMMetrics
import IMWire

/// Writes connections as rows for programs: JSON objects, one a line, or comma-separated values with a header.
package struct ConnectionRowWriter {
  private let profiles: [String]
  private let values: [(name: String, read: @Sendable (ListedConnection) -> MetricValue?)]

  /// A writer; `profiles` are the names of the plans.
  package init(profiles: [String]) {
    self.profiles = profiles
    values = Catalogue.listed.flatMap { figure in
      figure.info.json.flatMap { figure.info.leaves($0) }.map { leaf in
        (leaf.path.joined(separator: "."), { @Sendable row in figure.value(row, leaf.first, leaf.second) })
      }
    }
  }

  // MARK: JSON

  /// Appends one connection and a line feed.
  package func writeJSON(_ row: ListedConnection, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      lines.exact("id", row.info.serial)
      lines.exact("conn", row.info.serial)
      lines.string("client", StreamName.spaced(row.info.peer))
      lines.string("server", StreamName.spaced(row.info.server))
      if row.info.client != row.info.peer { lines.string("proxied_client", StreamName.spaced(row.info.client)) }
      if !row.info.carriers.isEmpty {
        lines.key("carrier")
        lines.writer.names(row.info.carriers)
      }
      if let profile = row.profile(of: profiles) { lines.string("profile", profile) }
      if row.isTLS { lines.string("tls", row.tlsVersion ?? "TLS") }
      if let name = row.serverName { lines.string("sni", name) }
      if let unread = row.unreadTLS {
        lines.open("tls_unread")
        lines.name("reason", unread.reason)
        lines.exact("bytes", unread.byteCount)
        if let random = unread.clientRandom { lines.string("client_random", random) }
        lines.close()
      }
      lines.flag("saw_syn", row.sawSyn)
      lines.instant("time", row.firstSeen)
      lines.signed("first_us", row.firstSeen.microseconds)
      lines.signed("last_us", row.end.microseconds)
      lines.name("end", row.reason.name)
      if let direction = row.resetBy { lines.name("rst_by", StreamName.sides[Int(direction.rawValue)]) }
      MetricTrees.listed.write(row, &lines)
    }
  }

  // MARK: CSV

  /// The columns before the metrics.
  private static let names = [
    "conn", "time", "client.ip", "client.port", "server.ip", "server.port", "proxy", "profile", "tls", "sni", "saw_syn",
    "end", "rst_by",
  ]

  /// Appends the header.
  package func writeCSVHeader(to out: inout ByteWriter) {
    out.text((Self.names + values.map(\.name)).joined(separator: ","))
    out.literal("\n")
  }

  /// Appends one connection and a line feed. What is not known is empty.
  package func writeCSV(_ row: ListedConnection, to out: inout ByteWriter) {
    out.number(row.info.serial)
    out.literal(",")
    out.instant(row.firstSeen)
    for end in [row.info.client, row.info.server] {
      out.literal(",")
      out.address(end.address)
      out.literal(",")
      out.number(UInt64(end.port))
    }
    out.literal(",")
    if row.info.client != row.info.peer { out.endpoint(row.info.peer) }
    for text in [row.profile(of: profiles), row.isTLS ? row.tlsVersion ?? "TLS" : nil, row.serverName] {
      out.literal(",")
      Self.quote(text ?? "", to: &out)
    }
    out.text(",\(row.sawSyn),\(row.reason.name),")
    out.text(row.resetBy.map { StreamName.sides[Int($0.rawValue)] } ?? "")
    for (_, read) in values {
      out.literal(",")
      switch read(row) {
      case .count(let count): out.number(count)
      case .nanoseconds(let time): out.thousandths(time)
      default: break
      }
    }
    out.literal("\n")
  }

  /// Appends a name that the profile or the capture chose: in quotes where it needs them (RFC 4180), without control
  /// characters.
  private static func quote(_ text: String, to out: inout ByteWriter) {
    var text = text
    let needsQuotes = text.utf8.contains { $0 == 0x22 || $0 == 0x2c }
    if needsQuotes { text = "\"" + text.replacing("\"", with: "\"\"") + "\"" }
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0)) }
  }
}
