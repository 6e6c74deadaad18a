import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// Stores added to others: completely, once, and with the totals of both.
@Suite struct StoreMergeTests {
  private static func first() throws -> MadeStore {
    try MadeStore([
      Sent(0, at: 1_000_000) { ($0.answerAfter, $0.text) = (1_000, "the first text") },
      Sent(1, at: 2_000_000) { ($0.fate, $0.cause, $0.session, $0.connection) = (.unanswered, .peer, 1, 2) },
      Sent(2, at: 2_500_000) { ($0.fate, $0.answerAfter, $0.status, $0.connection) = (.rejected, 20, (3, 1), 2) },
    ])
  }

  private static func second(_ path: String = "b.pcap", _ byteCount: UInt64? = 2_000) throws -> MadeStore {
    try MadeStore(
      [
        Sent(0, at: 1_100_000) { ($0.kind, $0.answerAfter) = (.heartbeat, 50) },
        Sent(1, at: 1_200_000) { ($0.answerAfter, $0.text) = (500, "another text") },
        Sent(2, at: 3_000_000) { ($0.fate, $0.session, $0.connection) = (.damaged, 2, 2) },
        Sent(3, at: 3_500_000) { ($0.fate, $0.answerAfter, $0.status) = (.rejected, 30, (9, 1)) },
      ], captures: [.init(path: path, byteCount: byteCount)],
      batch: {
        $0.add(
          MessageReceipt(
            exchange: 1, level: .read, latency: .microseconds(77), direction: .clientToServer, endpoint: 0))
      })
  }

