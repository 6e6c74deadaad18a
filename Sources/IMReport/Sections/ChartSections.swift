import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// The sections with charts over time, and their tables.
enum ChartSections {
  /// A chart in its box. `rows` is the table that the script reads.
  static func figure(
    _ rows: StaticString?, label: StaticString, _ page: inout Markup, _ draw: (inout Markup) -> Void
  ) {
    page.raw("<figure aria-label=\"")
    page.raw(label)
    page.raw("\"")
    if let rows {
      page.raw(" data-rows=\"")
      page.raw(rows)
      page.raw("\"")
    }
    page.raw("><div class=\"scroll\">")
    draw(&page)
    page.raw("</div></figure>\n")
  }

  /// A table that is folded away.
  static func table(
    _ id: StaticString, _ caption: String, _ columns: [TableWriter.Column], _ rows: [[TableWriter.Cell]],
    _ page: inout Markup
  ) {
    page.raw("<details><summary>Table: ")
    page.text(caption)
    page.raw("</summary>")
    let writer = TableWriter(columns)
    writer.begin(id, caption: caption, &page)
    for row in rows { writer.row(row, &page) }
    writer.end(&page)
    page.raw("</details>\n")
  }

  /// When each step begins.
  static func times(_ series: TimeBuckets<some Additive>, _ zone: LocalZone) -> [String] {
    let buckets = series.all
    guard let first = buckets.first?.begin else { return [] }
    return buckets.map { Words.moment($0.begin, near: first, zone) }
  }

  /// The length of a step.
  static func width(_ series: TimeBuckets<some Additive>) -> String {
    Words.length(series.width * 1_000_000).replacingEnd
  }

  /// The directions whose messages have round trips.
  private static func measured(_ model: ReportModel, least: UInt64 = 1) -> [Direction] {
    [.clientToServer, .serverToClient].filter { model.figures.roundTrips($0).count >= least }
  }

  /// A heading for one direction: whose messages they are, and who answers them.
  private static func heading(_ direction: Direction, _ page: inout Markup) {
    page.raw(
      direction == .clientToServer
        ? "<h3>Client to server: the server answers</h3>\n" : "<h3>Server to client: clients answer</h3>\n")
  }

  static func roundTrips(_ model: ReportModel, _ page: inout Markup) {
    let directions = measured(model)
    guard !directions.isEmpty else { return }
    PageSection.begin(.roundTrips, &page)
    defer { PageSection.end(&page) }
    page.raw("<ul class=\"legend\">")
    for (percent, kind) in zip(model.percentiles.all, Charts.lineKinds) {
      page.raw("<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><path class=\"")
      page.raw(kind)
      page.raw("\" d=\"M2 6H32\"/></svg>")
      page.text(PagePercentiles.name(percent))
      page.raw("</li>")
    }
    page.raw(
      """
      <li><svg viewBox="0 0 34 12" aria-hidden="true"><rect class="band" width="34" height="12"/>\
      <rect class="bandtop" width="34" height="3"/></svg>
      """)
    page.text(Charts.bandWords(series(model, directions[0]).all))
    page.raw("</li></ul>\n")
    for direction in directions {
      heading(direction, &page)
      let series = series(model, direction)
      let (id, label) = Charts.names(direction)
      figure(id, label: label, &page) { Charts.roundTrips(series, direction, model, &$0) }
      table(
        id, "round trips \(direction.text) in steps of \(width(series)), \(model.zoneText)",
        [
          .init(name: "time", isNumber: false)
        ] + model.percentiles.all.map { .init(name: PagePercentiles.name($0), isNumber: true) } + [
          .init(name: "round trips", isNumber: true)
        ],
        zip(times(series, model.zone), series.all).map { time, bucket in
          let trips = bucket.value.roundTrips[direction]
          return [TableWriter.Cell.text(time)] + model.percentiles.all.map { .length(trips.percentile($0)) }
            + [.count(trips.count)]
        }, &page)
    }
  }

