import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// Problems of messages and streams: the rows of `problem`, and their counts.
@Suite struct ProblemRowTests {
  /// A message, and its problems with their causes in the order in which they are written.
  private static let messages: [(Sent, [String])] = [
    (Sent(0, at: 5), []),
    (Sent(0, at: 5) { $0.fate = .pending }, []),
    (Sent(0, at: 5) { $0.fate = .unacknowledged }, []),
    (Sent(0, at: 5) { ($0.fate, $0.cause) = (.unanswered, .network) }, ["unanswered|network"]),
    (Sent(0, at: 5) { $0.fate = .unanswered }, ["unanswered|-"]),
    (Sent(0, at: 5) { $0.fate = .damaged }, ["damaged|checksum"]),
    (Sent(0, at: 5) { ($0.fate, $0.answerAfter) = (.rejected, 1) }, ["rejected|status"]),
    (Sent(0, at: 5) { $0.fate = .unknown }, ["unknown|capture"]),
    (Sent(0, at: 5) { ($0.fate, $0.cause) = (.unknown, .limit) }, ["unknown|limit"]),
    (Sent(0, at: 5) { ($0.kind, $0.fate, $0.cause) = (.heartbeat, .unanswered, .peer) }, ["heartbeat_missed|peer"]),
    (Sent(0, at: 5) { ($0.kind, $0.fate) = (.heartbeat, .damaged) }, ["heartbeat_missed|checksum"]),
    (Sent(0, at: 5) { ($0.kind, $0.fate) = (.control, .unanswered) }, ["control_unanswered|-"]),
    (Sent(0, at: 5) { ($0.kind, $0.fate) = (.receipt, .damaged) }, ["control_unanswered|checksum"]),
    (Sent(0, at: 5) { ($0.kind, $0.fate, $0.answerAfter) = (.control, .rejected, 1) }, ["rejected|status"]),
    (
      Sent(0, at: 5) { ($0.answerAfter, $0.retries, $0.duplicates, $0.isLate) = (9, 1, 1, true) },
      ["retried|-", "late|-", "duplicate|-"]
    ),
    (
      Sent(0, at: 5) { ($0.fate, $0.cause, $0.retries) = (.unanswered, .peer, 3) }, ["unanswered|peer", "retried|-"]
    ),
  ]

  @Test func aMessageHasARowForEachKind() throws {
    for (message, expected) in Self.messages {
      let store = try MadeStore([message])
      #expect(try store.rows("SELECT kind, cause FROM problems ORDER BY id") == expected)
      // The message's own row contains the same bits.
      let bits = try store.rows(
        "SELECT k.name FROM message AS m JOIN problem_kind AS k ON m.problems & k.bit ORDER BY k.bit")
      #expect(bits == expected.map { String($0.prefix { $0 != "|" }) })
    }
  }

