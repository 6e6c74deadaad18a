package import IMEngine

/// What the capture itself counted; what it cannot know is `nil`.
package struct CaptureCounts: Sendable {
  /// Packets handed to the engine.
  package var captured: UInt64 = 0
  /// Packets that passed the kernel's filter, those that it then dropped included; `nil` for files.
  package var received: UInt64?
  /// Packets that the filter left out; `nil` for a live capture.
  package var filteredOut: UInt64?
  /// Packets that the source saw after it was to stop; live, they are among `received`.
  package var afterStop: UInt64 = 0
  /// Packets lost because the kernel's buffer was full.
  package var droppedByKernel: UInt64?
  /// Packets lost by the interface or its driver.
  package var droppedByInterface: UInt64?
  /// How far files had been read when a signal came before their end; `nil` where none did.
  package var interruption: Interruption?

  /// All unknown.
  package init() {}
}

/// Where every packet and every byte of a run went: what the engine and the capture counted.
package struct Summary {
  /// The protocols that were looked for.
  package var plans: [ProtocolPlan]
  /// Where every captured packet and byte went.
  package var ledger: Ledger
  /// What reassembly counted.
  package var reassembly: ReassemblyCounters
  /// What the capture itself counted.
  package var capture: CaptureCounts
  /// The totals of each plan's types, 65 a plan.
  package var kinds: [[KindTotals]]
  /// What was out of order in each plan's sequence numbers.
  package var sequences: [[SequenceTotals]]
  /// Frames by `ChecksumStatus`.
  package var checksums: InlineArray<5, UInt64>

  /// A summary of its parts.
  package init(
    plans: [ProtocolPlan], ledger: Ledger, reassembly: ReassemblyCounters, capture: CaptureCounts,
    kinds: [[KindTotals]], sequences: [[SequenceTotals]], checksums: InlineArray<5, UInt64>
  ) {
    self.plans = plans
    self.ledger = ledger
    self.reassembly = reassembly
    self.capture = capture
    self.kinds = kinds
    self.sequences = sequences
    self.checksums = checksums
  }
}
