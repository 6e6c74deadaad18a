import Glibc
import IMOutput

/// One way out: jobs that wait, and those that run, so many at once. Time comes as an argument, in seconds.
struct DeliveryLane {
  /// What is run.
  struct Job: Equatable {
    var words: [String]
    var environment: [String]
    var input: [UInt8]
    /// Whether the answer is an HTTP status, which tells whether it went well and whether to try again.
    var isPost: Bool
    /// Tries so far, and when the next one may begin.
    var tries = 0
    var notBefore = 0.0
  }

  /// What became of jobs.
  struct Figures: Equatable {
    var done = 0, failed = 0, timedOut = 0, dropped = 0
  }

  /// Jobs that wait, at most; and tries of a post.
  static let maximumQueue = 100
  static let maximumTries = 3

  /// What it is called in messages.
  let name: String
  private let width: Int
  private var queue: [Job] = []
  private var slots: [Slot] = []
  private(set) var figures = Figures()

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
  /// Whether something runs.
  var isRunning: Bool { !slots.isEmpty }

  /// Adds a job; when too many wait, the oldest is dropped.
  mutating func add(_ job: Job) {
    if queue.count >= Self.maximumQueue {
      queue.removeFirst()
      figures.dropped += 1
    }
    queue.append(job)
  }

  /// Drops all that waits, and ends what runs.
  mutating func giveUp(now: Double) {
    figures.dropped += queue.count
    queue.removeAll()
    for slot in slots { slot.child.hurry(now: now) }
  }

  /// Does what can be done now: looks at what runs, starts what waits. `tell` hears of what went wrong.
  mutating func tend(now: Double, tell: (String) -> Void) {
    var running: [Slot] = []
    for slot in slots {
      guard let ending = slot.child.tend(now: now) else {
        running.append(slot)
        continue
      }
      ended(slot.job, ending, slot.child.answer, now, tell)
    }
    slots = running
    while slots.count < width, let place = queue.firstIndex(where: { $0.notBefore <= now }) {
      let job = queue.remove(at: place)
      do throws(Child.Failure) {
        slots.append(
          Slot(
            job,
            try Child(
              job.words, environment: job.environment, input: job.input, wantsAnswer: job.isPost, now: now)))
      } catch {
        figures.failed += 1
        tell("\(name): start \(job.words.first ?? ""): \(systemText(error.errno))")
      }
    }
  }

  private mutating func ended(
    _ job: Job, _ ending: Child.Ending, _ answer: [UInt8], _ now: Double, _ tell: (String) -> Void
  ) {
    let status = job.isPost ? Int(String(decoding: answer, as: UTF8.self)) ?? 0 : 0
    switch ending {
    case .exited(0) where !job.isPost || (200..<300).contains(status):
      figures.done += 1
      return
    case .timedOut where !job.isPost:
      figures.timedOut += 1
      tell("\(name): its time was over")
      return
    default: break
    }
    // What the other end refuses it will refuse again.
    let isRefused = (400..<500).contains(status)
    if job.isPost, !isRefused, job.tries + 1 < Self.maximumTries {
      var again = job
      again.tries += 1
      // One and then two seconds, half as much less or more, so that many sensors do not come back together.
      again.notBefore = now + Double(again.tries) * .random(in: 0.5...1.5)
      queue.insert(again, at: 0)
      return
    }
    figures.failed += 1
    tell("\(name): \(Self.words(job, ending, status))")
  }

  private static func words(_ job: Job, _ ending: Child.Ending, _ status: Int) -> String {
    if status > 0 { return "answered \(status)" }
    switch ending {
    case .exited(let code): return job.isPost ? "cannot be reached (curl: \(code))" : "ended with status \(code)"
    case .signalled(let number): return "ended by signal \(number)"
    case .timedOut: return "no answer"
    }
  }
}
