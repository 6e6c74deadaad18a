import ArgumentParser
import IMPipeline

/// Metrics for a monitoring system.
struct MetricsChoices: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Write metrics for Prometheus to this file, every 15 seconds and at the end; see imdump-metrics(5).",
      valueName: "file"))
  var metricsFile: String?

  @Option(
    help: ArgumentHelp("Serve metrics for Prometheus there, such as 127.0.0.1:9464.", valueName: "address:port"))
  var metricsListen: String?

  @Option(help: ArgumentHelp("Seconds from one writing of --metrics-file to the next.", valueName: "seconds"))
  var metricsInterval: Int = 15

  @Option(help: ArgumentHelp("Servers with labels of their own; the rest are 'other'.", valueName: "count"))
  var metricsEndpoints: Int = 100

  /// The pipeline's options.
  var metrics: MetricsOptions {
    var options = MetricsOptions()
    options.file = metricsFile
    options.listen = metricsListen
    options.interval = metricsInterval
    options.maximumEndpoints = metricsEndpoints
    return options
  }
}
