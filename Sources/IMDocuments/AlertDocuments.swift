package import IMAlerts
package import IMEngine
package import IMOutput

/// Writes alerts as Elastic Common Schema documents where there are no others: `imdump check --format ecs`.
package final class AlertDocuments {
  private let writer: ECSWriter

  /// Documents of a run over what `plans` decode.
  package init(context: ECSContext, plans: [ProtocolPlan]) {
    writer = ECSWriter(context: context, options: ECSOptions(), plans: plans)
  }

  /// Appends the document's line.
  package func write(_ event: AlertEvent, to lines: inout JSONLines) { _ = writer.alert(event, &lines) }
}
