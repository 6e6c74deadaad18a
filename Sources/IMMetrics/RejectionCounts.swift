package import IMEngine

/// Refused exchanges by type and status. At most so many of these are told apart.
package struct RejectionCounts: Sendable {
  /// A type and the status that it was refused with.
  package struct Entry: Equatable, Sendable {
    /// The plan's index, and the type's in it.
    package let plan: UInt8, kind: UInt8
    /// The number in `StatusRegistry` of the status; 0 where the answer has none.
    package let status: UInt16
    /// How many.
    package fileprivate(set) var count: UInt64
  }

  private static let maximumCount = 64
  /// In the order in which they were seen first.
  package private(set) var entries: [Entry] = []
  /// Those for which there was no room.
  package private(set) var others: UInt64 = 0

  /// None.
  package init() {}

  /// Counts a refused exchange.
  package mutating func add(_ resolution: Resolution) {
    add(Entry(plan: resolution.plan, kind: resolution.kind, status: resolution.status, count: 1))
  }

  /// Adds another's.
  package mutating func add(_ other: RejectionCounts) {
    for entry in other.entries { add(entry) }
    others &+= other.others
  }

  private mutating func add(_ new: Entry) {
    if let place = entries.firstIndex(where: { $0.plan == new.plan && $0.kind == new.kind && $0.status == new.status })
    {
      entries[place].count &+= new.count
    } else if entries.count < Self.maximumCount {
      entries.append(new)
    } else {
      others &+= new.count
    }
  }
}
