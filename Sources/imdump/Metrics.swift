package import IMCommandLine
package import IMPipeline

/// Metrics for a monitoring system.
extension MetricsOptions: OptionGroup {
  /// The rows of a monitoring system's options.
  package static var table: [Option<Self>] {
    [
      .value(
        "--metrics-file <file>", \.file,
        "Write metrics for Prometheus to this file, every 15 seconds and at the end; see imdump-metrics(5)."),
      .value(
        "--metrics-listen <address:port>", \.listen, "Serve metrics for Prometheus there, such as 127.0.0.1:9464."),
      .value(
        "--metrics-interval <seconds>", \.interval, "Seconds from one writing of --metrics-file to the next."),
      .value(
        "--metrics-endpoints <count>", \.maximumEndpoints,
        "Servers with labels of their own; the rest are 'other'."),
    ]
  }
}
