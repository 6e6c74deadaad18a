import IMEngine
import IMWire

/// What was sent in a run, all connections of all protocols together.
package struct Traffic {
  /// Frames, those of the client among them, and bytes of their bodies as they travel.
  package private(set) var frames: UInt64 = 0, clientFrames: UInt64 = 0, bodyBytes: UInt64 = 0
  /// Copies that senders made on purpose.
  package private(set) var deliberateCopies: UInt64 = 0
  /// Bytes of whole frames, as their receiver reads them: inflated, where a carrier compresses them.
  package let frameBytes: UInt64
  /// Copies of messages that ask for an answer, but for those that were pending at the end or whose answer the capture may
  /// lack, and messages answered, with whatever status.
  package private(set) var transmissions: UInt64 = 0, answered: UInt64 = 0
  /// From the first packet to the last, in microseconds; `nil` without two.
  package let duration: Int64?

  /// The traffic of a run, whose frames had so many bytes.
  package init(_ summary: Summary, frameBytes: UInt64) {
    self.frameBytes = frameBytes
    if let first = summary.ledger.firstAt, let last = summary.ledger.lastAt, last > first {
      duration = last.microseconds - first.microseconds
    } else {
      duration = nil
    }
    for (plan, kinds) in zip(summary.plans, summary.kinds) {
      for (index, kind) in kinds.enumerated() {
        frames += kind.frames[0] + kind.frames[1]
        clientFrames += kind.frames[0]
        bodyBytes += kind.bodyBytes[0] + kind.bodyBytes[1]
        if kind.frames[0] + kind.frames[1] > 0 { deliberateCopies += kind.deliberateCopies }
        guard index < plan.typeRoles.count, plan.typeRoles[index] == .message else { continue }
        var fates = kind.fates[0]
        fates.add(kind.fates[1])
        transmissions +=
          UInt64(fates.units &- fates.pending &- fates.unknown) + kind.deliberateCopies + kind.immediateDuplicates
          + kind.duplicates
        answered += UInt64(fates.acked) + UInt64(fates.ackedAfterRetry) + UInt64(fates.rejected)
      }
    }
  }

  /// So many a second over the run; `nil` where it has no duration.
  package func rate(_ count: UInt64) -> Double? {
    duration.map { Double(count) / (Double($0) / 1_000_000) }
  }

  /// Share of the frames' bytes outside bodies; 0 to 1; `nil` without frames.
  package var overhead: Double? {
    frameBytes == 0 ? nil : 1 - Double(min(bodyBytes, frameBytes)) / Double(frameBytes)
  }

  /// Share of message transmissions without an answer; 0 to 1; `nil` without one.
  package var transmissionLoss: Double? {
    transmissions == 0 ? nil : 1 - Double(min(answered, transmissions)) / Double(transmissions)
  }
}
