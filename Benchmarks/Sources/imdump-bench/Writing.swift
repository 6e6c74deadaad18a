import Glibc
@testable import IMBrowser
@testable import IMCapture
@testable import IMEngine
@testable import IMOutput
@testable import IMIndexing
@testable import IMStore
@testable import IMSystem
import IMWire
import Synchronization

/// Writing apart from reading, and the design in which one connection does both.
enum WritingMarks {
  /// Pages that are read 60 times a second while a store is written.
  private struct Seen {
    var pages = Times()
    var deepest = 0
    var wall = 0.0
    var messages = 0
    var mostKept = 0
    var isKept = true
  }

  static func run(folder: String, capture: String, small: String, isSingleToo: Bool) throws {
    let plans = try Decoding.plans()
    let apart = try write(capture, folder + "/apart.db", plans, isSingle: false)
    tell(
      "a page read while \(apart.messages) messages are inserted", "p99 <= 5 ms, max <= 50 ms",
      "\(apart.pages.text), \(apart.pages.count) pages in \(short(apart.wall / 1_000)) s",
      apart.pages.percentile(99) <= 5 && apart.pages.largest <= 50)
    tell("batches that wait for the writer", "<= 4, none dropped", "\(apart.deepest) at most", apart.deepest <= 4)
    tell(
      "the selected message while others are appended", "same message, same row; <= 500 kept",
      "\(apart.isKept ? "same" : "moved"), \(apart.mostKept) kept at most", apart.isKept && apart.mostKept <= 500)
    try batches(small, folder + "/batches.db", plans)
    guard isSingleToo else { return }
    let single = try write(capture, folder + "/single.db", plans, isSingle: true)
    tell(
      "the same through one connection (--single-context)", "for contrast",
      "\(single.pages.text); max \(short(single.pages.largest / max(0.01, apart.pages.largest))) times that of apart",
      nil)
  }

  /// Writes a store as `imdump browse` does, decoding and writing at a lower priority than what a person waits for, and reads it
  /// meanwhile. With `isSingle` both use one connection, one after the other.
  private static func write(_ capture: String, _ path: String, _ plans: [ProtocolPlan], isSingle: Bool) throws -> Seen {
    let writer = try Decoding.writer(path, plans)
    let queue = StoreQueue()
    let lock = WaitingLock()
    let seen = Mutex(Seen())
    let isOver = Atomic<Bool>(false)
    let reader = isSingle ? StoreReader(writer.database) : try StoreReader(path)
    let held = Held(reader)
    let reading = try WorkerThread("bench-pages", for: path, "read pages") {
      var bench = Window(held.reader)
      var random: UInt64 = 7
      while !isOver.load(ordering: .relaxed) {
        usleep(16_667)
        random = random &* 6_364_136_223_846_793_005 &+ 1
        let depth = queue.count
        let begun = milliseconds()
        let last = isSingle ? lock.locked { bench.page(random) } : bench.page(random)
        let time = milliseconds() - begun
        if !isSingle { bench.grow() }
        seen.withLock { seen in
          if last { seen.pages.add(time) }
          seen.deepest = max(seen.deepest, depth)
          (seen.mostKept, seen.isKept) = (max(seen.mostKept, bench.mostKept), bench.isKept)
        }
      }
    }
    let writing = try WorkerThread("bench-write", isBehind: true, for: path, "write a store") {
      while let batch = queue.take() {
        do throws(StoreError) {
          if isSingle {
            // SQLite's connection is used by one of the two at a time.
            let result: Result<Void, StoreError> = lock.locked {
              do throws(StoreError) { return .success(try held.write(batch, writer)) } catch { return .failure(error) }
            }
            try result.get()
          } else {
            try writer.write(batch)
          }
        } catch { return queue.fail(error) }
      }
    }
    let begun = milliseconds()
    let decoded = Mutex(0)
    let decoding = try WorkerThread("bench-decode", isBehind: true, for: path, "read captures") {
      var batch = StoreBatch(), size = BatchSize(), count = 0
      Decoding.messages(of: capture, plans) { record, exchange in
        batch.add(record, exchange)
        count += 1
        if batch.count >= size.next {
          queue.put(batch)
          batch = StoreBatch()
          size.grow()
        }
      }
      if batch.count > 0 { queue.put(batch) }
      queue.end(isWhole: true)
      decoded.withLock { $0 = count }
    }
    decoding.join()
    writing.join()
    if let error = queue.error { throw error }
    if isSingle {
      let result: Result<Void, StoreError> = lock.locked {
        do throws(StoreError) { return .success(try writer.finish(isWhole: true)) } catch { return .failure(error) }
      }
      try result.get()
    } else {
      try writer.finish(isWhole: true)
    }
    isOver.store(true, ordering: .relaxed)
    reading.join()
    return seen.withLock { seen in
      (seen.wall, seen.messages) = (milliseconds() - begun, decoded.withLock { $0 })
      return seen
    }
  }

  /// 5,000 messages of 50 sessions, a hundred to a transaction.
  private static func batches(_ capture: String, _ path: String, _ plans: [ProtocolPlan]) throws {
    let batches = Decoding.batches(of: capture, plans, size: 100)
    var times = Times()
    var sessions = 0
    for _ in 0..<5 {
      let writer = try Decoding.writer(path, plans)
      try times.measure { for batch in batches { try writer.write(batch) } }
      try writer.finish(isWhole: true)
      sessions = try StoreReader(path).sessions().count
    }
    let count = batches.reduce(0) { $0 + $1.messageCount }
    tell(
      "\(count) messages of \(sessions) sessions, in batches of 100", "<= 1 s",
      "\(short(times.percentile(50))) ms", times.percentile(50) <= 1_000 && sessions == 50)
  }

  /// A reader that a thread is handed.
  private final class Held: @unchecked Sendable {
    // SAFETY: used by the thread that reads, and by others only under the lock.
    let reader: StoreReader
    init(_ reader: StoreReader) { self.reader = reader }
    func write(_ batch: StoreBatch, _ writer: StoreWriter) throws(StoreError) { try writer.write(batch) }
  }

  /// What the browser does meanwhile: pages anywhere, and a window whose selected message is watched.
  private struct Window {
    let finder: PageFinder
    let reader: StoreReader
    var window = MessageWindow()
    var mostKept = 0
    var isKept = true
    private var watched: (id: Int64, row: Int)?

    init(_ reader: StoreReader) {
      self.reader = reader
      finder = PageFinder(reader, zone: .utc)
      window.resize(50)
      window.open(PageRequest.Choice())
    }

    /// Reads a page behind a message of chance; tells whether there was one.
    func page(_ random: UInt64) -> Bool {
      guard let last = try? reader.messages(before: .max, count: 1).first?.id, last > 0 else { return false }
      let request = PageRequest(
        generation: 1, choice: PageRequest.Choice(), place: .after(Int64(random >> 33) % last), count: 50)
      return (try? finder.page(request)) != nil
    }

    mutating func grow() {
      window.grow()
      while let request = window.nextRequest() {
        guard let page = try? finder.page(request) else { return window.fail() }
        _ = window.accept(page)
      }
      mostKept = max(mostKept, window.items.count)
      if let watched {
        if window.selected?.message.id != watched.id || window.screenRow != watched.row { isKept = false }
      } else if window.items.count > 60 {
        window.move(40)
        watched = window.selected.map { ($0.message.id, window.screenRow) }
      }
    }
  }
}
