/// Alert rules and the delivery of their alerts: `--rules` and related options.
package struct AlertOptions: Equatable, Sendable {
  /// The rules file; `nil` for no alerts.
  package var rules: String?
  /// The folder for captures of the packets of each alert.
  package var evidence: String?
  /// The maximum size of the captures in that folder, in bytes.
  package var evidenceLimit: Int64 = 1 << 30
  /// The program that is run for each alert, and its arguments.
  package var hook: [String] = []
  /// The addresses to which each alert is posted.
  package var webhooks: [String] = []
  /// The Alertmanagers that are kept up to date.
  package var alertmanagers: [String] = []

  /// The folder for alerts that cannot be delivered; `nil` for none.
  package var spool: String?
  /// The maximum size of the files in that folder, in bytes.
  package var spoolLimit = DeliverySpool.usualBytes

  /// The file in which rules keep their state for the next run; `nil` for none.
  package var state: String?

  /// No alerts.
  package init() {}

  /// Whether alerts are delivered in other ways than as printed lines.
  package var isDelivered: Bool { !hook.isEmpty || !webhooks.isEmpty || !alertmanagers.isEmpty }
}
