import IMBrowser
import IMDescriptors
import IMStore
import IMSystem
import IMWire

extension RequestThread {
  /// What a thread reads of a store.
  enum Workload: String {
    /// Lists that are read whole.
    case lists
    /// Pages of messages.
    case pages
    /// Messages by type, for which it reads all of them.
    case types
    /// Previews, which are a search while a store has no indexes.
    case previews
  }

  /// A thread that reads the store at `path` for `workload`, with a reader of its own.
  static func reading(
    _ path: String, _ workload: Workload, zone: LocalZone, _ answers: AnswerMailbox
  ) throws(CaptureError) -> RequestThread {
    try RequestThread("imdump-\(workload.rawValue)", for: path, "read the store") { mailbox in
      do throws(StoreError) {
        let reader = try StoreReader(path)
        reader.stop { mailbox.isStale }
        var captures: [String] = []
        var answering = Answering(reader: reader, finder: PageFinder(reader, zone: zone), mailbox: mailbox)
        while let request = mailbox.take() {
          do throws(StoreError) {
            // A live run begins one file after another.
            if workload == .lists, case let now = try reader.captures(), now != captures {
              captures = now
              answers.put(.captures(now))
            }
            if let answer = try answering.answer(request) { answers.put(answer) }
          } catch {
            // What was interrupted is wanted by nobody.
            if error.kind != .interrupted { answers.put(.failure(request, error.description)) }
          }
        }
      } catch {
        while let request = mailbox.take() { answers.put(.failure(request, error.description)) }
      }
    }
  }
}

/// What makes answers of requests.
private struct Answering {
  let reader: StoreReader
  let finder: PageFinder
  let mailbox: RequestMailbox
  /// The sessions as they were at a commit: an order is made of them without reading them again.
  var sessions: (commit: Int, rows: [StoredSession], totals: SessionTotals)?

  /// The answer; `nil` where nobody wants it any more.
  mutating func answer(_ request: BrowserRequest) throws(StoreError) -> BrowserAnswer? {
    switch request {
    case .sessions(let wanted):
      if sessions?.commit != wanted.commit {
        let rows = try reader.sessions()
        var totals = SessionTotals(rows)
        totals.connections = try reader.connectionTotals()
        totals.hasTopics = try reader.hasTopics()
        totals.keepsPayload = try reader.keepsPayload()
        sessions = (wanted.commit, rows, totals)
      }
      guard let sessions, let rows = wanted.order.arrange(sessions.rows, isStale: { mailbox.isStale }) else {
        return nil
      }
      return .sessions(wanted, rows, sessions.totals)
    case .problems(let times): return .problems(try reader.problemCounts(times))
    case .connections(let wanted):
      return .connections(
        wanted, try reader.connections(wanted.times, words: wanted.words, limit: ConnectionsRequest.limit))
    case .types(let wanted): return .types(wanted, try reader.types(wanted.times))
    case .preview(let wanted): return try finder.page(wanted) { mailbox.isStale }.map { .preview($0) }
    case .page(let wanted): return try finder.page(wanted) { mailbox.isStale }.map { .page($0) }
    case .problem(let wanted):
      return try finder.problem(wanted) { mailbox.isStale }.map { .problem(wanted, $0.id) }
    case .news(let wanted): return try finder.news(wanted) { mailbox.isStale }.map { .news($0) }
    case .details(let id): return .details(id, try reader.details(ofMessage: id))
    case .ladder(let wanted): return try LadderFinder(reader).part(wanted) { mailbox.isStale }.map { .ladder($0) }
    case .timeline(let wanted): return .timeline(wanted, try reader.periods(wanted.times, limit: Timeline.limit))
    case .moment(let wanted): return try finder.moment(wanted) { mailbox.isStale }.map { .moment(wanted, $0.id) }
    case .frame, .rows, .save, .names: return nil
    }
  }
}