  @Test func aRowSaysWhereItIs() throws {
    let message = Sent(41, at: 1_760_000_000_000_000) {
      ($0.fate, $0.session, $0.connection, $0.direction) = (.damaged, 3, 2, .serverToClient)
      ($0.streamOffset, $0.bodyCount) = (900, 33)
    }
    let store = try MadeStore([message])
    #expect(
      try store.rows("SELECT * FROM problems") == [
        "1|2025-10-09T08:53:20.000000Z|1760000000000000|damaged|checksum|2|192.0.2.2:40002|198.51.100.1:8080|s2c|1003|42|data|message|900|33"
      ])
  }

  /// Issues of streams have rows; those that a message's fate already contains have none.
  @Test func issuesHaveRows() throws {
    let at = Timestamp(microseconds: 7_000_000)
    func issue(_ details: IssueDetails) -> IMEngine.Issue {
      IMEngine.Issue(details, timestamp: at, direction: .serverToClient, streamOffset: .max, byteCount: 1_462)
    }
    let message = IssueDetails.Message(kind: 0, sequence: 1)
    var batch = StoreBatch()
    for details in [.unanswered(message), .lateAck(message), .heartbeatMissed(message)] as [IssueDetails] {
      batch.add(issue(details), Sent.info(4))
    }
    #expect(batch.isEmpty)
    batch.add(issue(.gap(.captureLoss)), Sent.info(4))
    batch.add(issue(.webSocketMask), Sent.info(5))
    #expect(batch.count == 2)
    let store = try MadeStore([], batch: { $0 = batch })
    #expect(
      try store.rows(
        "SELECT kind, cause, conn, dir, session, message, type, stream_offset, byte_count FROM problems ORDER BY id")
        == [
          "gap|-|4|s2c|-|-|-|9223372036854775807|1462", "carrier.websocket_mask|-|5|s2c|-|-|-|9223372036854775807|1462",
        ])
    // Their connections have rows as well, although none of their messages is known.
    #expect(
      try store.rows("SELECT id, messages, client FROM connection") == ["4|0|192.0.2.4:40004", "5|0|192.0.2.5:40005"])
  }

  /// Every kind of issue has its own name in the store, except those that a message's fate contains.
  @Test func kindsHaveNames() throws {
    let store = try MadeStore([])
    let told: Set<IssueKind> = [.unanswered, .lateAck, .heartbeatMissed]
    let names = ProblemKinds.names + IssueKind.allCases.filter { !told.contains($0) }.map(\.name)
    #expect(try store.rows("SELECT name FROM problem_kind").sorted() == names.sorted())
    #expect(
      try store.rows("SELECT id, bit, name FROM problem_kind WHERE bit IS NOT NULL ORDER BY bit") == [
        "1|1|rejected", "2|2|unanswered", "3|4|damaged", "4|8|retried", "5|16|late", "6|32|duplicate", "7|64|unknown",
        "8|128|heartbeat_missed", "9|256|control_unanswered",
      ])
    #expect(ProblemKinds.all.rawValue == 0b1_1111_1111)
  }

  @Test func problemsAreCountedByKindAndCause() throws {
    let messages: [Sent] = [
      Sent(0, at: 3_000_000) { ($0.fate, $0.cause) = (.unanswered, .peer) },
      Sent(1, at: 1_000_000) { ($0.fate, $0.cause) = (.unanswered, .peer) },
      Sent(2, at: 2_000_000) { ($0.fate, $0.cause) = (.unanswered, .network) },
      Sent(3, at: 4_000_000) { ($0.fate, $0.retries) = (.damaged, 1) },
    ]
    let store = try MadeStore(
      messages,
      batch: {
        $0.add(
          IMEngine.Issue(
            .resynchronised, timestamp: Timestamp(microseconds: 500), direction: .clientToServer, streamOffset: 0),
          Sent.info(1))
      })
    func counted(_ times: Range<Timestamp>? = nil) throws -> [String] {
      try store.reader.problemCounts(times).map {
        "\($0.kind) \($0.bit ?? 0) \($0.cause ?? "-") \($0.count) \($0.first.microseconds)"
      }
    }
    #expect(
      try counted() == [
        "unanswered 2 network 1 2000000", "unanswered 2 peer 2 1000000", "damaged 4 checksum 1 4000000",
        "retried 8 - 1 4000000", "resynchronised 0 - 1 500",
      ])
    // A time range includes its beginning, and excludes its end.
    let times = Timestamp(microseconds: 1_000_000)..<Timestamp(microseconds: 3_000_000)
    #expect(try counted(times) == ["unanswered 2 network 1 2000000", "unanswered 2 peer 1 1000000"])
    #expect(try counted(Timestamp(microseconds: 5_000_000)..<Timestamp(microseconds: 6_000_000)).isEmpty)
  }

  /// The next message with a problem, and the previous one: all kinds, some kinds, and of one session.
  @Test func theNextProblemIsFound() throws {
    let store = try MadeStore([
      Sent(0, at: 0), Sent(1, at: 1) { $0.fate = .damaged },
      Sent(2, at: 2) { ($0.fate, $0.session) = (.unanswered, 1) },
      Sent(3, at: 3), Sent(4, at: 4) { ($0.retries, $0.answerAfter) = (1, 1) },
    ])
    let reader = try store.reader
    #expect(try reader.problem(after: 0)?.id == 2)
    #expect(try reader.problem(after: 2)?.id == 3)
    #expect(try reader.problem(after: 3)?.id == 5)
    #expect(try reader.problem(after: 5) == nil)
    #expect(try reader.problem(before: 5)?.id == 3)
    #expect(try reader.problem(before: .max)?.id == 5)
    #expect(try reader.problem(before: 2) == nil)
    #expect(try reader.problem(after: 0, [.unanswered, .retried])?.id == 3)
    #expect(try reader.problem(after: 3, .damaged) == nil)
    #expect(try reader.problem(after: 0, session: 2)?.id == 3)
    #expect(try reader.problem(before: .max, .damaged, session: 1)?.id == 2)
  }
}
