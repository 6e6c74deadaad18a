import IMMetrics
import IMOutput
import IMWire

/// When heartbeats came after the ones before, beside what was promised, and those without an answer.
enum HeartbeatChart {
  /// Lengths of time that are drawn as lines across: what clients promised, else what is usual.
  static func expected(_ marks: HeartbeatMarks, usual: Int64?) -> [(interval: Int64, words: String)] {
    let promised = marks.promised.keys.sorted().prefix(3)
    if promised.isEmpty { return usual.map { [($0, "usual")] } ?? [] }
    return promised.map { (Int64($0) * 1_000, "promised") }
  }

  static func draw(_ model: ReportModel, _ page: inout Markup) {
    let marks = model.heartbeats
    let buckets = model.series.all
    let (least, greatest) = range(model)
    guard let span = model.span, let least, let greatest else { return }
    // Beneath the intervals is a row for heartbeats without an answer.
    let plot = Plot(height: 320)
    let area = Plot(height: 320, below: 62)
    let axis = TimeAxis(span.begin, span.end, plot, model.zone)
    let lines = expected(marks, usual: model.figures.heartbeats.spacing.percentile(50))
    let lengths = LengthAxis(
      min(least, lines.map(\.interval).min() ?? least), max(greatest, lines.map(\.interval).max() ?? greatest), area)
    plot.begin(
      "beats", title: "Time between heartbeats",
      description:
        "\(count(marks.count, "interval")) between heartbeats of one connection, from \(Words.length(least)) to "
        + "\(Words.length(greatest)). "
        + lines.map { "A line is drawn at \(Words.length($0.interval)), \($0.words)." }.joined(separator: " ")
        + " \(count(model.figures.heartbeats.missed, "heartbeat")) without an answer are drawn as crosses.",
      hasRows: false, &page)
    lengths.draw(&page)
    axis.draw(plot, &page)
    for line in lines {
      let y = lengths.place(line.interval)
      page.raw("<path class=\"due\" d=\"M")
      page.place(plot.left)
      page.raw(" ")
      page.place(y)
      page.raw("H")
      page.place(plot.right)
      page.raw("\"/>")
      Plot.label("\(line.words) \(Words.length(line.interval))", plot.right, y - 5, "end", "ax hal", &page)
    }
    if marks.isWhole {
      page.raw("<path class=\"dots\" d=\"")
      for mark in marks.marks {
        page.raw("M")
        page.place(axis.place(mark.at))
        page.raw(" ")
        page.place(lengths.place(mark.interval.microseconds))
        page.raw("h0")
      }
      page.raw("\"/>")
    } else {
      whiskers(buckets, model.series.width, axis, lengths, &page)
    }
    if !marks.missed.isEmpty { Plot.label("no answer", plot.left - 8, area.bottom + 20, "end", "ax", &page) }
    page.raw("<path class=\"miss\" d=\"")
    for at in marks.missed {
      page.raw("M")
      page.place(axis.place(at) - 4)
      page.raw(" ")
      page.place(area.bottom + 12)
      page.raw("l8 8m0-8l-8 8")
    }
    page.raw("\"/>")
    plot.end(&page)
  }

  /// From the shortest to the longest of each bucket, with a dot at the median: more intervals than there can be marks.
  private static func whiskers(
    _ buckets: [(begin: Timestamp, value: ReportBucket)], _ width: Int64, _ axis: TimeAxis, _ lengths: LengthAxis,
    _ page: inout Markup
  ) {
    for (kind, isDots) in [("whisker", false), ("dots", true)] as [(StaticString, Bool)] {
      page.raw("<path class=\"")
      page.raw(kind)
      page.raw("\" d=\"")
      for bucket in buckets {
        let intervals = bucket.value.intervals
        guard let low = intervals.minimum, let high = intervals.maximum, let middle = intervals.percentile(50) else {
          continue
        }
        page.raw("M")
        page.place(Charts.middle(bucket.begin, width, axis))
        page.raw(" ")
        page.place(lengths.place(isDots ? middle : low))
        if isDots {
          page.raw("h0")
        } else {
          page.raw("V")
          page.place(lengths.place(high))
        }
      }
      page.raw("\"/>")
    }
  }

  private static func range(_ model: ReportModel) -> (least: Int64?, greatest: Int64?) {
    let buckets = model.series.all
    return (
      buckets.compactMap(\.value.intervals.minimum).min().map { max($0, 1_000) },
      buckets.compactMap(\.value.intervals.maximum).max()
    )
  }
}
