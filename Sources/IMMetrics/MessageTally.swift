package import IMEngine
package import IMWire

/// What became of exchanges, by direction, counted when their fate is decided. The fates add up to `units`.
package struct MessageTally: Sendable {
  private var ways: InlineArray<2, FateCounts> = [FateCounts(), FateCounts()]
  private var oneWay: InlineArray<2, UInt32> = [0, 0]

  /// Nothing counted.
  package init() {}

  /// What a connection's report says.
  package init(_ report: borrowing ConnectionReport) { ways = report.rare.fates }

  /// What became of the messages of one direction.
  package subscript(direction: Direction) -> FateCounts { ways[Int(direction.rawValue)] }

  /// Messages of one direction that asked for no answer; they are no units.
  package func unacknowledged(_ direction: Direction) -> UInt32 { oneWay[Int(direction.rawValue)] }

  /// Both directions.
  package var both: FateCounts {
    var sum = ways[0]
    sum.add(ways[1])
    return sum
  }

  /// Whether nothing was counted.
  package var isEmpty: Bool {
    ways[0].units | ways[1].units | ways[0].late | ways[1].late | oneWay[0] | oneWay[1] == 0
  }

  /// Counts a settlement.
  package mutating func resolved(_ resolution: Resolution) {
    if resolution.isPlain { return acked(resolution.direction) }
    let way = Int(resolution.direction.rawValue)
    if resolution.fate == .unacknowledged {
      oneWay[way] &+= 1
      return
    }
    if resolution.flags.contains(.late) {
      ways[way].late &+= 1
      let before = resolution.outcome.before
      guard ways[way][before] > 0 else { return }
      ways[way].count(before, resolution.outcome.causeBefore, -1)
    } else {
      ways[way].units &+= 1
    }
    ways[way].count(resolution.outcome)
  }

  /// Counts an exchange that was answered after one copy and in time.
  @inline(__always)
  mutating func acked(_ direction: Direction) {
    let way = Int(direction.rawValue & 1)
    ways[way].units &+= 1
    ways[way].acked &+= 1
  }

  /// Counts a late answer to something that was counted elsewhere: the counts it changes are not here.
  package mutating func settledElsewhere(_ direction: Direction) {
    ways[Int(direction.rawValue)].late &+= 1
  }

  /// Adds what became of the exchanges of a type.
  package mutating func add(_ kind: KindTotals) {
    for way in 0...1 { ways[way].add(kind.fates[way]) }
  }

  /// Adds another tally.
  package mutating func add(_ other: MessageTally) {
    for way in 0...1 {
      ways[way].add(other.ways[way])
      oneWay[way] &+= other.oneWay[way]
    }
  }
}
