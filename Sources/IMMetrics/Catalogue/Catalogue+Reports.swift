/// Every figure of the product, by scope.
package enum Catalogue {}

extension Catalogue {
  /// Whose packets have to be captured for a figure of one side's segments.
  private enum Need {
    /// The side's own; both sides'.
    case side, both
  }

  /// What the reports of connections count: of one, of a server, of the run; of a minute what came since the last reports.
  package static let reports: [Metric<ReportCounts>] = [
    Metric(
      "connections.reported", .count, .end, "connections with packets", json: ["tcp.connections"]
    ) { counts, _, _ in .count(counts[.seen] &- counts[.seenBoth]) },
    Metric(
      "gaps", .count, .report, "gaps in TCP streams", connection: ["gap.count"], rule: .reported,
      text: [.column(.worst, "gaps", order: 4)]
    ) { counts, _, _ in
      .count(counts[.gaps])
    },
    Metric(
      "gaps.bytes", .bytes, .report, "bytes missing from TCP streams", connection: ["gap.bytes"], rule: .reported,
      text: [.column(.worst, "lost bytes", order: 5)]
    ) { counts, _, _ in .count(counts[.gapBytes]) },
    segments(
      .retransmissions, "retransmissions", "segments retransmitted", interval: "tcp.retransmissions",
      sum: "tcp.retransmissions",
      metric: MetricName(
        "imdump_endpoint_tcp_retransmissions", help: "TCP segments retransmitted, on ended connections"),
      text: [MetricPresentation(.segments, "retransmission", "retransmissions", .always)]),
    Metric(
      "tcp.syns_sent_again", .count, .report, "SYNs that the client retransmitted", json: ["tcp.syns_sent_again"],
      connection: ["tcp.syns_sent_again"], interval: ["tcp.syns_sent_again"],
      metric: MetricName(
        "imdump_endpoint_tcp_syns_sent_again", help: "SYNs that clients retransmitted, on ended connections"),
      runMetric: MetricName(
        "imdump_tcp_syns_sent_again", help: "SYNs that clients retransmitted, on ended connections"),
      rule: .reported, text: [MetricPresentation(.connections, "SYN retransmission", "SYN retransmissions")]
    ) { counts, _, _ in
      // Where the first was not seen, nothing is known of the others.
      let isUnknown = counts[.connections] > 0 && counts[.attempts] == 0 && counts[.repeatedSYNs] == 0
      return isUnknown ? nil : .count(counts[.repeatedSYNs])
    },
    segments(
      .fast, "fast_retransmissions", "segments retransmitted after duplicate acknowledgments", needs: .both,
      text: [MetricPresentation(.segments, "fast", nil, .among)]),
    segments(
      .spurious, "spurious_retransmissions", "segments retransmitted although their bytes had been acknowledged",
      needs: .both,
      text: [MetricPresentation(.segments, "spurious", nil, .among)]),
    segments(
      .timeouts, "timeout_retransmissions", "segments retransmitted after a timeout",
      text: [MetricPresentation(.segments, "after a timeout", nil, .among)]),
    segments(
      .outOfOrder, "out_of_order", "segments out of order", interval: "tcp.out_of_order", sum: "tcp.out_of_order",
      text: [MetricPresentation(.segments, "out of order")]),
    Metric(
      "tcp.conflicting_retransmissions", .count, .report, "retransmissions whose bytes differ from the first copy",
      json: ["tcp.conflicting_retransmissions"], connection: ["tcp.conflicting_retransmissions"],
      interval: ["tcp.conflicting_retransmissions"],
      metric: MetricName(
        "imdump_endpoint_tcp_conflicting_retransmissions",
        help: "Retransmissions whose bytes differ from the first copy, on ended connections"),
      rule: .reported
    ) { counts, _, _ in .count(counts[.conflicts]) },
    segments(
      .lost, "lost_segments", "segments that the network lost", needs: .both,
      metric: MetricName(
        "imdump_endpoint_tcp_lost_segments", help: "TCP segments that the network lost, on ended connections"),
      text: [MetricPresentation(.segments, "segment lost", "segments lost")]),
    segments(
      .missedHoles, "not_captured_gaps", "gaps in the capture only: the receiver had the bytes", needs: .both,
      text: [MetricPresentation(.segments, "hole", "holes")]),
    segments(
      .missedBytes, "not_captured_bytes", "bytes missing from the capture only", unit: .bytes, needs: .both,
      text: [MetricPresentation(.segments, "bytes not captured", nil, .behind)]),
    segments(
      .duplicateAcks, "duplicate_acks", "duplicate acknowledgments",
      metric: MetricName(
        "imdump_endpoint_tcp_duplicate_acks", help: "TCP duplicate acknowledgments, on ended connections"),
      text: [MetricPresentation(.segments, "duplicate ACK", "duplicate ACKs")]),
    segments(
      .keepAlives, "keep_alives", "TCP keep-alives", text: [MetricPresentation(.segments, "keep-alive", "keep-alives")]),
    segments(
      .keepAliveAcks, "keep_alive_acks", "answers to TCP keep-alives",
      text: [MetricPresentation(.segments, "keep-alive ACK", "keep-alive ACKs")]),
    segments(
      .zeroWindows, "zero_windows", "segments that advertise a zero window",
      metric: MetricName(
        "imdump_endpoint_tcp_zero_windows", help: "TCP segments that advertise a zero window, on ended connections"),
      text: [MetricPresentation(.segments, "zero window", "zero windows")]),
    segments(
      .finsAgain, "fins_sent_again", "FINs retransmitted: the other side did not acknowledge the close",
      interval: "tcp.fins_sent_again", sum: "tcp.fins_sent_again",
      metric: MetricName(
        "imdump_endpoint_tcp_fins_sent_again", help: "FINs that were retransmitted, on ended connections"),
      runMetric: MetricName("imdump_tcp_fins_sent_again", help: "FINs that were retransmitted, on ended connections"),
      text: [MetricPresentation(.segments, "FIN retransmission", "FIN retransmissions")]),
    segments(
      .copies, "captured_twice", "packets that the capture contains twice", sum: "tcp.captured_twice",
      text: [MetricPresentation(.segments, "captured twice")]),
    retries,
    frames(.deliberateCopies, "copies.retries", "copies of frames of any type that were sent deliberately"),
    frames(
      .immediateDuplicates, "copies.immediate",
      "copies of frames of any type that were sent back to back with the first"),
    frames(
      .duplicates, "copies.after_answer", "copies of frames of any type that were sent after the answer",
      [MetricPresentation(.problems, "duplicates after the answer", nil, .labelled)]),
    frames(.repeatedAnswers, "answers.repeated", "answers after the first"),
    // The message may come later, and then it is none: nothing that a rule could count.
    frames(.orphanAnswers, "answers.orphaned", "answers that match no known message", rule: nil),
    Metric(
      "frames.over", .count, .end, "Frames on ended connections", by: [.direction],
      metric: MetricName("imdump_endpoint_frames")
    ) { counts, way, _ in .count(counts[.frames, way]) },
    Metric(
      "packets.bytes.over", .bytes, .end, "Bytes of packets on ended connections", by: [.direction],
      metric: MetricName("imdump_endpoint_wire_bytes")
    ) { counts, way, _ in .count(counts[.wireBytes, way]) },
    Metric(
      "checksums.connection", .count, .report, "frames {result}", by: [.checked], connection: ["checksum.{result}"]
    ) { counts, status, _ in
      let all: [ReportCount] = [.rightBigEndian, .rightLittleEndian, .wrongChecksum, .noChecksum]
      return .count(counts[all[status]])
    },
  ]

