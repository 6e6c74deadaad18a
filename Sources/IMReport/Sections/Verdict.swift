import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// What somebody on call reads first: what was lost, where, since when, and who is hurt.
package struct Verdict {
  /// How it looks.
  package enum Level: Sendable {
    /// Nothing was lost; no message was lost, but heartbeats went unanswered; messages were lost; it cannot be known; there was nothing
    /// to look at.
    case good, heartbeats, bad, unknown, nothing
  }

  /// How it looks.
  package let level: Level
  /// The sentence that comes first.
  package let headline: String
  /// The others.
  package let sentences: [String]

  /// The verdict on a run.
  package init(_ model: ReportModel) {
    let fates = model.messages
    let declared = model.declared
    let (lost, known) = declared.loss ?? (0, 0)
    let missed = model.figures.heartbeats.missed
    // Heartbeats are no messages: they have words of their own in whatever comes first.
    let silent = "\(count(missed, "heartbeat")) \(missed == 1 ? "was" : "were") not answered"
    var rest: [String] = []
    if known == 0, fates.units == 0 {
      let (nothing, text) = Self.nothing(model)
      level = missed > 0 ? .heartbeats : nothing
      headline = missed > 0 ? "\(text.dropLast()), but \(silent)." : text
      rest += model.hints
    } else if lost > 0 {
      level = .bad
      headline =
        "\(grouped(lost)) of \(count(known, "message")) \(lost == 1 ? "was" : "were") lost (\(percent(lost, known))): "
        + Words.list(declared.losses) + "."
      rest += Self.when(model) + Self.who(model)
    } else if fates.unknown > 0 {
      level = .unknown
      headline =
        "No message is known to be lost, but for \(grouped(UInt64(fates.unknown))) of \(count(UInt64(fates.units), "message")) "
        + "it cannot be known: the capture lacks bytes among which their answers may be."
    } else if known == 0 {
      level = .unknown
      headline =
        "\(count(UInt64(fates.units), "message")) \(fates.units == 1 ? "was" : "were") still open when the capture ended."
    } else {
      let isWhole = Self.isWhole(model)
      level = missed > 0 ? .heartbeats : isWhole ? .good : .unknown
      headline =
        (isWhole ? "No message was lost: " : "In what was read, no message was lost: ")
        + (known == 1 ? "the only one was answered" : "all \(grouped(known)) were answered")
        + (missed > 0 ? ", but \(silent)." : ".")
    }
    // What the headline has said is not said again.
    let told: [Fate] = lost > 0 ? [] : fates.unknown > 0 ? [.unknown] : known == 0 ? [.pending] : []
    let also = declared.also(without: level == .heartbeats ? ["heartbeats.missed"] : []) { name in
      !told.contains { $0.name == name }
    }
    if !also.isEmpty { rest.append("\(lost > 0 ? "Also" : "But"): \(Words.list(also)).") }
    if let silence = SilenceText.verdict(model.figures.total) { rest.append("Silence: \(silence).") }
    rest += Self.doubts(model)
    sentences = rest
  }

  /// Whether all of the capture was read, and nothing forgotten.
  private static func isWhole(_ model: ReportModel) -> Bool {
    let summary = model.summary
    return model.errors.isEmpty && summary.capture.interruption == nil && summary.ledger.evicted[.exchange] == 0
  }

  private static func when(_ model: ReportModel) -> [String] {
    guard let losses = model.losses else { return [] }
    let begin = model.captured?.first
    let first = Words.moment(losses.first, near: begin)
    if losses.first.seconds == losses.last.seconds { return ["At \(first) UTC."] }
    return ["First at \(first), last at \(Words.moment(losses.last, near: begin)) UTC."]
  }

  private static func who(_ model: ReportModel) -> [String] {
    var sentences: [String] = []
    let ways = [model.figures.messages[.clientToServer].lost, model.figures.messages[.serverToClient].lost]
    if ways[0] > 0, ways[1] > 0 {
      sentences.append("Clients sent \(grouped(ways[0])) of them, servers \(grouped(ways[1])).")
    } else {
      sentences.append(ways[0] > 0 ? "Clients sent all of them." : "Servers sent all of them.")
    }
    guard model.affectedCount > 0 else { return sentences }
    let names = model.affected.prefix(8).map(\.name)
    let others = model.affectedCount - UInt64(names.count)
    let list = Words.list(names + (others > 0 ? ["\(grouped(others)) more"] : []))
    let all = model.hasMoreSessions ? "more than \(grouped(model.sessionCount))" : grouped(model.sessionCount)
    sentences.append(
      "\(model.hasMoreAffected ? "More than " : "")\(grouped(model.affectedCount)) of \(all) session\(model.sessionCount == 1 ? "" : "s") "
        + "\(model.affectedCount == 1 ? "is" : "are") affected: \(list).")
    return sentences
  }

  /// Why it may be otherwise.
  private static func doubts(_ model: ReportModel) -> [String] {
    var sentences: [String] = []
    let unseen = model.declared.unseen
    if !unseen.isEmpty { sentences.append("Not everything was seen: \(Words.list(unseen)).") }
    if let interruption = model.summary.capture.interruption {
      sentences.append("Reading was \(interruption.text): the figures are of what was read until then.")
    }
    return sentences + model.errors.map { "Not all was read: \($0)." }
  }

  private static func nothing(_ model: ReportModel) -> (Level, String) {
    let packets = model.summary.ledger.packets
    guard packets > 0 else {
      return (.nothing, model.live == nil ? "There is no packet in the capture." : "No packet has come in this time.")
    }
    let decoded = model.summary.ledger.decodedConnections
    if decoded > 0 {
      return (.nothing, "No message that asks for an answer was seen on \(count(decoded, "decoded connection")).")
    }
    return (
      .nothing,
      "No message was recognized: none of \(count(model.summary.ledger.connections, "connection")) in "
        + "\(count(packets, "packet")) speaks \(model.summary.plans.map(\.name).joined(separator: ", "))."
    )
  }
}
