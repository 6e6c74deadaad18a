import IMWire

/// Counters of categories that have no place in a `Session`: those from 4 on. Few protocols have so many, and few senders use them.
struct OtherCounters {
  /// A counter, by who counts and in which category.
  struct Key: Hashable {
    /// The session; the plan, where it is for all of its sessions.
    var owner: UInt32
    var direction: Direction
    var category: UInt32
  }

  private var last: [Key: UInt32] = [:]
  private var gaps: [Key: [OpenGap]] = [:]
  /// What the numbers of a plan, direction and category were; at most `maximumTotals`, so that no sender makes more.
  private var order: [Key: SequenceTotals] = [:]
  private static var maximumTotals: Int { 256 }

  /// The last number of a counter; `nil` before the first.
  func last(_ session: UInt32, _ direction: Direction, _ category: UInt32) -> UInt32? {
    last.isEmpty ? nil : last[Key(owner: session, direction: direction, category: category)]
  }

  /// Forgets how far a session has counted.
  mutating func forget(_ session: UInt32) {
    guard !last.isEmpty else { return }
    last = last.filter { $0.key.owner != session }
    gaps = gaps.filter { $0.key.owner != session }
  }

  /// Takes note of `counter`, as `SessionTable.advance` does. `isShared` says that gaps say nothing; more than `limit` counters are not
  /// kept: then all begin anew.
  mutating func advance(
    _ key: Key, _ counter: UInt32, wrap: UInt64, plan: UInt32, isShared: Bool, limit: Int, at now: Timestamp
  ) -> SessionTable.Order {
    guard let last = last[key] else {
      if self.last.count >= max(1, limit) {
        self.last.removeAll()
        gaps.removeAll()
      }
      self.last[key] = counter
      return .inOrder
    }
    let expected = UInt64(last) + 1 >= wrap ? 0 : last + 1
    if counter == expected || isShared {
      self.last[key] = counter
      return .inOrder
    }
    let ahead = (UInt64(counter) + wrap - UInt64(expected)) % wrap
    if ahead < wrap / 2 {
      self.last[key] = counter
      if expected < counter {
        SessionTable.note(OpenGap(numbers: expected...(counter - 1), at: now), in: &gaps[key, default: []])
      }
      count(key, plan) { $0.leftOut += ahead }
      return .gap(Int(ahead))
    }
    guard var open = gaps[key], SessionTable.close(counter, in: &open) else {
      count(key, plan) { $0.late += 1 }
      return .late
    }
    gaps[key] = open.isEmpty ? nil : open
    count(key, plan) { $0.reordered += 1 }
    return .reordered
  }

  private mutating func count(_ key: Key, _ plan: UInt32, _ change: (inout SequenceTotals) -> Void) {
    let total = Key(owner: plan, direction: key.direction, category: key.category)
    guard order.count < Self.maximumTotals || order[total] != nil else { return }
    change(&order[total, default: SequenceTotals(direction: key.direction, category: key.category)])
  }

  /// What the numbers of a plan's senders were at `now`, by direction and category.
  func totals(_ plan: Int, at now: Timestamp, plan planOf: (UInt32) -> Int) -> [SequenceTotals] {
    guard !order.isEmpty else { return [] }
    var totals = order.filter { $0.key.owner == UInt32(plan) }.mapValues { $0 }
    for (key, gaps) in gaps where planOf(key.owner) == plan {
      let total = Key(owner: UInt32(plan), direction: key.direction, category: key.category)
      for gap in gaps
      where now.time(since: gap.at) < SessionTable.gapPatience
        && (last[key] ?? 0) &- gap.numbers.upperBound <= SessionTable.gapReach
      {
        totals[total]?.open += UInt64(gap.numbers.count)
      }
    }
    return totals.values.sorted {
      ($0.direction.rawValue, $0.category) < ($1.direction.rawValue, $1.category)
    }
  }
}
