import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// The verdict, and the figures that people ask for first.
enum VerdictSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    let verdict = Verdict(model)
    page.raw("<section id=\"verdict\" aria-labelledby=\"verdict-h\" class=\"")
    switch verdict.level {
    case .good: page.raw("good\"><p class=\"sign\">\u{2713} Nothing lost</p>")
    case .bad: page.raw("bad\"><p class=\"sign\">\u{2717} Messages lost</p>")
    case .unknown: page.raw("unknown\"><p class=\"sign\">? Cannot be known</p>")
    case .nothing: page.raw("nothing\"><p class=\"sign\">\u{2013} No messages</p>")
    }
    page.raw("<h2 id=\"verdict-h\">")
    page.text(verdict.headline)
    page.raw("</h2>\n")
    if !verdict.sentences.isEmpty { Page.paragraph(verdict.sentences.joined(separator: " "), &page) }
    page.raw("</section>\n<ul class=\"tiles\" id=\"tiles\" aria-label=\"Key figures\">\n")
    for tile in tiles(model) {
      page.raw("<li><span class=\"name\">")
      page.text(tile.name)
      page.raw("</span><b>")
      page.text(tile.value)
      page.raw("</b><span>")
      page.text(tile.remark)
      page.raw("</span></li>\n")
    }
    page.raw("</ul>\n")
    if let (name, figures) = model.comparison { compare(Page.baseName(name), figures, &page) }
  }

  /// Two captures side by side.
  private static func compare(_ name: String, _ figures: [ComparedFigure], _ page: inout Markup) {
    page.raw("<section id=\"comparison\" aria-labelledby=\"comparison-h\"><h3 id=\"comparison-h\">Compared with ")
    page.text(name)
    page.raw("</h3>\n")
    let writer = ComparisonWriter()
    let changed = figures.filter(\.differs).map { figure in
      let (old, new, _) = writer.cells(figure)
      return "\(figure.name) from \(old) to \(new)"
    }
    Page.paragraph(
      changed.isEmpty
        ? "Nothing differs by more than chance explains."
        : "By more than chance explains, at 1 in 1,000, these differ: \(changed.joined(separator: ", ")).", &page)
    let table = TableWriter([
      .init(name: "figure", isNumber: false), .init(name: "old", isNumber: true), .init(name: "new", isNumber: true),
      .init(name: "change", isNumber: true), .init(name: "more than chance", isNumber: false),
    ])
    table.begin("comparison-rows", caption: "The other capture is old, this one is new", &page)
    for figure in figures where figure.old != nil || figure.new != nil {
      let (old, new, change) = writer.cells(figure)
      table.row(
        [
          .text(figure.name), .text(old), .text(new), .text(change),
          figure.differs ? .marked("* yes", "yes") : .text("no"),
        ], &page)
    }
    table.end(&page)
    Page.end(&page)
  }

  /// A figure. What is not known is a dash, never 0.
  static func tiles(_ model: ReportModel) -> [(name: String, value: String, remark: String)] {
    let total = model.figures
    let fates = model.messages
    func ratio(_ value: Double?) -> String { value.map(percent) ?? "–" }
    let beats = total.heartbeats
    let gaps = model.summary.reassembly
    let holes = (0..<3).reduce(UInt64(0)) { $0 + gaps.gaps[$1] }
    let missing = (0..<3).reduce(UInt64(0)) { $0 + gaps.gapBytes[$1] }
    let attempts = total.connections
    let closed = "of \(count(fates.known, "message")) whose fate is known"
    return [
      ("Success", ratio(total.ratios.success), closed),
      (
        "Loss", ratio(total.ratios.loss),
        "\(grouped(UInt64(fates.unanswered))) unanswered, \(grouped(UInt64(fates.damaged))) damaged"
      ),
      ("Retry", ratio(total.ratios.retry), "\(grouped(UInt64(fates.ackedAfterRetry))) answered after a retry"),
    ] + roundTrips(model) + [
      (
        "Heartbeat loss", ratio(beats.loss),
        beats.isEmpty
          ? "no heartbeats" : "\(grouped(beats.missed)) of \(count(beats.answered + beats.missed, "heartbeat"))"
      ),
      (
        "Connections", grouped(model.summary.ledger.decodedConnections),
        attempts.refused + attempts.timedOut > 0
          ? "\(count(attempts.refused + attempts.timedOut, "attempt")) failed"
          : "decoded of \(grouped(model.summary.ledger.connections))"
      ),
      ("Gaps", grouped(holes), holes == 0 ? "no byte of a stream is missing" : "\(count(missing, "byte")) missing"),
    ]
  }

  /// The lowest of the percentiles, and the others.
  private static func roundTrips(_ model: ReportModel) -> [(name: String, value: String, remark: String)] {
    let trips = model.figures.roundTrips
    func length(_ value: Int64?) -> String { value.map(Words.length) ?? "–" }
    let all = model.percentiles.all.map { (PagePercentiles.name($0), length(trips.percentile($0))) }
    guard let first = all.first else { return [] }
    let counted = trips.count == 0 ? "none was measured" : "of \(count(trips.count, "round trip"))"
    let lowest = ("Round trip \(first.0)", first.1, counted)
    guard all.count > 1 else { return [lowest] }
    let rest = all.dropFirst(2).map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    return [lowest, ("Round trip \(all[1].0)", all[1].1, rest.isEmpty ? counted : rest)]
  }
}
