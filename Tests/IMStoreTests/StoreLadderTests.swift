import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// The messages of ladders, and the counts by type and topic.
@Suite struct StoreLadderTests {
  @Test func copiesAndAnswersAreListed() throws {
    let store = try MadeStore([
      Sent(0, at: 1_000), Sent(1, at: 2_000) { $0.answerAfter = 30 },
      Sent(2, at: 3_000) { ($0.copies, $0.answerAfter, $0.answers, $0.retries) = ([3_100, 3_200], 400, [3_500], 2) },
      Sent(3, at: 4_000) { ($0.kind, $0.checksum, $0.fate) = (.heartbeat, .bad, .damaged) },
      Sent(4, at: 5_000) { ($0.fate, $0.answerAfter, $0.status) = (.rejected, 1, (3, 1)) },
      Sent(5, at: 6_000) { $0.copies = (1...50).map { 6_000 + $0 } },
    ])
    let reader = try store.reader
    let found = try reader.ladderMessages(after: 0, PageChoice(), count: 10)
    #expect(found.map(\.message.id) == [1, 2, 3, 4, 5, 6])
    #expect(found[0].copies == [1_000] && found[0].answers == [])
    #expect(found[1].copies == [2_000] && found[1].answers == [2_030])
    #expect(found[2].copies == [3_000, 3_100, 3_200] && found[2].answers == [3_400, 3_500])
    #expect(found[3].isHeartbeat && found[3].isDamaged && !found[2].isHeartbeat && !found[2].isDamaged)
    #expect(found[4].status == "no_route" && found[3].status == nil)
    #expect(found[5].copies == (0..<20).map { 6_000 + $0 })
    #expect(try reader.ladderMessages(before: 4, PageChoice(), count: 2).map(\.message.id) == [2, 3])
    #expect(try reader.ladderMessages(after: 2, PageChoice(problems: .all), count: 9).map(\.message.id) == [3, 4, 5])
  }

  /// A truncated or malformed list is read as far as possible.
  @Test(
    arguments: [
      ("[1,2,3]", [1, 2, 3]), ("[1,2,3", [1, 2]), ("[1", [1]), ("[]", []), ("", []), ("[1,x,3]", [1, 3]),
      ("[-5]", [-5]),
      ("[99999999999999999999]", []), ("[9223372036854775807]", [9_000_000_000_000_000]),
    ] as [(String, [Int64])])
  func listsAreReadAsFarAsTheyGo(_ text: String, _ expected: [Int64]) throws {
    let store = try MadeStore([Sent(0, at: 7)])
    try store.run("UPDATE message SET copies = '\(text)'")
    #expect(try store.reader.ladderMessages(after: 0, PageChoice(), count: 1).first?.copies == expected)
  }

  /// The usual interval between a client's heartbeats, from four heartbeats on.
  @Test(
    arguments: [
      ([0, 10, 20], nil), ([0, 10, 20, 30], 10), ([0, 1, 2, 60, 61], 1), ([0, 5, 15, 30], 10), ([], nil), ([3], nil),
    ] as [([Int64], Int64?)])
  func heartbeatsHaveAnInterval(_ seconds: [Int64], _ expected: Int64?) throws {
    let store = try MadeStore(
      seconds.enumerated().map { i, second in Sent(UInt32(i), at: second * 1_000_000) { $0.kind = .heartbeat } } + [
        Sent(90, at: 0), Sent(91, at: 4_000_000) { ($0.kind, $0.direction) = (.heartbeat, .serverToClient) },
      ])
    #expect(try store.reader.heartbeatInterval(ofConnection: 1) == expected.map { $0 * 1_000_000 })
    #expect(try store.reader.heartbeatInterval(ofConnection: 2) == nil)
  }

