import IMEngine
package import IMWire

/// Round trips of each direction: those of the clients' messages, which a server answers, and those of the server's, which its
/// clients answer.
package struct RTTByDirection: Equatable, Sendable {
  private var ways: InlineArray<2, RTTHistogram>

  /// No samples.
  package init(isCompact: Bool = false) {
    ways = [RTTHistogram(isCompact: isCompact), RTTHistogram(isCompact: isCompact)]
  }

  /// The round trips of messages that were sent in this direction.
  package subscript(direction: Direction) -> RTTHistogram { ways[Int(direction.rawValue)] }

  /// The same by the direction's number: 0 from the client, 1 from the server.
  package subscript(way: Int) -> RTTHistogram { ways[way] }

  /// The round trips of both directions: two different things together, for outputs that had only these.
  package var both: RTTHistogram {
    if ways[1].count == 0 { return ways[0] }
    if ways[0].count == 0 { return ways[1] }
    var sum = ways[0]
    sum.add(ways[1])
    return sum
  }

  /// Samples.
  package var count: UInt64 { ways[0].count + ways[1].count }

  /// Takes the round trip of a message that was sent in `direction`.
  package mutating func record(_ time: Nanoseconds, _ direction: Direction) {
    ways[Int(direction.rawValue)].record(time)
  }

  /// Takes the round trip in microseconds of a message that was sent in `direction`.
  package mutating func record(microseconds: Int64, _ direction: Direction) {
    ways[Int(direction.rawValue)].record(microseconds: microseconds)
  }

  /// Adds the samples of another value.
  package mutating func add(_ other: RTTByDirection) {
    for way in 0...1 where other.ways[way].count > 0 { ways[way].add(other.ways[way]) }
  }

  /// Buckets of which compact histograms keep none.
  package var fineBuckets: Int { ways[0].fineBuckets + ways[1].fineBuckets }

  /// Drops the buckets that only percentiles need.
  package mutating func compact() { for way in 0...1 { ways[way].compact() } }

  /// Counts all samples in buckets, before several questions.
  package mutating func gather() { for way in 0...1 { ways[way].gather() } }

  /// Two that have the same samples in each direction, as far as buckets tell.
  package static func == (a: RTTByDirection, b: RTTByDirection) -> Bool {
    a.ways[0] == b.ways[0] && a.ways[1] == b.ways[1]
  }
}

/// Round trips as a report has them: of both directions together, added up once, and of each.
package struct RTTReport: Sendable {
  /// Of both directions.
  package let both: RTTHistogram
  /// Of each.
  package let byDirection: RTTByDirection

  /// The round trips of each direction, to be reported.
  package init(_ trips: RTTByDirection) {
    var gathered = trips
    gathered.gather()
    byDirection = gathered
    both = gathered.both
  }
}
