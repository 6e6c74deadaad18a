import IMWire

/// What the stages of one engine share beside the flows: where everything is counted, the clock, the limit on memory.
final class SharedState {
  /// Where everything captured went.
  let ledger = UnsafeMutablePointer<Ledger>.allocate(capacity: 1)
  let clock = PacketClock()
  let budget: MemoryBudget
  let anomalyRecords: AnomalyRecords
  /// Flows that hold bytes, in the order in which they began to; those that hold nothing any more are passed over.
  let bufferingFlows = BufferingQueue()

  init(memory: Int) {
    ledger.initialize(to: Ledger())
    budget = MemoryBudget(limit: memory)
    anomalyRecords = AnomalyRecords(budget: budget, clock: clock)
  }

  deinit { ledger.deallocate() }
}
