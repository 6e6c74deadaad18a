import IMEngine
import IMTestSupport
import IMWire

@testable import IMBrowser
@testable import IMStore

/// Messages in memory, which answer as a store does.
final class ListedMessages: MessageSource {
  var messages: [StoredMessage]

  init(_ messages: [StoredMessage]) { self.messages = messages }

  private func chosen(_ choice: PageChoice) -> [StoredMessage] {
    messages.filter { message in
      (choice.session == nil || choice.session == message.session)
        && (choice.connection == nil || choice.connection == message.connection)
        && (choice.problems == [] || !message.problems.isDisjoint(with: choice.problems))
    }
  }

  func messages(after id: Int64, _ choice: PageChoice, count: Int) -> [StoredMessage] {
    Array(chosen(choice).filter { $0.id > id }.prefix(count))
  }

  func messages(before id: Int64, _ choice: PageChoice, count: Int) -> [StoredMessage] {
    Array(chosen(choice).filter { $0.id < id }.suffix(count))
  }

  func name(ofSession id: Int64) -> String? { "\(id)" }
  func ends(ofConnection id: Int64) -> (client: String, server: String)? { ("10.0.0.\(id):20000", "[fd00::1]:8080") }
  func text(ofMessage id: Int64) -> String? { id % 5 == 0 ? "text \(id)" : nil }

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
      roundTrip95: random.once(in: 4) ? nil : Int64(random.next() % 500_000), lastMessage: nil,
      first: nil, last: random.once(in: 9) ? nil : Timestamp(microseconds: Int64(random.next() % 1_000_000_000)))
  }
}
