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
    head(model, script, &page)
    page.raw("<body>\n<a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n<header><h1 id=\"title\">")
    page.text(Self.title(model))
    page.raw("</h1>\n<p class=\"soft\" id=\"when\">")
    page.text(Self.when(model))
    page.raw("</p>\n")
    navigation(&page)
    page.raw("</header>\n<main>\n")
    VerdictSection.write(model, &page)
    ChartSections.roundTrips(model, &page)
    ChartSections.distribution(model, &page)
    ChartSections.rates(model, &page)
    ChartSections.troubles(model, &page)
    ChartSections.heartbeats(model, &page)
    LaneSection.write(model, &page)
    LadderSections.sequences(model, &page)
    LadderSections.ladders(model, &page)
    ProblemSection.write(model, &page)
    ConnectionSection.write(model, &page)
    MethodSection.write(model, &page)
    page.raw("</main>\n")
    if model.embedsData { PageData.write(model, &page) }
    page.raw("<script>")
    page.trusted(script)
    page.raw("</script>\n</body>\n</html>\n")
    return page.bytes
  }

  /// The sections, in their order.
  static let sections: [(id: StaticString, title: StaticString)] = [
    ("verdict", "Verdict"), ("rtt-time", "Round trips over time"), ("rtt-distribution", "Distribution of round trips"),
    ("rates", "Messages by type"), ("troubles", "Lost and repeated"), ("heartbeats", "Heartbeats"),
    ("connections-time", "Connections over time"), ("sequences", "Numbers and answers"), ("ladders", "Ladders"),
    ("problems", "Problems"), ("connections", "Connections"), ("method", "Method"),
  ]

  /// Begins a section.
  static func begin(_ number: Int, _ page: inout Markup) {
    page.raw("<section aria-labelledby=\"")
    page.raw(sections[number].id)
    page.raw("-h\" id=\"")
    page.raw(sections[number].id)
    page.raw("\"><h2 id=\"")
    page.raw(sections[number].id)
    page.raw("-h\">")
    page.raw(sections[number].title)
    page.raw("</h2>\n")
  }

  /// Ends it.
  static func end(_ page: inout Markup) { page.raw("</section>\n") }

  /// What stands where connections could not be read again.
  static let cut = "Reading was interrupted before this could be drawn."

  /// A paragraph.
  static func paragraph(_ text: String, isSoft: Bool = false, _ page: inout Markup) {
    page.raw(isSoft ? "<p class=\"soft\">" : "<p>")
    page.text(text, limit: 4_000)
    page.raw("</p>\n")
  }

  private static func title(_ model: ReportModel) -> String {
    "imdump report: " + (model.live.map { "\($0.interface), live" } ?? Words.list(model.captures.map(baseName)))
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

  private func navigation(_ page: inout Markup) {
    page.raw("<nav aria-label=\"Sections\"><ol>")
    for (id, title) in Self.sections {
      page.raw("<li><a href=\"#")
      page.raw(id)
      page.raw("\">")
      page.raw(title)
      page.raw("</a></li>")
    }
    page.raw("</ol></nav>\n")
  }

  private static func when(_ model: ReportModel) -> String {
    if let live = model.live { return when(live, model.filter) }
    guard let (first, last) = model.captured else { return "no packets" }
    let length = last.nanoseconds(since: first) / 1_000
    return
      "captured \(Words.moment(first, near: nil)) to \(Words.moment(last, near: first)) UTC (\(Words.length(length)))"
      + (model.filter.map { ", only \($0)" } ?? "")
  }

  /// What a live page covers.
  private static func when(_ live: ReportModel.Live, _ filter: String?) -> String {
    let filter = filter.map { ", only \($0)" } ?? ""
    guard let (from, to, begun) = live.covered else { return "no packets yet\(filter)" }
    let span = "\(Words.moment(from, near: nil)) to \(Words.moment(to, near: from)) UTC\(filter)"
    let length = Words.length(to.nanoseconds(since: begun) / 1_000)
    guard from > begun else { return "\(span): all since the capture began (\(length))" }
    return "\(span): the last \(Words.length(live.windowSeconds * 1_000_000)) and what is left of the step before. "
      + "The capture began \(Words.moment(begun, near: from)) (\(length)); what is older is forgotten."
  }

  /// The name of a file without its folders: a report is sent to others.
  static func baseName(_ path: String) -> String {
    path == "-" ? "standard input" : path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }
}
