import IMMetrics
import IMOutput
import IMWire

/// The distribution of round trips up to the slowest: a scale on which each further nine takes the same room.
enum NinesChart {
  /// The percentiles that the table has, as far as there are enough samples for them.
  static func percents(_ count: UInt64, with wanted: [Double] = []) -> [(name: String, percent: Double)] {
    let all: [(String, Double, UInt64)] = [
      ("50 %", 50, 1), ("75 %", 75, 4), ("90 %", 90, 10), ("95 %", 95, 20), ("99 %", 99, 100), ("99.9 %", 99.9, 1_000),
      ("99.99 %", 99.99, 10_000), ("99.999 %", 99.999, 100_000),
    ]
    let usual = all.filter { $0.2 <= count }.map { (name: $0.0, percent: $0.1) }
    let further = wanted.filter { percent in !all.contains { $0.1 == percent } }.map {
      (name: String(PagePercentiles.name($0).dropFirst()) + " %", percent: $0)
    }
    return (usual + further).sorted { $0.percent < $1.percent }
  }

  /// The names of a direction's chart: of its table, and its title.
  static func names(_ direction: Direction) -> (rows: StaticString, label: StaticString) {
    direction == .clientToServer
      ? ("nines-rows", "Distribution of round trips, client to server")
      : ("nines-rows-s2c", "Distribution of round trips, server to client")
  }

  static func draw(_ trips: RTTRecorder, _ direction: Direction, _ page: inout Markup) {
    guard let least = trips.minimum, let greatest = trips.maximum else { return }
    let plot = Plot(height: 300)
    let lengths = LengthAxis(least, greatest, plot)
    // One more than all samples would be beyond the slowest.
    let nines = max(1, Logarithm.ten(Double(trips.count)))
    func place(_ nine: Double) -> Double { plot.left + nine / nines * (plot.right - plot.left) }
    plot.begin(
      direction == .clientToServer ? "nines" : "nines-s2c", title: "Distribution of round trips, \(direction.text)",
      description:
        "The share of round trips that are not longer, on a scale of nines: 0, 90, 99, 99.9 percent are at equal "
        + "distances. The shortest is \(Words.length(least)), the longest \(Words.length(greatest)). The percentiles are in "
        + "the table below.", hasRows: false, &page)
    lengths.draw(&page)
    let marks: [(Double, String)] = [
      (0, "0 %"), (0.301, "50 %"), (1, "90 %"), (2, "99 %"), (3, "99.9 %"), (4, "99.99 %"), (5, "99.999 %"),
      (6, "99.9999 %"),
    ]
    for (nine, text) in marks where nine <= nines {
      page.raw("<path class=\"grid\" d=\"M")
      page.place(place(nine))
      page.raw(" ")
      page.place(plot.top)
      page.raw("V")
      page.place(plot.bottom + 4)
      page.raw("\"/>")
      Plot.label(text, min(place(nine), Plot.width - 34), plot.bottom + 18, "middle", "ax", &page)
    }
    let steps = 240
    var points: [(x: Double, y: Double)?] = []
    for step in 0...steps {
      let nine = nines * Double(step) / Double(steps)
      let percent = 100 - 100 * Logarithm.power(-nine)
      guard let value = step == steps ? greatest : trips.percentile(max(percent, 0.000_001)) else { continue }
      points.append((place(nine), lengths.place(value)))
    }
    Plot.line(points, "ln p50", &page)
    plot.end(&page)
  }
}
