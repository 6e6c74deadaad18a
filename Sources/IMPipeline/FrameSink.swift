import IMAlerts
import IMEngine
import IMFields
import IMFilter
import IMOutput
import IMOwners
import IMRun
import IMSystem
import IMWire

/// Prints frames as they are decoded: `imdump -r` and `imdump -i` with `--format text` or `json`.
final class FrameSink: EngineSink {
  /// What a line of JSON needs, together: each change of a class's property asks whether another is going on.
  private struct Page: ~Copyable {
    var json: FrameJSONWriter
    var out = ByteWriter(capacity: 300 << 10)
    /// Where the last frame's line ends in `out`; negative where it was not printed.
    var lineEnd = -1
    /// Frames printed.
    var printed: UInt64 = 0

    /// Writes a frame that carries its session's number; false, and nothing, for one whose session has a name.
    @inline(__always)
    mutating func write(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, missing: UInt64,
      _ output: Output
    ) -> Bool {
      guard json.carriesSession(connection) else { return false }
      write(frame, note, connection, direction, session: nil, missing: missing, output)
      return true
    }

    mutating func write(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, session: String?,
      missing: UInt64, _ output: Output
    ) {
      if out.count > 256 << 10 { output.drain(&out) }
      json.write(frame, note, connection, direction, session: session, missing: missing, to: &out)
      printed &+= 1
      lineEnd = out.count
    }
  }

  // One thread calls a sink, and no call is made within another: what follows is not guarded against it at every access.

  @exclusivity(unchecked) private var text: FrameTextWriter
  @exclusivity(unchecked) private var page: Page
  private let isJSON: Bool
  /// Whether every frame is a line of JSON.
  private let isPlain: Bool
  /// Whether named fields are shown, and whether frames of a plan have some, by plan.
  private let showsNames: Bool
  /// Whether lines of JSON tell them.
  private let tellsFields: Bool
  @exclusivity(unchecked) private var showsFields: [Bool]
  @exclusivity(unchecked) private var book = FieldReaderCache()
  /// Whether lines of JSON name their frames' elements, and tell their values.
  private let showsElements: Bool, showsValues: Bool
  private let plans: [ProtocolPlan]
  private let filter: Filter?
  /// The named fields that the filter asks for.
  private let filterNames: NamedFilterFields?
  /// What became of the messages, where the filter asks for it.
  private let outcomes: MessageOutcomes?
  /// Who has the ends of this host; `nil` where nobody wants to know.
  private let owners: ConnectionOwners?
  /// Whether lines tell it.
  private let showsOwners: Bool
  private let output: Output
  @exclusivity(unchecked) private var names: [UInt32: String] = [:]
  @exclusivity(unchecked) private var marks = GapMarks()
  /// Whether there are marks or a line that is held. Asking a flag costs a frame less than asking them.
  @exclusivity(unchecked) private var isNearGap = false
  /// A gap whose line is not written yet: the frame that it cuts belongs to the line, and frames in front of it may follow.
  private var held: (gap: Issue, connection: ConnectionInfo, cut: UInt64)?
  /// Alerts' lines, where there are any.
  private var alertText: AlertTextWriter?
  private var alertLines = JSONLines()
  /// Frames printed.
  var printed: UInt64 { page.printed }

  init(
    plans: [ProtocolPlan], format: OutputFormat, style: TextStyle, filter: Filter?, names: NamedFilterFields?,
    outcomes: MessageOutcomes? = nil, owners: ConnectionOwners? = nil, files: [String] = [], output: Output
  ) {
    self.plans = plans
    self.filter = filter
    filterNames = names
    self.outcomes = outcomes
    self.output = output
    isJSON = format == .json
    text = FrameTextWriter(plans: plans, style: style, files: files.map { shown($0) })
    page = Page(json: FrameJSONWriter(plans: plans, files: files))
    showsElements = isJSON && style.verbosity > 0
    showsValues = style.showsText
    let showsOwners = isJSON || style.verbosity > 0
    let asksOwners = filter?.fieldsUsed.contains(MessageField.owner.rawValue) == true
    self.owners = showsOwners || asksOwners ? owners : nil
    self.showsOwners = showsOwners
    isPlain = isJSON && filter == nil && !showsElements && self.owners == nil
    // Bytes in hexadecimal hide what the fields say is not to be shown.
    let isNamed =
      style.showsFields && (format == .json || style.verbosity > 0) || style.showsHex || style.showsText
    showsNames = isNamed
    tellsFields = style.showsFields
    showsFields = plans.map { isNamed && $0.hasFields }
  }

