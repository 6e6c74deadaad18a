import IMCapture
import IMEngine
import IMFiles
import IMMetrics
import IMOutput
import IMRun
import IMSystem
import IMWire

/// How long the periods of `imdump stats --per` are.
package struct PeriodLength: Equatable, Sendable {
  /// Seconds, at least 1 and at most a day.
  package let seconds: Int64

  /// Reads `10s`, `5m` or `1h`; `nil` for what is none, or is not between a second and a day.
  package init?(word: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600]
    guard let unit = word.last.flatMap({ units[$0] }), let count = Int64(word.dropLast()), count > 0, count <= 86_400,
      count * unit <= 86_400
    else { return nil }
    seconds = count * unit
  }
}

/// Counts a run over time.
final class PeriodSink: EngineSink {
  /// The most connections with heartbeats of their own that are remembered.
  private static let maximumCount = 65_536

  private(set) var series: PeriodSeries
  private let isLive: Bool
  /// Live, connections whose protocol has heartbeats: pings of what carries it are none there.
  private var beating: Set<UInt32> = []

  init(_ series: PeriodSeries, isLive: Bool) { (self.series, self.isLive) = (series, isLive) }

  static func needs(isLive: Bool) -> EngineOptions.Needs {
    isLive ? [.frames, .resolved, .issues] : [.frames, .resolved, .issues, .connections, .lateReports]
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    series.frame(frame, note, direction)
    if isLive, frame.kind.pointee.role == .heartbeat, beating.count < Self.maximumCount {
      beating.insert(connection.serial)
    }
  }

  func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp) {
    // Live, no report of a connection comes that says what its heartbeats are.
    if !isLive {
      series.ping(step, connection, sentAt: sentAt)
    } else if !beating.contains(connection) {
      series.heartbeat(step, sentAt: sentAt)
    }
  }

  func resolved(_ exchange: borrowing Exchange) { series.resolved(exchange) }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    if issue.kind == .gap { series.missing(issue.byteCount, at: issue.timestamp) }
  }

  func connection(_ report: ConnectionReport) {
    if report.isFinal { series.ended(report) }
  }

  /// Takes the rows of the periods with numbers below `number`.
  func takeRows(before number: Int64) -> [(number: Int64, row: PeriodSeries.Row)] { series.takeRows(before: number) }
}

/// Counts over time: `imdump stats --per`. Of a file all lines come at its end, because a late answer changes what stands in
/// an earlier one; live, each comes when its period is over, and tells what is known then.
func printPeriods(_ run: Run, _ output: Output, per length: PeriodLength, isJSON: Bool) -> ExitStatus {
  // Whole minutes and hours of the clock on the wall.
  let periods = ClockPeriods(seconds: length.seconds)
  let sink = PeriodSink(PeriodSeries(plans: run.plans) { periods.period(at: $0).number }, isLive: run.isLive)
  let driver = run.driver(
    run.engine(
      PeriodSink.needs(isLive: run.isLive), cost: (0, 0, 0), sink: sink))
  var writer = PeriodWriter(
    isJSON: isJSON, isLive: run.isLive, hasChecksums: run.plans.contains { $0.checksumName != nil }, zone: .local,
    width: output.terminalWidth
  ) { number in
    // Daylight saving time moves where a period begins: its number is of the local clock.
    let guess = number * periods.seconds
    let offset = Int64(LocalZone.local.offset(at: guess - Int64(LocalZone.local.offset(at: guess))))
    return (guess - offset, guess - offset + periods.seconds)
  }
  var out = ByteWriter()
  func write(before number: Int64) {
    for (number, row) in sink.takeRows(before: number) { writer.write(number, row, to: &out) }
    output.drain(&out)
  }
  let errors = run.lead(
    driver, isOver: { output.error != nil },
    afterBatch: {
      guard run.isLive else { return }
      // A second for packets that wait in the kernel's buffer.
      write(before: periods.period(at: Timestamp.wallClock.seconds - 1).number)
    })
  write(before: .max)
  if let others = sink.series.others {
    writer.write(others: others, to: &out)
    logError(
      "more than \(grouped(UInt64(PeriodSeries.maximumCount))) periods: the rest are counted together; give a longer --per"
    )
  }
  writer.finish(to: &out)
  output.drain(&out)
  return run.conclude(driver, errors, output)
}
