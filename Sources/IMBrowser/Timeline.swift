import IMOutput
package import IMStore
import IMTerminal
package import IMWire

/// A request for metrics over time.
package struct TimelineRequest: Equatable, Sendable {
  /// The time; `nil` for all that the store has.
  package var times: Range<Timestamp>?
  /// Counts up with the commits of whoever writes the store.
  package var commit = 0

  /// All.
  package init() {}
}

/// Metrics over time as a line of small graphs, and the brush that selects a time range.
package struct Timeline: Sendable {
  /// Stretches of time that are asked for, at most: as many as the widest line has columns, and some more.
  package static let limit = 480

  /// A graph: what it is of, and its values.
  struct Series {
    let name: String
    /// The highest value after `≤`, in few letters.
    let peak: String
    let values: [Double?]
    /// Whether the values are counts, which add up.
    var isSum = true
    /// The color of its graph.
    var color = Style.Colour.name
  }

  /// The figures; `nil` before there are any.
  package internal(set) var figures: StoredPeriods? { didSet { clampBrush() } }
  /// The stretches that the brush covers; `nil` without a brush.
  package private(set) var brush: Range<Int>?
  /// Stretches of a cell, as they were drawn last: a brush moves by as many.
  var step = 1

  /// Nothing is known.
  init() {}

  /// When the figures begin; `nil` where there are none.
  var firstMoment: Timestamp? { figures.map { Timestamp(seconds: $0.start, fraction: 0) } }

  private var count: Int { figures?.periods.count ?? 0 }

  private mutating func clampBrush() {
    guard let brush else { return }
    let clamped = brush.clamped(to: 0..<count)
    self.brush = clamped.isEmpty ? nil : clamped
  }

  // MARK: The brush

  /// Takes the brush away.
  mutating func dropBrush() { brush = nil }

  /// Puts the brush on the stretch of `moment`, or at the end that is nearer to where it goes to.
  mutating func beginBrush(at moment: Timestamp?, isForward: Bool) {
    guard let figures, count > 0 else { return }
    let place =
      moment.map { Int(clamping: ($0.seconds - figures.start) / figures.width) } ?? (isForward ? 0 : count - 1)
    let begin = min(max(0, place), count - 1) / step * step
    brush = begin..<min(count, begin + step)
  }

  /// Moves the brush by its length, as far as there is time.
  mutating func moveBrush(_ cells: Int) {
    guard let brush else { return }
    let move = min(max(cells * step, -brush.lowerBound), count - brush.upperBound)
    self.brush = brush.lowerBound + move..<brush.upperBound + move
  }

  /// Makes the brush longer or shorter at its end; at the end of the time, at its beginning.
  mutating func widenBrush(_ cells: Int) {
    guard let brush else { return }
    if brush.upperBound == count, cells > 0 {
      self.brush = max(0, brush.lowerBound - cells * step)..<count
    } else {
      let end = min(count, max(brush.lowerBound + min(step, brush.count), brush.upperBound + cells * step))
      self.brush = brush.lowerBound..<max(end, brush.lowerBound + 1)
    }
  }

  /// The time that the brush covers.
  var brushed: Range<Timestamp>? { brush.flatMap { figures?.times($0) } }

  // MARK: Graphs

  /// The graphs, the most important one first.
  var series: [Series] {
    guard let figures else { return [] }
    let periods = figures.periods
    func counts(_ name: String, _ color: Style.Colour = .name, _ value: (StoredPeriod) -> Int64) -> Series {
      let values = periods.map { Double(value($0)) }
      return Series(
        name: name, peak: (values.contains { $0 > 0 } ? "≤" : "") + Self.short(values.max() ?? 0), values: values,
        color: color)
    }
    func trips(_ name: String, _ value: (StoredPeriod) -> Int64?) -> Series? {
      let values = periods.map { value($0).map { Double($0) } }
      guard let peak = periods.compactMap(value).max() else { return nil }
      return Series(name: name, peak: "≤" + Words.shortLength(peak), values: values, isSum: false)
    }
    var all = [
      trips("p95 c2s") { $0.roundTrip95ToServer }, counts("lost", .alarm) { $0.lost },
      trips("p95 s2c") { $0.roundTrip95ToClient }, counts("retries", .warning) { $0.retries },
    ].compactMap { $0 }
    if figures.hasHeartbeats { all.append(counts("hb missed", .alarm) { $0.lostHeartbeats }) }
    if periods.contains(where: { $0.rejected > 0 }) { all.append(counts("rejected", .alarm) { $0.rejected }) }
    if periods.contains(where: { $0.oneWay > 0 }) { all.append(counts("one-way") { $0.oneWay }) }
    all.append(counts("messages") { $0.messages })
    return all
  }

  /// The values as so many columns: of a column that covers several stretches the highest of them, or their sum.
  static func columns(_ values: [Double?], _ count: Int, isSum: Bool) -> [Double?] {
    guard count > 0, count < values.count else { return values }
    return (0..<count).map { column in
      let known = values[column * values.count / count..<(column + 1) * values.count / count].compactMap { $0 }
      return known.isEmpty ? nil : isSum ? known.reduce(0, +) : known.max()
    }
  }

  /// The values as exactly so many columns: where there are fewer values, each is as wide as its time.
  static func stretched(_ values: [Double?], _ count: Int) -> [Double?] {
    guard !values.isEmpty, count > values.count else { return columns(values, count, isSum: true) }
    return (0..<count).map { values[$0 * values.count / count] }
  }

  /// A number in few letters: `87`, `1.2k`, `34k`.
  static func short(_ value: Double) -> String {
    switch value {
    case ..<1_000: "\(Int(value))"
    case ..<9_950: tenths(value / 1_000) + "k"
    case ..<999_500: "\(Int((value / 1_000).rounded()))k"
    default: tenths(value / 1_000_000) + "M"
    }
  }

  private static func tenths(_ value: Double) -> String {
    let tenths = Int((min(value, 1e9) * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
