import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// The charts over the time of the capture.
enum Charts {
  /// Which buckets stand out: those in which something was wrong, or, where that is most of them, those in which more was lost.
  static func troubled(_ buckets: [(begin: Timestamp, value: ReportBucket)]) -> (marks: [Bool], isRelative: Bool) {
    let all = buckets.map(\.value.isTrouble)
    guard all.filter({ $0 }).count * 2 > all.count, all.count > 4 else { return (all, false) }
    let (lost, messages) = buckets.reduce((0.0, 0.0)) {
      ($0.0 + Double($1.value.lost), $0.1 + Double($1.value.messages))
    }
    let usual = messages == 0 ? 0 : lost / messages
    return (buckets.map { $0.value.lost > 0 && $0.value.loss > 2 * usual }, true)
  }

  /// Stretches that stand out, behind the marks.
  static func bands(
    _ buckets: [(begin: Timestamp, value: ReportBucket)], _ width: Int64, _ axis: TimeAxis, _ plot: Plot,
    _ page: inout Markup
  ) {
    let marks = troubled(buckets).marks
    var i = 0
    while i < buckets.count {
      guard marks[i] else {
        i += 1
        continue
      }
      var j = i
      while j + 1 < buckets.count, marks[j + 1] { j += 1 }
      let from = axis.place(buckets[i].begin)
      let to = axis.place(buckets[j].begin.advanced(by: width * 1_000_000_000))
      Plot.bar(from, plot.top, max(2, to - from), plot.bottom - plot.top, "band", &page)
      Plot.bar(from, plot.top - 5, max(2, to - from), 4, "bandtop", &page)
      i = j + 1
    }
  }

  /// What marks a stretch, in words.
  static func bandWords(_ buckets: [(begin: Timestamp, value: ReportBucket)]) -> String {
    troubled(buckets).isRelative ? "with more than twice the usual loss" : "with messages lost or bytes missing"
  }

  /// How the lines of percentiles look, the lowest first.
  static let lineKinds: [StaticString] = ["ln p50", "ln p95", "ln p99", "ln q4", "ln q5"]

  /// The names of a direction's chart: of its table, and its title.
  static func names(_ direction: Direction) -> (rows: StaticString, label: StaticString) {
    direction == .clientToServer
      ? ("rtt-rows", "Round trips over time, client to server")
      : ("rtt-rows-s2c", "Round trips over time, server to client")
  }

  /// Round trips of one direction over time: the percentiles of each bucket.
  static func roundTrips(
    _ series: TimeBuckets<ReportBucket>, _ direction: Direction, _ model: ReportModel, _ page: inout Markup
  ) {
    let buckets = series.all, percentiles = model.percentiles
    let plot = Plot(height: 300)
    let trips = buckets.map { $0.value.roundTrips[direction] }
    guard let span = series.span, let low = percentiles.all.first, let high = percentiles.all.last,
      let least = trips.compactMap({ $0.percentile(low) }).min(),
      let greatest = trips.compactMap({ $0.percentile(high) }).max()
    else { return }
    let axis = TimeAxis(span.begin, span.end, plot, model.zone)
    let lengths = LengthAxis(least, greatest, plot)
    plot.begin(
      direction == .clientToServer ? "rtt" : "rtt-s2c", title: "Round trips over time, \(direction.text)",
      description:
        "\(Words.list(percentiles.all.map(PagePercentiles.name))) of each step: that percentage of the round trips were not longer. "
        + "The lowest \(PagePercentiles.name(low)) is \(Words.length(least)), the highest \(PagePercentiles.name(high)) "
        + "\(Words.length(greatest)). "
        + "Marked periods are those \(bandWords(buckets)). The values are in the table below.",
      hasRows: true, &page)
    bands(buckets, series.width, axis, plot, &page)
    lengths.draw(&page)
    axis.draw(plot, &page)
    // The lowest on top, and of the others the dotted ones, which leave the dashed ones to be seen where they are alike.
    let kinds = Array(zip(percentiles.all, lineKinds))
    for (percent, kind) in kinds.dropFirst() + kinds.prefix(1) {
      let points = zip(buckets, trips).map { bucket, trips -> (x: Double, y: Double)? in
        trips.percentile(percent).map { (middle(bucket.begin, series.width, axis), lengths.place($0)) }
      }
      Plot.line(points, kind, &page)
      if percent == low, buckets.count <= 120 {
        Plot.line(points.map { $0.map { ($0.x, $0.y) } }.flatMap { [$0, nil] }, "dots", &page)
      }
    }
    plot.end(&page)
  }

  /// The middle of a bucket.
  static func middle(_ begin: Timestamp, _ width: Int64, _ axis: TimeAxis) -> Double {
    axis.place(begin.advanced(by: width * 500_000_000))
  }

  /// A row of bars.
  struct Strip {
    var name: String
    var values: [UInt64]
    var isTrouble: Bool
    /// What stands beside it.
    var total: String
    /// The highest bar in words.
    var most: String
  }

  /// Rows of bars beneath one another, each with a scale of its own.
  static func strips(
    _ id: StaticString, title: String, _ strips: [Strip], _ series: TimeBuckets<some Additive>, _ zone: LocalZone,
    _ page: inout Markup
  ) {
    guard let span = series.span else { return }
    let rowHeight = 58.0
    let plot = Plot(height: 34 + 14 + rowHeight * Double(strips.count), left: 190)
    let axis = TimeAxis(span.begin, span.end, plot, zone)
    plot.begin(
      id, title: title,
      description: strips.map { "\($0.name): \($0.total), at most \($0.most)." }.joined(separator: " ")
        + " The values are in the table below.", hasRows: true, &page)
    axis.draw(plot, &page)
    let buckets = series.all
    for (row, strip) in strips.enumerated() {
      let base = plot.top + rowHeight * Double(row + 1) - 6
      let room = rowHeight - 18
      let most = Double(max(1, strip.values.max() ?? 1))
      Plot.label(strip.name, 178, base - 26, "end", "nm", &page)
      Plot.label(strip.total, 178, base - 10, "end", "ax", &page)
      page.raw("<path class=\"base\" d=\"M")
      page.place(plot.left)
      page.raw(" ")
      page.place(base)
      page.raw("H")
      page.place(plot.right)
      page.raw("\"/><path class=\"")
      page.raw(strip.isTrouble ? "fill badfill" : "fill")
      page.raw("\" d=\"")
      for (bucket, value) in zip(buckets, strip.values) where value > 0 {
        let from = axis.place(bucket.begin)
        let to = axis.place(bucket.begin.advanced(by: series.width * 1_000_000_000))
        // A bar is never too thin or too low to be seen.
        let height = max(2, room * Double(value) / most)
        page.raw("M")
        page.place(from)
        page.raw(" ")
        page.place(base)
        page.raw("v-")
        page.place(height)
        page.raw("h")
        page.place(max(1.5, to - from - (to - from > 4 ? 1 : 0)))
        page.raw("v")
        page.place(height)
        page.raw("z")
      }
      page.raw("\"/>")
      if strip.values.contains(where: { $0 > 0 }) {
        Plot.label("max \(strip.most)", plot.right, base - room - 3, "end", "ax hal", &page)
      }
    }
    plot.end(&page)
  }
}