  /// Retries of messages, which are no frames: text has them, and other figures JSON.
  static let retries = Metric<ReportCounts>(
    "messages.retries", .count, .report, "retries: copies of messages after the first, up to the answer",
    text: [MetricPresentation(.problems, "retries", nil, .labelled), .column(.worst, "retries", absent: "0", order: 3)]
  ) { counts, _, _ in counts[.decoded] == 0 ? nil : .count(counts[.retries]) }

  /// A figure of connections on which frames were decoded.
  private static func frames(
    _ count: ReportCount, _ name: String, _ help: String, _ text: [MetricPresentation] = [],
    rule: MetricRule? = .reported
  ) -> Metric<ReportCounts> {
    Metric(name, .count, .report, help, json: [name], connection: [name], rule: rule, text: text) { counts, _, _ in
      counts[.decoded] == 0 && counts[count] == 0 ? nil : .count(counts[count])
    }
  }

  /// A figure of segments, counted for the side that sent them.
  private static func segments(
    _ count: ReportCount, _ name: String, _ help: String, unit: MetricUnit = .count, needs need: Need = .side,
    interval: String? = nil, sum: String? = nil, metric: MetricName? = nil, runMetric: MetricName? = nil,
    text: [MetricPresentation]
  ) -> Metric<ReportCounts> {
    Metric(
      "tcp.\(name)", unit, .report, help, by: [.direction], json: ["tcp.{direction}.\(name)"],
      connection: [sum, "tcp.{direction}.\(name)"].compactMap { $0 }, interval: interval.map { [$0] } ?? [],
      metric: metric, runMetric: runMetric, rule: .reported, text: text
    ) { counts, way, _ in
      let value = counts[count, way]
      // What came since the last report tells nothing of who was heard.
      if value == 0, counts[.connections] > 0 {
        if counts[.seen, way] == 0 { return nil }
        if need == .both, counts[.seenBoth] == 0 { return nil }
      }
      return .count(value)
    }
  }
}
