@testable import IMBrowser
@testable import IMPipeline
@testable import IMStore
@testable import IMSystem
@testable import IMTerminal
import IMWire
import Synchronization

/// Pages, frames and rows over a store of a million messages.
enum FrameMarks {
  static func run(store: String) throws {
    let reader = try StoreReader(store)
    let last = try reader.messages(before: .max, count: 1).first?.id ?? 0
    try pages(reader, last)
    try frames(reader)
    try building(reader)
  }

  private static func pages(_ reader: StoreReader, _ last: Int64) throws {
    let finder = PageFinder(reader, zone: .utc)
    var pages = Times(), problems = Times()
    var random: UInt64 = 3
    for round in 0..<3_000 {
      random = random &* 6_364_136_223_846_793_005 &+ 1
      let id = Int64(random >> 33) % last
      let request = PageRequest(
        generation: 1, choice: PageRequest.Choice(), place: round % 2 == 0 ? .after(id) : .before(id), count: 50)
      _ = try pages.measure { try finder.page(request) }
      let problem = ProblemRequest(
        generation: 1, from: id, isForward: round % 2 == 0, kinds: round % 3 == 0 ? .damaged : [],
        choice: PageRequest.Choice())
      _ = try problems.measure { try finder.problem(problem) }
    }
    tell("a page of 50 anywhere among \(last) messages", "p99 <= 10 ms", pages.text, pages.percentile(99) <= 10)
    tell("the next problem among \(last) messages", "p99 <= 5 ms", problems.text, problems.percentile(99) <= 5)
  }

  private static func frames(_ reader: StoreReader) throws {
    var bench = try Screen(reader)
    bench.press(Key("a"))
    var frames = Times()
    for round in 0..<3_000 {
      let before = threadMilliseconds()
      bench.browser.handle(.key(round % 7 == 0 ? Key(.down) : Key(.pageDown)), at: bench.now)
      bench.paint(200, 60)
      frames.add(threadMilliseconds() - before)
      bench.resolve()
    }
    tell("a frame of 200x60, scrolling", "<= 16 ms", frames.text, frames.percentile(99) <= 16)
    let book = bench.browser.rowBook
    tell(
      "rows laid out before they became visible", "most",
      "\(short(100 * Double(book.found) / Double(max(1, book.found + book.madeWhilePainting)))) % of \(book.found + book.madeWhilePainting)",
      book.found > book.madeWhilePainting)
    var resizes = Times()
    for _ in 0..<100 {
      bench.paint(80, 24)
      bench.resolve()
      bench.painter.invalidate()
      resizes.measure { bench.paint(200, 60) }
      bench.resolve()
    }
    tell("from 80 to 200 columns, to the first frame", "<= 50 ms", resizes.text, resizes.largest <= 50)
    tell(
      "work of the thread with the terminal without a break", "<= 8 ms",
      "p99 \(short(bench.work.percentile(99))), max \(short(bench.work.largest)) ms of CPU",
      bench.work.percentile(99) <= 8)
  }

  /// Keys while another thread lays out 1,012 rows over and over.
  private static func building(_ reader: StoreReader) throws {
    let finder = PageFinder(reader, zone: .utc)
    let request = PageRequest(generation: 1, choice: PageRequest.Choice(), place: .after(0), count: 1_000)
    let items = try finder.page(request)?.items ?? []
    var table = RowTable(items + items.prefix(12))
    table.unfold(3, [])
    let rows = table
    let isOver = Atomic<Bool>(false)
    let built = Atomic<Int>(0)
    let building = try WorkerThread("bench-rows", isBehind: true, for: "rows", "lay out rows") {
      while !isOver.load(ordering: .relaxed) {
        var book = RowCache()
        book.use(RowLayout(width: 200, showsClient: true), version: 1)
        book.nextRequest(rows, seen: 0..<0)?.layOut { book.accept($0) }
        built.add(1, ordering: .relaxed)
      }
    }
    var bench = try Screen(reader)
    bench.press(Key("a"))
    var frames = Times()
    for _ in 0..<2_000 {
      frames.measure {
        bench.browser.handle(.key(Key(.pageDown)), at: bench.now)
        bench.paint(200, 60)
      }
      bench.resolve()
    }
    isOver.store(true, ordering: .relaxed)
    building.join()
    tell(
      "key to frame while \(rows.count) rows are laid out", "p99 <= 50 ms",
      "\(frames.text), laid out \(built.load(ordering: .relaxed)) times", frames.percentile(99) <= 50)
  }
}

/// A browser over a store without a terminal, whose requests are answered on the spot.
struct Screen {
  var browser = Browser(BrowsedSource(files: ["traffic.db"], isStore: true), zone: .utc)
  var painter = Painter(.many)
  var now = Duration.seconds(1)
  /// What the thread with the terminal does without a break.
  var work = Times()
  private let reader: StoreReader
  private let finder: PageFinder
  private let sessions: [StoredSession]

  init(_ reader: StoreReader) throws {
    self.reader = reader
    finder = PageFinder(reader, zone: .utc)
    sessions = try reader.sessions()
    resolve()
  }

  mutating func press(_ key: Key) {
    browser.handle(.key(key), at: now)
    paint(200, 60)
    resolve()
  }

  mutating func paint(_ width: Int, _ height: Int) {
    let before = threadMilliseconds()
    _ = painter.paint(browser.render(width: width, height: height))
    work.add(threadMilliseconds() - before)
  }

  /// Answers until nothing is asked for.
  mutating func resolve() {
    for _ in 0..<20 {
      now += .milliseconds(100)
      let requests = browser.takeRequests(at: now)
      if requests.isEmpty, browser.deadline == nil { return }
      for request in requests {
        for answer in answers(request) {
          let before = threadMilliseconds()
          browser.accept(answer)
          work.add(threadMilliseconds() - before)
        }
      }
    }
  }

  private func answers(_ request: BrowserRequest) -> [BrowserAnswer] {
    switch request {
    case .sessions(let wanted):
      return wanted.order.arrange(sessions).map { [.sessions(wanted, $0, SessionTotals(sessions))] } ?? []
    case .page(let wanted): return ((try? finder.page(wanted)) ?? nil).map { [.page($0)] } ?? []
    case .problem(let wanted): return ((try? finder.problem(wanted)) ?? nil).map { [.problem(wanted, $0.id)] } ?? []
    case .details(let id): return [.details(id, (try? reader.details(ofMessage: id)) ?? [])]
    case .rows(let wanted):
      var answers: [BrowserAnswer] = []
      wanted.layOut { answers.append(.rows($0)) }
      return answers
    default: return []
    }
  }
}