  func reloaded(_ plans: [ProtocolPlan]) {
    page.json.reload(plans)
    showsFields = plans.map { showsNames && $0.hasFields }
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    guard !isNearGap else {
      showBehindGap(frame, note, connection, direction, bytes, body, tlvs)
      return
    }
    show(frame, note, connection, direction, bytes, body, tlvs, nil)
  }

  /// A frame while streams have gaps that no frame has followed yet: it may be the first behind one.
  @inline(never)
  private func showBehindGap(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ body: RawSpan, _ tlvs: Span<TLVRef>
  ) {
    if let held, !isBefore(frame, connection, direction, held.gap, held.connection) { tellHeld() }
    var frame = frame
    let mark = marks.take(frame, connection, direction)
    if mark != nil { frame.flags.insert(.afterGap) }
    isNearGap = !marks.isEmpty || held != nil
    show(frame, note, connection, direction, bytes, body, tlvs, mark)
  }

  @inline(__always)
  private func show(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ body: RawSpan, _ tlvs: Span<TLVRef>, _ mark: GapMarks.Mark?
  ) {
    let isWritten =
      isPlain && !showsFields[Int(connection.plan)]
      && page.write(frame, note, connection, direction, missing: mark?.missing ?? 0, output)
    if !isWritten { choose(frame, note, connection, direction, bytes, body, tlvs, mark) }
  }

  @inline(never)
  private func choose(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ body: RawSpan, _ tlvs: Span<TLVRef>, _ mark: GapMarks.Mark?
  ) {
    page.lineEnd = -1
    let plan = plans[Int(connection.plan)]
    // Asked for every frame: the end of a short connection is soon gone.
    let owner = owners?.owner(of: connection.serial, client: connection.peer, server: connection.server)
    let session = plan.hasSession ? nil : names[note.session]
    // Each frame is read of a protocol in which one tells what the next ones mean.
    var fields: [NamedField]?
    let isNamed = showsFields[Int(connection.plan)]
    if isNamed && (filter == nil || plan.fields?.remembers == true) || filterNames != nil {
      fields = book.fields(frame, connection, direction, plan, bytes: bytes, body: body)
    }
    if let filter {
      let isWanted = body.withUnsafeBytes { body in
        tlvs.withUnsafeBufferPointer { references in
          filter.matches(
            FrameFilterRecord(
              frame: frame, note: note, info: connection, direction: direction, plan: plan, session: session,
              body: body, references: references, fields: fields ?? [], names: filterNames,
              outcome: outcomes?[note.exchange], owner: owner))
        }
      }
      guard isWanted else { return }
    }
    if isNamed, fields == nil {
      fields = book.fields(frame, connection, direction, plan, bytes: bytes, body: body)
    }
    if isJSON {
      page.write(frame, note, connection, direction, session: session, missing: mark?.missing ?? 0, output)
      if showsElements, tlvs.count > 0 {
        FrameJSONWriter.amend(elements: tlvs, body: body, plan, showsValues: showsValues, to: &page.out)
      }
      if tellsFields, let fields, let names = plan.fields {
        FrameJSONWriter.amend(fields: fields, names, to: &page.out)
      }
      if showsOwners, let owner { FrameJSONWriter.amend(owner: owner, to: &page.out) }
      page.lineEnd = page.out.count
      return
    }
    if page.out.count > 256 << 10 { output.drain(&page.out) }
    for early in mark?.early ?? [] { text.write(early, connection, isTCP: true, to: &page.out) }
    text.write(
      frame, note, connection, direction, session: session, bytes: bytes, body: body, tlvs: tlvs,
      fields: isNamed ? fields ?? [] : [], secrets: isNamed ? book.secrets : [],
      owner: showsOwners ? owner : nil, to: &page.out)
    page.printed &+= 1
    page.lineEnd = page.out.count
  }

