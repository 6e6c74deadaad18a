package import IMEngine

/// What a connection's report counts. Each is read in one place; `ReportCounts` adds it up for a connection, a server, the
/// run, and, as what came since the report before, for a minute and a rule's window.
package enum ReportCount: Int, CaseIterable, Sendable {
  /// Connections; those with packets of a side; those with packets of both; those on which frames were decoded.
  case connections, seen, seenBoth, decoded
  /// Connections whose SYN was seen; their SYNs after the first.
  case attempts, repeatedSYNs
  /// Segments, by direction: see `SegmentFigures`.
  case retransmissions, fast, spurious, timeouts, outOfOrder, lost, missedHoles, missedBytes, duplicateAcks
  case keepAlives, keepAliveAcks, zeroWindows, copies
  /// Retransmissions with other bytes.
  case conflicts
  /// Holes in streams, and the bytes in them.
  case gaps, gapBytes
  /// Packets and their bytes on the wire, by direction.
  case packets, wireBytes
  /// Frames and their bytes, by direction.
  case frames, frameBytes
  /// Frames by what their checksum says.
  case rightBigEndian, rightLittleEndian, wrongChecksum, noChecksum, unchecked
  /// Copies of messages: sent on purpose, at once, after the answer.
  case retries, immediateDuplicates, duplicates
  /// Answers after the first; answers that name nothing known.
  case repeatedAnswers, orphanAnswers

  /// What `report` says; of direction `way`, where it is told by direction, else at 0 only.
  func read(_ report: borrowing ConnectionReport, _ way: Int) -> UInt64 {
    switch self {
    case .seen: return report.packets[way] > 0 ? 1 : 0
    case .retransmissions: return UInt64(report.segments[way].retransmissions)
    case .fast: return UInt64(report.segments[way].fast)
    case .spurious: return UInt64(report.segments[way].spurious)
    case .timeouts: return UInt64(report.segments[way].timeouts)
    case .outOfOrder: return UInt64(report.segments[way].outOfOrder)
    case .lost: return UInt64(report.segments[way].lost)
    case .missedHoles: return UInt64(report.segments[way].missedHoles)
    case .missedBytes: return report.segments[way].missedBytes
    case .duplicateAcks: return UInt64(report.segments[way].duplicateAcks)
    case .keepAlives: return UInt64(report.segments[way].keepAlives)
    case .keepAliveAcks: return UInt64(report.segments[way].keepAliveAcks)
    case .zeroWindows: return UInt64(report.segments[way].zeroWindows)
    case .copies: return UInt64(report.segments[way].copies)
    case .packets: return UInt64(report.packets[way])
    case .wireBytes: return report.wireBytes[way]
    case .frames: return UInt64(report.figures?.frames[way] ?? 0)
    case .frameBytes: return report.figures?.frameBytes[way] ?? 0
    default: return way == 0 ? once(report) : 0
    }
  }

  private func once(_ report: borrowing ConnectionReport) -> UInt64 {
    switch self {
    case .connections: 1
    case .seenBoth: report.sawBothSides ? 1 : 0
    case .decoded: report.figures == nil ? 0 : 1
    case .attempts: report.synCount > 0 ? 1 : 0
    case .repeatedSYNs: report.synCount > 0 ? UInt64(report.synCount - 1) : 0
    case .conflicts: UInt64(report.conflicts)
    case .gaps: UInt64(report.gapCount)
    case .gapBytes: report.gapBytes
    case .rightBigEndian: UInt64(report.figures?.checksums[0] ?? 0)
    case .rightLittleEndian: UInt64(report.figures?.checksums[1] ?? 0)
    case .wrongChecksum: UInt64(report.figures?.checksums[2] ?? 0)
    case .noChecksum: UInt64(report.figures?.checksums[3] ?? 0)
    case .unchecked: UInt64(report.figures?.checksums[4] ?? 0)
    case .retries: UInt64(report.rare.retries)
    case .immediateDuplicates: UInt64(report.rare.immediateDuplicates)
    case .duplicates: UInt64(report.rare.duplicates)
    case .repeatedAnswers: UInt64(report.rare.dupAcks)
    case .orphanAnswers: UInt64(report.rare.orphanAcks)
    default: 0
    }
  }
}

/// What the reports of connections come to: of one, of a server's, of all; or what came since their last ones.
package struct ReportCounts: Equatable, Sendable {
  /// By count and direction; empty while nothing was counted.
  private var values: [UInt64] = []

  /// Nothing counted.
  package init() {}

  /// What `report` says.
  package init(_ report: borrowing ConnectionReport) {
    values = [UInt64](repeating: 0, count: 2 * ReportCount.allCases.count)
    for count in ReportCount.allCases {
      for way in 0...1 { values[2 * count.rawValue + way] = count.read(report, way) }
    }
  }

  /// The count of a direction, 0 being the client's and that of what has none.
  package subscript(count: ReportCount, way: Int) -> UInt64 {
    let place = 2 * count.rawValue + way
    return place < values.count ? values[place] : 0
  }

  /// The count of both directions.
  package subscript(count: ReportCount) -> UInt64 { self[count, 0] &+ self[count, 1] }

  /// The same without who was heard, so that every count has a value.
  package var asGrowth: ReportCounts {
    var growth = self
    if !values.isEmpty { growth.values[2 * ReportCount.connections.rawValue] = 0 }
    return growth
  }

  /// Adds others.
  package mutating func add(_ other: ReportCounts) {
    if values.isEmpty {
      values = other.values
      return
    }
    guard other.values.count == values.count else { return }
    for place in values.indices { values[place] &+= other.values[place] }
  }

  /// What came since `earlier`, which the same connection told.
  package func since(_ earlier: ReportCounts) -> ReportCounts {
    var new = self
    guard earlier.values.count == values.count else { return new }
    for place in values.indices { new.values[place] &-= min(values[place], earlier.values[place]) }
    return new
  }
}
