package import IMEngine
package import IMMetrics
package import IMWire

/// Messages by session or by another group, the worst first, as a table or as one JSON object a line: `imdump messages --by session`.
package struct GroupWriter {
  private let plans: [ProtocolPlan]
  private let grouping: MessageGrouping
  private let limit: Int
  private let isJSON: Bool
  private let time: TimeStyle
  private let zone: LocalZone
  private let width: Int?
  private let columns = MetricColumns(.sessions, Catalogue.sessions)

  /// A writer for groups of messages of `plans`: at most `limit`. A table shows `time`, by the clock of `zone`; there, `sinceLast` is the time since the
  /// session's first; `width` is that of the terminal, if it goes to one.
  package init(
    plans: [ProtocolPlan], grouping: MessageGrouping = .session, limit: Int = .max, isJSON: Bool,
    time: TimeStyle = .timeOfDay, zone: LocalZone = .utc, width: Int? = nil
  ) {
    self.plans = plans
    self.grouping = grouping
    self.limit = limit
    self.isJSON = isJSON
    self.time = time
    self.zone = zone
    self.width = width
  }

  /// Appends the groups of `book`, the worst first, and what is left over.
  package func write(_ book: GroupTable, to out: inout ByteWriter, full: (inout ByteWriter) -> Void = { _ in }) {
    let order = Array(book.worstFirst.prefix(limit))
    guard isJSON else { return table(book, order, to: &out) }
    for place in order {
      object(book.groups[place], isOthers: false, to: &out)
      if out.count > 256 << 10 { full(&out) }
    }
    if let others = book.others { object(others, isOthers: true, to: &out) }
  }

  // MARK: Text

  private func table(_ book: GroupTable, _ order: [Int], to out: inout ByteWriter) {
    guard !order.isEmpty else { return }
    let who = grouping == .session ? ["session", "profile", "client", "server"] : [grouping.rawValue]
    let rows =
      order.map { row(book.groups[$0], isOthers: false) } + (book.others.map { [row($0, isOthers: true)] } ?? [])
    let titles = who + columns.titles + timeTitles(order.map { book.groups[$0] })
    // Most captures have no message that asks for no answer.
    let dropped = titles.indices.filter { i in titles[i] == "one-way" && rows.allSatisfy { $0[i] == "0" } }
    func shown(_ cells: [String]) -> [String] { cells.indices.filter { !dropped.contains($0) }.map { cells[$0] } }
    var table = TextTable(shown(titles))
    for row in rows { table.add(shown(row)) }
    table.write(to: &out, width: width)
  }

  /// The titles of the columns of `span`: times of day name their zone.
  private func timeTitles(_ groups: [GroupMetrics]) -> [String] {
    guard time != .none else { return [] }
    guard time == .timeOfDay || time == .sinceLast, let first = groups.map(\.firstAt.seconds).min(),
      let last = groups.map(\.lastAt.seconds).max()
    else { return ["first", "last"] }
    let label = zone.label(from: first, to: last)
    return ["first \(label)", time == .sinceLast ? "last" : "last \(label)"]
  }

  private func row(_ group: GroupMetrics, isOthers: Bool) -> [String] {
    let figures = columns.cells(group)
    // On how many connections the groups without a line of their own were is not known.
    if isOthers {
      return ["others"] + (grouping == .session ? ["", "", ""] : []) + [""] + figures.dropFirst() + span(group)
    }
    let server = group.hasSeveralServers ? "several" : "\(group.connection.server)"
    let ends = [profile(group), "\(group.connection.client)", server]
    return [name(group)] + (grouping == .session ? ends : []) + figures + span(group)
  }

  private func span(_ group: GroupMetrics) -> [String] {
    let ends = [group.firstAt, group.lastAt]
    var times = TimeText(time, zone)
    switch time {
    case .none: return []
    case .timeOfDay: return ends.map { at in text { times.timeOfDay(at, to: &$0) } }
    case .date: return ends.map { at in text { times.date(at, to: &$0) } }
    case .epoch: return ends.map { at in text { $0.epoch(at) } }
    case .sinceLast:
      let length = group.lastAt.microseconds - group.firstAt.microseconds
      return [
        text { times.timeOfDay(group.firstAt, to: &$0) },
        text {
          $0.literal("+"); $0.milliseconds(length)
        } + " ms",
      ]
    }
  }

  private func name(_ group: GroupMetrics) -> String {
    guard var name = group.name else { return "-" }
    return text { out in name.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: 64) } }
  }

  private func text(_ body: (inout ByteWriter) -> Void) -> String {
    var out = ByteWriter(capacity: 64)
    body(&out)
    return out.text
  }

  // MARK: JSON

  private func object(_ group: GroupMetrics, isOthers: Bool, to out: inout ByteWriter) {
    JSONLines.line(to: &out) { lines in
      if isOthers {
        lines.flag("others", true)
      } else {
        if grouping != .session {
          lines.text(grouping.key, group.name)
        } else {
          if let name = group.name {
            if group.nameIsNumber { lines.digits("session", name) } else { lines.string("session", name) }
          }
          lines.string("profile", profile(group))
          lines.endpoint("client", group.connection.client)
          lines.endpoint("server", group.connection.server)
        }
      }
      MetricTrees.session.write(group, &lines, isWanted: { !isOthers || $0 != "connections" })
      lines.instant("time", group.firstAt)
      lines.signed("first_us", group.firstAt.microseconds)
      lines.signed("last_us", group.lastAt.microseconds)
    }
  }

  private func profile(_ group: GroupMetrics) -> String { plans[Int(group.plan)].name }
}
