/// Metrics for a monitoring system: `--metrics-file` and what belongs to it.
package struct MetricsOptions: Equatable, Sendable {
  /// A file that is replaced every `interval` seconds and at the end.
  package var file: String?
  /// An address and a port on which the metrics are served.
  package var listen: String?
  /// Names by which a server on the loopback may be called, beside its address.
  package var hosts: [String] = []
  /// Seconds.
  package var interval = 15
  /// Servers that have labels of their own.
  package var maximumEndpoints = 100

  /// No metrics.
  package init() {}
}
