import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// Counts messages by session when their fate is final: `imdump messages --by session`.
final class SessionSink: EngineSink {
  private let store: MessageStore
  private let plans: [ProtocolPlan]
  private let selection: MessageSelection
  private var marks = GapMarks()
  /// Whether there are marks.
  private var isNearGap = false
  /// What was counted.
  private(set) var book: SessionBook

  /// Figures are kept of at most `limit` sessions.
  init(plans: [ProtocolPlan], limit: Int, selection: MessageSelection) {
    book = SessionBook(limit: limit)
    self.plans = plans
    self.selection = selection
    store = MessageStore(plans: plans, keepsBodies: selection.needsBodies)
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let isAfterGap = isNearGap && takeMark(frame, connection, direction)
    store.note(frame, note, connection, direction, body, tlvs, isAfterGap: isAfterGap)
  }

  func finished(_ exchange: borrowing Exchange) {
    let exchange = copy exchange
    guard let record = store.take(exchange) else { return }
    guard selection.includes(record, exchange, plans[Int(exchange.plan)]) else { return }
    // A client may have named itself after its first message.
    book.count(
      exchange, on: record.connection, name: record.session ?? store.name(exchange.session),
      nameIsNumber: record.sessionIsNumber)
  }

  func named(_ session: UInt32, _ name: String) { store.named(session, name) }
  func forgotten(_ session: UInt32) { store.forgotten(session) }
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) { store.adopted(exchange, times) }
  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    marks.note(issue, connection)
    isNearGap = !marks.isEmpty
  }

  @inline(never)
  private func takeMark(_ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction) -> Bool {
    defer { isNearGap = !marks.isEmpty }
    return marks.take(frame, connection, direction) != nil
  }
}
