import Glibc
import IMBrowser
import IMCapture
import IMDescriptors
import IMEngine
import IMIndexing
import IMOutput
import IMReport
import IMRun
import IMStore
import IMSystem
import Synchronization

/// Captures that become a store while it is browsed: a thread decodes, a second one writes.
final class StoreLoading: Sendable {
  /// How far it is.
  struct State: Equatable {
    /// Commits of whoever writes; 0 while there is no store.
    var commits = 0
    /// The share of the captures that was read, in percent.
    var percent: Int?
    /// Whether messages come as they are sent, and what the capture has counted; `nil` where another process captures.
    var isLive = false
    var capture: LiveCounts?
    /// Whether nothing follows.
    var isOver = false
    /// What was wrong.
    var error: String?
    /// What was not decoded, and what to do about it.
    var unread: [String] = []
  }

  private let held = Mutex(State())
  private let wake: @Sendable () -> Void

  /// Nothing is loaded yet. `wake` is called when the state has changed.
  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// How far it is.
  var state: State { held.withLock { $0 } }

  /// Changes the state, and tells of it.
  func change(_ body: (inout State) -> Void) {
    let hasChanged = held.withLock { state in
      let before = state
      body(&state)
      return state != before
    }
    if hasChanged { wake() }
  }

  /// Starts to read captures into the store that `choices` name, with what `features` creates.
  func start(
    _ run: Run, _ choices: StoreChoices, _ features: @escaping StoringFeatures
  ) throws(CaptureError) -> WorkerThread {
    var choices = choices
    choices.written = { [self] in change { $0.commits += 1 } }
    // Behind whoever answers keys; the thread that writes inherits that.
    return try WorkerThread("imdump-decode", isBehind: true, for: choices.path, "read captures") { [self] in
      let error = load(run, choices, features)
      change { state in
        state.isOver = true
        state.error = error
        state.commits += 1
      }
    }
  }

  /// Reads captures; gives what was wrong with them.
  private func load(_ run: Run, _ store: StoreChoices, _ features: StoringFeatures) -> String? {
    let companions: [any RunFeature]
    do throws(UsageError) { companions = try features(run, store) } catch { return error.message }
    let engine = run.engine(exchangeCapacity: StoreKeeper.exchangeCapacity, companions: companions)
    let driver = run.driver(engine, companions)
    let share = FileShare(run.input.files)
    let errors = run.lead(
      driver,
      afterBatch: { [self] in
        let percent = share.read(driver.statistics).map { Int($0 * 100) }
        change { $0.percent = percent }
      })
    var status = errors.isEmpty ? ExitStatus.success : .failure
    let unread = run.unread(driver).filter(\.isNotable).map(\.text)
    change { $0.unread = unread }
    for companion in companions.reversed() { status = companion.conclude(status) }
    return errors.first?.description ?? (status == .success ? nil : "the store could not be written")
  }
}