  /// The steps of the charts of one direction's round trips: percentiles of a few say little.
  private static func series(_ model: ReportModel, _ direction: Direction) -> TimeBuckets<ReportBucket> {
    model.series.coarser(count: Int64(clamping: max(24, model.figures.roundTrips(direction).count / 8)))
  }

  static func distribution(_ model: ReportModel, _ page: inout Markup) {
    let directions = measured(model, least: 2)
    guard !directions.isEmpty else { return }
    PageSection.begin(.distribution, &page)
    defer { PageSection.end(&page) }
    for direction in directions {
      heading(direction, &page)
      let trips = model.figures.roundTrips(direction)
      let (id, label) = NinesChart.names(direction)
      figure(nil, label: label, &page) { NinesChart.draw(trips, direction, &$0) }
      var rows: [[TableWriter.Cell]] = NinesChart.percents(trips.count, with: model.percentiles.all).map {
        [.text($0.name), .length(trips.percentile($0.percent))]
      }
      rows.append([.text("all"), .length(trips.maximum)])
      table(
        id, "percentiles of round trips \(direction.text)",
        [.init(name: "percentile", isNumber: false), .init(name: "round trip", isNumber: true)], rows, &page)
      PageSection.paragraph(
        "\(count(trips.count, "round trip")) from \(trips.minimum.map(Words.length) ?? "–") to \(trips.maximum.map(Words.length) ?? "–"), "
          + "mean \(trips.mean.map { Words.length(Int64($0.rounded())) } ?? "–").", isSoft: true, &page)
    }
  }

  /// At most so many types have a row of their own.
  private static let typeLimit = 7

  static func rates(_ model: ReportModel, _ page: inout Markup) {
    let buckets = model.series.all
    var totals: [UInt16: UInt64] = [:]
    for bucket in buckets { for (type, count) in bucket.value.types { totals[type, default: 0] += UInt64(count) } }
    guard !totals.isEmpty else { return }
    PageSection.begin(.rates, &page)
    defer { PageSection.end(&page) }
    let order = totals.keys.sorted { (totals[$0] ?? 0, $1) > (totals[$1] ?? 0, $0) }
    var groups = order.prefix(typeLimit).map { (name: model.typeNames[$0] ?? "type \($0 & 255)", types: [$0]) }
    if order.count > typeLimit {
      groups.append((name: "\(order.count - typeLimit) other types", types: Array(order.dropFirst(typeLimit))))
    }
    let seconds = Double(model.series.width)
    let strips = groups.map { group in
      let values = buckets.map { bucket in group.types.reduce(UInt64(0)) { $0 + UInt64(bucket.value.types[$1] ?? 0) } }
      return Charts.Strip(
        name: group.name, values: values, isTrouble: false, total: grouped(values.reduce(0, +)),
        most: Words.rate(Double(values.max() ?? 0) / seconds))
    }
    PageSection.paragraph(
      "Messages of every type by the time of their first copy, in steps of \(width(model.series)). Answers are not counted.",
      isSoft: true, &page)
    figure("rate-rows", label: "Messages by type", &page) {
      Charts.strips("rate", title: "Messages by type over time", strips, model.series, model.zone, &$0)
    }
    let times = times(model.series, model.zone)
    table(
      "rate-rows", "messages by type in steps of \(width(model.series)), \(model.zoneText)",
      [.init(name: "time", isNumber: false)] + groups.map { .init(name: $0.name, isNumber: true) },
      times.indices.map { i in [.text(times[i])] + strips.map { .count($0.values[i]) } }, &page)
  }

