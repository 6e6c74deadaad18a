import IMEngine
import IMWire

extension Catalogue {
  /// What became of messages, as it stands in the end. Ratios and sums are of both directions.
  package static let fates: [Metric<MessageTally>] = [
    fate(
      "units", "messages that ask for an answer; the sum of the fates",
      [
        .column(.servers, "messages"), .column(.worst, "messages", order: 0),
        MetricPresentation(.profile, "message", "messages", .always), .compared("messages", order: 0),
      ]
    ) { $0.units },
    Metric(
      "messages.fates", .count, .fate, "messages {fate}", by: [.direction, .fate], json: ["messages.{fate}"],
      connection: ["messages.{direction}.{fate}"], interval: ["messages.{direction}.{fate}"],
      text: [
        MetricPresentation(
          .profile, "", nil, .each(Dimension.fates.map { String($0.fate.name.map { $0 == "_" ? " " : $0 }) })),
        .columns(.worst, [.rejected, .unanswered, .damaged].map { (fate: Fate) in (fate.name, fate.name) }, order: 1),
        .columns(.periods, [(Fate.rejected.name, Fate.rejected.name)], width: 8, order: 6),
        MetricPresentation(.also, "message", "messages", .each(Dimension.fates.map { alsoWords($0.fate) }), order: 0),
      ]
    ) { tally, way, fate in .count(UInt64(tally.way(way)[Dimension.fates[fate].fate])) },
    fate(
      "late", "messages answered after their timeout; the fates count that answer",
      rule: MetricRule("late_answers", .lateAnswers)
    ) { $0.late },
    Metric(
      "messages.causes", .count, .fate, "messages {cause}", by: [.cause], json: ["messages.causes.{cause}"],
      text: [
        .named(
          .causes,
          Cause.allCases.map { cause in
            switch cause {
            case .network: "never acknowledged by the peer's TCP"
            case .peer: "acknowledged by the peer's TCP, never answered"
            case .capture: "unknown, bytes are missing from the capture"
            case .status: "rejected"
            case .checksum: "every copy damaged"
            case .limit: "unknown, dropped at a memory limit"
            }
          }),
        MetricPresentation(
          .losses, "", nil,
          .each(
            Cause.allCases.map { cause in
              switch cause {
              case .network: "never acknowledged by the other side's TCP (network)"
              case .peer: "received by the other side's TCP and not answered (peer)"
              case .checksum: "damaged in transit (checksum)"
              case .capture, .status, .limit: ""
              }
            })),
      ]
    ) { tally, cause, _ in .count(UInt64(tally.both[Cause.allCases[cause]])) },
    Metric(
      "messages.unexplained", .count, .fate,
      "unanswered messages for which the capture does not show whether they arrived",
      text: [
        MetricPresentation(
          .losses, "unanswered, and the capture does not show whether it arrived",
          "unanswered, and the capture does not show whether they arrived")
      ]
    ) { tally, _, _ in
      let both = tally.both
      return .count(UInt64(both.unanswered &- both.unansweredByNetwork &- both.unansweredByPeer))
    },
    Metric(
      "messages.unanswered.causes", .count, .fate, "messages {cause}",
      by: [.direction, Dimension("cause", Array(Dimension.cause.values.prefix(2)))],
      connection: ["messages.{direction}.causes.{cause}"], interval: ["messages.{direction}.causes.{cause}"]
    ) { tally, way, cause in .count(UInt64(tally.way(way)[Cause.allCases[cause]])) },
  ]

  /// What a verdict says of messages with a fate, where nothing is lost by it.
  private static func alsoWords(_ fate: Fate) -> String {
    switch fate {
    case .ackedAfterRetry: "sent again"
    case .rejected: "rejected"
    case .unknown: "whose answer may be in bytes missing from the capture"
    case .pending: "still open when the capture ended"
    default: ""
    }
  }

  private static func fate(
    _ name: String, _ help: String, _ text: [MetricPresentation] = [], rule: MetricRule? = nil,
    _ read: @escaping @Sendable (FateCounts) -> UInt32
  ) -> Metric<MessageTally> {
    Metric(
      "messages.\(name)", .count, .fate, help, by: [.direction], json: ["messages.\(name)"],
      connection: ["messages.{direction}.\(name)"], interval: ["messages.{direction}.\(name)"],
      rule: rule, text: text
    ) { tally, way, _ in .count(UInt64(read(tally.way(way)))) }
  }

