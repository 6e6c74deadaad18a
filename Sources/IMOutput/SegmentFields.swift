import IMEngine

/// The figures of one direction's segments under the names that JSON and documents use.
enum SegmentFields {
  /// Calls `body` with each name and its count, in the order in which they are written. Where only one side was captured
  /// (`sawBothSides` is false), those that the other side's packets tell are left out.
  @inline(__always)
  static func forEach(
    _ figures: SegmentFigures, sawBothSides: Bool, _ body: (_ name: StaticString, _ count: UInt64) -> Void
  ) {
    body("retransmits", UInt64(figures.retransmissions))
    if sawBothSides {
      body("fast_retransmits", UInt64(figures.fast))
      body("spurious_retransmits", UInt64(figures.spurious))
    }
    body("timeout_retransmits", UInt64(figures.timeouts))
    body("out_of_order", UInt64(figures.outOfOrder))
    if sawBothSides {
      body("lost_segments", UInt64(figures.lost))
      body("not_captured_gaps", UInt64(figures.missedHoles))
      body("not_captured_bytes", figures.missedBytes)
    }
    body("duplicate_acks", UInt64(figures.duplicateAcks))
    body("keep_alives", UInt64(figures.keepAlives))
    body("keep_alive_acks", UInt64(figures.keepAliveAcks))
    body("zero_windows", UInt64(figures.zeroWindows))
    body("capture_duplicates", UInt64(figures.copies))
  }
}
