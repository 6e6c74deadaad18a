package import IMAlerts
import IMOutput
package import IMSystem
package import IMWire

/// The start of a run that resumes the state of an earlier one.
extension AlertStateFile {
  /// The maximum time by which a state may be later than the start of this run, in nanoseconds: packets may arrive a little late.
  private static let lateness: Int64 = 60_000_000_000

  /// Resumes from `kept` at `time`. `rules` parses the rules of the state. `take` passes them and the state to the evaluator of rules, and returns
  /// the changes of the rules and the firing alerts, which `deliverer` reports to the Alertmanagers. A state that cannot be resumed is dropped, and
  /// the reason is printed.
  package func resume(
    _ kept: AlertSnapshot, at time: Timestamp, isQuiet: Bool, _ deliverer: Deliverer?,
    rules: (String) throws(UsageError) -> [AlertRule],
    take: ([AlertRule]) -> (changes: RuleChanges, firing: [AlertEvent])
  ) {
    guard kept.clock.nanoseconds(since: time) <= Self.lateness else {
      return drop("it is of later packets than those of this run")
    }
    let old: [AlertRule]
    do throws(UsageError) {
      old = try rules(kept.text)
    } catch {
      return drop(error.message)
    }
    let (changes, firing) = take(old)
    for event in firing { deliverer?.refresh(event) }
    guard !isQuiet else { return }
    let others = changes.changed + changes.removed + changes.added > 0 ? ", \(changes.words)" : ""
    logError(
      "--state: \(count(UInt64(changes.kept), "rule")) continued\(others); \(count(UInt64(firing.count), "alert")) firing"
    )
  }
}

extension RuleChanges {
  /// The numbers of new, changed and removed rules.
  package var words: String {
    let parts = [(added, "new"), (changed, "changed"), (removed, "gone")].filter { $0.0 > 0 }
    return parts.isEmpty ? "unchanged" : parts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }
}