  /// Notes where bytes are missing; in text they have a line, unless the filter keeps it back.
  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    marks.note(issue, connection)
    isNearGap = !marks.isEmpty || held != nil
    guard !isJSON, FrameTextWriter.hasLine(issue.kind) else { return }
    guard Int(connection.plan) < plans.count else {
      if issue.kind == .proxyHeader || issue.kind == .webSocketFrame || issue.kind == .webSocketMask, filter == nil {
        tellHeld()
        text.write(issue, connection, isTCP: true, to: &page.out)
      }
      return
    }
    if issue.kind == .frameCut, let gap = held?.gap, held?.connection.serial == connection.serial,
      gap.direction == issue.direction, issue.streamOffset &+ issue.byteCount == gap.streamOffset
    {
      held?.cut = issue.byteCount
      return
    }
    tellHeld()
    if let filter {
      let record = IssueFilterRecord(issue: issue, info: connection, plan: plans[Int(connection.plan)])
      guard filter.matches(record) else { return }
    }
    if issue.kind == .gap {
      held = (issue, connection, 0)
      isNearGap = true
    } else {
      text.write(issue, connection, to: &page.out)
    }
    if page.out.count > 256 << 10 { output.drain(&page.out) }
  }

  /// Writes what a carrier told. A filter looks at frames, and keeps it back.
  func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo) {
    guard !isJSON, filter == nil else { return }
    tellHeld()
    text.write(event, connection, to: &page.out)
    page.lineEnd = -1
    if page.out.count > 256 << 10 { output.drain(&page.out) }
  }

  /// Whether a frame stands in front of a gap of its own stream.
  private func isBefore(
    _ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction, _ gap: Issue, _ other: ConnectionInfo
  ) -> Bool {
    connection.serial == other.serial && direction == gap.direction && frame.streamOffset < gap.streamOffset
  }

  private func tellHeld() {
    guard let (gap, connection, cut) = held else { return }
    held = nil
    text.write(gap, cut: cut, connection, to: &page.out)
  }

  /// Writes an alert at its place between the frames.
  func write(_ alert: AlertEvent, _ style: TextStyle) {
    tellHeld()
    if isJSON {
      AlertJSONWriter().write(alert, to: &alertLines)
      alertLines.writer.withBytes { page.out.raw($0) }
      alertLines.writer.removeAll()
    } else {
      var text = alertText ?? AlertTextWriter(style: style)
      text.write(alert, to: &page.out)
      alertText = text
    }
    page.lineEnd = -1
  }

  /// Writes what is ready.
  func flush() {
    tellHeld()
    output.drain(&page.out)
  }

  /// Writes the rest: lines of gaps that no frame has followed.
  func finish() {
    tellHeld()
    for (gap, connection) in marks.takeRest() where !isJSON {
      if let filter {
        let record = IssueFilterRecord(issue: gap, info: connection, plan: plans[Int(connection.plan)])
        guard filter.matches(record) else { continue }
      }
      text.write(gap, connection, isTCP: true, to: &page.out)
      if page.out.count > 256 << 10 { output.drain(&page.out) }
    }
    output.drain(&page.out)
  }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func forgotten(_ session: UInt32) { names[session] = nil }

  /// The last frame's answers came out before it. Their lines call them orphans and cannot be taken back; its own tells.
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    guard page.lineEnd == page.out.count else { return }
    if isJSON {
      FrameJSONWriter.amend(answers: times, to: &page.out)
    } else {
      text.write(answers: times, to: &page.out)
    }
  }
}
