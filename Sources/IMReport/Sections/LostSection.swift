import IMEngine
import IMOutput
import IMWire

/// The lost messages, under the verdict: which they are, why, and where they are drawn.
enum LostSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    guard !model.lost.isEmpty else { return }
    PageSection.begin(.lost, &page)
    defer { PageSection.end(&page) }
    if model.lostLeftOut > 0 {
      PageSection.paragraph(
        "The first \(grouped(UInt64(model.lost.count))) of them; \(grouped(model.lostLeftOut)) more are left out: "
          + "imdump messages --lost prints all.", isSoft: true, &page)
    }
    let begin = model.captured?.first
    let ladders = Set(model.ladders.map(\.serial)), rows = Set(model.connections.map(\.serial))
    let writer = TableWriter(
      [
        .init(name: "time (\(model.zoneText))", isNumber: false), .init(name: "session", isNumber: false),
        .init(name: "direction", isNumber: false), .init(name: "type", isNumber: false),
        .init(name: "number", isNumber: true), .init(name: "retries", isNumber: true),
        .init(name: "cause", isNumber: false), .init(name: "where", isNumber: false),
      ], isSortable: true)
    writer.begin("lost-rows", caption: "Lost messages in the order of sending", &page)
    for message in model.lost {
      let place: TableWriter.Cell =
        if ladders.contains(message.serial) {
          .link("ladder #\(message.serial)", anchor: "ladder-\(message.serial)")
        } else if rows.contains(message.serial) {
          .link("connection #\(message.serial)", anchor: "c\(message.serial)")
        } else {
          .text("#\(message.serial)")
        }
      writer.row(
        [
          .text(time(message.at, near: begin, model.zone)), .text(message.session ?? "–"),
          .text(message.direction.text), .text(message.type),
          message.number.map { .number("\($0)", Double($0)) } ?? .text("–"), .count(message.retries),
          .text(cause(message)), place,
        ], &page)
    }
    writer.end(&page)
  }

  /// The time with milliseconds; with its date where that is not the capture's first.
  private static func time(_ at: Timestamp, near first: Timestamp?, _ zone: LocalZone) -> String {
    let time = Words.milliseconds(at, zone), date = Words.date(at, zone)
    return first.map { Words.date($0, zone) == date } == true ? time : "\(date) \(time)"
  }

  /// Why it was lost, in words.
  private static func cause(_ message: ReportModel.LostMessage) -> String {
    let receiver = message.direction == .clientToServer ? "server" : "client"
    return switch (message.fate, message.cause) {
    case (.damaged, _): "every copy arrived damaged"
    case (_, .peer?): "peer: the \(receiver)'s TCP received it, no answer was sent"
    case (_, .network?): "network: its bytes were never acknowledged"
    case (_, let cause?): cause.name
    case (_, nil): "unknown"
    }
  }
}
