import IMEngine
import IMTestSupport
import IMWire

@testable import IMBrowser
@testable import IMStore

/// Messages in memory, which answer as a store does.
final class ListedMessages: MessageSource {
  var messages: [StoredMessage]
  /// When connections began, where that is known.
  var starts: [Int64: Timestamp] = [:]

  init(_ messages: [StoredMessage]) { self.messages = messages }

  private func chosen(_ choice: PageChoice) -> [StoredMessage] {
    messages.filter { message in
      (choice.session == nil || choice.session == message.session)
        && (choice.connection == nil || choice.connection == message.connection)
        && (choice.times?.contains(message.time) ?? true)
        && (choice.problems == [] || !message.problems.isDisjoint(with: choice.problems))
    }
  }

  func messages(after id: Int64, _ choice: PageChoice, count: Int) -> [StoredMessage] {
    Array(chosen(choice).filter { $0.id > id }.prefix(count))
  }

  func messages(before id: Int64, _ choice: PageChoice, count: Int) -> [StoredMessage] {
    Array(chosen(choice).filter { $0.id < id }.suffix(count))
  }

  /// Every stretch of a second, as a store counts it.
  func periods(_ times: Range<Timestamp>?) -> StoredPeriods? {
    let chosen = messages.filter { times?.contains($0.time) ?? true }
    guard let first = chosen.map(\.time.seconds).min(), let last = chosen.map(\.time.seconds).max() else { return nil }
    let width = max(1, (last - first) / 300 + 1)
    var periods = Array(repeating: StoredPeriod(), count: Int((last - first) / width + 1))
    for message in chosen {
      let place = Int((message.time.seconds - first) / width)
      periods[place].messages += 1
      periods[place].retries += message.retries
      periods[place].roundTrip95ToServer = max(periods[place].roundTrip95ToServer ?? 0, message.latency ?? 0)
    }
    return StoredPeriods(start: first, width: width, periods: periods)
  }

  func name(ofSession id: Int64) -> String? { "\(id)" }
  func ends(ofConnection id: Int64) -> (client: String, server: String)? { ("10.0.0.\(id):20000", "[fd00::1]:8080") }
  func texts(ofMessage id: Int64) -> StoredMessageTexts { StoredMessageTexts(text: id % 5 == 0 ? "text \(id)" : nil) }

  /// So many messages of chance; a few numbers are left out.
  static func drawn(_ count: Int, seed: UInt64) -> ListedMessages {
    var random = SeededRandom(seed)
    var id: Int64 = 0
    var time: Int64 = 1_760_000_000_000_000
    return ListedMessages(
      (0..<count).map { _ in
        id += random.once(in: 10) ? 3 : 1
        time += Int64(random.next() % (random.once(in: 30) ? 30_000_000 : 900_000))
        return .made(id, time: time, random: &random)
      })
  }
}

extension StoredMessage {
  static func made(_ id: Int64, time: Int64, random: inout SeededRandom) -> StoredMessage {
    let problems: ProblemKinds = random.once(in: 9) ? random.one(of: [.unanswered, .retried, .damaged]) : []
    return StoredMessage(
      id: id, time: Timestamp(microseconds: time), connection: Int64(1 + random.next() % 3),
      session: Int64(1 + random.next() % 4), direction: random.once(in: 2) ? .clientToServer : .serverToClient,
      type: random.one(of: ["data", "receipt"]), sequence: "\(id + 100)", byteCount: 20,
      fate: problems == .unanswered ? .unanswered : problems == .damaged ? .damaged : .acked, cause: nil,
      retries: problems == .retried ? 1 : 0, duplicates: 0, latency: Int64(random.next() % 900_000), problems: problems,
      capture: 1, packet: id * 2, streamOffset: id * 50)
  }
}

extension StoredSession {
  static func made(_ id: Int64, name: String?, random: inout SeededRandom) -> StoredSession {
    StoredSession(
      id: id, name: name, profile: "tjp", connection: id, client: "10.0.0.\(id % 250):\(20_000 + id % 40_000)",
      server: "192.168.0.1:8080", connections: 1, messages: Int64(random.next() % 50),
      unanswered: Int64(random.next() % 3), rejected: 0, damaged: 0, retries: Int64(random.next() % 4), late: 0,
      heartbeats: 0, lostHeartbeats: 0, roundTrip95ToServer: random.once(in: 4) ? nil : Int64(random.next() % 500_000),
      roundTrip95ToClient: random.once(in: 4) ? nil : Int64(random.next() % 500_000), lastMessage: nil,
      first: nil, last: random.once(in: 9) ? nil : Timestamp(microseconds: Int64(random.next() % 1_000_000_000)))
  }
}

extension ListedMessages: LadderSource {
  func start(ofConnection id: Int64) -> Timestamp? { starts[id] }
  /// Every fourth message is sent three times, and answered up to 20 s later, behind messages that came meanwhile.
  private func stored(_ message: StoredMessage) -> StoredLadderMessage {
    let at = message.time.microseconds
    let copies = message.id % 4 == 0 ? [at, at + 3_000_000, at + 6_000_000] : [at]
    return StoredLadderMessage(
      message: message, copies: copies, answers: message.id % 7 == 0 ? [] : [at + 1 + message.id % 5 * 5_000_000],
      isHeartbeat: message.id % 9 == 0)
  }

  func ladderMessages(after id: Int64, _ choice: PageChoice, count: Int) -> [StoredLadderMessage] {
    messages(after: id, choice, count: count).map(stored)
  }

  func ladderMessages(before id: Int64, _ choice: PageChoice, count: Int) -> [StoredLadderMessage] {
    messages(before: id, choice, count: count).map(stored)
  }

  func streamIssues(ofConnection connection: Int64, from: Timestamp, to: Timestamp) -> [StoredStreamIssue] {
    let all = messages.filter { $0.connection == connection && $0.id % 50 == 0 }.map {
      StoredStreamIssue(
        id: $0.id, time: $0.time.advanced(by: 1_000), kind: $0.id % 100 == 0 ? "gap" : "orphan_ack",
        direction: .serverToClient, byteCount: 7)
    }
    return all.filter { (from...to).contains($0.time) }
  }

  func profile(ofConnection id: Int64) -> String? { "tjp" }

  func heartbeatInterval(ofConnection connection: Int64) -> Int64? { 2_000_000 }

  /// When what a ladder shows of a connection came, in order: made without any parts.
  func moments(ofConnection connection: Int64) -> [Int64] {
    let messages = messages.filter { $0.connection == connection }
    let frames = messages.map(stored).flatMap { $0.copies + $0.answers }
    // An orphan that came with the answer of a message is that answer.
    let answers = Set(messages.flatMap { stored($0).answers })
    let issues = streamIssues(ofConnection: connection, from: .distantPast, to: .distantFuture).filter {
      $0.kind != "orphan_ack" || !answers.contains($0.time.microseconds)
    }
    return (frames + issues.map(\.time.microseconds)).sorted()
  }
}
