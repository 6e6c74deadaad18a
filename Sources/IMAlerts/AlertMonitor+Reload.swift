import IMEngine
import IMMetrics
import IMWire

/// The outcome of reading rules again.
package struct RuleChanges: Equatable, Sendable {
  /// Rules that keep their states.
  package var kept = 0
  /// Rules that were not there before.
  package var added = 0
  /// Rules that are not equivalent to the ones before: they start without state.
  package var changed = 0
  /// Rules that were removed.
  package var removed = 0

  /// None.
  package init() {}
}

/// Replacing the rules while packets arrive.
extension AlertMonitor {
  /// Evaluates `rules` from now on; `moves` says where the filters of the old ones are now. An equivalent rule keeps its windows and
  /// states, and gets its new texts. Alerts of removed and changed rules are resolved with that reason. New rules count from now on.
  package func replace(rules: [AlertRule], moves: FilterMoves) -> RuleChanges {
    var changes = RuleChanges()
    let old = Dictionary(watches.indices.map { (watches[$0].rule.name, $0) }, uniquingKeysWith: { first, _ in first })
    let new = Set(rules.map(\.name))
    var kept: Set<Int> = []
    for rule in rules {
      guard let index = old[rule.name] else {
        changes.added += 1
        continue
      }
      if watches[index].rule.isEquivalent(to: rule) {
        kept.insert(index)
        changes.kept += 1
      } else {
        changes.changed += 1
      }
    }
    for index in watches.indices where !kept.contains(index) {
      let isChanged = new.contains(watches[index].rule.name)
      if !isChanged { changes.removed += 1 }
      end(index, isChanged ? .changed : .removed)
    }
    let before = watches
    watches = rules.map { rule in
      guard let index = old[rule.name], kept.contains(index) else { return Self.watch(rule, plans) }
      var watch = before[index]
      watch.rule = rule
      return watch
    }
    interests = AlertInterests(rules)
    selected.move(moves)
    seriesCount = watches.reduce(0) { $0 + $1.series.count }
    // No rule asks for the time that messages wait any more.
    if interests.open.isEmpty { open.removeAll() }
    // Before the first packet there is no step to count from.
    guard due > .distantPast else { return changes }
    for index in watches.indices where watches[index].next == .distantFuture && !watches[index].isExhausted {
      watches[index].next = SlidingWindow.boundary(after: clock, step: watches[index].rule.step)
      expectFirst(index)
    }
    schedule()
    return changes
  }

  /// Samples that were not counted because their rules have reached `max_series`, by the names of the rules, in order.
  package var refusedByRule: [(rule: String, samples: UInt64)] {
    watches.filter { $0.refused > 0 }.map { ($0.rule.name, $0.refused) }
  }
}
