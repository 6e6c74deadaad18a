import IMOutput
import IMWire

/// Sessions as lanes, their connections as bars.
enum LaneChart {
  static func draw(_ lanes: [Lane], _ begin: Timestamp, _ end: Timestamp, _ zone: LocalZone, _ page: inout Markup) {
    let rowHeight = 26.0
    let plot = Plot(height: 48 + rowHeight * Double(lanes.count), left: 190)
    let axis = TimeAxis(begin, end, plot, zone)
    plot.begin(
      "lanes", title: "Connections of each session",
      description:
        "One lane for each of \(count(UInt64(lanes.count), "session")), one bar for each connection. A cross at the end of a bar is "
        + "a reset, a cross alone a failed attempt. The table below has the same data.", hasRows: false, &page)
    axis.draw(plot, &page)
    for (row, lane) in lanes.enumerated() {
      let middle = plot.top + rowHeight * (Double(row) + 0.5)
      var name = String(lane.name.prefix(17))
      if name.count < lane.name.count { name += "…" }
      Plot.label(name, 178, middle + 4, "end", "nm", &page)
      page.raw("<path class=\"base\" d=\"M")
      page.place(plot.left)
      page.raw(" ")
      page.place(middle)
      page.raw("H")
      page.place(plot.right)
      page.raw("\"/>")
      let levels = levels(lane.bars)
      let height = 14 / Double(min(maximumLevels, (levels.max() ?? 0) + 1))
      for (bar, level) in zip(lane.bars, levels) {
        draw(bar, middle - 7 + height * (Double(level) + 0.5), height - (height < 14 ? 1 : 2), axis, &page)
      }
    }
    plot.end(&page)
  }

  /// Connections at the same time stand beneath one another, as far as there is room.
  private static let maximumLevels = 3

  private static func levels(_ bars: [Lane.Bar]) -> [Int] {
    var ends: [Timestamp] = []
    return bars.map { bar in
      if let free = ends.firstIndex(where: { $0 <= bar.from }) {
        ends[free] = bar.to
        return free
      }
      guard ends.count < maximumLevels else { return maximumLevels - 1 }
      ends.append(bar.to)
      return ends.count - 1
    }
  }

  private static func draw(
    _ bar: Lane.Bar, _ middle: Double, _ height: Double, _ axis: TimeAxis, _ page: inout Markup
  ) {
    let (from, to) = (axis.place(bar.from), axis.place(bar.to))
    if bar.isFailed {
      cross(from, middle, &page)
    } else {
      Plot.bar(from, middle - height / 2, max(3, to - from), height, bar.isBroken ? "lane broken" : "lane", &page)
      if bar.isBroken { cross(max(from + 3, to), middle, &page) }
      if to - from > 44, height > 10 { Plot.label("#\(bar.serial)", from + 6, middle + 4, "start", "onbar", &page) }
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
