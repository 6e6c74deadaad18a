package import IMOutput
package import IMWire

/// A ladder as SVG: on a page, or a file of its own.
package struct LadderSVG {
  private static let rowHeight = 24.0
  private static let width = 960.0
  /// Where times and the numbers of packets end, and where the middle of a mark is.
  private static let time = 92.0, packet = 152.0, mark = 176.0
  /// The lifelines, and where what is said of a row begins.
  private static let client = 198.0, server = 580.0, remarks = 596.0

  /// The clock of times; without one, they are seconds since the connection began.
  private let clock: LocalZone?

  /// A writer of times by a clock; without one, of seconds since the connection began.
  package init(clock: LocalZone? = nil) { self.clock = clock }

  /// A file of its own.
  package func file(_ ladder: Ladder) -> [UInt8] {
    var page = Markup()
    page.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
    write(ladder, isFile: true, to: &page)
    return page.bytes
  }

  /// Appends the drawing.
  func write(_ ladder: Ladder, isFile: Bool = false, to page: inout Markup) {
    let lines = ladder.lines(clock: clock)
    let height = Self.rowHeight * Double(lines.count) + 44
    page.raw("<svg class=\"ladder\" role=\"img\" viewBox=\"0 0 960 ")
    page.place(height)
    page.raw("\"")
    if isFile {
      page.raw(" xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"")
      page.place(height)
      page.raw("\"")
    }
    page.raw(" aria-labelledby=\"lt")
    page.number(ladder.serial)
    page.raw("\"><title id=\"lt")
    page.number(ladder.serial)
    page.raw("\">Ladder of connection ")
    page.text(ladder.title)
    page.raw("</title>")
    if isFile {
      page.raw("<style>")
      page.trusted(Style.drawing)
      page.raw("</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>")
    }
    head(height, &page)
    for (i, line) in lines.enumerated() { row(line, 44 + Self.rowHeight * (Double(i) + 0.5), &page) }
    page.raw("</svg>\n")
  }

  private func head(_ height: Double, _ page: inout Markup) {
    label("tm", Self.time, 16, "time", "end", &page)
    label("tm", Self.packet, 16, "packet", "end", &page)
    for (x, name) in [(Self.client, "client"), (Self.server, "server")] as [(Double, StaticString)] {
      page.raw("<text class=\"who\" x=\"")
      page.place(x)
      page.raw("\" y=\"16\" text-anchor=\"middle\">")
      page.raw(name)
      page.raw("</text><path class=\"life\" d=\"M")
      page.place(x)
      page.raw(" 24V")
      page.place(height)
      page.raw("\"/>")
    }
  }

  private func row(_ line: LadderLine, _ y: Double, _ page: inout Markup) {
    page.raw(line.isTrouble ? "<g class=\"bad\">" : "<g>")
    if !line.time.isEmpty { label("tm", Self.time, y + 4, line.time, "end", &page) }
    if let packet = line.packet { label("tm", Self.packet, y + 4, "\(packet)", "end", &page) }
    if !line.mark.isEmpty { label("mk", Self.mark, y + 4, line.mark, "middle", &page) }
    let middle = (Self.client + Self.server) / 2
    switch line.form {
    case .silence:
      page.raw("<path class=\"hush\" d=\"M")
      page.place(Self.client)
      page.raw(" ")
      page.place(y + 7)
      page.raw("H")
      page.place(Self.server)
      page.raw("\"/>")
      label("it", middle, y + 3, line.label, "middle", &page)
    case .note: label("it", middle, y + 4, line.label, "middle", &page)
    case .message, .copy, .answer:
      page.raw(
        line.form == .copy
          ? "<path class=\"go again\" d=\"M"
          : line.form == .answer ? "<path class=\"go back\" d=\"M" : "<path class=\"go\" d=\"M")
      let (from, to) = line.isFromClient ? (Self.client, Self.server) : (Self.server, Self.client)
      let tip = line.isFromClient ? -8.0 : 8.0
      page.place(from)
      page.raw(" ")
      page.place(y + 7)
      page.raw("H")
      page.place(to)
      page.raw("\"/><path class=\"tip\" d=\"M")
      page.place(to)
      page.raw(" ")
      page.place(y + 7)
      page.raw("l")
      page.place(tip)
      page.raw(" -4v8z\"/>")
      label("lb", middle, y + 3, line.label, "middle", &page)
    }
    if !line.remark.isEmpty { label("rm", Self.remarks, y + 9, line.remark, "start", &page) }
    page.raw("</g>")
  }

  private func label(
    _ kind: StaticString, _ x: Double, _ y: Double, _ text: String, _ anchor: StaticString, _ page: inout Markup
  ) {
    page.raw("<text class=\"")
    page.raw(kind)
    page.raw("\" x=\"")
    page.place(x)
    page.raw("\" y=\"")
    page.place(y)
    page.raw("\" text-anchor=\"")
    page.raw(anchor)
    page.raw("\">")
    page.text(text, limit: 120)
    page.raw("</text>")
  }
}