  @Test func issuesOfStreamsAreListed() throws {
    func issue(_ details: IssueDetails, _ at: Int64, _ direction: Direction) -> IMEngine.Issue {
      IMEngine.Issue(
        details, timestamp: Timestamp(microseconds: at), direction: direction, streamOffset: 0, byteCount: 9)
    }
    let store = try MadeStore(
      [Sent(0, at: 25) { $0.fate = .damaged }],
      batch: {
        $0.add(issue(.gap(.unseen), 20, .serverToClient), Sent.info(1))
        $0.add(issue(.resynchronised, 30, .clientToServer), Sent.info(1))
        $0.add(issue(.frameCut, 40, .clientToServer), Sent.info(1))
        $0.add(issue(.frameCut, 25, .clientToServer), Sent.info(2))
      })
    func listed(_ from: Int64, _ to: Int64) throws -> [String] {
      try store.reader.streamIssues(
        ofConnection: 1, from: Timestamp(microseconds: from), to: Timestamp(microseconds: to)
      ).map { "\($0.time.microseconds) \($0.kind) \($0.direction.rawValue) \($0.byteCount)" }
    }
    #expect(try listed(20, 30) == ["20 gap 1 9", "30 resynchronised 0 9"])
    #expect(try listed(21, 29).isEmpty)
    #expect(try listed(0, 99).count == 3)
  }

  @Test func typesAndTopicsAreCounted() throws {
    let store = try MadeStore([
      Sent(0, at: 0) { ($0.answerAfter, $0.topic) = (100, "b") },
      Sent(1, at: 1) { ($0.answerAfter, $0.topic) = (300, "a") },
      Sent(2, at: 2) { ($0.fate, $0.retries, $0.topic) = (.unanswered, 2, "b") },
      Sent(3, at: 3) { $0.fate = .unacknowledged },
      Sent(4, at: 4) { ($0.kind, $0.fate) = (.heartbeat, .unanswered) },
      Sent(5, at: 5) { ($0.kind, $0.answerAfter) = (.heartbeat, 9) },
      Sent(6, at: 6) { ($0.kind, $0.fate, $0.answerAfter, $0.direction) = (.control, .rejected, 70, .serverToClient) },
    ])
    let reader = try store.reader
    let found = try reader.types()
    #expect(found.types.map(\.name) == ["data", "heartbeat", "control"] && found.topics.map(\.name) == ["b", "a"])
    let data = found.types[0]
    #expect(
      data.count == 4 && data.messages == 3 && data.oneWay == 1 && data.lost == 1 && data.retries == 2
        && data.rejected == 0)
    #expect(data.roundTrip50ToServer == 100 && data.roundTrip95ToServer == 300 && data.roundTrip50ToClient == nil)
    #expect(data.profile == "tjp" && data.role == "message" && !data.isTopic)
    #expect(
      found.types[1].lostHeartbeats == 1 && found.types[1].count == 2 && found.types[1].roundTrip50ToServer == nil)
    #expect(found.types[2].roundTrip50ToClient == 70 && found.types[2].rejected == 0 && found.types[2].count == 1)
    #expect(found.topics[0].count == 2 && found.topics[0].lost == 1 && found.topics[0].isTopic)
    #expect(found.roundTrip50ToServer == 100 && found.roundTrip50ToClient == 70)
    let part = try reader.types(Timestamp(microseconds: 1)..<Timestamp(microseconds: 4))
    #expect(part.types.map(\.count) == [3] && part.topics.map(\.name) == ["b", "a"] && part.roundTrip50ToClient == nil)
    #expect(try reader.hasTopics() && !MadeStore([Sent(0, at: 0) { $0.text = "x" }]).reader.hasTopics())
  }

  /// A store may have any number of topics: a limited number is counted one by one, and the others together.
  @Test func topicsAreBounded() throws {
    let store = try MadeStore((0..<1_200).map { id in Sent(id, at: Int64(id)) { $0.topic = "room/\(10_000 + id)" } })
    let topics = try store.reader.types().topics
    #expect(topics.count == 1_001 && topics.reduce(0) { $0 + $1.count } == 1_200)
    #expect(topics.filter { $0.key == .furtherTopics }.map(\.count) == [200])
    #expect(topics.last?.key == .topic("room/10999") && topics.first?.key == .furtherTopics)
  }
}
