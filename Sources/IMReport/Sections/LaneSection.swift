import IMOutput
import IMWire

/// The connections of sessions over time.
enum LaneSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    guard model.isCut || !model.lanes.isEmpty else { return }
    PageSection.begin(.lanes, &page)
    defer { PageSection.end(&page) }
    if model.isCut { return PageSection.paragraph(PageSection.cut, &page) }
    if let text = still(model) { return PageSection.paragraph(text, &page) }
    let bars = model.lanes.flatMap(\.bars)
    guard let begin = bars.map(\.from).min(), let end = bars.map(\.to).max() else { return }
    let left =
      model.lanesLeftOut > 0
      ? " \(count(model.lanesLeftOut, "other session")) with fewer reconnects and problems left out." : ""
    PageSection.paragraph(
      "One lane for each session: a bar after another is a reconnect, bars below one another are simultaneous connections. "
        + "Failed attempts are shown in the lane of the session from the same client address.\(left)", isSoft: true,
      &page)
    page.raw(
      """
      <ul class="legend"><li><svg viewBox="0 0 34 12" aria-hidden="true"><rect class="lane" width="34" height="12"/></svg>a connection</li>\
      <li><svg viewBox="0 0 34 12" aria-hidden="true"><rect class="lane broken" width="26" height="12"/>\
      <path class="miss" d="M22 2l8 8m0-8l-8 8"/></svg>ended by a reset</li>\
      <li><svg viewBox="0 0 34 12" aria-hidden="true"><path class="miss" d="M13 2l8 8m0-8l-8 8"/></svg>a failed attempt</li></ul>

      """)
    page.raw("<figure aria-label=\"Connections over time\"><div class=\"scroll\">")
    LaneChart.draw(model.lanes, begin, end, model.zone, &page)
    page.raw("</div></figure>\n")
    var rows: [[TableWriter.Cell]] = []
    for lane in model.lanes {
      for bar in lane.bars.prefix(40) {
        rows.append([
          .text(lane.name), .text("#\(bar.serial)"), .text(Words.moment(bar.from, near: begin, model.zone)),
          .text(Words.moment(bar.to, near: begin, model.zone)), .text(bar.state), .length(bar.reconnectTime),
        ])
      }
      let left = lane.leftOut + UInt64(max(0, lane.bars.count - 40))
      if left > 0 {
        rows.append([.text(lane.name), .text("\(grouped(left)) more"), .text(""), .text(""), .text(""), .text("")])
      }
    }
    ChartSections.table(
      "lane-rows", "connections by session, \(model.zoneText)",
      [
        .init(name: "session", isNumber: false), .init(name: "connection", isNumber: false),
        .init(name: "from", isNumber: false),
        .init(name: "to", isNumber: false), .init(name: "end", isNumber: false),
        .init(name: "after the previous", isNumber: true),
      ], rows, &page)
  }

  /// A sentence where no session used more than one connection and none was reset or failed: bars would say no more; `nil` where there is
  /// something to draw.
  private static func still(_ model: ReportModel) -> String? {
    guard model.lanesLeftOut == 0,
      model.lanes.allSatisfy({ $0.bars.count + Int(clamping: $0.leftOut) <= 1 && $0.bars.allSatisfy { !$0.isBroken } })
    else { return nil }
    return "Every session used one connection: none reconnected, and none was reset or refused."
  }
}
