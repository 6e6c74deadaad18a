import IMEngine
import IMFields
import IMMetrics
package import IMOutput
package import IMRun
package import IMSystem
import IMWire

/// Counts messages by group: `imdump messages --by` and `imdump stats --by`. `top` is how many groups are printed, the worst
/// ones; `nil` for all.
package func runGroups(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isJSON: Bool, time: TimeStyle,
  grouping: MessageGrouping, top: Int?, choice: MessageChoice, filter: String?
) throws(UsageError) -> ExitStatus {
  // An eighth is for the figures of the groups.
  var decode = decode
  decode.memory -= decode.memory / 8
  let run = try Run(input: input, decode: decode, report: report)
  if grouping == .owner, !run.isLive {
    throw UsageError(message: "--by owner needs a live capture on the host of the sockets")
  }
  let output = Output.standard()
  let namer = try GroupNamer(run, grouping)
  var book = GroupTable(limit: min(100_000, decode.memory >> 12), bytes: decode.memory >> 3)
  let (driver, sink) = try run.messages(choice, filter, showing: namer.details) { record, exchange in
    guard grouping != .session else {
      book.count(
        exchange, role: record.role, on: record.connection, name: record.session,
        nameIsNumber: record.sessionIsNumber)
      return
    }
    guard let name = namer.name(record, exchange) else { return }
    book.count(exchange, role: record.role, on: record.connection, group: name)
  }
  let errors = run.lead(driver)
  sink.end()
  var out = ByteWriter()
  GroupWriter(
    plans: run.plans, grouping: grouping, limit: top ?? .max, isJSON: isJSON, time: time, zone: .local,
    width: output.terminalWidth
  ).write(book, to: &out) { output.drain(&$0) }
  output.drain(&out)
  if book.hasCoarsePercentiles, !report.isQuiet {
    logError("a limit (--mem) is reached: percentiles of groups with many round trips are within 2.5 %")
  }
  if let others = book.others, !report.isQuiet {
    logError(
      "more than \(count(UInt64(book.groups.count), grouping.rawValue)); "
        + "\(count(others.exchanges, "exchange")) of the others are counted together")
  }
  let status = run.conclude(driver, errors, output)
  if !report.isQuiet { sink.findings?.tell() }
  return status
}

/// Names the group of a message.
struct GroupNamer {
  /// What is kept of messages for their names; `nil` for nothing.
  let details: ShownDetails?
  private let grouping: MessageGrouping
  private let plans: [ProtocolPlan]

  init(_ run: Run, _ grouping: MessageGrouping) throws(UsageError) {
    self.grouping = grouping
    plans = run.plans
    details = grouping == .topic ? .topic : nil
    if grouping == .topic, !plans.contains(where: MessageText.hasTopic) {
      throw UsageError(message: "--by topic: no profile in use has a field 'topic'")
    }
  }

  /// The name; `nil` where the message has none: one without a topic or a status is in no group.
  func name(_ record: MessageRecord, _ exchange: Exchange) -> String? {
    switch grouping {
    case .client: "\(record.connection.client.address)"
    case .server: "\(record.connection.server)"
    case .direction: record.direction.shortName
    case .type: plans.count > 1 ? "\(plans[Int(exchange.plan)].name) \(record.type)" : record.type
    case .session: record.session
    case .owner: record.owner.map { "\($0)" }
    case .status:
      record.status.map { status in record.statusName.map { "\(status.number) \($0)" } ?? "\(status.number)" }
    case .topic: record.details?.destination
    }
  }
}
