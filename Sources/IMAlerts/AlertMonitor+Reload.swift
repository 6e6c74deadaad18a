import IMEngine
import IMMetrics
import IMWire

/// What reading rules again came to.
package struct RuleChanges: Equatable, Sendable {
  /// Rules that go on with their states.
  package var kept = 0
  /// Rules that were not there before.
  package var added = 0
  /// Rules that judge otherwise than before: they begin anew.
  package var changed = 0
  /// Rules that are there no more.
  package var removed = 0

  /// None.
  package init() {}
}

/// Other rules in the place of those that are evaluated, while packets come.
extension AlertMonitor {
  /// Evaluates `rules` from here on, those of `moves` by their filters. A rule that judges as before keeps its windows and its
  /// states, under the words that it has now. Alerts of rules that are gone or judge otherwise are resolved, with that as the reason; what
  /// is new counts what comes from here on.
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
      if watches[index].rule.judgesLike(rule) {
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
    // Messages that nobody waits for any more.
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

  /// Samples that were not kept, because their rules have as many states as they may: by the rules' names, in order.
  package var refusedByRule: [(rule: String, samples: UInt64)] {
    watches.filter { $0.refused > 0 }.map { ($0.rule.name, $0.refused) }
  }
}
