import IMWire

/// What was out of the ordinary on flows, by `Flow.anomalyRecord`. Shared by those who put segments in order and those who read what
/// has become contiguous; nothing here runs for a segment in order. Nobody holds on to its pool while another writes it, so
/// accesses are not checked.
final class AnomalyRecords {
  @exclusivity(unchecked) private var pool = OwnedPool<AnomalyRecord>()
  private let budget: MemoryBudget
  private let clock: PacketClock

  init(budget: MemoryBudget, clock: PacketClock) {
    self.budget = budget
    self.clock = clock
  }

  /// Whether nearly all anomaly records are in use, and no more may be added.
  var isShort: Bool { pool.count > 0 && pool.room <= 64 && !budget.admits(.connections, Self.growth) }

  private static var growth: Int { OwnedPool<AnomalyRecord>.growthCost }

  /// Journals ever used; and the index of the flow that one of them belongs to, or belonged to.
  var count: Int { pool.count }
  func owner(_ index: UInt32) -> UInt32 { pool.owner(index) }

  /// The anomaly record of a flow that has one.
  func existing(_ flow: Ref<Flow>) -> Ref<AnomalyRecord>? {
    flow.pointee.anomalyRecord == .max ? nil : pool.pointer(flow.pointee.anomalyRecord)
  }

  /// A flow's anomaly record, created if it has none.
  func anomalyRecord(_ flow: Ref<Flow>) -> Ref<AnomalyRecord> {
    if flow.pointee.anomalyRecord == .max {
      if pool.room == 0 { budget.take(.connections, Self.growth) }
      flow.pointee.anomalyRecord = pool.allocate(AnomalyRecord(), owner: flow.pointee.index)
      if isShort { clock.wakeNow() }
    }
    return pool.pointer(flow.pointee.anomalyRecord)
  }

  /// The anomaly record of a side, created if it has none.
  func note(_ flow: Ref<Flow>, _ side: Int) -> Ref<SegmentAnomalies> {
    Ref(anomalyRecord(flow).bytes.assumingMemoryBound(to: SegmentAnomalies.self) + side)
  }

  /// The same of a side by its name.
  func note(_ side: FlowSide) -> Ref<SegmentAnomalies> { note(side.flow, side.number) }

  /// Whether bytes of a flow were given up.
  func hasGaps(_ flow: Ref<Flow>) -> Bool { (existing(flow)?.pointee.gapCount ?? 0) > 0 }

  /// Releases a flow's anomaly record, if it has one.
  func release(_ flow: Ref<Flow>) {
    if flow.pointee.anomalyRecord != .max { pool.release(flow.pointee.anomalyRecord) }
  }
}

/// What judging one direction's segments needs to remember; only connections on which something happened have it.
struct SegmentAnomalies: BitwiseCopyable {
  var figures = SegmentMetrics()
  /// The number that this side's last duplicate acknowledgments repeated, how many they were, and when the last came.
  var repeatedAck: UInt32 = 0
  var repeats: UInt32 = 0
  var repeatedAt = Timestamp.distantPast
  /// The number after this side's last retransmission, and when it came.
  var retransmittedEnd: UInt32 = 0
  var retransmittedAt = Timestamp.distantPast
  /// This side's packets when it sent a keep-alive; the count stands still until it sends something else.
  var keepAliveMark: UInt32 = .max
  /// What this side told by its last selective acknowledgment: up to four blocks of the other side's stream that came.
  var blocks: InlineArray<4, (UInt32, UInt32)> = InlineArray(repeating: (0, 0))
  var blockCount: UInt32 = 0
  /// The place of its chunks around gaps in the table of them; `.max` where it has none.
  var directionGaps = UInt32.max
  /// Bytes passed over since the last frame, of which nothing has been told yet.
  var skipped: UInt64 = 0

  /// Whether a block that this side reported contains the other side's chunk.
  func holds(_ start: UInt32, _ end: UInt32) -> Bool {
    for i in 0..<Int(blockCount) {
      let (left, right) = blocks[i]
      if start.isAtOrAfter(left), right.isAtOrAfter(end) { return true }
    }
    return false
  }

  /// Whether this side told that it lacks the other side's byte at `start`, but has later ones.
  func lacks(_ start: UInt32) -> Bool {
    guard blockCount > 0, !holds(start, start &+ 1) else { return false }
    for i in 0..<Int(blockCount) where blocks[i].0.isAfter(start) { return true }
    return false
  }
}

/// The anomaly records of both directions, side 0 first, and the counters of both together.
struct AnomalyRecord: BitwiseCopyable {
  var sides: InlineArray<2, SegmentAnomalies> = InlineArray(repeating: SegmentAnomalies())
  /// Times that stream bytes were missing, and those bytes.
  var gapCount: UInt32 = 0
  var gapBytes: UInt64 = 0
  /// Retransmissions whose bytes differ from the first copy had.
  var conflicts: UInt16 = 0
}
