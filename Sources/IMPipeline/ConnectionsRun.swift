import IMEngine
import IMFilter
import IMMetrics
package import IMOutput
package import IMRun
package import IMSystem
import IMWire

/// How `imdump streams` lists connections.
package struct ConnectionListOptions: Sendable {
  /// The forms of the list.
  package enum Form: String, CaseIterable, Sendable {
    /// A table to read.
    case text
    /// One JSON object a line.
    case json
    /// Comma-separated values, by RFC 4180, with a header.
    case csv
    /// One Elastic Common Schema document a line.
    case ecs
  }

  /// The form.
  package var form = Form.text
  /// What the list is sorted by; `nil` for the order of first packets, or, with `top`, what went wrong.
  package var order: ConnectionOrder?
  /// The most connections that are shown, the first ones of the order; `nil` for all.
  package var top: Int?
  /// Only connections that match this filter.
  package var filter: String?
  /// Only connections with these numbers; empty for all.
  package var connections: [UInt32] = []

  /// All connections, as a table.
  package init() {}
}

/// Lists connections: `imdump streams`.
package func runConnections(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, options: ConnectionListOptions
) throws(UsageError) -> ExitStatus {
  // An eighth is for the list.
  var engine = decode
  engine.memory -= engine.memory / 8
  return try printConnections(
    Run(input: input, decode: engine, report: report), .standard(), options: options,
    capacity: max(80, decode.memory / 8 / ListedConnection.cost))
}

/// Receives connections as they end, keeps those to show, and counts all that match.
final class ConnectionSink: EngineSink {
  private let profiles: [String]
  private let order: ConnectionOrder
  private let filter: Filter?
  private let numbers: Set<UInt32>
  /// The most connections that are shown; `nil` for all.
  private let top: Int?
  /// The most that are kept.
  private let capacity: Int
  /// Called with connections in the order of the list when `part` of them are kept, which are then dropped. Without it, the
  /// last ones of the order are dropped at `capacity`.
  @exclusivity(unchecked) var spill: ((ArraySlice<ListedConnection>) -> Void)?
  /// Called with each connection that has ended, instead of keeping it.
  @exclusivity(unchecked) var take: ((ListedConnection) -> Void)?

  /// Whether `listedNow` is used.
  private let isScreen: Bool

  /// The connections of a part of a list that is printed in parts: its order is that of their ends, and within a part that of
  /// the list, so a list of all connections takes hardly more memory than counting them.
  private static let part = 8_192

  @exclusivity(unchecked) private var hello = ReportedHello()
  @exclusivity(unchecked) private var rows: [ListedConnection] = []
  @exclusivity(unchecked) private var open: [ListedConnection] = []
  /// On a screen, ended connections whose last report is still to come, because of late answers, by number.
  @exclusivity(unchecked) private var ended: [UInt32: ListedConnection] = [:]
  /// The connections that match.
  @exclusivity(unchecked) private(set) var totals = ConnectionTotals()
  /// All connections.
  @exclusivity(unchecked) private(set) var all: UInt64 = 0
  /// Connections that went to `spill` or `take`.
  @exclusivity(unchecked) private var handedOn: UInt64 = 0

  init(
    _ options: ConnectionListOptions, profiles: [String], filter: Filter?, capacity: Int, isScreen: Bool = false
  ) {
    self.isScreen = isScreen
    self.profiles = profiles
    self.filter = filter
    order = options.order ?? (options.top == nil ? .conn : .problems)
    numbers = Set(options.connections)
    top = options.top
    self.capacity = min(capacity, options.top.map { max(80, 2 * $0) } ?? capacity)
  }

  func hello(_ hello: TLSHello, _ connection: ConnectionInfo) { self.hello.note(hello, connection) }

  func connection(_ report: ConnectionReport) {
    if report.isFinal { all += 1 }
    guard numbers.isEmpty || numbers.contains(report.info.serial) else { return }
    let row = ListedConnection(report, hello: hello.of(report))
    guard filter?.matches(ConnectionFilterRecord(row, profiles: profiles)) ?? true else { return }
    guard report.isFinal else {
      if report.reason == .open {
        open.append(row)
      } else if isScreen, ended.count < capacity {
        ended[report.info.serial] = row
      }
      return
    }
    ended[report.info.serial] = nil
    totals.add(row)
    if let take {
      handedOn += 1
      return take(row)
    }
    rows.append(row)
    guard rows.count >= (spill == nil ? capacity : min(capacity, Self.part)) else { return }
    sort()
    if let spill {
      handedOn += UInt64(rows.count)
      spill(rows[...])
      rows.removeAll(keepingCapacity: true)
    } else {
      rows.removeSubrange((capacity / 5 * 4)...)
    }
  }

  /// The connections to show that went neither to `spill` nor to `take`, in the order of the list.
  func listed() -> ArraySlice<ListedConnection> {
    sort()
    return rows.prefix(top ?? rows.count)
  }

  /// How many connections the whole list shows.
  var shown: UInt64 { handedOn + UInt64(min(rows.count, top ?? rows.count)) }

  /// Connections that the list is without because the limit on memory was reached.
  var leftOut: UInt64 { min(totals.count, UInt64(top ?? .max)) - shown }

  /// The connections to show, those included that are open, as of the reports since the last call, or whose last report is still to come.
  func listedNow() -> (rows: ArraySlice<ListedConnection>, totals: ConnectionTotals) {
    let current = open + ended.values
    var (all, totals) = (rows + current, totals)
    for row in current { totals.add(row) }
    open.removeAll(keepingCapacity: true)
    all.sort { order.areInOrder($0, $1, profiles: profiles) }
    return (all.prefix(top ?? all.count), totals)
  }

