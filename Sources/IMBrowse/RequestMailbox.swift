import IMBrowser
import IMSystem
import Synchronization

/// Requests on their way to a thread that reads: of each kind the latest. Older ones are dropped, and the one that is being
/// answered is told that nobody wants its answer.
final class RequestMailbox: @unchecked Sendable {
  // SAFETY: what is not constant is touched under `lock` only, but for the atomic.

  private let lock = WaitingLock()
  private var waiting: [BrowserRequest] = []
  private var running: Int?
  private var isEnded = false
  private let stale = Atomic<Bool>(false)

  /// Whether the answer that is being made is for nobody. Of the thread that makes it.
  var isStale: Bool { stale.load(ordering: .relaxed) }

  /// Hands on a request, in place of an older one of its kind.
  func put(_ request: BrowserRequest) {
    lock.locked {
      waiting.removeAll { $0.kind == request.kind }
      waiting.append(request)
      if running == request.kind { stale.store(true, ordering: .relaxed) }
      lock.tell()
    }
  }

  /// Takes the next request; waits for one. `nil` when there will be none.
  func take() -> BrowserRequest? {
    lock.locked {
      running = nil
      while waiting.isEmpty, !isEnded { lock.wait() }
      if isEnded { return nil }
      let request = waiting.removeFirst()
      running = request.kind
      stale.store(false, ordering: .relaxed)
      return request
    }
  }

  /// No request follows, and those that wait are dropped.
  func end() {
    lock.locked {
      isEnded = true
      stale.store(true, ordering: .relaxed)
      lock.tell()
    }
  }
}

extension BrowserRequest {
  /// A number for each kind: a request takes the place of an older one of its kind.
  fileprivate var kind: Int {
    switch self {
    case .sessions: 0
    case .problems: 1
    case .page: 2
    case .problem: 3
    case .details: 4
    case .frame: 5
    case .news: 6
    case .save: 7
    case .names: 8
    case .rows: 9
    case .ladder: 10
    case .timeline: 11
    case .moment: 12
    case .connections: 13
    case .types: 14
    case .preview: 15
    }
  }
}

/// Answers on their way to the thread that paints.
final class AnswerMailbox: Sendable {
  private let answers = Mutex<[BrowserAnswer]>([])
  private let wake: @Sendable () -> Void

  /// A mailbox that calls `wake` when it receives an answer.
  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Hands on an answer.
  func put(_ answer: BrowserAnswer) {
    answers.withLock { $0.append(answer) }
    wake()
  }

  /// Takes what lies there.
  func take() -> [BrowserAnswer] {
    answers.withLock { answers in
      defer { answers = [] }
      return answers
    }
  }
}
