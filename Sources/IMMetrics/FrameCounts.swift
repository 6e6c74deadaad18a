package import IMEngine
package import IMWire

/// Frames as they come, of one server or of a whole run, over a time.
///
/// `ReportCounts` has the same of connections that were reported on, for reports come when a connection is over or a minute old,
/// not when a minute of the clock ends.
package struct FrameCounts: Sendable {
  /// Frames and their bytes by direction, client to server first.
  package var frames: InlineArray<2, UInt64> = [0, 0], bytes: InlineArray<2, UInt64> = [0, 0]
  /// Frames by `ChecksumStatus`.
  package private(set) var checksums: InlineArray<5, UInt64> = [0, 0, 0, 0, 0]
  /// Copies of any type that a sender made on purpose, at once, and copies that came after the answer.
  package private(set) var deliberateCopies: UInt64 = 0, immediateDuplicates: UInt64 = 0, duplicates: UInt64 = 0
  /// Retries: copies of messages after the first, up to the answer.
  package private(set) var retries: UInt64 = 0

  /// Nothing counted.
  package init() {}

  /// Adds what was counted elsewhere.
  package mutating func add(_ other: FrameCounts) {
    for way in 0..<2 {
      frames[way] &+= other.frames[way]
      bytes[way] &+= other.bytes[way]
    }
    for status in 0..<5 { checksums[status] &+= other.checksums[status] }
    retries &+= other.retries
    deliberateCopies &+= other.deliberateCopies
    immediateDuplicates &+= other.immediateDuplicates
    duplicates &+= other.duplicates
  }

  /// Counts a frame.
  package mutating func add(_ frame: borrowing Frame, _ note: FrameNote, _ direction: Direction) {
    let way = Int(direction.rawValue)
    frames[way] &+= 1
    bytes[way] &+= UInt64(truncatingIfNeeded: frame.count)
    checksums[Int(frame.checksumStatus.rawValue)] &+= 1
    guard note.copy > 1 else { return }
    if note.isFurtherCopy, frame.kind.pointee.role == .message { retries &+= 1 }
    if note.isDuplicate {
      duplicates &+= 1
    } else if note.isRetry {
      deliberateCopies &+= 1
    } else {
      immediateDuplicates &+= 1
    }
  }
}
