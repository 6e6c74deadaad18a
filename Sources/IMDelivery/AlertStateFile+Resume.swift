package import IMAlerts
import IMOutput
package import IMSystem
package import IMWire

/// The beginning of a run that goes on with the state of an earlier one.
extension AlertStateFile {
  /// How much later than the beginning of this run a state may be, in nanoseconds: packets may come a little late.
  private static let lateness: Int64 = 60_000_000_000

  /// Takes up `kept` at `time`. `rules` parses the rules of the state, and `take` hands them and the state to what evaluates rules; it
  /// gives what became of the rules, and the alerts that fire, of which `deliverer` tells the Alertmanagers. A state that cannot be taken
  /// up is dropped, with the reason.
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
  /// How many rules are new, changed and gone.
  package var words: String {
    let parts = [(added, "new"), (changed, "changed"), (removed, "gone")].filter { $0.0 > 0 }
    return parts.isEmpty ? "unchanged" : parts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }
}
