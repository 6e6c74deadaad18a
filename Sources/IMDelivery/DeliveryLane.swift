import Glibc
import IMDescriptors
import IMOutput
import IMShip
import IMSystem

/// One way out: jobs that wait, and those that run, so many at once. Time comes as an argument, in seconds.
///
/// Jobs of one alert run one after another, in the order in which they came; posts do whatever they are about, also while one waits to be
/// tried again. So what resolves an alert never overtakes what tells that it fires, nor the other way round.
struct DeliveryLane {
  /// What is run.
  struct Job: Equatable {
    var words: [String]
    var environment: [String]
    var input: [UInt8]
    /// Whether the answer is an HTTP status, which tells whether it went well and whether to try again.
    var isPost: Bool
    /// What it is about; empty for what is sent again anyway.
    var key = ""
    /// What is kept of it where it cannot be delivered; nil for what is sent again anyway.
    var entry: DeliverySpool.Entry?
    /// The name of the file that it came from; nil where it comes from the run.
    var file: String?
    /// Tries so far, and when the next one may begin.
    var tries = 0
    var notBefore = 0.0
  }

  /// What became of jobs.
  struct Counts: Equatable {
    var done = 0, failed = 0, timedOut = 0, dropped = 0, spooled = 0
  }

  /// What became of a job that is over.
  enum Outcome: Equatable {
    /// It is delivered.
    case done
    /// It will never be: the other end refuses it, or the program failed.
    case failed
    /// The other end cannot be reached, or wants to be asked later: after so many seconds, where it says that.
    case unreachable(retryAfter: Double?)
    /// It was not begun, or it was ended because the run is over.
    case notTried
  }

  /// Jobs that wait, at most; and tries of a post.
  static let maximumQueue = 100
  static let maximumTries = 3
  /// The longest time that a server can have a post wait for the next try, in seconds.
  static let longestWait = 300.0
  /// Bytes of a program's errors that are kept, and lines that are told.
  private static let keptErrors = 1_024, toldLines = 3

  /// What it is called in messages.
  let name: String
  private let width: Int
  private var queue: [Job] = []
  private var slots: [Slot] = []
  private(set) var counts = Counts()
  private var isGivenUp = false

  private final class Slot {
    let job: Job
    var child: Child

    init(_ job: Job, _ child: consuming Child) {
      self.job = job
      self.child = child
    }
  }

  /// A lane that runs `width` jobs at once.
  init(name: String, width: Int) {
    self.name = name
    self.width = width
  }

  /// Whether nothing waits and nothing runs.
  var isIdle: Bool { queue.isEmpty && slots.isEmpty }
  /// Whether no further job can wait without one being dropped.
  var isFull: Bool { queue.count >= Self.maximumQueue }
  /// Whether something runs.
  var isRunning: Bool { !slots.isEmpty }

  /// Adds a job. When too many wait, the oldest is dropped: `over` is told of it.
  mutating func add(_ job: Job, over: (Job, Outcome) -> Bool = { _, _ in false }) {
    if queue.count >= Self.maximumQueue { drop(queue.removeFirst(), .notTried, over) }
    queue.append(job)
  }

  /// Counts a job that was kept without coming here.
  mutating func noteSpooled() { counts.spooled += 1 }

  /// Begins nothing more, and ends what runs. What waits is handed to `over` behind that, so that its order stays.
  mutating func giveUp(now: Double, over: (Job, Outcome) -> Bool = { _, _ in false }) {
    isGivenUp = true
    for slot in slots { slot.child.hurry(now: now) }
    if slots.isEmpty { handOver(over) }
  }

  /// Hands all that waits to `over`.
  private mutating func handOver(_ over: (Job, Outcome) -> Bool) {
    let waiting = queue
    queue.removeAll()
    for job in waiting { drop(job, .notTried, over) }
  }

  /// Counts a job that is not delivered now: as kept where `over` keeps it.
  private mutating func drop(_ job: Job, _ outcome: Outcome, _ over: (Job, Outcome) -> Bool) {
    // What comes from a file is in it.
    if over(job, outcome) { if job.file == nil { counts.spooled += 1 } } else { counts.dropped += 1 }
  }

