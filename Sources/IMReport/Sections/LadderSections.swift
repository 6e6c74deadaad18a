import IMEngine
import IMOutput
import IMWire

/// The worst connections, as ladders.
enum LadderSections {
  /// At most so many rows of a ladder are drawn.
  private static let rowLimit = 80

  static func ladders(_ model: ReportModel, _ page: inout Markup) {
    guard model.isCut || !model.ladders.isEmpty else { return }
    PageSection.begin(.ladders, &page)
    defer { PageSection.end(&page) }
    if model.isCut { return PageSection.paragraph(PageSection.cut, &page) }
    let left =
      model.laddersLeftOut > 0
      ? " \(count(model.laddersLeftOut, "further connection")) with problems left out; imdump ladder draws them." : ""
    PageSection.paragraph(
      "The worst connections, beginning shortly before their first problem. Times are \(model.zoneText); numbers beside them are those "
        + "of packets, as imdump -vv prints them.\(left)", isSoft: true, &page)
    let first = model.captured.map { Words.date($0.first, model.zone) }
    for (i, whole) in model.ladders.enumerated() {
      let ladder = whole.cut(to: rowLimit)
      page.raw("<details class=\"ladder\" id=\"")
      page.text(ladder.anchor)
      page.raw(i == 0 ? "\" open><summary>" : "\"><summary>")
      page.text(ladder.title)
      let date = ladder.rows.first.map { Words.date($0.at, model.zone) }
      if let date, date != first { page.text(", \(date)") }
      page.raw("</summary><div class=\"scroll\">")
      LadderSVG(clock: model.zone).write(ladder, to: &page)
      page.raw("</div><details><summary>As text</summary><pre tabindex=\"0\">")
      var text = ByteWriter()
      LadderText(isASCII: false, clock: model.zone).write(ladder, to: &text)
      for line in text.text.split(separator: "\n", omittingEmptySubsequences: false) {
        page.text(String(line))
        page.raw("\n")
      }
      page.raw("</pre></details></details>\n")
    }
  }
}

extension Ladder {
  /// Its name, as an anchor of the page.
  fileprivate var anchor: String { "ladder-\(serial)" }

  /// The same with at most so many rows.
  func cut(to limit: Int) -> Ladder {
    guard rows.count > limit else { return self }
    var ladder = self
    let behind = rows[limit...].filter { if case .step = $0.event { true } else { false } }
    ladder.leftOutBehind += UInt64(behind.count)
    ladder.rows = Array(rows.prefix(limit))
    return ladder
  }
}
