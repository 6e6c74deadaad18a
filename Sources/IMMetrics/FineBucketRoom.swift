/// Room for the buckets from which many histograms together have their percentiles. Where it is full, those that grow become compact: their
/// percentiles are within 2.5 % then.
package struct FineBucketRoom: Sendable {
  private var left: Int
  /// Whether some became compact.
  package private(set) var isFull = false

  /// Room of so many bytes.
  package init(bytes: Int) { left = bytes / 8 }

  /// Has `record` put round trips into `trips`.
  @inline(__always)
  package mutating func record(into trips: inout RTTByDirection, _ record: (inout RTTByDirection) -> Void) {
    let before = trips.fineBuckets
    record(&trips)
    fit(&trips, since: before)
  }

  /// Makes room for the fine buckets that `trips` has beyond `before`.
  @inline(__always)
  package mutating func fit(_ trips: inout RTTByDirection, since before: Int) {
    let added = trips.fineBuckets - before
    if added > 0 { take(added, for: &trips) }
  }

  private mutating func take(_ added: Int, for trips: inout RTTByDirection) {
    left -= added
    guard left < 0 else { return }
    left += trips.fineBuckets
    trips.compact()
    isFull = true
  }

  /// Takes note that `trips` are needed no more.
  package mutating func release(_ trips: RTTByDirection) { left += trips.fineBuckets }
}
