package import IMEngine

/// What a connection's report counts. Each is read in one place, `ReportCounts.init`, and added up for a connection, a server, the
/// run, and, as what came since the report before, for a minute and a rule's window.
package enum ReportCount: Int, CaseIterable, Sendable {
  /// Connections; those with packets of a side; those with packets of both; those on which frames were decoded.
  case connections, seen, seenBoth, decoded
  /// Connections whose SYN was seen; their SYNs after the first.
  case attempts, repeatedSYNs
  /// Segments, by direction: see `SegmentMetrics`.
  case retransmissions, fast, spurious, timeouts, outOfOrder, lost, missedHoles, missedBytes, duplicateAcks
  case keepAlives, keepAliveAcks, zeroWindows, finsAgain, copies
  /// Retransmissions with other bytes.
  case conflicts
  /// Holes in streams, and the bytes in them.
  case gaps, gapBytes
  /// Packets and their bytes on the wire, by direction.
  case packets, wireBytes
  /// Frames and their bytes, by direction.
  case frames, frameBytes
  /// Frames, by checksum result.
  case rightBigEndian, rightLittleEndian, wrongChecksum, noChecksum, unchecked
  /// Retries: copies of messages after the first, up to the answer.
  case retries
  /// Copies of any type: sent on purpose, at once, after the answer.
  case deliberateCopies, immediateDuplicates, duplicates
  /// Answers after the first; answers that match no known message.
  case repeatedAnswers, orphanAnswers
}

/// What the reports of connections come to: of one, of a server's, of all; or what came since their last ones.
package struct ReportCounts: Equatable, Sendable {
  /// By count and direction; empty while nothing was counted.
  private var values: [UInt64] = []

  /// Nothing counted.
  package init() {}

  /// Places in `values`.
  private static let places = 2 * ReportCount.allCases.count

  /// What `report` says. One line after the other, since this is done whenever a connection ends.
  package init(_ report: borrowing ConnectionReport) {
    values = [UInt64](repeating: 0, count: Self.places)
    values.withUnsafeMutableBufferPointer { values in
      func count(_ count: ReportCount, _ way: Int = 0, _ value: some FixedWidthInteger & UnsignedInteger) {
        values[2 &* count.rawValue &+ way] = UInt64(truncatingIfNeeded: value)
      }
      for way in 0...1 {
        let segments = report.segments[way]
        count(.seen, way, report.packets[way] > 0 ? 1 as UInt : 0)
        count(.retransmissions, way, segments.retransmissions)
        count(.fast, way, segments.fast)
        count(.spurious, way, segments.spurious)
        count(.timeouts, way, segments.timeouts)
        count(.outOfOrder, way, segments.outOfOrder)
        count(.lost, way, segments.lost)
        count(.missedHoles, way, segments.missedHoles)
        count(.missedBytes, way, segments.missedBytes)
        count(.duplicateAcks, way, segments.duplicateAcks)
        count(.keepAlives, way, segments.keepAlives)
        count(.keepAliveAcks, way, segments.keepAliveAcks)
        count(.zeroWindows, way, segments.zeroWindows)
        count(.finsAgain, way, segments.finsAgain)
        count(.copies, way, segments.copies)
        count(.packets, way, report.packets[way])
        count(.wireBytes, way, report.wireBytes[way])
      }
      count(.connections, 0, 1 as UInt)
      count(.seenBoth, 0, report.sawBothSides ? 1 as UInt : 0)
      count(.attempts, 0, report.synCount > 0 ? 1 as UInt : 0)
      count(.repeatedSYNs, 0, report.synCount > 0 ? report.synCount &- 1 : 0)
      count(.conflicts, 0, report.conflicts)
      count(.gaps, 0, report.gapCount)
      count(.gapBytes, 0, report.gapBytes)
      guard let figures = report.figures else { return }
      count(.decoded, 0, 1 as UInt)
      for way in 0...1 {
        count(.frames, way, figures.frames[way])
        count(.frameBytes, way, figures.frameBytes[way])
      }
      count(.rightBigEndian, 0, figures.checksums[0])
      count(.rightLittleEndian, 0, figures.checksums[1])
      count(.wrongChecksum, 0, figures.checksums[2])
      count(.noChecksum, 0, figures.checksums[3])
      count(.unchecked, 0, figures.checksums[4])
      count(.retries, 0, report.rare.retries)
      count(.deliberateCopies, 0, report.rare.deliberateCopies)
      count(.immediateDuplicates, 0, report.rare.immediateDuplicates)
      count(.duplicates, 0, report.rare.duplicates)
      count(.repeatedAnswers, 0, report.rare.dupAcks)
      count(.orphanAnswers, 0, report.rare.orphanAcks)
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
    let count = min(values.count, other.values.count)
    values.withUnsafeMutableBufferPointer { ours in
      other.values.withUnsafeBufferPointer { theirs in
        for place in 0..<count { ours[place] &+= theirs[place] }
      }
    }
  }

  /// What came since `earlier`, which the same connection told.
  package func since(_ earlier: ReportCounts) -> ReportCounts {
    var new = self
    guard earlier.values.count == values.count else { return new }
    for place in values.indices { new.values[place] &-= min(values[place], earlier.values[place]) }
    return new
  }
}