  static func troubles(_ model: ReportModel, _ page: inout Markup) {
    let buckets = model.series.all
    let kinds: [(name: String, unit: String, value: (ReportBucket) -> UInt64)] = [
      ("lost", "messages", { UInt64($0.lost) }), ("retried", "messages", { UInt64($0.retried) }),
      ("rejected", "messages", { UInt64($0.rejected) }), ("answer unknown", "messages", { UInt64($0.unknown) }),
      ("heartbeats missed", "heartbeats", { UInt64($0.missed) }), ("missing bytes", "bytes", { $0.missingBytes }),
    ]
    let strips = kinds.map { kind in
      let values = buckets.map { kind.value($0.value) }
      return Charts.Strip(
        name: kind.name, values: values, isTrouble: true, total: grouped(values.reduce(0, +)),
        most: "\(grouped(values.max() ?? 0)) in \(width(model.series))")
    }.filter { $0.values.contains { $0 > 0 } }
    guard !strips.isEmpty else { return }
    PageSection.begin(.troubles, &page)
    defer { PageSection.end(&page) }
    PageSection.paragraph(
      "By the time of a message's first copy, in steps of \(width(model.series)); missing bytes by the time at which they were found missing.",
      isSoft: true, &page)
    figure("trouble-rows", label: "Lost and retried messages", &page) {
      Charts.strips("trouble", title: "Lost and retried messages over time", strips, model.series, model.zone, &$0)
    }
    let times = times(model.series, model.zone)
    table(
      "trouble-rows", "lost and retried in steps of \(width(model.series)), \(model.zoneText)",
      [.init(name: "time", isNumber: false)] + strips.map { .init(name: $0.name, isNumber: true) },
      times.indices.map { i in [.text(times[i])] + strips.map { .count($0.values[i]) } }, &page)
  }

  static func heartbeats(_ model: ReportModel, _ page: inout Markup) {
    let beats = model.figures.heartbeats
    guard !beats.isEmpty else { return }
    PageSection.begin(.heartbeats, &page)
    defer { PageSection.end(&page) }
    var parts = [
      "\(count(beats.sent, "heartbeat"))", "\(grouped(beats.answered)) answered",
      "\(grouped(beats.missed)) without an answer",
    ]
    if beats.unknown > 0 { parts.append("\(grouped(beats.unknown)) whose answer may be missing from the capture") }
    if beats.absent > 0 { parts.append("none came when one was due \(count(beats.absent, "time"))") }
    PageSection.paragraph(parts.joined(separator: ", ") + ".", &page)
    if beats.pings.sent > 0 {
      PageSection.paragraph(
        "\(count(beats.pings.sent, "ping")) of WebSocket are counted, but not drawn here.", isSoft: true, &page)
    }
    guard model.heartbeats.count > 0 else {
      return PageSection.paragraph(
        "No connection has two heartbeats, so there is no interval to draw.", isSoft: true, &page)
    }
    page.raw(
      """
      <ul class="legend"><li><svg viewBox="0 0 34 12" aria-hidden="true"><path class="dots" d="M17 6h0"/></svg>a heartbeat, drawn at the \
      time since the previous one</li><li><svg viewBox="0 0 34 12" aria-hidden="true"><path class="due" d="M2 6H32"/></svg>when one \
      is due</li><li><svg viewBox="0 0 34 12" aria-hidden="true"><path class="miss" d="M13 2l8 8m0-8l-8 8"/></svg>no answer</li></ul>

      """)
    figure(nil, label: "Time between heartbeats", &page) { HeartbeatChart.draw(model, &$0) }
    var rows: [[TableWriter.Cell]] = []
    let times = times(model.series, model.zone)
    for (time, bucket) in zip(times, model.series.all) where bucket.value.intervals.count > 0 || bucket.value.missed > 0
    {
      let intervals = bucket.value.intervals
      rows.append([
        .text(time), .count(intervals.count), .length(intervals.minimum), .length(intervals.percentile(50)),
        .length(intervals.maximum), .count(UInt64(bucket.value.missed)),
      ])
    }
    table(
      "beat-rows", "intervals between heartbeats in steps of \(width(model.series)), \(model.zoneText)",
      [
        .init(name: "time", isNumber: false), .init(name: "intervals", isNumber: true),
        .init(name: "shortest", isNumber: true),
        .init(name: "median", isNumber: true), .init(name: "longest", isNumber: true),
        .init(name: "missed", isNumber: true),
      ], rows, &page)
  }
}

extension String {
  /// `1.0 s` as `1 s`: widths are whole.
  fileprivate var replacingEnd: String { hasSuffix(".0 s") ? dropLast(4) + " s" : self }
}
