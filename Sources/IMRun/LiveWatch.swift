import Glibc
import IMCapture
import IMEngine
import IMOutput
import IMSystem

/// What a live capture says while it runs: packets that the kernel dropped, that nothing was recognised, and, when
/// SIGUSR1 asks, the counts.
final class LiveWatch {
  /// Seconds between looks at the kernel's drops, and until a capture without a known protocol says so.
  static let interval = 10.0
  static let recognition = 5.0

  private let run: Run
  private let begun: Double
  private var looked: Double
  private var dropped: UInt64 = 0
  private var hasHinted = false

  init(run: Run) {
    self.run = run
    begun = MonotonicClock.seconds()
    looked = begun
  }

  /// To be called after each batch; a live source gives one at least ten times a second.
  func update(_ driver: Driver) {
    run.answerRequests(driver)
    guard run.input.interface != nil, !run.report.isQuiet else { return }
    let now = MonotonicClock.seconds()
    if now - looked >= Self.interval {
      looked = now
      report(driver)
    }
    if !hasHinted, now - begun >= Self.recognition {
      hasHinted = true
      run.hint(driver)
    }
  }

  private func report(_ driver: Driver) {
    guard let total = driver.statistics.droppedByKernel, total > dropped else { return }
    logError(
      "\(count(total - dropped, "packet")) dropped by kernel in the last \(Int(Self.interval)) s; a larger buffer (-B) may help"
    )
    dropped = total
  }
}
