import Glibc
import IMEngine
package import IMRun
import IMStore
package import IMSystem

/// Writes the messages of captures to a store: `imdump index`.
package func runIndex(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, store: StoreChoices
) throws(UsageError) -> ExitStatus {
  var store = store
  if let target = store.addsTo {
    // Told before hours of reading, and not behind them.
    do throws(StoreError) {
      try spillStores(beside: target, called: target)
      try StoreMerge(target, called: target).check()
    } catch {
      logError(error.description)
      return error.kind == .notFound ? .noInput : .failure
    }
    let place = realpath(target, nil).map { real in
      defer { free(real) }
      return String(cString: real)
    }
    let full = place ?? target
    let slash = full.lastIndex(of: "/")
    let prefix = "\(slash.map { String(full[full.index(after: $0)...]) } ?? full).added-"
    for left in abandoned(in: slash.map { String(full[...$0]) } ?? ".", prefix: prefix, end: "") { removeStore(left) }
    store.addsTo = full
    store.path = "\(full).added-\(getpid())"
  }
  // An eighth is for the figures of sessions, as in `messages --by session`.
  var decode = decode
  decode.memory -= decode.memory / 8
  let run = try Run(input: input, decode: decode, report: report)
  var choices = RunChoices()
  choices.store = store
  let output = Output.standard()
  let companions = try run.companions(choices, output)
  let engine = run.engine(exchangeCapacity: StoreKeeper.exchangeCapacity, companions: companions)
  let driver = run.driver(engine, companions)
  let errors = run.lead(driver)
  return run.conclude(driver, errors, output)
}
