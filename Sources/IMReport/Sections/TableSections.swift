import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// What was not as it should be, by kind.
enum ProblemSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    guard !model.problems.isEmpty else { return }
    PageSection.begin(.problems, &page)
    defer { PageSection.end(&page) }
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
    writer.begin("problem-rows", caption: "Problems, most severe first", &page)
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
    PageSection.begin(.connections, &page)
    defer { PageSection.end(&page) }
    let begin = model.captured?.first
    let ladders = Set(model.ladders.map(\.serial))
    if model.connectionsLeftOut > 0 {
      PageSection.paragraph(
        "\(count(model.connectionsLeftOut, "connection")) with fewer or later problems left out.", isSoft: true, &page)
    }
    if !ladders.isEmpty {
      PageSection.paragraph("A number links to the connection's ladder, if there is one.", isSoft: true, &page)
    }
    let writer = TableWriter(
      [
        .init(name: "#", isNumber: true), .init(name: "start (\(model.zoneText))", isNumber: false),
        .init(name: "length", isNumber: true), .init(name: "client", isNumber: false, hasPorts: true),
        .init(name: "server", isNumber: false, hasPorts: true),
        .init(name: "protocol", isNumber: false),
        .init(name: "session", isNumber: false), .init(name: "messages", isNumber: true),
        .init(name: "lost", isNumber: true), .init(name: "rejected", isNumber: true),
        .init(name: "unknown", isNumber: true), .init(name: "retries", isNumber: true),
        .init(name: "heartbeats missed", isNumber: true),
      ] + Self.transport.map { .init(name: $0, isNumber: true) } + [
        .init(name: "missing", isNumber: true), .init(name: "retrans", isNumber: true),
        .init(name: "end", isNumber: false), .init(name: "remarks", isNumber: false),
      ], isSortable: true, isFiltered: true, isTight: true)
    writer.begin("connection-rows", caption: "Connections, those with the most problems first", &page)
    let cells = ConnectionCells(profiles: model.summary.plans.map(\.name), zone: model.zone)
    for row in model.connections {
      let isDecoded = row.profile != nil
      func listed(_ title: String) -> TableWriter.Cell {
        let text = row.listed.flatMap { cells.text(title, of: $0) } ?? "–"
        return .number(text == "-" ? "–" : text, Double(text))
      }
      // `TLS chat.example.com`, as imdump streams calls it.
      let label = row.listed.flatMap { cells.text("protocol", of: $0) }.flatMap { $0 == "-" ? nil : $0 }
      writer.row(
        [
          ladders.contains(row.serial)
            ? .link("\(row.serial)", anchor: "ladder-\(row.serial)") : .number("\(row.serial)", Double(row.serial)),
          .text(Words.moment(row.firstSeen, near: begin, model.zone)), .length(row.length),
          .text(row.client), .text(row.server), .text(label ?? row.profile ?? "–"), .text(row.session ?? "–"),
          .count(isDecoded ? row.messages : nil), .count(isDecoded ? row.lost : nil), listed("rejected"),
          .count(isDecoded ? row.unknown : nil), .count(isDecoded ? row.retries : nil), .count(row.missed),
        ] + Self.transport.map(listed) + [
          .count(row.gapBytes), .count(row.retransmissions),
          .text(row.listed.flatMap { cells.text("end", of: $0) } ?? row.state),
          .text(row.listed.flatMap { cells.text("remarks", of: $0) } ?? ""),
        ], anchor: "c\(row.serial)", &page)
    }
    writer.end(&page)
  }

  /// The columns of TCP, as `imdump streams` has them.
  private static let transport = [
    "bytes c2s", "bytes s2c", "packets c2s", "packets s2c", "handshake ms", "ACK ms c2s", "ACK ms s2c", "gaps",
  ]
}
