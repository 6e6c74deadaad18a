import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// Totals of sessions, connections and periods: hand-counted values, and a plain count of the same messages.
@Suite struct StoreTotalsTests {
  /// One message for each value that a total counts separately.
  private static let messages: [Sent] = [
    Sent(0, at: 1_000_000) { $0.answerAfter = 1_000 },
    Sent(1, at: 1_500_000) {
      ($0.fate, $0.answerAfter, $0.retries, $0.isLate) = (.ackedAfterRetry, 900_000, 2, true)
    },
    Sent(2, at: 61_000_000) { ($0.fate, $0.cause, $0.connection) = (.unanswered, .peer, 2) },
    Sent(3, at: 2_000_000) { ($0.kind, $0.answerAfter) = (.heartbeat, 500) },
    Sent(4, at: 2_100_000) { ($0.kind, $0.fate) = (.heartbeat, .unanswered) },
    Sent(5, at: 2_200_000) { ($0.kind, $0.answerAfter) = (.control, 700) },
    Sent(6, at: 2_300_000) { ($0.fate, $0.direction) = (.unacknowledged, .serverToClient) },
    Sent(7, at: 2_400_000) {
      ($0.fate, $0.answerAfter, $0.direction) = (.rejected, 400, .serverToClient)
      ($0.session, $0.connection) = (1, 3)
    },
    Sent(8, at: 61_500_000) { ($0.fate, $0.connection) = (.damaged, 2) },
    Sent(9, at: 61_700_000) { ($0.fate, $0.connection) = (.unknown, 2) },
    Sent(10, at: 61_800_000) { ($0.fate, $0.connection, $0.direction) = (.pending, 2, .serverToClient) },
  ]
  private static let fates =
    "messages, acked, acked_after_retry, rejected, unanswered, damaged, pending, unacknowledged, unknown"
  private static let others = "retries, late, heartbeats, heartbeats_lost, others"
  private static let trips =
    "rtt_c2s_count, rtt_c2s_sum_us, rtt_c2s_min_us, rtt_c2s_max_us, rtt_s2c_count, rtt_s2c_sum_us, rtt_s2c_min_us, rtt_s2c_max_us"

