package import IMEngine

extension Catalogue {
  private typealias Row = Metric<KindTotals>

  /// The figures of a type of frames. Only types that were seen have any. In JSON, names that end in `_` are counters
  /// that the type's name is added to, the others stand in the type's own object.
  package static let types: [Metric<KindTotals>] = [
    Row(
      "type.frames", .count, .packet, "Frames decoded", by: [.direction], json: ["frames_", "frames.{direction}"],
      metric: MetricName("imdump_frames"),
      text: [.columns(.types, [("client_to_server", "c2s"), ("server_to_client", "s2c")])]
    ) { type, way, _ in .count(type.frames[way]) },
    Row(
      "type.body_bytes", .bytes, .packet, "Bytes of the bodies of frames", by: [.direction],
      json: ["body_bytes.{direction}"],
      metric: MetricName("imdump_frame_body_bytes")
    ) { type, way, _ in .count(type.bodyBytes[way]) },
    Row(
      "type.units", .count, .fate, "Exchanges that ask for an answer", by: [.direction],
      json: ["units_", "exchanges.units"], text: [.column(.types, "units", absent: "")]
    ) {
      type, way, _ in asks(type) ? .count(UInt64(type.fates[way].units)) : nil
    },
    Row(
      "type.fates", .count, .fate, "Exchanges {fate}", by: [.direction, .fate], json: ["exchanges.{fate}"],
      text: [.columns(.types, Dimension.fates.map { ($0.fate.name, $0.fate.name) }, absent: "")]
    ) { type, way, fate in asks(type) ? .count(UInt64(type.fates[way][Dimension.fates[fate].fate])) : nil
    },
    Row(
      "type.late", .count, .fate, "Exchanges answered after their timeout", by: [.direction],
      json: ["exchanges.late"]
    ) {
      type, way, _ in asks(type) ? .count(UInt64(type.fates[way].late)) : nil
    },
    Row("type.answered", .count, .fate, "Of those, answered", json: ["acked_"]) { type, _, _ in
      asks(type) ? .count(type.answered) : nil
    },
    Row(
      "type.copies", .count, .packet, "Copies of messages after the first, by kind", by: [.copy],
      json: ["copies.{kind}"], metric: MetricName("imdump_copies")
    ) { type, copy, _ in
      asks(type) ? .count([type.deliberateCopies, type.immediateDuplicates, type.duplicates][copy]) : nil
    },
  ]

  private static func asks(_ type: KindTotals) -> Bool { type.fates[0].units + type.fates[1].units > 0 }

  /// What was out of order in a counter's numbers.
  package static let sequences: [Metric<SequenceTotals>] = [
    sequence("left_out", "Numbers that were skipped", "left out", .always) { $0.leftOut },
    sequence("reordered", "Of these, numbers that arrived later", "arrived later") { $0.reordered },
    sequence("missing", "Of these, numbers that will not come any more", "missing") { $0.missing },
    sequence("open", "Of these, numbers that may still come", "still open") { $0.open },
    sequence("late", "Earlier numbers for which no gap was open", "late") { $0.late },
  ]

  private static func sequence(
    _ name: String, _ help: String, _ words: String, _ style: MetricPresentation.Style = .part,
    _ read: @escaping @Sendable (SequenceTotals) -> UInt64
  ) -> Metric<SequenceTotals> {
    Metric(
      "sequences.\(name)", .count, .packet, help, json: [name],
      text: [MetricPresentation(.sequences, words, nil, style)]
    ) { totals, _, _ in .count(read(totals)) }
  }
}
