package import IMEngine
package import IMMetrics
package import IMWire

/// Units by session, as a table or as one JSON object a line: `imdump messages --by session`.
package struct SessionWriter {
  private let plans: [ProtocolPlan]
  private let isJSON: Bool
  private let time: TimeStyle
  private let zone: LocalZone
  private let width: Int?
  private let columns = FigureColumns(.sessions, Catalogue.sessions)

  /// A writer for sessions of `plans`. A table shows `time`, by the clock of `zone`; there, `sinceLast` is the time since the
  /// session's first; `width` is that of the terminal, if it goes to one.
  package init(
    plans: [ProtocolPlan], isJSON: Bool, time: TimeStyle = .timeOfDay, zone: LocalZone = .utc, width: Int? = nil
  ) {
    self.plans = plans
    self.isJSON = isJSON
    self.time = time
    self.zone = zone
    self.width = width
  }

  /// Appends the sessions of `book`, those that began first first, and what is left over.
  package func write(_ book: SessionBook, to out: inout ByteWriter, full: (inout ByteWriter) -> Void = { _ in }) {
    let order = book.sessions.indices.sorted {
      (book.sessions[$0].firstAt, $0) < (book.sessions[$1].firstAt, $1)
    }
    guard isJSON else { return table(book, order, to: &out) }
    for place in order {
      object(book.sessions[place], isOthers: false, to: &out)
      if out.count > 256 << 10 { full(&out) }
    }
    if let others = book.others { object(others, isOthers: true, to: &out) }
  }

  // MARK: Text

  private func table(_ book: SessionBook, _ order: [Int], to out: inout ByteWriter) {
    guard !order.isEmpty else { return }
    var table = TextTable(
      ["session", "profile", "client", "server"] + columns.titles + (time == .none ? [] : ["first", "last"]))
    for place in order { table.add(row(book.sessions[place], isOthers: false)) }
    if let others = book.others { table.add(row(others, isOthers: true)) }
    table.write(to: &out, width: width)
  }

  private func row(_ session: SessionMetrics, isOthers: Bool) -> [String] {
    let figures = columns.cells(session)
    // On how many connections the sessions without a line of their own were, nobody knows.
    if isOthers { return ["others", "", "", "", ""] + figures.dropFirst() + span(session) }
    let who = [name(session), profile(session), "\(session.connection.client)", "\(session.connection.server)"]
    return who + figures + span(session)
  }

  private func span(_ session: SessionMetrics) -> [String] {
    let ends = [session.firstAt, session.lastAt]
    var times = TimeText(time, zone)
    switch time {
    case .none: return []
    case .timeOfDay: return ends.map { at in text { times.timeOfDay(at, to: &$0) } }
    case .date: return ends.map { at in text { times.date(at, to: &$0) } }
    case .epoch: return ends.map { at in text { $0.epoch(at) } }
    case .sinceLast:
      let length = session.lastAt.microseconds - session.firstAt.microseconds
      return [
        text { times.timeOfDay(session.firstAt, to: &$0) },
        text {
          $0.literal("+"); $0.milliseconds(length)
        } + " ms",
      ]
    }
  }

  private func name(_ session: SessionMetrics) -> String {
    guard var name = session.name else { return "-" }
    return text { out in name.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: 64) } }
  }

  private func text(_ body: (inout ByteWriter) -> Void) -> String {
    var out = ByteWriter(capacity: 64)
    body(&out)
    return out.text
  }

  // MARK: JSON

  private func object(_ session: SessionMetrics, isOthers: Bool, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      if isOthers {
        lines.flag("others", true)
      } else {
        if let name = session.name {
          if session.nameIsNumber { lines.digits("session", name) } else { lines.string("session", name) }
        }
        lines.string("profile", profile(session))
        lines.endpoint("client", session.connection.client)
        lines.endpoint("server", session.connection.server)
      }
      FigureTrees.session.write(session, &lines, isWanted: { !isOthers || $0 != "connections" })
      lines.signed("first_us", session.firstAt.microseconds)
      lines.signed("last_us", session.lastAt.microseconds)
    }
  }

  private func profile(_ session: SessionMetrics) -> String { plans[Int(session.plan)].name }
}
