import Glibc
import IMDescriptors
import IMOutput
package import IMStore
package import IMSystem
import Synchronization

/// Prints the rows of a statement over a store: `imdump query`. It may take `seconds`; 0 is no limit.
package func runQuery(
  _ path: String, _ sql: String, form: QueryForm, seconds: Int
) throws(UsageError) -> ExitStatus {
  try printRows(path, form, seconds) { query throws(StoreError) in try query.rows(sql) }
}

/// Prints the messages of a store whose text has all words of `text`: `imdump query --search`.
package func runSearch(
  _ path: String, _ text: String, form: QueryForm, seconds: Int
) throws(UsageError) -> ExitStatus {
  guard SearchText.query(text) != nil else {
    throw UsageError(message: "--search: expected letters or digits")
  }
  return try printRows(
    path, form, seconds,
    ifNone: { query throws(StoreError) in
      try query.keepsPayload() ? nil : "the store has no message text: 'imdump index --payload' stores it"
    }
  ) { query throws(StoreError) in try query.search(text) }
}

/// The time that a statement may take. That in which its rows are printed does not count: their reader may be slow.
private final class StatementTime: Sendable {
  /// Seconds that are left, and when they are over while the statement runs, as the bits of numbers.
  private let left: Atomic<UInt64>
  private let last = Atomic<UInt64>(Double.infinity.bitPattern)

  /// `seconds` in all; 0 is no limit.
  init(seconds: Int) { left = Atomic((seconds == 0 ? .infinity : Double(seconds)).bitPattern) }

  /// Whether the time is over.
  var isOver: Bool { MonotonicClock.seconds() > Double(bitPattern: last.load(ordering: .relaxed)) }

  /// The statement goes on, from the moment that this gives.
  func begin() -> Double {
    let now = MonotonicClock.seconds()
    last.store((now + Double(bitPattern: left.load(ordering: .relaxed))).bitPattern, ordering: .relaxed)
    return now
  }

  /// It has a row, having gone on at `begun`.
  func end(_ begun: Double) {
    let rest = Double(bitPattern: left.load(ordering: .relaxed)) - (MonotonicClock.seconds() - begun)
    left.store(rest.bitPattern, ordering: .relaxed)
  }
}

private func printRows(
  _ path: String, _ form: QueryForm, _ seconds: Int,
  ifNone remark: (StoreQuery) throws(StoreError) -> String? = { _ in nil },
  _ ask: (StoreQuery) throws(StoreError) -> StoreRows
) throws(UsageError) -> ExitStatus {
  guard access(path, R_OK) == 0 else {
    logError("\(path): \(systemText(errno))")
    return .noInput
  }
  let stop = SignalHandlers().stop
  let time = StatementTime(seconds: seconds)
  let output = Output.standard()
  var printer = RowPrinter(form, output)
  StoreQuery.prepare()
  do throws(StoreError) {
    let query = try StoreQuery(confinedStore(path), called: path) { stop.isStopped || time.isOver }
    var rows = try ask(query)
    var isEmpty = true
    printer.begin(rows.columns)
    while output.error == nil {
      let begun = time.begin()
      guard try rows.next() else { break }
      time.end(begun)
      printer.print(rows)
      isEmpty = false
    }
    if isEmpty, output.error == nil, let remark = try remark(query) { logError("\(path): \(remark)") }
  } catch {
    printer.end(isWhole: false)
    if error.kind == .interrupted, !stop.isStopped {
      logError(
        "\(path): the statement was stopped after \(count(UInt64(seconds), "second")); --timeout allows more, 0 sets no limit"
      )
      return .failure
    }
    return try tell(error)
  }
  printer.end(isWhole: true)
  guard let error = output.error, !error.isBrokenPipe else { return .success }
  logError(error.description)
  return .ioError
}

/// Says what went wrong, and gives the exit status.
private func tell(_ error: StoreError) throws(UsageError) -> ExitStatus {
  switch error.kind {
  case .badStatement: throw UsageError(message: error.description)
  case .interrupted: return .interrupted
  case .notFound, .notAStore:
    logError(error.description)
    return .noInput
  case .failed:
    logError(error.description)
    return .failure
  }
}

/// Gives up what reading a store does not need: whoever has made it may have meant to fool the code that reads it. Gives the
/// store's path from the root.
///
/// One that is being written has a log beside it, whose index readers keep as well: for that its folder stays open.
///
/// `sandbox` is whose rights they are; `isInteractive` says that a terminal is used; files may be made in `others`.
package func confinedStore(
  _ path: String, _ sandbox: Sandbox = .ofReader, isInteractive: Bool = false, others: [Int32] = [],
  writesDatabase: Bool = false
) throws(StoreError) -> String {
  do throws(CaptureError) {
    let file = try StoreFile(reading: path)
    let needsFolder = writesDatabase || access(file.place + "-wal", F_OK) == 0
    let folders = needsFolder ? [file.folder] + others : others
    try sandbox.enter(
      folders: folders, mayWrite: !folders.isEmpty, keepsDatabase: true, isInteractive: isInteractive,
      stores: [file.place], useStoreCalls: useDatabaseCalls)
    return file.place
  } catch {
    throw StoreError(
      error.code == .notFound ? .notFound : .failed, path: path, attempt: error.subject, text: error.message)
  }
}
