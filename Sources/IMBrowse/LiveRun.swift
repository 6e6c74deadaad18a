import Glibc
import IMBrowser
import IMCapture
import IMDescriptors
import IMEngine
import IMIndexing
import IMOutput
import IMRun
import IMSystem

/// The live capture of a screen: the thread with the terminal opens it before dropping privileges, and a thread of its own runs it.
final class LiveRun {
  private let run: Run
  private let companions: [any RunFeature]
  private let driver: Driver
  private let loading: StoreLoading
  private let path: String
  private var thread: WorkerThread?
  private let outcome = Outcome()
  /// The store's path from the root; `nil` before it is there.
  private(set) var place: String?

  /// What the thread has left when it has ended.
  private final class Outcome { var errors: [CaptureError] = [] }

  /// A run that writes the store of `store`, with what `features` creates, and tells `loading` how far it is.
  init(
    _ run: Run, _ store: StoreChoices, _ loading: StoreLoading, _ features: StoringFeatures
  ) throws(CaptureError) {
    self.run = run
    self.loading = loading
    path = store.path
    var store = store
    store.written = { loading.change { $0.commits += 1 } }
    do throws(UsageError) {
      companions = try features(run, store) + [ScreenPrivileges(run.input.writePath)]
    } catch {
      throw CaptureError(.ioError, store.path, error.message)
    }
    driver = run.driver(run.engine(exchangeCapacity: StoreKeeper.exchangeCapacity, companions: companions), companions)
    driver.tell = { text in loading.change { $0.error = text } }
  }

  /// Opens the interface and the store, drops privileges, and begins to capture.
  func start() throws(CaptureError) {
    guard try driver.open() else { return }
    place = realpath(path, nil).map { real in
      defer { free(real) }
      return String(cString: real)
    }
    guard access(place ?? path, R_OK) == 0 else {
      let user = run.sandbox.user?.name ?? "the user"
      throw CaptureError(
        .ioError, path, "\(user) may not enter its folder: name another one, or choose another user with -Z")
    }
    thread = try WorkerThread("imdump-capture", for: run.input.interface ?? "", "capture") {
      [run, driver, loading, outcome] in
      outcome.errors = run.lead(
        driver,
        afterBatch: {
          let statistics = driver.statistics
          let counts = LiveCounts(packets: driver.engine.totals.packets, dropped: statistics.droppedByKernel)
          loading.change { $0.capture = counts }
        })
      loading.change { state in
        state.isOver = true
        state.error = outcome.errors.first?.description ?? state.error
        state.commits += 1
      }
    }
  }

  /// Ends the capture, and waits until everything is written. Gives how a run ends that would end with `status`; `saysStore`: says
  /// what the store holds.
  func end(_ status: ExitStatus, saysStore: Bool) -> ExitStatus {
    run.stopping.stop.stop()
    thread?.join()
    thread = nil
    var status = status
    for error in outcome.errors where !error.isBrokenPipe {
      logError(error.description)
      status = max(status, ExitStatus(error))
    }
    for companion in companions.reversed() {
      // What ended the screen says nothing of the store: only errors make it one that lacks something.
      let before = outcome.errors.isEmpty ? ExitStatus.success : status
      status = max(status, companion.conclude(before))
    }
    if saysStore, outcome.errors.isEmpty { logError("\(path): written; imdump browse \(path) opens it again") }
    return status
  }
}

/// Keeps for the screen what a run gives up otherwise: the terminal's modes, the folder in which files are saved, and the packets of
/// `-w`, which are read again when somebody wants to see their bytes.
private final class ScreenPrivileges: RunFeature {
  private let written: String?

  init(_ written: String?) { self.written = written }

  func confine(_ privileges: inout Privileges) {
    privileges.isInteractive = true
    privileges.folders += savingFolders()
    guard let written, let user = privileges.user else { return }
    let descriptor = open(written, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var info = stat()
    if fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG { _ = fchown(descriptor, user.uid, user.gid) }
  }
}
