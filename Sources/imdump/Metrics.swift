package import IMCommandLine
package import IMPipeline

/// Metrics for a monitoring system.
extension MetricsOptions: OptionGroup {
  /// The rows of a monitoring system's options.
  package static var table: [Option<Self>] {
    [
      .value(
        "--metrics-file <file>", \.file,
        "Write Prometheus metrics to this file every 15 seconds and at exit; see imdump-metrics(5)."),
      .value(
        "--metrics-listen <address:port>", \.listen, "Serve Prometheus metrics at this address, such as 127.0.0.1:9464."
      ),
      .list(
        "--allow-host <name>", \.hosts,
        "Accept this host name in requests to a loopback address, as behind a proxy. Repeatable."),
      .value(
        "--metrics-interval <seconds>", \.interval, "Seconds between writes of --metrics-file."),
      .value(
        "--metrics-endpoints <count>", \.maximumEndpoints,
        "Maximum number of servers with labels of their own; the rest are 'other'."),
    ]
  }
}