  /// Does what can be done now: looks at what runs, starts what waits. `tell` hears of what went wrong, with what tells two such things
  /// apart. `over` hears what became of a job, and says whether it keeps one that is not delivered.
  mutating func tend(
    now: Double, over: (Job, Outcome) -> Bool = { _, _ in false }, tell: (_ text: String, _ kind: String) -> Void
  ) {
    var running: [Slot] = []
    for slot in slots {
      guard let ending = slot.child.tend(now: now) else {
        running.append(slot)
        continue
      }
      ended(slot.job, ending, slot.child, now, over, tell)
    }
    slots = running
    if isGivenUp {
      if slots.isEmpty { handOver(over) }
      return
    }
    while slots.count < width, let place = nextPlace(now) {
      let job = queue.remove(at: place)
      do throws(Child.Failure) {
        slots.append(
          Slot(
            job,
            try Child(
              job.words, environment: job.environment, input: job.input, wantsAnswer: job.isPost,
              keptErrors: job.isPost ? 0 : Self.keptErrors, now: now)))
      } catch {
        counts.failed += 1
        _ = over(job, .failed)
        let text = "\(name): start \(job.words.first ?? ""): \(systemText(error.errno))"
        tell(text, text)
      }
    }
  }

  /// The first job that may begin: of posts the first one, of programs the first one of whose alert none runs.
  private func nextPlace(_ now: Double) -> Int? {
    guard let first = queue.first else { return nil }
    if first.isPost { return first.notBefore <= now ? 0 : nil }
    return queue.firstIndex { job in job.key.isEmpty || !slots.contains { $0.job.key == job.key } }
  }

  private mutating func ended(
    _ job: Job, _ ending: Child.Ending, _ child: borrowing Child, _ now: Double, _ over: (Job, Outcome) -> Bool,
    _ tell: (String, String) -> Void
  ) {
    let (status, retryAfter) = job.isPost ? Self.answer(child.answer) : (0, nil)
    switch ending {
    case .exited(0) where !job.isPost || (200..<300).contains(status):
      counts.done += 1
      _ = over(job, .done)
      return
    case .timedOut where !job.isPost:
      counts.timedOut += 1
      _ = over(job, .failed)
      tell("\(name): timed out\(Self.lines(child.errors))", "\(name): timed out")
      return
    default: break
    }
    let words = "\(name): \(Self.words(job, ending, status))"
    guard job.isPost, !isRefusal(httpStatus: status) else {
      counts.failed += 1
      _ = over(job, .failed)
      tell(words + Self.lines(child.errors), words)
      return
    }
    if job.tries + 1 < Self.maximumTries, !isGivenUp {
      var again = job
      again.tries += 1
      // One and then two seconds, half as much less or more, so that many sensors do not come back together; never less than the other end
      // wishes.
      let pause = Double(again.tries) * .random(in: 0.5...1.5)
      again.notBefore = now + max(pause, min(retryAfter ?? 0, Self.longestWait))
      queue.insert(again, at: 0)
      return
    }
    tell(words, words)
    let isKept = over(job, .unreachable(retryAfter: retryAfter))
    // What comes from a file is in it.
    if isKept { if job.file == nil { counts.spooled += 1 } } else { counts.failed += 1 }
    // What came later must not overtake it.
    if isKept, !isGivenUp { handOver(over) }
  }

  /// The status and the seconds of `Retry-After` in what curl wrote.
  private static func answer(_ bytes: [UInt8]) -> (status: Int, retryAfter: Double?) {
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
    let status = words.first.flatMap { Int($0) } ?? 0
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return (status, words.count > 1 ? CurlResponse.seconds(String(words[1]), now: Int64(now.tv_sec)) : nil)
  }

  private static func words(_ job: Job, _ ending: Child.Ending, _ status: Int) -> String {
    if status > 0 { return "answered \(status)" }
    switch ending {
    case .exited(let code): return job.isPost ? "cannot be reached (curl: \(code))" : "ended with status \(code)"
    case .signalled(let number): return "ended by signal \(number)"
    case .timedOut: return "no answer"
    }
  }

  /// The first lines of what a program wrote of its errors, in one line, behind a colon; empty where there are none.
  private static func lines(_ errors: [UInt8]) -> String {
    let lines = errors.split(whereSeparator: { $0 == 10 || $0 == 13 }).prefix(toldLines)
    guard !lines.isEmpty else { return "" }
    var out = ByteWriter(capacity: 256)
    for (place, line) in lines.enumerated() {
      out.text(place == 0 ? ": " : " / ")
      line.withUnsafeBytes { out.terminal($0, limit: 200, keepsBackslashes: true) }
    }
    return out.text
  }
}
