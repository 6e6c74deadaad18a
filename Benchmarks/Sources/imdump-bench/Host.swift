import Glibc
@testable import IMBrowser
@testable import IMCapture
@testable import IMBrowse
@testable import IMRun
@testable import IMStore
@testable import IMSystem
@testable import IMTerminal
@testable import IMDescriptors
import IMWire
import Synchronization

/// The loop of `imdump browse` on this terminal, over a live store that this process writes meanwhile: for what no file can bring.
enum Host {
  /// Writes the messages of `capture` to a store, all of its first `first` at once, and then `size` of them every `pause` milliseconds;
  /// shows it until `q`. Tells on `log` when the commits were: their messages in all, and the clock's milliseconds.
  static func run(capture: String, store: String, first: Int, size: Int, pause: Double, log: String) throws -> Int32 {
    let plans = try Decoding.plans()
    let batches = Decoding.batches(of: capture, plans, size: size)
    let writer = try Decoding.writer(store, plans, isLive: true)
    var written = 0, next = 0
    while written < first, next < batches.count {
      try writer.write(batches[next])
      written += batches[next].messageCount
      next += 1
    }
    guard let wakeEnd = TerminalSignals.start(), let session = TerminalSession() else { return 69 }
    let loading = StoreLoading { TerminalSignals.wake() }
    loading.change { $0.commits = 1 }
    let answers = AnswerMailbox { TerminalSignals.wake() }
    let browser = Browser(BrowsedSource(files: [store], isStore: true), zone: .utc)
    let loop = BrowseLoop(
      browser, session, colours: .many, wakeEnd: wakeEnd, answers: answers, loading: loading, isThere: true
    ) { () throws(CaptureError) in
      try BrowseReaders(store, InputOptions(), (plans, plans), DecodeOptions(), answers)
    }
    let isOver = Atomic<Bool>(false)
    let (begin, done) = (next, written)
    nonisolated(unsafe) let handed = writer
    let waiting = batches
    let writing = try WorkerThread("bench-write", isBehind: true, for: store, "write the store") {
      guard let file = fopen(log, "w") else { return }
      var written = done
      usleep(1_500_000)
      let begun = milliseconds()
      for (count, batch) in waiting[begin...].enumerated() {
        let wait = Double(count) * pause - (milliseconds() - begun)
        if wait > 0 { usleep(UInt32(wait * 1_000)) }
        if isOver.load(ordering: .relaxed) { break }
        do throws(StoreError) { try handed.write(batch) } catch { break }
        written += batch.messageCount
        fputs("\(written) \(milliseconds())\n", file)
        loading.change { $0.commits += 1 }
      }
      fclose(file)
    }
    session.begin()
    loop.paintFirst()
    _ = loop.run()
    session.end()
    isOver.store(true, ordering: .relaxed)
    writing.join()
    warn("turns \(loop.turns) frames \(loop.frames)")
    return 0
  }
}
