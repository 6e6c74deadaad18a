import Glibc
import IMEngine
package import IMRun
import IMStore
package import IMSystem

/// Creates the features of a run that writes a store: the store itself, and what else its options ask for.
package typealias StoringFeatures = @Sendable (Run, StoreChoices) throws(UsageError) -> [any RunFeature]

/// Writes the messages of captures to a store: `imdump index`. `features` creates what accompanies the run.
package func runIndex(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, store: StoreChoices, features: StoringFeatures
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
  let output = Output.standard()
  let companions = try features(run, store)
  let engine = run.engine(exchangeCapacity: StoreKeeper.exchangeCapacity, companions: companions)
  let driver = run.driver(engine, companions)
  let errors = run.lead(driver)
  return run.conclude(driver, errors, output)
}
