package import IMEngine
package import IMMetrics
package import IMOutput
package import IMWire

/// Writes what two captures came to as Elastic Common Schema documents, one for each figure: `imdump diff --format ecs`.
package final class ComparisonDocuments {
  private let writer: ECSWriter
  private let span: (start: Timestamp, end: Timestamp)

  /// Documents of a run over what `plans` decode, the new capture of which has the packets of `span`.
  package init(context: ECSContext, plans: [ProtocolPlan], span: (start: Timestamp, end: Timestamp)) {
    writer = ECSWriter(context: context, options: ECSOptions(), plans: plans)
    self.span = span
  }

  /// Appends a line for each of `figures` that one of the captures has: those of `server`, or of all servers together. `failed`
  /// are conditions that hold, each with the name of its figure.
  package func write(
    _ figures: [ComparedMetric], server: EndpointKey?, failed: [(name: String, text: String)], to lines: inout JSONLines
  ) {
    for figure in figures where figure.old != nil || figure.new != nil {
      _ = writer.comparison(
        figure, server: server, failed: failed.filter { $0.name == figure.name }.map(\.text), span, &lines)
    }
  }
}

extension ECSWriter {
  /// The document of one figure of two captures, at one server or at all of them.
  fileprivate func comparison(
    _ figure: ComparedMetric, server key: EndpointKey?, failed: [String], _ span: (start: Timestamp, end: Timestamp),
    _ lines: inout JSONLines
  ) -> Bool {
    let profile = key.flatMap { self.profile($0.plan) }
    begin(.comparison, at: span.end, &lines)
    event(.comparison, types: "[\"info\"]", &lines)
    let place = key.map { "\(profile?.name ?? "unknown")-\($0.endpoint)-" } ?? ""
    lines.text("id", "\(runPrefix)-x-\(place)\(figure.name)")
    self.span(span.start, span.end, &lines)
    lines.close()
    if let key { openServer(key.endpoint, profile, &lines) }
    openOwn(key?.plan ?? .max, &lines)
    if let key { server(key.endpoint, &lines) }
    lines.open("comparison")
    lines.name("figure", figure.name)
    lines.name("unit", figure.unit.rawValue)
    lines.decimal("old", figure.old)
    lines.decimal("new", figure.new)
    lines.decimal("change", figure.change)
    if let differs = figure.differs { lines.flag("more_than_chance", differs) }
    if !failed.isEmpty {
      lines.openList("failed")
      for condition in failed { lines.item(condition) }
      lines.closeList()
    }
    lines.close()
    lines.close()
    let front = key.map { "\($0.endpoint) " } ?? ""
    lines.text("message", front + ComparisonWriter.sentence(figure))
    return lines.end()
  }
}
