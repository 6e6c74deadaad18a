import IMMetrics
import IMWire

/// A figure that people ask for first: a title, a value, and a remark beneath it.
package struct MetricTile {
  /// What it is called, and what that means.
  package let title: String, help: String
  /// Its value; a dash where it is not known, never 0.
  package let value: String
  /// What it is of, and more.
  package let remark: String

  /// The tiles that `figures` declare, in their order. Round trips have two for each direction: for the first
  /// of `percentiles`, and for the others.
  @_semantics("optimize.sil.specialize.generic.never")
  static func all<Snapshot>(
    _ figures: [Metric<Snapshot>], _ snapshot: Snapshot, percentiles: [(name: String, percent: Double)] = []
  ) -> [MetricTile] {
    var tiles: [MetricTile] = []
    var remark = MetricParts()
    var head: (figure: Metric<Snapshot>, text: MetricPresentation, title: String)?
    func finish() {
      guard let (figure, text, title) = head else { return }
      let value = figure.value(snapshot)
      if case .percentiles? = value {
        let all = ["c2s", "s2c"].enumerated().compactMap { way, direction -> (String, RTTRecorder)? in
          guard case .percentiles(let times)? = figure.value(snapshot, at: way), times.count > 0 else { return nil }
          return (direction, times)
        }
        for (direction, times) in all {
          tiles += tilesOf(title, " " + direction, figure.info, text, times, percentiles)
        }
        if all.isEmpty { tiles += tilesOf(title, "", figure.info, text, RTTRecorder(), percentiles) }
        return
      }
      var parts = remark.all
      // A ratio without its parts is of nothing.
      if figure.info.unit == .ratio { parts.insert(share(value, text), at: 0) }
      tiles.append(
        MetricTile(
          title: title, help: figure.info.help, value: value.map { MetricSentences.text($0, figure.info.unit) } ?? "–",
          remark: parts.joined(separator: ", ")))
    }
    for (figure, text) in Catalogue.texts(.tiles, in: figures) {
      if case .tile(let title) = text.style {
        finish()
        head = (figure, text, title)
        remark = MetricParts()
      } else {
        remark.add(figure.value(snapshot), text, figure.info.unit)
      }
    }
    finish()
    return tiles
  }

  /// `3 of 51 messages`, `no messages`.
  private static func share(_ value: MetricValue?, _ text: MetricPresentation) -> String {
    guard case .share(let part, let whole)? = value else { return "no \(text.many)" }
    return "\(grouped(part)) of \(counted(whole, text))"
  }

  private static func counted(_ count: UInt64, _ text: MetricPresentation) -> String {
    "\(grouped(count)) \(count == 1 ? text.one : text.many)"
  }

  private static func tilesOf(
    _ title: String, _ direction: String, _ info: MetricInfo, _ text: MetricPresentation, _ times: RTTRecorder,
    _ percentiles: [(name: String, percent: Double)]
  ) -> [MetricTile] {
    let all = percentiles.map { ($0.name, times.percentile($0.percent).map(Words.length) ?? "–") }
    let counted = times.count == 0 ? "no \(text.many)" : "of \(counted(times.count, text))"
    let rest = all.dropFirst(2).map { "\($0.0) \($0.1)" }
    return all.prefix(2).enumerated().map { place, one in
      MetricTile(
        title: "\(title) \(one.0)\(direction)", help: info.help, value: one.1,
        remark: place == 0 || rest.isEmpty ? counted : rest.joined(separator: ", "))
    }
  }
}
