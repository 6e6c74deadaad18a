import IMEngine
import IMOutput
import IMWire

/// What was not as it should be, by kind.
enum ProblemSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    guard !model.problems.isEmpty else { return }
    Page.begin(.problems, &page)
    defer { Page.end(&page) }
    let begin = model.captured?.first
    let ladders = Set(model.ladders.map(\.serial)), rows = Set(model.connections.map(\.serial))
    let writer = TableWriter(
      [
        .init(name: "severity", isNumber: false), .init(name: "kind", isNumber: false),
        .init(name: "of", isNumber: false),
        .init(name: "cause", isNumber: false), .init(name: "count", isNumber: true),
        .init(name: "first (\(model.zoneText))", isNumber: false),
        .init(name: "where", isNumber: false),
      ], isSortable: true)
    writer.begin("problem-rows", caption: "Problems, the severest first", &page)
    for problem in model.problems {
      let place: TableWriter.Cell
      if let serial = problem.serials.first(where: ladders.contains) {
        place = .link("ladder #\(serial)", anchor: "ladder-\(serial)")
      } else if let serial = problem.serials.first(where: rows.contains) {
        place = .link("connection #\(serial)", anchor: "c\(serial)")
      } else {
        place = .text(problem.serials.first.map { "#\($0)" } ?? "–")
      }
      let severity: TableWriter.Cell =
        switch problem.severity {
        case .error: .marked("\u{2717} error", "sev-error")
        case .warning: .marked("! warning", "sev-warning")
        case .note: .marked("\u{00B7} note", "soft")
        }
      writer.row(
        [
          severity, .text(problem.kind), .text(problem.subject), .text(problem.cause.isEmpty ? "–" : problem.cause),
          .count(problem.count), .text(problem.first.map { Words.moment($0, near: begin, model.zone) } ?? "–"), place,
        ], &page)
    }
    writer.end(&page)
  }
}

/// The connections.
enum ConnectionSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    guard !model.connections.isEmpty else { return }
    Page.begin(.connections, &page)
    defer { Page.end(&page) }
    let begin = model.captured?.first
    let ladders = Set(model.ladders.map(\.serial))
    if model.connectionsLeftOut > 0 {
      Page.paragraph(
        "\(count(model.connectionsLeftOut, "connection")) with less trouble, or later, left out.", isSoft: true, &page)
    }
    if !ladders.isEmpty {
      Page.paragraph("A number leads to the connection's ladder, where there is one.", isSoft: true, &page)
    }
    let writer = TableWriter(
      [
        .init(name: "#", isNumber: true), .init(name: "client", isNumber: false),
        .init(name: "server", isNumber: false),
        .init(name: "session", isNumber: false), .init(name: "messages", isNumber: true),
        .init(name: "lost", isNumber: true),
        .init(name: "unknown", isNumber: true), .init(name: "retries", isNumber: true),
        .init(name: "beats missed", isNumber: true),
        .init(name: "gap bytes", isNumber: true), .init(name: "TCP retrans.", isNumber: true),
        .init(name: "from (\(model.zoneText))", isNumber: false), .init(name: "length", isNumber: true),
        .init(name: "end", isNumber: false),
        .init(name: "profile", isNumber: false),
      ], isSortable: true, isFiltered: true)
    writer.begin("connection-rows", caption: "Connections, those with the most trouble first", &page)
    for row in model.connections {
      let isDecoded = row.profile != nil
      writer.row(
        [
          ladders.contains(row.serial)
            ? .link("\(row.serial)", anchor: "ladder-\(row.serial)") : .number("\(row.serial)", Double(row.serial)),
          .text(row.client), .text(row.server), .text(row.session ?? "–"),
          .count(isDecoded ? row.messages : nil), .count(isDecoded ? row.lost : nil),
          .count(isDecoded ? row.unknown : nil),
          .count(isDecoded ? row.retries : nil), .count(row.missed), .count(row.gapBytes), .count(row.retransmissions),
          .text(Words.moment(row.firstSeen, near: begin, model.zone)), .length(row.length), .text(row.state),
          .text(row.profile ?? "–"),
        ], anchor: "c\(row.serial)", &page)
    }
    writer.end(&page)
  }
}