  /// Ratios of messages.
  package static let ratios: [Metric<MessageTally>] = [
    ratio(
      "success", .success, "share of messages answered, of those with a decided fate; 0 to 1",
      [
        .column(.servers, "success"), .column(.periods, "success", width: 8, order: 2),
        MetricPresentation(.profile, "", nil, .value("success")), tile("Success"),
      ]
    ) { $0.succeeded },
    ratio(
      "loss", .loss, "share of messages unanswered or damaged, of those with a decided fate; 0 to 1",
      [.column(.servers, "loss"), .column(.periods, "loss", width: 7, order: 3), tile("Loss")]
    ) { $0.lost },
    ratio(
      "retry", .retry, "share of messages answered after a retry, of those with a decided fate; 0 to 1", [tile("Retry")]
    ) { UInt64($0.ackedAfterRetry) },
    Metric(
      "messages.rejected", .ratio, .fate, "share of messages rejected, of those with a decided fate; 0 to 1",
      rule: MetricRule("rejected", .fates(.rejected)), text: [.compared("rejected", order: 1)], kind: .gauge
    ) { tally, _, _ in .part(UInt64(tally.both.rejected), of: tally.both.known) },
    Metric(
      "messages.unknown", .ratio, .fate,
      "share of messages whose answer may be missing from the capture, of all; 0 to 1",
      rule: MetricRule("unknown", .fates(.unknown)), text: [.compared("unknown", order: 1)], kind: .gauge
    ) { tally, _, _ in .part(UInt64(tally.both.unknown), of: UInt64(tally.both.units)) },
  ]

  private static func tile(_ title: String) -> MetricPresentation {
    MetricPresentation(.tiles, "message with a known fate", "messages with a known fate", .tile(title), order: 0)
  }

  private static func ratio(
    _ name: String, _ part: RuleSamples.FatePart, _ help: String, _ text: [MetricPresentation] = [],
    _ read: @escaping @Sendable (FateCounts) -> UInt64
  ) -> Metric<MessageTally> {
    Metric(
      "messages.\(name)", .ratio, .fate, help, json: [name], connection: ["ratio.\(name)"], interval: ["ratio.\(name)"],
      rule: MetricRule(name, .fates(part)), text: text + [.compared(name, order: 1)], kind: .gauge
    ) { tally, _, _ in .part(read(tally.both), of: tally.both.known) }
  }

  /// What was decided first, in counts that never go back.
  package static let decisions: [Metric<EndpointSeries>] =
    decisions("imdump_messages", "Messages with a decided fate", "Messages") { $0.messages }
    + [
      Metric(
        "messages.causes.first", .count, .firstFate,
        "Messages first counted as unsuccessful, by cause: network, peer, capture, status, checksum, limit",
        by: [.direction, .cause], metric: MetricName("imdump_message_causes")
      ) { series, way, cause in .count(series.messages.decided(.of(way), Cause.allCases[cause])) },
      Metric(
        "messages.causes.late", .count, .firstFate,
        "Messages first counted as unsuccessful and answered later, by the cause first counted",
        by: [.direction, .cause], metric: MetricName("imdump_message_causes_late")
      ) { series, way, cause in .count(series.messages.late(.of(way), Cause.allCases[cause])) },
      Metric(
        "handshakes.refused.requests", .count, .firstFate,
        "Failed logins: rejected requests of the protocol's handshake, of which a connection may have several",
        metric: MetricName("imdump_handshakes_refused"), rule: MetricRule("handshakes_refused", .refusedHandshakes)
      ) { series, _, _ in .count(series.handshakesRefused) },
      Metric(
        "messages.unacknowledged", .count, .firstFate, "Messages that ask for no answer", by: [.direction],
        metric: MetricName("imdump_messages_unacknowledged")
      ) { series, way, _ in .count(series.messages.decided(.of(way), Fate.unacknowledged)) },
    ]
    + decisions(
      "imdump_control_messages", "Exchanges other than messages and heartbeats",
      "Exchanges other than messages and heartbeats that were"
    ) { $0.control }

  private static func decisions(
    _ family: String, _ what: String, _ late: String, _ part: @escaping @Sendable (EndpointSeries) -> FateSeries
  ) -> [Metric<EndpointSeries>] {
    let id = family.dropFirst("imdump_".count)
    return [
      Metric(
        "\(id).first", .count, .firstFate, "\(what), by their first fate", by: [.direction, .fate],
        metric: MetricName(family)
      ) { series, way, fate in .count(part(series).decided(.of(way), Dimension.fates[fate].fate)) },
      Metric(
        "\(id).late", .count, .firstFate,
        "\(late) answered after they were counted as unanswered, damaged or unknown, by fate after the answer",
        by: [.direction, .answer], metric: MetricName("\(family)_late")
      ) { series, way, fate in .count(part(series).late(.of(way), Dimension.fates[fate].fate)) },
    ]
  }
}

extension MessageTally {
  /// What became of the messages of direction `way`, 0 being the client's.
  func way(_ way: Int) -> FateCounts { self[.of(way)] }
}

extension Direction {
  /// The direction of a place in a table, 0 being the client's.
  static func of(_ way: Int) -> Direction { way == 0 ? .clientToServer : .serverToClient }
}
