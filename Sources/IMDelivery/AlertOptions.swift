/// Rules and what becomes of their alerts: `--rules` and what belongs to it.
package struct AlertOptions: Equatable, Sendable {
  /// The file of rules; `nil` for no alerts.
  package var rules: String?
  /// The folder for captures of the packets behind each alert.
  package var evidence: String?
  /// How many bytes the captures in that folder may have.
  package var evidenceLimit: Int64 = 1 << 30
  /// A program and its arguments, run for each alert.
  package var hook: [String] = []
  /// Addresses that each alert is posted to.
  package var webhooks: [String] = []
  /// Alertmanagers that are kept up to date.
  package var alertmanagers: [String] = []

  /// The folder for what cannot be delivered; `nil` for none.
  package var spool: String?
  /// How many bytes the files in that folder may have.
  package var spoolLimit = DeliverySpool.usualBytes

  /// The file in which rules keep their state for the next run; `nil` for none.
  package var state: String?

  /// No alerts.
  package init() {}

  /// Whether alerts leave the process other than as lines.
  package var isDelivered: Bool { !hook.isEmpty || !webhooks.isEmpty || !alertmanagers.isEmpty }
}
