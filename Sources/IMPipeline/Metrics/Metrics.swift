import Glibc
import IMDescriptors
import IMEngine
import IMFiles
import IMMetrics
import IMOutput
import IMRun
import IMSystem
import IMWeb
import IMWire

/// The metrics of a run: what counts them, and where they go.
final class Metrics: ChosenFeature {
  /// Counts by server.
  private let sink: MetricsSink
  /// The file, where one is wanted.
  private let file: MetricsFile?
  /// The server, where there is one.
  private let server: WebServer?
  private let run: Run
  private var writer: MetricsWriter
  private let interval: Double
  private let startedAt = Timestamp.wallClock
  private var writtenAt = -Double.infinity

  /// The metrics that the choices ask for.
  init?(_ place: RunContext) throws(UsageError) {
    let (run, options) = (place.run, place.choices.metrics)
    guard options.file != nil || place.server != nil else { return nil }
    guard (1...86_400).contains(options.interval) else {
      throw UsageError(message: "--metrics-interval: expected a number of seconds from 1 to 86400")
    }
    guard (1...10_000).contains(options.maximumEndpoints) else {
      throw UsageError(message: "--metrics-endpoints: expected a number from 1 to 10000")
    }
    self.run = run
    file = try options.file.map { path throws(UsageError) in try MetricsFile(path: path) }
    server = place.server
    interval = Double(options.interval)
    sink = MetricsSink(plans: run.plans, maximumEndpoints: options.maximumEndpoints)
    writer = MetricsWriter(plans: run.plans)
  }

  var needs: EngineOptions.Needs { MetricsSink.needs }

  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? { other.map { PairSink(sink, $0) } ?? sink }

  func confine(_ privileges: inout Privileges) {
    guard let file else { return }
    privileges.folders.append(file.folder)
    privileges.places.append(Privileges.Place(folder: file.folder, pattern: file.pattern))
  }

  func confined() throws(CaptureError) { try file?.checkRights() }

  /// A profile may have been read again.
  func hangup(_ driver: Driver) throws(CaptureError) { writer.reload() }

  /// The file's time has come, or somebody asks.
  func afterBatch(_ driver: Driver) throws(CaptureError) {
    if let server {
      for dialect in server.takeRequests([.prometheus, .openMetrics]).compactMap(\.dialect) {
        server.publish(text(dialect, driver), dialect)
      }
    }
    guard let file else { return }
    let now = MonotonicClock.seconds()
    guard now - writtenAt >= interval else { return }
    writtenAt = now
    file.write(text(.prometheus, driver))
  }

  /// The last file.
  func finish(_ driver: Driver) { file?.write(text(.prometheus, driver)) }

  /// Metrics that could not be written are lost output.
  func conclude(_ status: ExitStatus) -> ExitStatus { file?.error == nil ? status : max(status, .ioError) }

  private func text(_ dialect: MetricText.Dialect, _ driver: Driver) -> MetricText {
    driver.tellSettlements()
    return writer.text(dialect, figures(driver), sink)
  }

  /// What depends on the machine is left out offline, so that the same file gives the same metrics.
  private func figures(_ driver: Driver) -> MetricsFigures {
    var process: (Double, Double, UInt64)?
    if run.input.interface != nil {
      var usage = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      process = (
        Double(startedAt.microseconds) / 1e6,
        seconds + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
        UInt64(max(0, usage.ru_maxrss)) * 1_024
      )
    }
    return MetricsFigures(
      version: imdumpVersion, summary: run.summary(driver), endpoints: driver.engine.endpoints(),
      reconnects: driver.engine.reconnects, memoryBytes: driver.engine.memoryBytes, memoryLimit: run.decode.memory,
      connections: driver.engine.connectionCount, process: process)
  }
}