  @Test func sessions() throws {
    let store = try MadeStore(Self.messages)
    func sql(_ columns: String) -> String { "SELECT id, \(columns) FROM session ORDER BY id" }
    #expect(try store.rows(sql(Self.fates)) == ["1|6|1|1|0|1|1|1|1|1", "2|1|0|0|1|0|0|0|0|0"])
    #expect(try store.rows(sql(Self.others)) == ["1|2|1|2|1|1", "2|0|0|0|0|0"])
    #expect(try store.rows(sql(Self.trips)) == ["1|2|1700|700|1000|0|0|-|-", "2|0|0|-|-|1|400|400|400"])
    #expect(try store.rows(sql("first_us, last_us")) == ["1|1000000|61800000", "2|2400000|2400400"])
    #expect(
      try store.rows(sql("name, name_is_number, profile, connection, begun_us, connections, last_message")) == [
        "1|1000|1|tjp|2|61800000|2|11", "2|1001|1|tjp|3|2400000|1|8",
      ])
    #expect(try store.rows(sql("rtt_c2s_p95_us, rtt_s2c_p95_us")) == ["1|1000|-", "2|-|400"])
    #expect(try store.rows("SELECT * FROM session_connection") == ["1|1", "1|2", "2|3"])
  }

  @Test func connections() throws {
    let store = try MadeStore(Self.messages)
    func sql(_ columns: String) -> String { "SELECT id, \(columns) FROM connection ORDER BY id" }
    #expect(
      try store.rows(sql(Self.fates)) == ["1|2|1|1|0|0|0|0|1|0", "2|4|0|0|0|1|1|1|0|1", "3|1|0|0|1|0|0|0|0|0"])
    #expect(try store.rows(sql(Self.others)) == ["1|2|1|2|1|1", "2|0|0|0|0|0", "3|0|0|0|0|0"])
    #expect(
      try store.rows(sql("client, server, profile, state, start_us")) == [
        "1|192.0.2.1:40001|198.51.100.1:8080|tjp|-|-", "2|192.0.2.2:40002|198.51.100.1:8080|tjp|-|-",
        "3|192.0.2.3:40003|198.51.100.1:8080|tjp|-|-",
      ])
  }

  @Test func periods() throws {
    let store = try MadeStore(Self.messages)
    #expect(
      try store.rows(
        "SELECT width_s, start_s, messages, unacknowledged, heartbeats, others, unanswered + damaged FROM bucket") == [
          "1|1|2|0|0|0|0", "1|2|1|1|2|1|0", "1|61|4|0|0|0|2", "10|0|3|1|2|1|0", "10|60|4|0|0|0|2", "60|0|3|1|2|1|0",
          "60|60|4|0|0|0|2",
        ])
    #expect(
      try store.rows(
        "SELECT start_s, rtt_c2s_p50_us, rtt_c2s_p95_us, rtt_c2s_p99_us, rtt_s2c_p50_us FROM bucket WHERE width_s = 60")
        == ["0|700|1000|1000|400", "60|-|-|-|-"])
  }

  /// A period begins at a multiple of its width, also before 1970.
  @Test(arguments: [
    (0, "0", "0", "0"), (999_999, "0", "0", "0"), (1_000_000, "1", "0", "0"), (-1, "-1", "-10", "-60"),
    (-1_000_000, "-1", "-10", "-60"), (-1_000_001, "-2", "-10", "-60"), (-60_000_001, "-61", "-70", "-120"),
    (119_999_999, "119", "110", "60"),
  ])
  func aPeriodBeginsAtAMultiple(_ at: Int64, _ second: String, _ ten: String, _ minute: String) throws {
    let store = try MadeStore([Sent(0, at: at)])
    #expect(try store.rows("SELECT start_s FROM bucket ORDER BY width_s") == [second, ten, minute])
  }

  /// Random messages, in batches of any size: every table equals a plain count of them.
  @Test(arguments: [1, 7, 500]) func totalsAreAPlainCount(_ batchSize: Int) throws {
    var random = SeededRandom(UInt64(batchSize))
    let messages = (0..<500 as Range<UInt32>).map { id in
      Sent(id, at: Int64(id) * 300_000) {
        $0.kind = random.one(of: [.data, .data, .data, .heartbeat, .control])
        $0.fate = random.one(of: Fate.allCases)
        $0.session = UInt32(random.next() % 9)
        $0.connection = $0.session * 2 + UInt32(random.next() % 2) + 1
        $0.direction = random.once(in: 2) ? .clientToServer : .serverToClient
        $0.retries = random.once(in: 4) ? 2 : 0
        if [.acked, .ackedAfterRetry, .rejected].contains($0.fate) { $0.answerAfter = Int64(random.next() % 90_000) }
      }
    }
    let (store, writer) = try MadeStore.begun()
    for start in stride(from: 0, to: messages.count, by: batchSize) {
      var batch = StoreBatch()
      for message in messages[start..<min(start + batchSize, messages.count)] { batch.add(message.facts) }
      try writer.write(batch)
    }
    try writer.finish(isWhole: true)
    func counted(_ key: (Sent) -> Int64) -> [String] {
      Dictionary(grouping: messages, by: key).sorted { $0.key < $1.key }.map { "\($0.key)|\(Self.sums($0.value))" }
    }
    let columns =
      "messages, acked, unanswered + damaged, unacknowledged, retries, heartbeats, heartbeats_lost, others, rtt_c2s_count, rtt_c2s_sum_us, rtt_s2c_count, rtt_s2c_sum_us"
    func stored(_ key: String, _ table: String) throws -> [String] {
      try store.rows("SELECT \(key), \(columns) FROM \(table) ORDER BY 1")
    }
    #expect(try stored("id", "session") == counted { Int64($0.session) + 1 })
    #expect(try stored("id", "connection") == counted { Int64($0.connection) })
    for width in [1, 10, 60] as [Int64] {
      #expect(
        try stored("start_s", "bucket WHERE width_s = \(width)") == counted { $0.at / (width * 1_000_000) * width },
        "\(width)")
    }
  }

  /// A plain count, by the documentation of the columns.
  private static func sums(_ messages: [Sent]) -> String {
    let units = messages.filter { $0.kind == .data }
    let beats = messages.filter { $0.kind == .heartbeat }
    func isLost(_ message: Sent) -> Bool { message.fate == .unanswered || message.fate == .damaged }
    var columns: [Int64] = [
      Int64(units.count { $0.fate != .unacknowledged }), Int64(units.count { $0.fate == .acked }),
      Int64(units.count(where: isLost)), Int64(units.count { $0.fate == .unacknowledged }),
      units.reduce(0) { $0 + Int64($1.retries) }, Int64(beats.count), Int64(beats.count(where: isLost)),
      Int64(messages.count - units.count - beats.count),
    ]
    for direction in [Direction.clientToServer, .serverToClient] {
      let trips = messages.filter {
        $0.direction == direction && $0.kind != .heartbeat && ($0.retries == 0 || $0.fate == .acked)
      }.compactMap(\.answerAfter)
      columns += [Int64(trips.count), trips.reduce(0, +)]
    }
    return columns.map { "\($0)" }.joined(separator: "|")
  }

  /// Sessions beyond the limit have no percentile; those within it keep theirs.
  @Test func sessionsBeyondALimitHaveNoPercentile() throws {
    let (store, writer) = try MadeStore.begun { $0.sessionLimit = 2 }
    for round in 0..<2 as Range<UInt32> {
      var batch = StoreBatch()
      for session in 0..<4 as Range<UInt32> {
        batch.add(
          Sent(round * 4 + session, at: Int64(round) * 1_000_000) {
            ($0.session, $0.answerAfter) = (session, Int64(100 + round))
          }.facts)
      }
      try writer.write(batch)
    }
    try writer.finish(isWhole: true)
    #expect(
      try store.rows("SELECT id, rtt_c2s_p95_us, rtt_c2s_count FROM session ORDER BY id") == [
        "1|101|2", "2|101|2", "3|-|2", "4|-|2",
      ])
  }

  /// Names that clients give after their first messages.
  @Test func aNameMayComeLater() throws {
    let (store, writer) = try MadeStore.begun()
    var batch = StoreBatch()
    for id in 0..<3 as Range<UInt32> { batch.add(Sent(id, at: 0) { ($0.plan, $0.session) = (1, id) }.facts) }
    batch.name(0, "alice")
    try writer.write(batch)
    var later = StoreBatch()
    later.name(1, "bob")
    try writer.write(later)
    try writer.finish(isWhole: true)
    #expect(try store.rows("SELECT id, name, name_is_number FROM session") == ["1|alice|0", "2|bob|0", "3|-|0"])
  }
}
