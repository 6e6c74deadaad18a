import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// The metrics of TCP if nothing was decoded: bytes and connections over time, and the round trips of handshakes.
enum TransportSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    let series = model.transport
    let hasConnections = model.live != nil || model.summary.ledger.connections > 0
    guard model.summary.ledger.decodedConnections == 0, hasConnections, !series.isEmpty else {
      return
    }
    PageSection.begin(.transport, &page)
    defer { PageSection.end(&page) }
    connections(series, model.zoneText, model.zone, &page)
    handshakes(series, model.zoneText, model.zone, &page)
  }

  private static func connections(
    _ series: TimeBuckets<TransportBucket>, _ zoneText: String, _ zone: LocalZone, _ page: inout Markup
  ) {
    let buckets = series.all, width = ChartSections.width(series)
    let kinds: [(name: String, isTrouble: Bool, value: (TransportBucket) -> UInt64)] = [
      ("bytes", false, { $0.bytes }), ("opened", false, { UInt64($0.opened) }),
      ("closed", false, { UInt64($0.closed) }), ("reset", true, { UInt64($0.reset) }),
      ("failed", true, { UInt64($0.failed) }),
    ]
    let strips = kinds.map { kind in
      let values = buckets.map { kind.value($0.value) }
      return Charts.Strip(
        name: kind.name, values: values, isTrouble: kind.isTrouble, total: grouped(values.reduce(0, +)),
        most: "\(grouped(values.max() ?? 0)) in \(width)")
    }.filter { $0.values.contains { $0 > 0 } }
    PageSection.paragraph(
      "Nothing was decoded; this is what TCP shows, in steps of \(width): bytes of all packets, connections opened with a SYN, closed with "
        + "a FIN, ended by a reset, and attempts that were refused or not answered.", isSoft: true, &page)
    ChartSections.figure("tcp-rows", label: "Traffic over time", &page) {
      Charts.strips("tcp", title: "Traffic over time", strips, series, zone, &$0)
    }
    let times = ChartSections.times(series, zone)
    ChartSections.table(
      "tcp-rows", "traffic in steps of \(width), \(zoneText)",
      [.init(name: "time", isNumber: false)] + strips.map { .init(name: $0.name, isNumber: true) },
      times.indices.map { i in [.text(times[i])] + strips.map { .count($0.values[i]) } }, &page)
  }

  private static func handshakes(
    _ series: TimeBuckets<TransportBucket>, _ zoneText: String, _ zone: LocalZone, _ page: inout Markup
  ) {
    let buckets = series.all, width = ChartSections.width(series)
    guard buckets.contains(where: { $0.value.handshakes.count > 0 }) else { return }
    page.raw(
      """
      <h3>Round trips of TCP handshakes</h3>
      <ul class="legend"><li><svg viewBox="0 0 34 12" aria-hidden="true"><path class="ln p50" d="M2 6H32"/></svg>median</li>\
      <li><svg viewBox="0 0 34 12" aria-hidden="true"><path class="ln p99" d="M2 6H32"/></svg>longest</li></ul>

      """)
    ChartSections.figure("handshake-rows", label: "Round trips of TCP handshakes over time", &page) {
      Charts.handshakes(series, zone, &$0)
    }
    let times = ChartSections.times(series, zone)
    ChartSections.table(
      "handshake-rows", "round trips of TCP handshakes in steps of \(width), \(zoneText)",
      [
        .init(name: "time", isNumber: false), .init(name: "median", isNumber: true),
        .init(name: "longest", isNumber: true), .init(name: "handshakes", isNumber: true),
      ],
      zip(times, buckets).map { time, bucket -> [TableWriter.Cell] in
        let trips = bucket.value.handshakes
        return [.text(time), .length(trips.percentile(50)), .length(trips.maximum), .count(trips.count)]
      }, &page)
  }
}

extension Charts {
  /// Round trips of TCP handshakes over time, from the SYN to the client's ACK: the median and the longest of each bucket.
  fileprivate static func handshakes(
    _ series: TimeBuckets<TransportBucket>, _ zone: LocalZone, _ page: inout Markup
  ) {
    let buckets = series.all, plot = Plot(height: 240)
    let trips = buckets.map(\.value.handshakes)
    guard let span = series.span, let least = trips.compactMap({ $0.percentile(50) }).min(),
      let greatest = trips.compactMap(\.maximum).max()
    else { return }
    let axis = TimeAxis(span.begin, span.end, plot, zone)
    let lengths = LengthAxis(least, greatest, plot)
    plot.begin(
      "handshake", title: "Round trips of TCP handshakes over time",
      description:
        "From the SYN to the client's ACK. The lowest median is \(Words.length(least)), the longest \(Words.length(greatest)). "
        + "The values are in the table below.", hasRows: true, &page)
    lengths.draw(&page)
    axis.draw(plot, &page)
    func points(_ value: (RTTHistogram) -> Int64?) -> [(x: Double, y: Double)?] {
      zip(buckets, trips).map { bucket, trips -> (x: Double, y: Double)? in
        value(trips).map { (middle(bucket.begin, series.width, axis), lengths.place($0)) }
      }
    }
    Plot.line(points(\.maximum), "ln p99", &page)
    let medians = points { $0.percentile(50) }
    Plot.line(medians, "ln p50", &page)
    if buckets.count <= 120 { Plot.line(medians.flatMap { [$0, nil] }, "dots", &page) }
    plot.end(&page)
  }
}