  @Test func rowsAreNumberedOn() throws {
    let store = try Self.first()
    #expect(try store.add(Self.second()) == 4)
    #expect(
      try store.rows("SELECT id, time_us, connection, session, capture FROM message") == [
        "1|1000000|1|1|1", "2|2000000|2|2|1", "3|2500000|2|1|1", "4|1100000|3|1|2", "5|1200000|3|1|2",
        "6|3000000|4|3|2", "7|3500000|3|1|2",
      ])
    #expect(try store.rows("SELECT id, path, byte_count FROM capture") == ["1|a.pcap|1000", "2|b.pcap|2000"])
    #expect(
      try store.rows("SELECT id, type, role, status, status_name, session, text, read_us FROM messages WHERE id > 2")
        == [
          "3|data|message|3|no_route|1000|-|-", "4|heartbeat|heartbeat|-|-|1000|-|-",
          "5|data|message|-|-|1000|another text|77", "6|data|message|-|-|1002|-|-", "7|data|message|9|-|1000|-|-",
        ])
    #expect(
      try store.rows("SELECT kind, message, conn, session FROM problems ORDER BY id") == [
        "unanswered|2|2|1001", "rejected|3|2|1000", "damaged|6|4|1002", "rejected|7|3|1000",
      ])
    #expect(
      try store.rows("SELECT rowid FROM message_search WHERE message_search MATCH 'text' ORDER BY 1") == ["1", "5"])
    #expect(try store.rows("SELECT value FROM info WHERE key = 'whole'") == ["1"])
  }

  @Test func sumsAreAdded() throws {
    let store = try Self.first()
    try store.add(Self.second())
    #expect(
      try store.rows(
        "SELECT id, name, connection, begun_us, connections, last_message, messages, acked, rejected, heartbeats, rtt_c2s_count, rtt_c2s_sum_us, rtt_c2s_min_us, rtt_c2s_max_us, rtt_c2s_p95_us, first_us, last_us FROM session"
      ) == [
        "1|1000|3|3500000|3|7|4|2|2|1|4|1550|20|1000|1000|1000000|3500030",
        "2|1001|2|2000000|1|2|1|0|0|0|0|0|-|-|-|2000000|2000000",
        "3|1002|4|3000000|1|6|1|0|0|0|0|0|-|-|-|3000000|3000000",
      ])
    #expect(
      try store.rows(
        "SELECT start_s, messages, heartbeats, rtt_c2s_count, rtt_c2s_p50_us, rtt_c2s_p99_us FROM bucket WHERE width_s = 1"
      )
        == ["1|2|1|2|500|1000", "2|2|0|1|20|20", "3|2|0|1|30|30"])
    #expect(
      try store.rows("SELECT start_s, messages, rtt_c2s_p95_us FROM bucket WHERE width_s > 1") == [
        "0|6|1000", "0|6|1000",
      ])
    #expect(
      try store.rows("SELECT * FROM session_connection") == ["1|1", "1|2", "1|3", "2|2", "3|4"])
    #expect(try store.rows("SELECT id, messages FROM connection") == ["1|1", "2|2", "3|2", "4|1"])
  }

  /// Two merged stores equal one store of both captures.
  @Test(arguments: [1, 2, 3] as [UInt64]) func addedStoresAreThatOfOneRun(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    func drawn(_ count: UInt32, from: Int64, sessions: [UInt32]) -> [Sent] {
      (0..<count).map { id in
        Sent(id, at: from + Int64(id) * 70_000) {
          $0.session = random.one(of: sessions)
          $0.connection = $0.session + 1
          $0.kind = random.one(of: [.data, .data, .heartbeat, .receipt])
          $0.fate = random.one(of: [.acked, .acked, .unanswered, .unacknowledged])
          $0.direction = random.once(in: 2) ? .clientToServer : .serverToClient
          if $0.fate == .acked { $0.answerAfter = Int64(random.next() % 2_000) }
          if random.once(in: 5) { ($0.topic, $0.text) = ("room", "text \(id)") }
        }
      }
    }
    let one = drawn(90, from: 1_000_000, sessions: [0, 1, 2, 3]),
      two = drawn(120, from: 5_000_000, sessions: [0, 1, 4, 5])
    let captures = ["a.pcap", "b.pcap"].map { StoreOptions.Capture(path: $0, byteCount: 5) }
    let connections = one.map(\.connection).max() ?? 0
    let all = try MadeStore(
      one
        + two.map { message in
          var message = message
          message.id += UInt32(one.count)
          message.client = message.connection
          message.connection += connections
          message.capture = 1
          return message
        }, captures: captures)
    let parts = try MadeStore(one, captures: [captures[0]])
    try parts.add(MadeStore(two, captures: [captures[1]]))
    for table in [
      "messages", "problems", "session", "connection", "bucket", "capture", "session_connection", "info", "receipt",
    ] {
      let sql = "SELECT * FROM \(table) ORDER BY 1, 2"
      let (of, expected) = (try parts.rows(sql), try all.rows(sql))
      let first = zip(of, expected).first { $0 != $1 }
      #expect(of == expected, "\(table): \(first?.0 ?? "") for \(first?.1 ?? "")")
    }
    let search = "SELECT rowid FROM message_search WHERE message_search MATCH 'text' ORDER BY 1"
    #expect(try parts.rows(search) == all.rows(search))
    #expect(
      try parts.rows("SELECT name FROM sqlite_schema ORDER BY name")
        == all.rows("SELECT name FROM sqlite_schema ORDER BY name"))
  }

  /// Sessions are merged if their name is unique in each store.
  @Test func aNameThatTwoHaveTellsNone() throws {
    func named(_ names: [String?], from at: Int64) throws -> MadeStore {
      try MadeStore(
        names.enumerated().map { i, name in
          Sent(UInt32(i), at: at + Int64(i)) { ($0.plan, $0.session, $0.name) = (1, UInt32(i), name) }
        }, captures: [.init(path: "\(at).pcap")])
    }
    let store = try named(["alice", "bob", "bob", nil], from: 0)
    try store.add(named(["bob", "alice", nil], from: 100))
    #expect(
      try store.rows("SELECT id, name, messages FROM session") == [
        "1|alice|2", "2|bob|1", "3|bob|1", "4|-|1", "5|bob|1", "6|-|1",
      ])
  }

  /// A capture is identified by its name, its size and its first message.
  @Test func aCaptureIsAddedOnce() throws {
    let store = try Self.first()
    try store.add(Self.second())
    let before = try store.bytes
    for path in ["b.pcap", "elsewhere/b.pcap"] {
      let again = try Self.second(path)
      let error = #expect(throws: StoreError.self) { try store.add(again) }
      #expect(error?.kind == .badStatement && error?.text == "is in the store already, as b.pcap")
      #expect(error?.path == "a.db" && error?.attempt == "add \(path)")
    }
    #expect(try store.bytes == before)
    for other in try [Self.second("c.pcap"), Self.second("b.pcap", 2_001), Self.second("b.pcap", nil)] {
      #expect(try store.add(other) == 4)
    }
    #expect(try store.rows("SELECT count(*) FROM message") == ["19"])
  }

  /// The result contains text if one of the stores does.
  @Test func payloadIsThatOfEither() throws {
    for (ours, theirs) in [(false, false), (false, true), (true, false)] {
      let store = try MadeStore([Sent(0, at: 0)]) { $0.keepsPayload = ours }
      try store.add(MadeStore([Sent(0, at: 0)], captures: [.init(path: "b.pcap")]) { $0.keepsPayload = theirs })
      #expect(try store.reader.keepsPayload() == (ours || theirs))
    }
  }

  // MARK: Hostile stores

  @Test func anIncompleteStoreIsNotAddedTo() throws {
    let store = try MadeStore([Sent(0, at: 0)], isWhole: false)
    let error = #expect(throws: StoreError.self) { try store.add(Self.second()) }
    #expect(
      error?.kind == .notAStore
        && error?.text == "is incomplete or being written: only a complete store can be added to")
  }

  /// After the largest number of SQLite there is no next one: nothing is added, and nothing is lost.
  @Test(arguments: ["message", "connection", "capture"]) func numbersEnd(_ table: String) throws {
    let store = try Self.first()
    try store.run("UPDATE \(table) SET id = \(Int64.max) WHERE id = (SELECT max(id) FROM \(table))")
    let before = try store.bytes
    #expect(throws: StoreError.self) { try store.add(Self.second()) }
    #expect(try store.bytes == before)
  }

  /// Merging never traps, whatever a store contains.
  @Test(arguments: ["9223372036854775807", "-9223372036854775808", "'text'"])
  func whatAStoreSaysMayBeAnything(_ value: String) throws {
    let columns = [
      "message": ["time_us", "rtt_us", "direction", "problems"], "bucket": ["messages", "rtt_c2s_p50_us", "first_us"],
      "session": ["begun_us", "messages", "rtt_c2s_p95_us", "last_message"], "connection": ["messages", "last_us"],
      "capture": ["path", "byte_count"],
    ]
    for (table, names) in columns.sorted(by: { $0.key < $1.key }) {
      let (store, other) = (try Self.first(), try Self.second())
      let sql = "UPDATE \(table) SET \(names.map { "\($0) = \(value)" }.joined(separator: ", "))"
      try store.run(sql)
      try other.run(sql)
      do { try store.add(other) } catch {
        #expect(error is StoreError)
        #expect(try store.rows("SELECT count(*) FROM message") == ["3"])
      }
    }
  }
}
