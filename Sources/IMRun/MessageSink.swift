package import IMEngine
import IMFields
import IMFilter
package import IMMetrics
package import IMOutput
package import IMOwners
package import IMStore
import IMSystem
package import IMWire

/// Collects messages and hands each on, if it is selected: when its fate is final, or, live, when it is decided, and again when
/// a late answer changes it: `imdump messages`.
package final class MessageSink: EngineSink {
  /// What the engine has to tell.
  package static func needs(hearsDecided: Bool) -> EngineOptions.Needs {
    hearsDecided ? [.frames, .resolved, .finished, .issues] : [.frames, .finished, .issues]
  }

  private let store: MessageStore
  private let plans: [ProtocolPlan]
  private let selection: MessageSelection
  /// What was found of the sessions and connections that were asked for.
  package var findings: ScopeFindings? { selection.findings }
  private let isLive: Bool
  /// Who has the ends of this host; `nil` but live.
  private let owners: ConnectionOwners?
  private let take: ((MessageRecord, Exchange) -> Void)?
  /// Whether messages go to a store.
  private let isForStore: Bool
  /// Told of messages whose fate may still change: when it is decided, and when a late answer changes it. What becomes of it in the end
  /// goes to `take`.
  @exclusivity(unchecked) package var follow: ((MessageRecord, Exchange) -> Void)?
  /// Whether `follow` is told of a message when it begins, too.
  @exclusivity(unchecked) package var followsFromStart = false
  /// What is shown of messages besides their lines.
  private let showing: DetailsMaker?
  /// Told of issues.
  package var hear: ((Issue, ConnectionInfo) -> Void)?
  /// Receives receipts.
  package var onReceipt: ((MessageReceipt) -> Void)?
  /// Told of connections.
  package var watch: ((ConnectionReport, TLSHello?) -> Void)?
  @exclusivity(unchecked) private var hello = ReportedHello()
  /// Which of the run's captures is read, from 0.
  @exclusivity(unchecked) package var capture: UInt32 = 0
  /// Where the batch that the engine has in hand stands in it.
  @exclusivity(unchecked) package var places = BatchPlaces()
  /// Exchanges that were decided by a frame that is not told yet: it comes next.
  @exclusivity(unchecked) private var decided: [Exchange] = []
  /// The statuses that answers gave.
  package private(set) var statuses = StatusRegistry()
  private var marks = GapMarks()
  /// Reads the named fields that the filter asks for.
  private var book = FieldReaderCache()
  /// Whether there are marks.
  @exclusivity(unchecked) private var isNearGap = false

  /// Hands what is selected to `take`; without one, `includes` tells which messages are. With `stored`, messages go to a store, which
  /// keeps these texts.
  package init(
    plans: [ProtocolPlan], selection: MessageSelection, isLive: Bool = false, owners: ConnectionOwners? = nil,
    stored: StoredTexts? = nil, showing: ShownDetails? = nil,
    take: ((MessageRecord, Exchange) -> Void)? = nil
  ) {
    self.plans = plans
    self.isLive = isLive
    self.owners = owners
    self.selection = selection
    isForStore = stored != nil
    self.take = take
    self.showing = (stored.map { .stored($0) } ?? showing).map { DetailsMaker($0, plans) }
    // A store has no elements of bodies.
    store = MessageStore(plans: plans, keepsBodies: selection.needsBodies, keepsElements: stored == nil)
  }

  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let isAfterGap = isNearGap && takeMark(frame, connection, direction)
    let fields = selection.names.map { self.fields(frame, connection, direction, bytes, body, $0) } ?? []
    let owner = owners?.owner(of: connection.serial, client: connection.peer, server: connection.server)
    let isFirst = note.copy == 1 && !note.isAck
    let details = showing.flatMap {
      $0.details(
        frame, connection, direction, bytes, body, tlvs, owner: owner, book: &book, isFirst: isFirst)
    }
    // Of other copies nobody asks.
    let place = note.copy == 1 && isForStore ? places.place(of: frame, in: bytes) : nil
    store.note(
      frame, note, connection, direction, body, tlvs, isAfterGap: isAfterGap, fields: fields, details: details,
      owner: owner,
      capture: place?.capture ?? capture, place: place?.offset)
    if followsFromStart, let follow, note.copy == 1, !note.isAck, !decided.contains(where: { $0.id == note.exchange }) {
      let exchange = Exchange(
        begun: frame, note, connection: connection.serial, plan: connection.plan, direction)
      if let record = store.look(exchange) { follow(record, exchange) }
    }
    if !decided.isEmpty { tellDecided() }
  }

  package func resolved(_ exchange: borrowing Exchange) {
    if isLive || follow != nil { decided.append(copy exchange) }
  }

  package func hello(_ hello: TLSHello, _ connection: ConnectionInfo) {
    if watch != nil { self.hello.note(hello, connection) }
  }
  package func connection(_ report: ConnectionReport) {
    watch?(report, hello.of(report))
  }

  package func finished(_ exchange: borrowing Exchange) {
    let exchange = copy exchange
    // What is decided was told then; what never is, is told at the end.
    guard let record = store.take(exchange) else { return }
    if take != nil, !isLive || exchange.fate == .pending { tell(record, exchange) }
    store.recycle(record)
  }

  /// Hands on what was decided. To be called after each batch, too: time alone decides.
  package func tellDecided() {
    for exchange in decided {
      guard let record = store.look(exchange) else { continue }
      if let follow { follow(record, exchange) } else { tell(record, exchange) }
    }
    decided.removeAll(keepingCapacity: true)
  }

  /// Hands on what is left, and says what the filter could not look into. To be called at the end of the run.
  package func end() {
    tellDecided()
    guard store.leftOut > 0 else { return }
    guard !isForStore else {
      return logError("not enough memory for the text of \(count(store.leftOut, "message")): it is not searched")
    }
    logError("-Y could not check \(count(store.leftOut, "message")): not enough memory for their bodies or fields")
  }

  private func tell(_ record: MessageRecord, _ exchange: Exchange) {
    guard selection.includes(record, exchange, plans[Int(exchange.plan)]) else { return }
    take?(record, exchange)
  }

  /// Whether a message that is not over yet is selected, as far as it is known.
  package func includes(_ exchange: Exchange) -> Bool {
    store.look(exchange).map { selection.includes($0, exchange, plans[Int(exchange.plan)]) } ?? false
  }

  /// What the filter asks for of a frame's named fields.
  @inline(never)
  private func fields(
    _ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan, _ body: RawSpan,
    _ names: NamedFilterFields
  ) -> [NamedField] {
    let plan = Int(connection.plan)
    let fields = book.fields(frame, connection, direction, plans[plan], bytes: bytes, body: body)
    return names.kept(of: fields ?? [], plan, for: selection.keptFields)
  }

  package func named(_ session: UInt32, _ name: String) { store.named(session, name) }
  package func forgotten(_ session: UInt32) { store.forgotten(session) }
  package func met(_ status: StatusCode, place: UInt16) {
    statuses.met(status, place: place)
    store.met(status, place: place)
  }
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) { store.adopted(exchange, times) }
  package func receipt(_ receipt: MessageReceipt) {
    onReceipt?(receipt)
    store.receipt(receipt)
  }
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    hear?(issue, connection)
    marks.note(issue, connection)
    isNearGap = !marks.isEmpty
  }

  @inline(never)
  private func takeMark(_ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction) -> Bool {
    defer { isNearGap = !marks.isEmpty }
    return marks.take(frame, connection, direction) != nil
  }
}

