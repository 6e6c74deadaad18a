import Glibc
import IMBrowser
import IMDescriptors
import IMRun
import IMSystem
import IMTerminal
import IMWire

/// The thread with the terminal: takes keys and answers, and paints. It reads no file and waits for nobody.
final class BrowseLoop {
  private var browser: Browser
  private let session: TerminalSession
  private var painter: Painter
  private var parser = InputParser()
  /// The descriptor on which signals and other threads tell that there is something to do.
  private let wakeEnd: Int32
  private let answers: AnswerMailbox
  private let loading: StoreLoading?
  /// Whether the store is there from the start.
  private let isThere: Bool
  /// Starts the threads that read, when there is a store.
  private let open: () throws(CaptureError) -> BrowseReaders
  private var readers: BrowseReaders?
  private var commits = 0
  private var status: ExitStatus?
  private var size: (width: Int, height: Int)
  private var pace = FramePace()
  /// Turns that had something to do, and frames that came of them.
  private(set) var turns = 0, frames = 0

  init(
    _ browser: Browser, _ session: TerminalSession, colours: ColourLevel, wakeEnd: Int32, answers: AnswerMailbox,
    loading: StoreLoading?, isThere: Bool, open: @escaping () throws(CaptureError) -> BrowseReaders
  ) {
    self.browser = browser
    self.session = session
    painter = Painter(colours)
    self.wakeEnd = wakeEnd
    self.answers = answers
    self.loading = loading
    self.isThere = isThere
    self.open = open
    size = session.size
  }

  /// Paints the first frame, before anything is read.
  func paintFirst() {
    if let loading { update(loading.state) }
    paint()
  }

  /// Runs until somebody ends it; gives the exit status.
  func run() -> ExitStatus {
    defer { readers?.end() }
    while status == nil {
      step()
      if browser.isDirty, Self.now >= pace.due { paint() }
      if status == nil { wait() }
      if session.error != nil { status = status ?? .success }
    }
    return status ?? .success
  }

  private static var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Does what there is to do without waiting.
  private func step() {
    turns += 1
    if let loading { update(loading.state) }
    if readers == nil, isThere || commits > 0 {
      do throws(CaptureError) { readers = try open() } catch { return fail(error) }
    }
    for answer in answers.take() { browser.accept(answer) }
    browser.advance(to: Self.now)
    guard let readers else { return }
    for request in browser.takeRequests(at: Self.now) { readers.put(request) }
  }

  private func fail(_ error: CaptureError) {
    session.end()
    logError(error.description)
    status = ExitStatus(error)
  }

  private func update(_ state: StoreLoading.State) {
    browser.progress.isLoading = !state.isOver
    browser.progress.percent = state.percent
    browser.progress.error = state.error
    browser.progress.unread = state.unread
    browser.progress.isLive = state.isLive && !state.isOver
    browser.progress.capture = state.capture
    guard state.commits != commits else { return }
    commits = state.commits
    browser.commit(commits, isLast: state.isOver, at: Self.now)
  }

  private func paint() {
    pace.paint(at: Self.now)
    frames += 1
    let bytes = painter.paint(browser.render(width: size.width, height: size.height))
    if !bytes.isEmpty { session.write(bytes) }
    // How many rows there is room for is known now: they may be others than were asked for.
    if let readers { for request in browser.takeRequests(at: Self.now) { readers.put(request) } }
  }

  // MARK: Waiting

  private func wait() {
    var timeout: Duration?
    if let deadline = browser.deadline { timeout = deadline - Self.now }
    if browser.isDirty { timeout = min(timeout ?? pace.due - Self.now, pace.due - Self.now) }
    if let patience = parser.patience { timeout = min(timeout ?? patience, patience) }
    var polled = [
      pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wakeEnd, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = timeout.map { Int32(clamping: max(0, $0.nanoseconds / 1_000_000 + 1)) } ?? -1
    let count = poll(&polled, 2, milliseconds)
    if polled[1].revents != 0 { heed(TerminalSignals.take(wakeEnd)) }
    if polled[0].revents != 0, status == nil {
      guard let bytes = session.read() else { return status = .interrupted }
      handle(parser.feed(bytes))
    } else if count == 0 {
      handle(parser.timeout())
    }
  }

  private func heed(_ wishes: TerminalSignals.Wishes) {
    if !wishes.isDisjoint(with: [.interrupt, .terminate, .hangUp]) {
      status = .interrupted
      return
    }
    if wishes.contains(.suspend) { suspend() }
    if wishes.contains(.resume) {
      session.resume()
      repaint()
    }
    if wishes.contains(.resize) { repaint() }
  }

  private func handle(_ events: [InputEvent]) {
    let now = Self.now
    if !events.isEmpty { pace.key(at: now) }
    for event in events { browser.handle(event, at: now) }
    for wish in browser.takeWishes() {
      switch wish {
      case .quit: status = .success
      case .suspend: suspend()
      case .redraw: repaint()
      case .mouse(let isOn): session.setMouse(isOn)
      case .copy(let text): session.copy(text)
      }
    }
  }

  private func suspend() {
    session.suspend()
    repaint()
  }

  private func repaint() {
    size = session.size
    painter.invalidate()
    pace.key(at: Self.now)
    browser.isDirty = true
  }
}
