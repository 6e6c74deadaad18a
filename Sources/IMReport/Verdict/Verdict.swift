import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// What someone on call reads first: what was lost, retried and rejected, since when, whose fault it is, who is affected, and what could
/// not be read. `imdump why`, the last lines of `imdump FILE` and the page of `imdump report` say the same.
package struct Verdict: Sendable {
  /// How bad it is.
  package enum Level: String, CaseIterable, Sendable {
    /// All of it is good.
    case good
    /// No message is known to be lost, but something is above its threshold, or not all of it is known.
    case warning
    /// Messages were lost.
    case bad
    /// Nothing could be read.
    case unknown

    /// The color that stands for it: `green`, `amber`, `red` or `grey`.
    package var color: String {
      switch self {
      case .good: "green"
      case .warning: "amber"
      case .bad: "red"
      case .unknown: "grey"
      }
    }
  }

  /// What was found on one topic.
  package struct Finding: Sendable {
    /// A topic, by the name that JSON has for it.
    package enum Topic: String, Sendable {
      case lost, unknown, pending, rejected, retried, heartbeats, connections
      case roundTrips = "round_trips", unread

      /// The words in front of it on a terminal.
      var label: String {
        switch self {
        case .roundTrips: "round trip"
        case .unread: "not read"
        default: rawValue
        }
      }
    }

    /// What it is about.
    package let topic: Topic
    /// How bad it is; `nil` of what has no threshold.
    package let level: Level?
    /// What was found: one thought each, without a period.
    package let sentences: [String]
    /// How many, and of how many; `nil` where nothing is counted.
    package let count: UInt64?, total: UInt64?
    /// The finding in a few words, for the headline of a verdict in which no message was lost; `nil` where it has no place there.
    var phrase: String? {
      let count = count ?? 0
      switch topic {
      case .rejected: return "\(grouped(count)) \(Verdict.were(count)) rejected"
      case .retried: return "\(grouped(count)) needed a retry"
      case .heartbeats:
        return count > 0
          ? "\(grouped(count)) of \(IMOutput.count(total ?? 0, "heartbeat")) went unanswered"
          : "a silence ended a connection"
      case .connections:
        if let rejected = causes.first(where: { $0.name == "login_rejected" }) {
          return "\(IMOutput.count(rejected.count, "login")) \(Verdict.were(rejected.count)) rejected"
        }
        if count > 0 { return "\(IMOutput.count(count, "connection attempt")) failed" }
        return causes.first { $0.name == "reconnect" }.map {
          $0.count == 1 ? "one client reconnected" : "there were \(IMOutput.count($0.count, "reconnect"))"
        }
      case .unknown: return "the outcome of \(IMOutput.count(count, "message")) is unknown"
      case .unread: return "not everything could be read"
      case .lost, .pending, .roundTrips: return nil
      }
    }
    /// How many, by cause; empty where there are none.
    package let causes: [(name: String, count: UInt64)]

    init(
      _ topic: Topic, _ level: Level?, _ sentences: [String], count: UInt64? = nil, of total: UInt64? = nil,
      causes: [(name: String, count: UInt64)] = []
    ) {
      (self.topic, self.level, self.sentences, self.count, self.total) = (topic, level, sentences, count, total)
      self.causes = causes
    }
  }

  /// How bad it is, all in all.
  package let level: Level
  /// Two or three words for it: `Messages lost`.
  package let sign: String
  /// The sentence that comes first.
  package let headline: String
  /// What was found, in the order in which it matters. What is good and needs no words is left out.
  package let findings: [Finding]

  /// The verdict on a run.
  package init(_ model: ReportModel) {
    let findings = VerdictFindings(model)
    self.findings = findings.all
    let fates = model.messages
    let known = fates.known
    let isWhole = model.errors.isEmpty && model.summary.capture.interruption == nil
    switch true {
    case fates.lost > 0:
      level = .bad
      sign = "Messages lost"
      headline =
        "\(grouped(fates.lost)) of \(count(known, "message")) \(Self.were(fates.lost)) lost (\(percent(fates.lost, known)))"
    case known == 0 && fates.units == 0:
      let isSilent = findings.has(.heartbeats, .warning)
      level = isSilent ? .warning : .unknown
      sign = isSilent ? "Heartbeats lost" : "No messages"
      headline = Self.nothing(model)
    case known == 0:
      level = .warning
      sign = "Outcome unknown"
      let units = UInt64(fates.units)
      headline = "The outcome of \(units == 1 ? "the only message" : "all \(grouped(units)) messages") is unknown"
    default:
      let isGood = isWhole && !findings.all.contains { $0.level == .warning }
      level = isGood ? .good : .warning
      sign = isGood ? "Nothing lost" : "Needs attention"
      let answered = known == 1 ? "the only message was answered" : "all \(grouped(known)) messages were answered"
      let phrases = findings.all.filter { $0.level == .warning }.compactMap(\.phrase)
      let lead =
        !isWhole
        ? "In what was read, no message was lost"
        : fates.unknown > 0 ? "No message is known to be lost" : "No message was lost"
      headline = phrases.isEmpty ? "\(lead): \(answered)" : "\(lead), but \(Words.list(Array(phrases.prefix(3))))"
    }
  }

  static func were(_ count: UInt64) -> String { count == 1 ? "was" : "were" }

  /// Why there is nothing to judge.
  private static func nothing(_ model: ReportModel) -> String {
    let ledger = model.summary.ledger
    guard ledger.packets > 0 else {
      return model.live == nil ? "The capture contains no packets" : "No packet was captured in this time"
    }
    guard ledger.connections > 0 else {
      return "Nothing was decoded: no TCP connection in \(count(ledger.packets, "packet"))"
    }
    guard ledger.decodedConnections == 0 else {
      return "\(count(ledger.decodedConnections, "connection")) decoded, but no message that expects an answer was seen"
    }
    return
      "Nothing was decoded: \(count(ledger.connections, "TCP connection")), none in a protocol that imdump was told to read"
  }
}
