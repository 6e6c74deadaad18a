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

    /// Its color: `green`, `amber`, `red` or `grey`.
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
      case lost, unknown, pending, rejected, retried, control, receipts, acknowledgments, others, heartbeats,
        connections
      case roundTrips = "round_trips", unread

      /// The words in front of it on a terminal.
      var label: String {
        switch self {
        case .acknowledgments: "acks"
        case .others: "other"
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
    /// How many of the last sentences only explain the others: they are left out where there is little room.
    let footnotes: Int
    /// How many, and of how many; `nil` where nothing is counted.
    package let count: UInt64?, total: UInt64?
    /// What is counted, one and more of it; `nil` where its topic says it.
    let noun: Noun?
    /// The finding in a few words, for the headline of a verdict in which no message was lost; `nil` where it has no place there.
    var phrase: String? {
      let count = count ?? 0
      switch topic {
      case .rejected: return "\(grouped(count)) \(Verdict.were(count)) rejected"
      case .retried: return "\(grouped(count)) needed a retry"
      case .control, .receipts, .acknowledgments, .others:
        guard let noun else { return nil }
        let rejected = causes.first { $0.name == "rejected" }?.count ?? 0
        return rejected > 0
          ? "\(noun.text(rejected)) \(Verdict.were(rejected)) rejected" : "\(noun.text(count)) went unanswered"
      case .heartbeats:
        return count > 0
          ? "\(grouped(count)) of \(IMOutput.count(total ?? 0, "heartbeat")) \(Verdict.were(count)) missed"
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
    /// Whether it can have so many sentences that the others come first where there is little room.
    var isLong: Bool { topic == .unread }

    init(
      _ topic: Topic, _ level: Level?, _ sentences: [String], count: UInt64? = nil, of total: UInt64? = nil,
      footnotes: Int = 0, noun: Noun? = nil, causes: [(name: String, count: UInt64)] = []
    ) {
      (self.topic, self.level, self.sentences, self.count, self.total) = (topic, level, sentences, count, total)
      (self.footnotes, self.noun, self.causes) = (footnotes, noun, causes)
    }

    /// The name of what is counted.
    struct Noun: Sendable {
      let one: String, many: String

      /// `1 receipt`, `2 receipts`.
      func text(_ count: UInt64) -> String { "\(grouped(count)) \(count == 1 ? one : many)" }
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
    case model.summary.ledger.decodedConnections == 0:
      level = .unknown
      sign = "Nothing decoded"
      headline = Self.nothing(model)
    case Self.isAlmostUnread(model):
      level = .unknown
      sign = "Nothing decoded"
      let ledger = model.summary.ledger
      let all = count(ledger.decodedBytes + ledger.unreadBytes, "byte")
      headline = "Almost nothing was decoded: \(grouped(ledger.decodedBytes)) of \(all), and no message"
    case known == 0 && fates.units > 0:
      level = .warning
      let units = UInt64(fates.units)
      let all = units == 1 ? "the only message" : "all \(grouped(units)) messages"
      (sign, headline) =
        fates.unknown == 0
        ? ("Outcome pending", "The capture ended before \(all) \(Self.were(units)) answered")
        : ("Outcome unknown", "The outcome of \(all) is not known")
    default:
      let phrases = findings.all.filter { $0.level == .warning }.compactMap(\.phrase)
      let isGood = isWhole && phrases.isEmpty
      level = isGood ? .good : .warning
      sign = !isGood ? "Needs attention" : known > 0 ? "Nothing lost" : "No messages"
      let lead = (isWhole ? "" : "In what was read, ") + Self.lead(fates, isWhole)
      headline =
        phrases.isEmpty
        ? lead + Self.answered(known, model.figures.heartbeats.answered)
        : "\(lead), but \(Words.list(Array(phrases.prefix(3))))"
    }
  }

  private static func lead(_ fates: FateCounts, _ isWhole: Bool) -> String {
    guard fates.units > 0 else { return isWhole ? "No message asked for an answer" : "no message asked for an answer" }
    let no = isWhole ? "No" : "no"
    return fates.unknown > 0 ? "\(no) message is known to be lost" : "\(no) message was lost"
  }

  /// What was answered, after a colon: messages, or where there were none, heartbeats.
  private static func answered(_ messages: UInt64, _ heartbeats: UInt64) -> String {
    let (count, name) = messages > 0 ? (messages, "message") : (heartbeats, "heartbeat")
    guard count > 0 else { return "" }
    return count == 1 ? ": the only \(name) was answered" : ": all \(grouped(count)) \(name)s were answered"
  }

  static func were(_ count: UInt64) -> String { count == 1 ? "was" : "were" }

  /// Whether the little that was decoded may be chance: less than 1 % of the bytes, without a message, and nothing in it was answered.
  private static func isAlmostUnread(_ model: ReportModel) -> Bool {
    let (decoded, unread) = (model.summary.ledger.decodedBytes, model.summary.ledger.unreadBytes)
    guard Double(decoded) < 0.01 * (Double(decoded) + Double(unread)) else { return false }
    let total = model.figures.total
    let oneWay = total.messages.unacknowledged(.clientToServer) + total.messages.unacknowledged(.serverToClient)
    let control = total.control.both
    return total.messages.both.units == 0 && oneWay == 0 && model.figures.heartbeats.answered == 0
      && control.acked == 0 && control.ackedAfterRetry == 0 && control.rejected == 0
  }

  /// Why there is nothing to judge.
  private static func nothing(_ model: ReportModel) -> String {
    let ledger = model.summary.ledger
    guard ledger.packets > 0 else {
      return model.live == nil ? "The capture contains no packets" : "No packet was captured in this time"
    }
    guard ledger.connections > 0 else {
      return "Nothing was decoded: no TCP connection in \(count(ledger.packets, "packet"))"
    }
    if ledger.tlsConnections > 0 {
      let share = "\(ledger.tlsConnections) of \(count(ledger.connections, "TCP connection"))"
      let it = ledger.tlsConnections == 1 ? "it" : "them"
      let what =
        model.hasKeyLog
        ? "; the key log does not open \(it)" : model.explainsTLS ? "" : "; to read \(it): --keylog FILE"
      return "Nothing was decoded: \(share) \(ledger.tlsConnections == 1 ? "is" : "are") encrypted\(what)"
    }
    return
      "Nothing was decoded: \(count(ledger.connections, "TCP connection")), none in a protocol that imdump looked for"
  }
}
