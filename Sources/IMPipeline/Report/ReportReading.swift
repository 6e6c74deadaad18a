import IMDescriptors
import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMRun
import IMSystem
import IMWire

/// One reading of a capture for a report or a verdict: the metrics of `imdump stats`, and what a report shows beside them.
final class ReportReading {
  /// What the engine reports.
  static let needs = ReportSink.needs.union([.resolutions])
  /// What is kept, in bytes, of each connection that is decoded, of each exchange and of each server.
  static let cost = (connection: ReportSink.costPerConnection, exchange: 0, server: EndpointMetrics.cost)

  /// What a report shows.
  let sink: ReportSink
  private let stats: StatsSink

  /// A reading with these plans; with `comparesConnections` the connections are kept for a comparison.
  init(plans: [ProtocolPlan], comparesConnections: Bool = false) {
    sink = ReportSink(plans: plans)
    stats = StatsSink(plans: plans, comparesConnections: comparesConnections)
  }

  /// What the engine reports to.
  var receiver: PairSink<StatsSink> { PairSink(stats, sink) }
  /// The connections, where two captures are compared.
  var compared: ComparedConnections? { stats.compared }

  /// Everything that was counted. To be asked for at the end of the run.
  func metrics(_ run: Run, _ driver: Driver) -> RunMetrics { stats.figures(run, driver) }

  /// The model of a page, without ladders and lanes.
  func model(_ run: Run, _ driver: Driver, _ figures: RunMetrics, _ errors: [CaptureError]) -> ReportModel {
    var model = ReportModel(
      version: imdumpVersion, captures: run.isLive ? [run.input.interface ?? ""] : run.input.files,
      filter: run.input.captureFilter, figures: ReportMetrics(figures.run), summary: figures.run.summary,
      countedLines: figures.run.summary.lines)
    model.errors = errors.filter { !$0.isBrokenPipe }.map(Self.words)
    model.unread = run.unread(driver)
    model.hasKeyLog = run.decode.secrets?.hasKeys ?? false
    model.explainsTLS = !driver.engine.tlsReasons.isEmpty
    model.statuses = figures.statuses
    model.series = sink.series
    model.transport = sink.transport
    model.typeNames = sink.namesOfTypes()
    model.losses = sink.losses
    (model.lost, model.lostLeftOut) = sink.lostMessages()
    model.worst = sink.worst
    model.affected = sink.sessions.affected
    model.affectedCount = UInt64(model.affected.count)
    model.sessionCount = sink.sessions.count
    model.hasMoreSessions = sink.sessions.hasMore
    model.hasMoreAffected = sink.sessions.hasMoreAffected
    model.problems = sink.problems.problems(figures.run.summary)
    model.connections = sink.connectionRows()
    model.connectionsLeftOut = sink.connectionCount - UInt64(model.connections.count)
    model.heartbeats = sink.heartbeats
    model.ambiguous = sink.ambiguous
    return model
  }

  /// What was wrong with a capture, without the folders that it lies in: a page is for others.
  static func words(_ error: CaptureError) -> String {
    (error.subject.split(separator: "/").last.map(String.init) ?? error.subject) + ": " + error.message
  }
}
