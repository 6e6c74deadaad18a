import IMOutput
import IMWire

/// The area of a chart in which its marks lie, and how to draw on it. One unit is a pixel where the page is wide.
struct Plot {
  static let width = 960.0
  let left: Double, right: Double, top: Double, bottom: Double
  let height: Double

  init(height: Double, left: Double = 76, right: Double = 936, top: Double = 14, below: Double = 34) {
    (self.height, self.left, self.right, self.top) = (height, left, right, top)
    bottom = height - below
  }

  /// Begins a drawing. `id` is unique on the page; `rows` says that the rows of the table `id` stand side by side from left to right.
  func begin(_ id: StaticString, title: String, description: String, hasRows: Bool, _ page: inout Markup) {
    page.raw("<svg role=\"img\" viewBox=\"0 0 960 ")
    page.place(height)
    page.raw("\" aria-labelledby=\"")
    page.raw(id)
    page.raw("-t ")
    page.raw(id)
    page.raw("-d\"")
    if hasRows {
      page.raw(" data-left=\"")
      page.place(left)
      page.raw("\" data-right=\"")
      page.place(right)
      page.raw("\"")
    }
    page.raw("><title id=\"")
    page.raw(id)
    page.raw("-t\">")
    page.text(title)
    page.raw("</title><desc id=\"")
    page.raw(id)
    page.raw("-d\">")
    page.text(description)
    page.raw("</desc>")
  }

  /// Ends it, with the line that shows which row is read.
  func end(_ page: inout Markup) {
    page.raw("<path class=\"cross\" d=\"M0 ")
    page.place(top)
    page.raw("V")
    page.place(bottom)
    page.raw("\"/></svg>")
  }

  /// A word at a place.
  static func label(
    _ text: String, _ x: Double, _ y: Double, _ anchor: StaticString, _ kind: StaticString, _ page: inout Markup
  ) {
    page.raw("<text class=\"")
    page.raw(kind)
    page.raw("\" x=\"")
    page.place(x)
    page.raw("\" y=\"")
    page.place(y)
    page.raw("\" text-anchor=\"")
    page.raw(anchor)
    page.raw("\">")
    page.text(text, limit: 80)
    page.raw("</text>")
  }

  /// A line across, with its label on the left.
  func rule(_ y: Double, _ text: String, _ page: inout Markup) {
    page.raw("<path class=\"grid\" d=\"M")
    page.place(left)
    page.raw(" ")
    page.place(y)
    page.raw("H")
    page.place(right)
    page.raw("\"/>")
    Self.label(text, left - 8, y + 4, "end", "ax", &page)
  }

  /// A rectangle.
  static func bar(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ kind: StaticString, _ page: inout Markup
  ) {
    page.raw("<rect class=\"")
    page.raw(kind)
    page.raw("\" x=\"")
    page.place(x)
    page.raw("\" y=\"")
    page.place(y)
    page.raw("\" width=\"")
    page.place(width)
    page.raw("\" height=\"")
    page.place(height)
    page.raw("\"/>")
  }

  /// A line through points; `nil` interrupts it. A point between two interruptions is a dot.
  static func line(_ points: [(x: Double, y: Double)?], _ kind: StaticString, _ page: inout Markup) {
    page.raw("<path class=\"")
    page.raw(kind)
    page.raw("\" d=\"")
    for (i, point) in points.enumerated() {
      guard let point else { continue }
      let isFirst = i == 0 || points[i - 1] == nil
      page.raw(isFirst ? "M" : "L")
      page.place(point.x)
      page.raw(" ")
      page.place(point.y)
      // Round ends make a line without length a dot.
      if isFirst, i + 1 == points.count || points[i + 1] == nil { page.raw("h0") }
    }
    page.raw("\"/>")
  }
}

/// Where times stand in a chart.
struct TimeAxis {
  let begin: Timestamp, end: Timestamp
  private let left: Double, right: Double
  private let zone: LocalZone

  init(_ begin: Timestamp, _ end: Timestamp, _ plot: Plot, _ zone: LocalZone) {
    self.zone = zone
    self.begin = begin
    self.end = max(end, begin.advanced(by: 1_000_000))
    (left, right) = (plot.left, plot.right)
  }

  func place(_ at: Timestamp) -> Double {
    let share = Double(at.nanoseconds(since: begin)) / Double(end.nanoseconds(since: begin))
    return left + min(max(share, 0), 1) * (right - left)
  }

  /// Draws the axis beneath the plot.
  func draw(_ plot: Plot, _ page: inout Markup) {
    let length = max(1, end.seconds - begin.seconds)
    let steps: [Int64] = [
      1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800,
      604_800,
    ]
    var step = steps.first { length / $0 <= 8 } ?? 604_800
    while length / step > 8 { step *= 2 }
    // Ticks are at round times of the local clock.
    let offset = Int64(zone.offset(at: begin.seconds))
    var second = (begin.seconds + offset) / step * step - offset
    if Timestamp(seconds: second, fraction: 0) < begin { second += step }
    var lastDate = ""
    while second <= end.seconds {
      let at = Timestamp(seconds: second, fraction: 0)
      let x = place(at)
      page.raw("<path class=\"grid\" d=\"M")
      page.place(x)
      page.raw(" ")
      page.place(plot.top)
      page.raw("V")
      page.place(plot.bottom + 4)
      page.raw("\"/>")
      let date = Words.date(at, zone), time = Words.time(at, zone)
      var text = step % 86_400 == 0 ? date : step % 60 == 0 ? String(time.prefix(5)) : time
      if step % 86_400 != 0, !lastDate.isEmpty, date != lastDate { text = date }
      lastDate = date
      // The first and the last stay inside of the drawing.
      Plot.label(text, min(max(x, plot.left), Plot.width - 34), plot.bottom + 18, "middle", "ax", &page)
      let (next, overflow) = second.addingReportingOverflow(step)
      if overflow { break }
      second = next
    }
  }
}

/// Where lengths of time, in microseconds, stand in a chart whose scale is logarithmic.
struct LengthAxis {
  private let low: Double, high: Double
  private let plot: Plot

  /// An axis from `least` to `greatest`.
  init(_ least: Int64, _ greatest: Int64, _ plot: Plot) {
    self.plot = plot
    let (a, b) = (Self.logarithm(max(1, least)), Self.logarithm(max(1, greatest)))
    // Alike lengths get room around them.
    let room = max(0.04, (0.6 - (b - a)) / 2)
    (low, high) = (a - room, b + room)
  }

  func place(_ microseconds: Int64) -> Double {
    let share = (Self.logarithm(max(1, microseconds)) - low) / (high - low)
    return plot.bottom - min(max(share, 0), 1) * (plot.bottom - plot.top)
  }

  /// Draws the lines across.
  func draw(_ page: inout Markup) {
    let factors: [Int64] =
      high - low > 3.2 ? [1] : high - low > 1.6 ? [1, 3] : high - low > 0.8 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 8]
    var decade: Int64 = 1
    for _ in 0..<13 {
      for factor in factors {
        let value = decade * factor
        let logarithm = Self.logarithm(value)
        if logarithm >= low - 0.001, logarithm <= high { plot.rule(place(value), Self.words(value), &page) }
      }
      decade *= 10
    }
  }

  /// A tick in words: whole milliseconds and seconds without decimals.
  private static func words(_ microseconds: Int64) -> String {
    Words.length(microseconds).replacing(".0 ", with: " ")
  }

  /// The logarithm to the base ten of a number that is 1 at least.
  static func logarithm(_ value: Int64) -> Double { Logarithm.ten(Double(value)) }
}
