import IMMetrics
import IMOutput
import IMWire

/// A report as one page of HTML that needs nothing beside itself.
package struct Page {
  /// A writer.
  package init() {}

  /// The page.
  package func html(_ model: ReportModel) -> [UInt8] {
    var page = Markup()
    let script = Script.text(isLive: model.live?.isRefreshed == true)
    // The navigation names the sections that there are.
    let (main, ids) = sections(model)
    head(model, script, &page)
    page.raw("<body>\n<a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n<header><h1 id=\"title\">")
    page.text(Self.title(model))
    page.raw("</h1>\n<p class=\"soft\" id=\"when\">")
    page.text(Self.when(model))
    page.raw("</p>\n")
    navigation(ids, &page)
    page.raw("</header>\n<main>\n")
    page.append(main)
    page.raw("</main>\n")
    if model.embedsData { PageData.write(model, &page) }
    page.raw("<script>")
    page.trusted(script)
    page.raw("</script>\n</body>\n</html>\n")
    return page.bytes
  }

  /// The sections that have something to show, and which these are.
  private func sections(_ model: ReportModel) -> (html: [UInt8], ids: [PageSection]) {
    var page = Markup()
    var ids: [PageSection] = []
    for section in PageSection.allCases {
      let before = page.count
      section.write(model, &page)
      if page.count > before { ids.append(section) }
    }
    return (page.bytes, ids)
  }

  private static func title(_ model: ReportModel) -> String {
    "imdump report: " + (model.live.map { "\($0.interface), live" } ?? Words.list(model.captures.map(Words.baseName)))
  }

  private func head(_ model: ReportModel, _ script: String, _ page: inout Markup) {
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n")
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-")
    page.trusted(Base64.text(SHA256.hash(Array((Style.drawing + Style.page).utf8))))
    page.raw("'; script-src 'sha256-")
    page.trusted(Base64.text(SHA256.hash(Array(script.utf8))))
    page.raw("'; base-uri 'none'; form-action 'none'")
    if model.live?.isRefreshed == true { page.raw("; connect-src 'self'") }
    page.raw("\">\n")
    if model.live?.isRefreshed == true {
      page.raw("<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n")
    }
    page.raw(
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"imdump "
    )
    page.text(model.version)
    page.raw("\">\n<title>")
    page.text(Self.title(model))
    page.raw("</title>\n<style>")
    page.trusted(Style.drawing + Style.page)
    page.raw("</style></head>\n")
  }

  private func navigation(_ sections: [PageSection], _ page: inout Markup) {
    page.raw("<nav aria-label=\"Sections\"><ol>")
    for section in sections {
      page.raw("<li><a href=\"#")
      page.raw(section.id)
      page.raw("\">")
      page.raw(section.title)
      page.raw("</a></li>")
    }
    page.raw("</ol></nav>\n")
  }

  private static func when(_ model: ReportModel) -> String {
    if let live = model.live { return when(live, model) }
    guard let (first, last) = model.captured else { return "no packets" }
    let length = last.nanoseconds(since: first) / 1_000
    return
      "captured \(Words.moment(first, near: nil, model.zone)) to \(Words.moment(last, near: first, model.zone)) "
      + "\(model.zoneText) (\(Words.length(length)))"
      + (model.filter.map { ", only \($0)" } ?? "")
  }

  /// What a live page covers.
  private static func when(_ live: ReportModel.Live, _ model: ReportModel) -> String {
    let zone = model.zone
    let filter = model.filter.map { ", only \($0)" } ?? ""
    guard let (from, to, begun) = live.covered else { return "no packets yet\(filter)" }
    let span =
      "\(Words.moment(from, near: nil, zone)) to \(Words.moment(to, near: from, zone)) \(model.zoneText)\(filter)"
    let length = Words.length(to.nanoseconds(since: begun) / 1_000)
    guard from > begun else { return "\(span): all since the capture began (\(length))" }
    return "\(span): the last \(Words.length(live.windowSeconds * 1_000_000)) and the rest of the step before. "
      + "The capture began \(Words.moment(begun, near: from, zone)) (\(length)); older data is dropped."
  }
}

extension PageSection {
  /// Appends the section, or nothing where it has nothing to show.
  fileprivate func write(_ model: ReportModel, _ page: inout Markup) {
    switch self {
    case .verdict: VerdictSection.write(model, &page)
    case .lost: LostSection.write(model, &page)
    case .transport: TransportSection.write(model, &page)
    case .roundTrips: ChartSections.roundTrips(model, &page)
    case .distribution: ChartSections.distribution(model, &page)
    case .rates: ChartSections.rates(model, &page)
    case .troubles: ChartSections.troubles(model, &page)
    case .heartbeats: ChartSections.heartbeats(model, &page)
    case .lanes: LaneSection.write(model, &page)
    case .ladders: LadderSections.ladders(model, &page)
    case .problems: ProblemSection.write(model, &page)
    case .connections: ConnectionSection.write(model, &page)
    case .method: MethodSection.write(model, &page)
    }
  }
}