/// What is shown of messages besides their lines.
package enum ShownDetails {
  /// What lines of frames have beneath them, in this style.
  case lines(TextStyle)
  /// What was said, and to whom.
  case text
  /// The topic.
  case topic
  /// The texts that a store keeps.
  case stored(StoredTexts)
}

/// Makes the details of messages of their first copies.
package struct DetailsMaker {
  private let kind: ShownDetails
  private let plans: [ProtocolPlan]
  private let writer: FrameTextWriter

  /// Creates details of this kind, for messages of `plans`.
  package init(_ kind: ShownDetails, _ plans: [ProtocolPlan]) {
    self.kind = kind
    self.plans = plans
    var style = TextStyle()
    if case .lines(let wanted) = kind { style = wanted }
    writer = FrameTextWriter(plans: plans, style: style)
  }

  /// The details of a message whose first copy is `frame`; `nil` of other frames, which are read only where one tells what the next ones
  /// mean.
  package func details(
    _ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan, _ body: RawSpan,
    _ tlvs: Span<TLVRef>, owner: SocketOwner?, book: inout FieldReaderCache, isFirst: Bool
  ) -> MessageDetails? {
    // Most frames of a capture that goes to a store end here.
    if case .stored(let texts) = kind, !texts.has(connection.plan) { return nil }
    let plan = plans[Int(connection.plan)]
    guard isFirst || plan.fields?.remembers == true else { return nil }
    let fields = book.fields(frame, connection, direction, plan, bytes: bytes, body: body) ?? []
    guard isFirst else { return nil }
    switch kind {
    case .topic: return MessageText.topic(of: fields, plan).map { MessageDetails(destination: $0) }
    case .stored(let texts):
      return texts.details(
        of: fields, connection.plan, isMessage: frame.kind.pointee.role == .message,
        plain: Self.plain(plan, book.secrets, body))
    case .text:
      guard frame.kind.pointee.role == .message else { return nil }
      return MessageDetails(
        text: MessageText.text(of: fields, plan) ?? Self.plain(plan, book.secrets, body),
        destination: MessageText.destination(of: fields, plan), part: MessageText.part(of: fields, plan))
    case .lines:
      var out = ByteWriter(capacity: 1_024)
      writer.beneath(
        frame, connection, .message, bytes: bytes, body: body, tlvs: tlvs, fields: fields, secrets: book.secrets,
        owner: owner, to: &out)
      return MessageDetails(lines: out.withBytes { Array($0) })
    }
  }

  /// A body that is text as a whole, of a profile that hides nothing.
  private static func plain(_ plan: ProtocolPlan, _ secrets: [Range<Int>], _ body: RawSpan) -> String? {
    guard secrets.isEmpty, !plan.hidesIdentity, body.byteCount > 0, body.byteCount <= 4_096 else { return nil }
    return body.withUnsafeBytes { MessageText.text($0) }
  }
}