  private func sort() { rows.sort { order.areInOrder($0, $1, profiles: profiles) } }
}

/// Lists the connections of a run that has begun. At most `capacity` of them are kept.
func printConnections(
  _ run: Run, _ output: Output, options: ConnectionListOptions, capacity: Int
) throws(UsageError) -> ExitStatus {
  let profiles = run.plans.map(\.name)
  let printer = ConnectionPrinter(options.form, profiles: profiles, output)
  let isScreen = run.isLive && options.form == .text && output.isTerminal
  var options = options
  if isScreen, options.order == nil { options.order = .problems }
  let sink = ConnectionSink(
    options, profiles: profiles, filter: try run.connectionFilter(options.filter), capacity: capacity,
    isScreen: isScreen)
  let isSorted = options.order != nil || options.top != nil
  if !isSorted {
    sink.spill = { printer.write($0) }
    if run.isLive { sink.take = { printer.write(live: $0) } }
  }
  // Lines of a live list do not wait a minute for what may still come.
  let engine = run.engine(sink.take == nil ? [.connections, .lateReports] : [.connections], sink: sink)
  let driver = run.driver(engine)
  // A connection that has ended is listed, though no other packet comes.
  driver.usesClock = true
  let screen = isScreen ? StatsScreen(output, title: liveTitle(run, "streams")) : nil
  let errors = run.lead(
    driver, hidesProgress: output.isTerminal && sink.take != nil, isOver: { output.error != nil },
    afterBatch: {
      guard run.isLive else { return }
      guard let screen else { return printer.flush() }
      guard screen.isDue else { return }
      driver.reportOpen()
      let (rows, totals) = sink.listedNow()
      // The heading, the screen's own two lines, and two for the totals.
      let rest = rows.prefix(max(1, (output.terminalHeight ?? 24) - 5))
      screen.paint(printer.lines(rest, totals, all: totals.count))
    })
  screen?.end()
  guard !run.hasReadNothing(driver, errors) else { return run.conclude(driver, errors, output) }
  if sink.take == nil { printer.write(sink.listed()) }
  if options.form == .text { printer.write(sink.totals, shown: sink.shown, all: sink.all) }
  printer.end()
  if sink.leftOut > 0 {
    logError(
      "the memory limit (--mem) is reached: the last \(count(sink.leftOut, "connection")) left out of the list, but counted in the totals"
    )
  }
  let status = run.conclude(driver, errors, output)
  // Connections are numbered from 1.
  let missing = options.connections.filter { $0 == 0 || UInt64($0) > sink.all }
  guard !run.isLive, !missing.isEmpty else { return status }
  logError("the capture has no connection \(missing.map { "#\($0)" }.joined(separator: ", "))")
  return max(status, .failure)
}

extension Run {
  /// Compiles a filter over connections.
  func connectionFilter(_ text: String?) throws(UsageError) -> Filter? {
    guard let text else { return nil }
    var schema = FilterSchema.connections.naming("profile", known: plans.map(\.name))
    (schema.zone, schema.begin) = (.local, begin(of: text))
    do throws(FilterError) { return try Filter(text, schema: schema) } catch {
      throw UsageError(error, in: text)
    }
  }
}

/// Writes a list of connections in its form.
private final class ConnectionPrinter {
  private let form: ConnectionListOptions.Form
  private let output: Output
  private var table: ConnectionTable
  private let rows: ConnectionRowWriter
  private var out = ByteWriter(capacity: 300 << 10)
  private var hasHeading = false

  init(_ form: ConnectionListOptions.Form, profiles: [String], _ output: Output) {
    self.form = form
    self.output = output
    table = ConnectionTable(profiles: profiles, zone: .local, width: output.terminalWidth)
    rows = ConnectionRowWriter(profiles: profiles)
  }

  /// Writes rows: of a table, all or a part of its rows.
  func write(_ list: ArraySlice<ListedConnection>) {
    guard form != .text else { return table.write(part: list, to: &out) { output.drain(&$0) } }
    for row in list { write(row) }
  }

  /// Writes a row of a live list.
  func write(live row: ListedConnection) {
    guard form == .text else { return write(row) }
    if !hasHeading { table.writeLiveHeading(from: row.firstSeen, to: &out) }
    hasHeading = true
    table.write(live: row, to: &out)
  }

  private func write(_ row: ListedConnection) {
    head()
    if form == .csv { rows.writeCSV(row, to: &out) } else { rows.writeJSON(row, to: &out) }
    if out.count > 256 << 10 { flush() }
  }

  /// The header of comma-separated values, once.
  private func head() {
    if form == .csv, !hasHeading { rows.writeCSVHeader(to: &out) }
    hasHeading = true
  }

  /// Writes the line below a table.
  func write(_ totals: ConnectionTotals, shown: UInt64, all: UInt64) {
    out.literal("\n")
    out.text(totals.text(shown: shown, all: all, width: output.terminalWidth))
    out.literal("\n")
  }

  /// The lines of a screen.
  func lines(_ list: ArraySlice<ListedConnection>, _ totals: ConnectionTotals, all: UInt64) -> [String] {
    var out = ByteWriter()
    table.write(list, to: &out)
    let text = totals.text(shown: UInt64(list.count), all: all, width: output.terminalWidth)
    return (text + "\n" + out.text).split(separator: "\n").map(String.init)
  }

  /// Writes what is buffered.
  func flush() { output.drain(&out) }

  /// Writes the rest; for comma-separated values without rows, their header.
  func end() {
    head()
    flush()
  }
}
