import Glibc
import IMCapture
import IMEngine
import IMOutput
import IMReport
import IMRun
import IMSystem

/// The verdict at the end of a run that prints frames, on standard error: the last lines of `imdump FILE` on a terminal.
final class VerdictAtEnd: ChosenFeature {
  private let run: Run
  private let reading: ReportReading
  private let options: WhyOptions
  private let output = Output(descriptor: STDERR_FILENO, name: "standard error")
  /// The lines, once the engine has finished.
  private var text = ByteWriter()

  init?(_ place: RunContext) throws(UsageError) {
    guard let options = place.choices.verdict else { return nil }
    run = place.run
    self.options = options
    reading = ReportReading(plans: run.plans)
  }

  var needs: EngineOptions.Needs { ReportReading.needs }
  var cost: (connection: Int, exchange: Int, server: Int) { ReportReading.cost }

  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? {
    other.map { PairSink(reading.receiver, $0) } ?? reading.receiver
  }

  func finish(_ driver: Driver) {
    guard !run.hasReadNothing(driver, driver.errors) else { return }
    RunVerdict(run, driver, reading, options).write(width: output.terminalWidth, withLadder: false, to: &text)
  }

  func conclude(_ status: ExitStatus) -> ExitStatus {
    output.drain(&text)
    return status
  }
}
