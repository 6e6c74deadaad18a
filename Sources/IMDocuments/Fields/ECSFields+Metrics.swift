import IMMetrics

extension ECSFields {
  /// Fields of a server's minutes. All count what came in the period.
  static let summary: [ECSField] = ECSField.measured(
    .gauge,
    [
      ECSField("imdump.summary.period_s", .long, .seconds, [.summary], "the length of a whole period"),
      ECSField(
        "imdump.summary.partial", .boolean, [.summary],
        "whether the period is shorter, as the first and the last may be"),
      ECSField(
        "imdump.summary.lossy", .boolean, [.summary], "whether the capture lost packets, so that counts are too low"),
      ECSField(
        "imdump.summary.capture_loss_ratio", .double, [.summary], "share of packets that the kernel dropped; 0 to 1"),
    ] + figures(Catalogue.intervals.map(\.info), below: "imdump.summary", of: .summary) { $0.interval })

  /// Fields of the capture. Counters count from its start.
  static let capture: [ECSField] =
    counted(.counter) + counted(.gauge)
    + [
      ECSField("imdump.log.file", .keyword, [.capture], "the name of the file that begins with this document"),
      ECSField("imdump.capture.filter", .keyword, [.capture], "the capture filter"),
      ECSField(
        "imdump.capture.snaplen", .long, .bytes, [.capture],
        "maximum number of bytes captured of each packet; 0 for all"),
      ECSField("imdump.capture.link_type", .keyword, [.capture], "the link type's name"),
    ]

  private static func counted(_ kind: MetricKind) -> [ECSField] {
    let figures = Catalogue.captures.map(\.info).filter { $0.kind == kind }
    return ECSField.measured(
      kind == .counter ? .counter : .gauge,
      self.figures(figures, below: "imdump.capture", of: .capture) { $0.capture })
  }
}
