import Dispatch
import IMEngine
import IMOutput
import IMSystem
import Synchronization

/// Writes a live run's documents on a thread of its own, so that the capture does not wait for a disk.
///
/// What waits is bounded. While there is no room, documents are lost and counted; the capture goes on. The thread begins with
/// the first document: a thread that is older than the limits on what the process may do would not have them.
package final class LogQueue: @unchecked Sendable {
  /// What is to be done, in order.
  enum Job: Sendable {
    case lines(LogSeries, [UInt8])
    case turn
    /// Tells that it has been reached; at the end, nothing follows.
    case mark(DispatchSemaphore, isEnd: Bool)
  }

  private struct State: ~Copyable {
    var jobs = RingQueue<Job>()
    var byteCount = 0
    /// What the files have lost, and what did not get as far.
    var written = LogFolder.Losses(), refused = LogFolder.Losses()
    var hasBegun = false
    /// The line that files begin with, with `place` where their names stand.
    var head: String?
  }

  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)
  private let limit: Int
  private let perform: @Sendable (LogSeries?, UnsafeRawBufferPointer) -> LogFolder.Losses

  /// A queue in which at most `limit` bytes wait. `perform` writes lines, or without a dataset ends all files, and tells what
  /// has been lost so far; one thread calls it.
  init(limit: Int, perform: @escaping @Sendable (LogSeries?, UnsafeRawBufferPointer) -> LogFolder.Losses) {
    self.limit = limit
    self.perform = perform
  }

  /// A queue for the files of `folder`, which is the queue's alone from its first lines on.
  package convenience init(_ folder: LogFolder, limit: Int) {
    let handed = Handed(folder: folder)
    self.init(limit: limit) { dataset, lines in
      if let dataset { handed.folder.write(dataset, lines) } else { handed.folder.turn() }
      return handed.folder.losses
    }
    folder.firstLine = { [unowned self] name in
      state.withLock { $0.head }?.replacing(Self.place, with: name, maxReplacements: 1)
    }
  }

  /// A folder on its way to the thread that writes it.
  private struct Handed: @unchecked Sendable {
    let folder: LogFolder
  }

  /// Gives the line that files begin with, once there is one, with a name in it. The capture's thread calls it.
  package var head: (String) -> String? = { _ in nil }
  private static let place = "name-of-this-file"

  /// What is lost so far.
  package var losses: LogFolder.Losses {
    state.withLock {
      LogFolder.Losses(dropped: $0.written.dropped + $0.refused.dropped, failed: $0.written.failed + $0.refused.failed)
    }
  }

  /// Has whole lines written; false, and they are lost, where there is no room for them.
  @discardableResult
  package func write(_ dataset: LogSeries, _ lines: UnsafeRawBufferPointer) -> Bool {
    if state.withLock({ $0.head == nil }), let line = head(Self.place) { state.withLock { $0.head = line } }
    return add(.lines(dataset, Array(lines)), lines.count) ?? refuse(LogFile.count(lines[...]))
  }

  /// Has other files follow.
  package func turn() { _ = add(.turn, 0) }

  /// Waits until what was handed over is written, for at most so many seconds; whether it is.
  package func settle(within seconds: Int, isEnd: Bool = false) -> Bool {
    let reached = DispatchSemaphore(value: 0)
    _ = add(.mark(reached, isEnd: isEnd), 0)
    return reached.wait(timeout: .now() + .seconds(seconds)) == .success
  }

  /// Waits likewise, for the end: what waits then is lost.
  package func finish(within seconds: Int) {
    guard !settle(within: seconds, isEnd: true) else { return }
    let left = state.withLock { state in
      var left: UInt64 = 0
      state.jobs.removeAll { job in
        guard case .lines(_, let bytes) = job else { return false }
        left += bytes.withUnsafeBytes { LogFile.count($0[...]) }
        return true
      }
      return left
    }
    _ = refuse(left)
  }

  /// Adds a job; nil where there is no room.
  private func add(_ job: Job, _ count: Int) -> Bool? {
    let (isAdded, isFirst) = state.withLock { state in
      guard state.byteCount + count <= limit else { return (false, false) }
      state.jobs.append(job)
      state.byteCount += count
      defer { state.hasBegun = true }
      return (true, !state.hasBegun)
    }
    guard isAdded else { return nil }
    work.signal()
    if isFirst { DispatchQueue(label: "imdump.documents").async { self.run() } }
    return true
  }

  private func refuse(_ count: UInt64) -> Bool {
    let isFirst = state.withLock { state in
      state.refused.dropped += count
      state.refused.failed += 1
      return state.refused.failed == 1
    }
    if isFirst { logError("the disk is too slow; documents are lost until it catches up") }
    return false
  }

  private func run() {
    while true {
      work.wait()
      guard let job = state.withLock({ $0.jobs.popFirst() }) else { continue }
      let losses: LogFolder.Losses
      switch job {
      case .mark(let reached, let isEnd):
        reached.signal()
        if isEnd { return }
        continue
      case .turn: losses = perform(nil, UnsafeRawBufferPointer(start: nil, count: 0))
      case .lines(let dataset, let bytes): losses = bytes.withUnsafeBytes { perform(dataset, $0) }
      }
      state.withLock { state in
        state.written = losses
        // It held its room while it was written.
        if case .lines(_, let bytes) = job { state.byteCount -= bytes.count }
      }
    }
  }
}
