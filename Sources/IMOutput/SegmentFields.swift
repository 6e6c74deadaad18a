import IMEngine

/// The figures of one direction's segments under the names that JSON and documents use.
struct SegmentFields {
  /// A name and its count, in the order in which they are written.
  let counts: [(name: StaticString, value: UInt64)]

  /// The fields of `figures`. Where only one side was captured (`sawBothSides` is false), those that the other side's
  /// packets tell are not there.
  init(_ figures: SegmentFigures, sawBothSides: Bool) {
    var counts: [(StaticString, UInt64)] = [("retransmits", UInt64(figures.retransmissions))]
    if sawBothSides {
      counts += [
        ("fast_retransmits", UInt64(figures.fast)), ("spurious_retransmits", UInt64(figures.spurious)),
      ]
    }
    counts += [("timeout_retransmits", UInt64(figures.timeouts)), ("out_of_order", UInt64(figures.outOfOrder))]
    if sawBothSides {
      counts += [
        ("lost_segments", UInt64(figures.lost)), ("not_captured_gaps", UInt64(figures.missedHoles)),
        ("not_captured_bytes", figures.missedBytes),
      ]
    }
    counts += [
      ("duplicate_acks", UInt64(figures.duplicateAcks)), ("keep_alives", UInt64(figures.keepAlives)),
      ("keep_alive_acks", UInt64(figures.keepAliveAcks)), ("zero_windows", UInt64(figures.zeroWindows)),
      ("capture_duplicates", UInt64(figures.copies)),
    ]
    self.counts = counts
  }
}
