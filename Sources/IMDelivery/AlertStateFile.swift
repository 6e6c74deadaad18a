import CSandbox
import Glibc
package import IMAlerts
package import IMDescriptors
import IMOutput
package import IMSystem
import IMWire

/// The file in which rules keep what they have counted and told until the next run: `--state`.
///
/// It is replaced as a whole: a state is written beside it, and then takes its name. A live run has a thread for that, so that the capture does
/// not wait for a disk; of states that wait, the last one is written.
package final class AlertStateFile {
  /// Seconds between two states of a live run, and between two where an alert was told meanwhile.
  private static let pause = 10.0, shortPause = 1.0
  /// How many times as long as it took to make a state passes before the next one.
  private static let share = 50.0

  private let file: AtomicFile
  /// The descriptor of its lock, by which other processes see that this one has the file; a negative errno where it has none.
  private let lock: Int32
  /// The open folder.
  package var folder: Int32 { file.folder }
  /// The names of files that are made in the folder, as a pattern of fnmatch(3).
  package var pattern: String { file.pattern }
  private var path: String { file.path }
  /// What the file said when the run began; `nil` for none.
  private(set) var kept: AlertSnapshot?
  private let writer: Writer
  private var nextAt = 0.0, urgentAt = 0.0
  private var isTooLarge = false

  /// The file at `path`, in a folder that exists. A file that is no state is put aside, and that is said.
  package init(path: String, maximumSeries: Int) throws(UsageError) {
    file = try AtomicFile(path: path, option: "--state", mode: 0o600)
    writer = Writer(file)
    lock = file.lock()
    guard lock != -EWOULDBLOCK else {
      throw UsageError(message: "--state \(path): in use by another process")
    }
    try load(maximumSeries)
  }

  deinit {
    if lock >= 0 { close(lock) }
    close(folder)
  }

  private func load(_ maximumSeries: Int) throws(UsageError) {
    let descriptor = file.openToRead()
    guard descriptor >= 0 else {
      if descriptor == -ENOENT { return }
      throw UsageError(message: "--state \(path): \(systemText(-descriptor))")
    }
    defer { close(descriptor) }
    guard let bytes = ShipStore.contents(descriptor, limit: AlertSnapshot.maximumBytes + 64) else {
      return putAside("larger than \(AlertSnapshot.maximumBytes >> 20) MiB")
    }
    do throws(AlertStateError) {
      kept = try AlertSnapshot(bytes, maximumSeries: maximumSeries)
    } catch {
      putAside("byte \(error.offset): \(error.message)")
    }
  }

  /// Says why the run begins without the state, and keeps the file under another name.
  private func putAside(_ reason: String) {
    let isAside = file.rename(suffix: ".bad")
    drop(reason + (isAside ? "; renamed to \(shown(path)).bad" : ""))
  }

  /// Says why the run begins without the state.
  package func drop(_ reason: String) {
    kept = nil
    logError("--state \(shown(path)): \(reason); rules start without a state")
  }

  /// The state that was kept, once.
  package func take() -> AlertSnapshot? {
    defer { kept = nil }
    return kept
  }

  /// Throws where this process may not make files in the folder, or has no lock.
  package func checkRights() throws(CaptureError) {
    try requireMayMakeFiles(in: folder, path, "cannot write the alert state")
    guard lock < 0 else { return }
    throw CaptureError(.ioError, path, "cannot lock the alert state: \(systemText(-lock))", errno: -lock)
  }

  /// Whether it is time to write a state. After `isTold` an alert was told since the last one.
  package func isDue(_ now: Double, isTold: Bool) -> Bool { now >= (isTold ? urgentAt : nextAt) }

  /// Hands a state to the thread that writes it. `snapshot` is called once.
  package func write(at now: Double, _ snapshot: () -> AlertSnapshot?) throws(CaptureError) {
    let bytes = bytes(of: snapshot)
    let pause = (MonotonicClock.seconds() - now) * Self.share
    (nextAt, urgentAt) = (now + max(Self.pause, pause), now + max(Self.shortPause, pause))
    if let bytes { try writer.post(bytes) }
  }

  /// Writes the last state. Whether the file has it, or there is none.
  package func finish(_ snapshot: AlertSnapshot?) -> Bool {
    let bytes = bytes { snapshot }
    return writer.finish(bytes) && !isTooLarge
  }

  private func bytes(of snapshot: () -> AlertSnapshot?) -> [UInt8]? {
    guard let snapshot = snapshot() else { return nil }
    let bytes = snapshot.bytes
    if bytes == nil, !isTooLarge {
      logError(
        "--state \(shown(path)): not written: the state exceeds \(AlertSnapshot.maximumBytes >> 20) MiB"
      )
    }
    isTooLarge = bytes == nil
    return bytes
  }

  /// Writes states, one after another.
  private final class Writer: @unchecked Sendable {
    // SAFETY: `lock` guards what both threads change; the file's name and folder do not change.

    private let lock = WaitingLock()
    private let file: AtomicFile
    private var path: String { file.path }
    private var waiting: [UInt8]?
    private var isEnding = false
    private var error: Int32?
    private var thread: WorkerThread?

    init(_ file: AtomicFile) { self.file = file }

    /// Has the thread write a state, instead of one that waits.
    func post(_ bytes: [UInt8]) throws(CaptureError) {
      lock.locked {
        waiting = bytes
        lock.tell()
      }
      guard thread == nil else { return }
      thread = try WorkerThread("imdump-state", for: path, "write the alert state") { [self] in
        while let bytes = next() { write(bytes) }
      }
    }

    private func next() -> [UInt8]? {
      lock.locked {
        while waiting == nil, !isEnding { lock.wait() }
        defer { waiting = nil }
        return waiting
      }
    }

    /// Writes the last state, when the thread has ended. Whether the file has the last state.
    func finish(_ bytes: [UInt8]?) -> Bool {
      lock.locked {
        if bytes != nil { waiting = nil }
        isEnding = true
        lock.tell()
      }
      thread?.join()
      thread = nil
      if let bytes { write(bytes) }
      return error == nil
    }

    /// Puts a state in the place of the file. What fails is said once, and tried again with the next one.
    private func write(_ bytes: [UInt8]) {
      let before = error
      error = file.replace(isSynced: true) { output in bytes.withUnsafeBytes { output.write($0) } }
      if let error, error != before { logError("--state \(shown(path)): \(systemText(error))") }
    }
  }
}
