import IMOutput
import IMWire

/// Sessions as lanes, their connections as bars.
enum LaneChart {
  static func draw(_ lanes: [Lane], _ begin: Timestamp, _ end: Timestamp, _ page: inout Markup) {
    let rowHeight = 26.0
    let plot = Plot(height: 48 + rowHeight * Double(lanes.count), left: 190)
    let axis = TimeAxis(begin, end, plot)
    plot.begin(
      "lanes", title: "Connections of each session",
      description:
        "One lane for each of \(count(UInt64(lanes.count), "session")), one bar for each connection. A cross is an end by "
        + "a reset, an x alone an attempt that failed. The table below says the same.", hasRows: false, &page)
    axis.draw(plot, &page)
    for (row, lane) in lanes.enumerated() {
      let middle = plot.top + rowHeight * (Double(row) + 0.5)
      var name = String(lane.name.prefix(20))
      if name.count < lane.name.count { name += "…" }
      Plot.label(name, 178, middle + 4, "end", "nm", &page)
      page.raw("<path class=\"base\" d=\"M")
      page.place(plot.left)
      page.raw(" ")
      page.place(middle)
      page.raw("H")
      page.place(plot.right)
      page.raw("\"/>")
      for bar in lane.bars { draw(bar, middle, axis, &page) }
    }
    plot.end(&page)
  }

  private static func draw(_ bar: Lane.Bar, _ middle: Double, _ axis: TimeAxis, _ page: inout Markup) {
    let (from, to) = (axis.place(bar.from), axis.place(bar.to))
    if bar.isFailed {
      cross(from, middle, &page)
    } else {
      Plot.bar(from, middle - 6, max(3, to - from), 12, bar.isBroken ? "lane broken" : "lane", &page)
      if bar.isBroken { cross(max(from + 3, to), middle, &page) }
      if to - from > 44 { Plot.label("#\(bar.serial)", from + 6, middle + 4, "start", "onbar", &page) }
    }
  }

  private static func cross(_ x: Double, _ y: Double, _ page: inout Markup) {
    page.raw("<path class=\"miss\" d=\"M")
    page.place(x - 4)
    page.raw(" ")
    page.place(y - 4)
    page.raw("l8 8m0-8l-8 8\"/>")
  }
}
