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
    case .good: page.raw("good\"><p class=\"sign\">\u{2713} ")
    case .warning: page.raw("warning\"><p class=\"sign\">! ")
    case .bad: page.raw("bad\"><p class=\"sign\">\u{2717} ")
    case .unknown: page.raw("nothing\"><p class=\"sign\">? ")
    }
    page.text(verdict.sign)
    page.raw("</p><h2 id=\"verdict-h\">")
    page.text(verdict.headline)
    page.raw(".</h2>\n")
    findings(verdict, &page)
    page.raw("</section>\n<ul class=\"tiles\" id=\"tiles\" aria-label=\"Key metrics\">\n")
    let percentiles = model.percentiles.all.map { (name: PagePercentiles.name($0), percent: $0) }
    // Where nothing was decoded, what is not known of messages is left out.
    let isDecoded = model.summary.ledger.decodedConnections > 0
    for tile in model.declared.tiles(percentiles: percentiles) where isDecoded || tile.value != "–" {
      page.raw("<li title=\"")
      page.text(tile.help)
      page.raw("\"><span class=\"name\">")
      page.text(tile.title)
      page.raw("</span><b>")
      page.text(tile.value)
      page.raw("</b><span>")
      page.text(tile.remark)
      page.raw("</span></li>\n")
    }
    page.raw("</ul>\n")
    if let (name, figures) = model.comparison { compare(Words.baseName(name), figures, &page) }
  }

  /// What was found, a row for each topic.
  private static func findings(_ verdict: Verdict, _ page: inout Markup) {
    guard !verdict.findings.isEmpty else { return }
    page.raw("<dl>")
    for finding in verdict.findings {
      page.raw("<dt class=\"")
      switch finding.level {
      case .good: page.raw("good")
      case .warning: page.raw("warning")
      case .bad: page.raw("bad")
      case .unknown, nil: page.raw("nothing")
      }
      page.raw("\">")
      page.text(finding.topic.label)
      page.raw("</dt>")
      for sentence in finding.sentences {
        page.raw("<dd>")
        page.text(sentence)
        page.raw("</dd>")
      }
    }
    page.raw("</dl>\n")
  }

  /// Two captures side by side.
  private static func compare(_ name: String, _ figures: [ComparedMetric], _ page: inout Markup) {
    page.raw("<section id=\"comparison\" aria-labelledby=\"comparison-h\"><h3 id=\"comparison-h\">Compared with ")
    page.text(name)
    page.raw("</h3>\n")
    let writer = ComparisonWriter()
    let changed = figures.filter { $0.differs == true }.map { figure in
      let (old, new, _) = writer.cells(figure)
      return "\(figure.name) from \(old) to \(new)"
    }
    PageSection.paragraph(
      changed.isEmpty
        ? figures.contains { $0.unit != .count && $0.differs != nil }
          ? "No significant difference (p < 0.001)."
          : "There are too few connections for a significance test."
        : "Significant differences (p < 0.001): \(changed.joined(separator: ", ")).", &page)
    let table = TableWriter([
      .init(name: "metric", isNumber: false), .init(name: "old", isNumber: true), .init(name: "new", isNumber: true),
      .init(name: "change", isNumber: true), .init(name: "significant", isNumber: false),
    ])
    table.begin("comparison-rows", caption: "The other capture is the old one, this one is new", &page)
    for figure in figures where figure.old != nil || figure.new != nil {
      let (old, new, change) = writer.cells(figure)
      table.row(
        [
          .text(figure.name), .text(old), .text(new), .text(change),
          figure.differs.map { $0 ? .marked("* yes", "yes") : .text("no") } ?? .text("-"),
        ], &page)
    }
    table.end(&page)
    PageSection.end(&page)
  }
}
