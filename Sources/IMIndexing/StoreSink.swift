import IMEngine
import IMFields
import IMMetrics
import IMOutput
import IMRun
import IMStore
import IMSystem
import IMWire

/// Hears of the messages of captures that are files, and hands them to the writer of a store: each when its fate is decided, and again
/// what becomes of it later.
///
/// Live messages go through a `MessageSink`, which keeps all of each until its fate is final.
final class StoreSink: EngineSink {
  /// What is kept of an exchange beyond what all captures take, on average: most have nothing, since their rows are written.
  static let costPerMessage = 16

  private let plans: [ProtocolPlan]
  private let details: DetailsMaker
  private let feed: StoreFeed
  @exclusivity(unchecked) private var ring = MessageRing()
  /// Which of the run's captures is read, from 0.
  @exclusivity(unchecked) var capture: UInt32 = 0
  /// Where the batch that the engine has in hand stands in it.
  @exclusivity(unchecked) var places = BatchPlaces()
  /// Exchanges that were decided by a frame that is not told yet: it comes next.
  @exclusivity(unchecked) private var decided: [Exchange] = []
  @exclusivity(unchecked) private var hello = ReportedHello()
  private var statuses = StatusRegistry()
  private var marks = GapMarks()
  private var book = FieldReaderCache()
  /// Whether there are marks.
  @exclusivity(unchecked) private var isNearGap = false

  /// Hands messages of `plans` to `feed`, with the texts that `texts` keeps.
  init(plans: [ProtocolPlan], texts: StoredTexts, _ feed: StoreFeed) {
    self.plans = plans
    details = DetailsMaker(.stored(texts), plans)
    self.feed = feed
  }

  /// Messages that have begun.
  var messageCount: UInt64 { ring.count }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let isAfterGap = isNearGap && takeMark(frame, connection, direction)
    let isFirst = note.copy == 1 && !note.isAck
    let texts = details.details(
      frame, connection, direction, bytes, body, tlvs, owner: nil, book: &book, isFirst: isFirst)
    if note.exchange != .max {
      if isFirst {
        begin(frame, note, connection, direction, bytes, isAfterGap: isAfterGap, texts)
      } else if note.isAck {
        ring.add(note.exchange, TimedFrame(answerAt: frame.timestamp.microseconds))
      } else {
        let flags = FrameFlagNames.mask(frame, note) | (isAfterGap ? FrameFlagNames.afterGap : 0)
        ring.add(
          note.exchange, TimedFrame(copyAt: frame.timestamp.microseconds, frame.checksumStatus, flags: flags))
      }
    }
    if !decided.isEmpty { tellDecided() }
  }

  @inline(__always)
  private func begin(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    isAfterGap: Bool, _ texts: MessageDetails?
  ) {
    while ring.isNextDue(before: note.exchange) { moveNext() }
    let place = places.place(of: frame, in: bytes)
    let first = FirstCopy(
      frame, connection, direction, plans[Int(connection.plan)], capture: place?.capture ?? capture,
      place: place?.offset)
    let exchange = Exchange(begun: frame, note, connection: connection.serial, plan: connection.plan, direction)
    ring.begin(
      first, exchange, flags: FrameFlagNames.mask(frame, note) | (isAfterGap ? FrameFlagNames.afterGap : 0),
      unknownType: frame.kind.pointee.index >= FrameKind.unknownIndex ? "type_\(frame.type)" : nil, texts: texts)
  }

  private func moveNext() {
    ring.moveNext(to: &feed.batch)
    feed.handOn()
  }

  func resolved(_ exchange: borrowing Exchange) { decided.append(copy exchange) }

  /// Hands on what was decided.
  @inline(never)
  private func tellDecided() {
    for exchange in decided {
      ring.decide(exchange, statuses[exchange.status], to: &feed.batch)
      feed.handOn()
    }
    decided.removeAll(keepingCapacity: true)
    while ring.isNextDue { moveNext() }
  }

  func finished(_ exchange: borrowing Exchange) {
    if !decided.isEmpty { tellDecided() }
    ring.finish(exchange, statuses[exchange.status], to: &feed.batch)
    feed.handOn()
  }

  /// Hands on what is left. To be called at the end of the run.
  func end() {
    tellDecided()
    while !ring.isEmpty { moveNext() }
    guard ring.leftOut > 0 else { return }
    logError("not enough memory for the text of \(count(ring.leftOut, "message")): it is not searched")
  }

  func named(_ session: UInt32, _ name: String) { ring.named(session, name, in: &feed.batch) }
  func forgotten(_ session: UInt32) { ring.forgotten(session) }
  func receipt(_ receipt: MessageReceipt) {
    feed.batch.add(receipt)
    feed.handOn()
  }
  func met(_ status: StatusCode, place: UInt16) { statuses.met(status, place: place) }
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    for time in times { ring.add(exchange, TimedFrame(answerAt: time.microseconds)) }
  }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    feed.batch.add(issue, connection)
    feed.handOn()
    marks.note(issue, connection)
    isNearGap = !marks.isEmpty
  }

  func hello(_ hello: TLSHello, _ connection: ConnectionInfo) { self.hello.note(hello, connection) }

  func connection(_ report: ConnectionReport) {
    feed.batch.add(report, hello: hello.of(report))
    feed.handOn()
  }

  @inline(never)
  private func takeMark(_ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction) -> Bool {
    defer { isNearGap = !marks.isEmpty }
    return marks.take(frame, connection, direction) != nil
  }
}
