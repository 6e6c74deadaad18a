import IMDescriptors
import IMStore
import IMSystem

/// The thread that writes a store.
final class StoreThread {
  private let queue: StoreQueue
  private let writer: StoreWriter
  private var thread: WorkerThread?

  /// Starts a thread for `writer`, which nobody else uses until `join`. It takes its batches from `queue`. Errors name
  /// `path`. `written` is called after each batch.
  init(
    _ writer: StoreWriter, _ queue: StoreQueue, path: String, written: (@Sendable () -> Void)? = nil
  ) throws(CaptureError) {
    self.queue = queue
    self.writer = writer
    thread = try WorkerThread("imdump-store", for: path, "write the store") {
      while var batch = queue.take() {
        do throws(StoreError) { try writer.write(batch) } catch { return queue.fail(error) }
        if let oldest = writer.oldestCapture { queue.oldestCapture = oldest }
        written?()
        // Cleared where nobody else has it: of a shared one the room would be made anew.
        batch.clear()
        queue.recycle(batch)
      }
      // By this thread: the memory that it has for pages serves for sorting.
      if let isWhole = queue.isWhole {
        do throws(StoreError) {
          try writer.finish(isWhole: isWhole, isHurried: ShutdownSignal.ofProcess.isStopped)
        } catch { queue.fail(error) }
      }
    }
  }

  /// Waits until everything is written, and closes the store. Gives how many messages were removed for others. Throws the error that
  /// stopped the writer.
  func join(isWhole: Bool) throws(StoreError) -> UInt64 {
    guard let thread else { return 0 }
    queue.end(isWhole: isWhole)
    thread.join()
    self.thread = nil
    if let error = queue.error { throw error }
    return writer.removed
  }
}
