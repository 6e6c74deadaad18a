import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// The rows of TCP connections: the values from their reports, and how they are listed.
@Suite struct ConnectionRowTests {
  /// The reason for the end of a connection, its phase, the direction of its reset, and the expected state and direction in its row.
  private static let ends: [(CloseReason, ConnectionPhase, Direction?, String)] = [
    (.open, .established, nil, "open|-"), (.open, .closing, nil, "half|-"), (.fin, .closed, nil, "closed|-"),
    (.reset, .closed, .clientToServer, "reset|c2s"), (.reset, .closed, .serverToClient, "reset|s2c"),
    (.refused, .closed, .serverToClient, "refused|-"), (.timeout, .closed, nil, "timeout|-"),
    (.reused, .closed, nil, "reused|-"), (.evicted, .closed, nil, "evicted|-"),
  ]

  @Test func aRowSaysHowItEnded() throws {
    let store = try MadeStore(
      [],
      batch: { batch in
        for (i, end) in Self.ends.enumerated() {
          batch.add(.made(UInt32(i + 1), end.0) { ($0.phase, $0.resetBy) = (end.1, end.2) })
        }
      })
    #expect(try store.rows("SELECT state, rst_by FROM connection ORDER BY id") == Self.ends.map(\.3))
    let totals = try store.reader.connectionTotals()
    #expect(
      totals.states == [
        "open": 1, "half": 1, "closed": 1, "reset": 2, "refused": 1, "timeout": 1, "reused": 1, "evicted": 1,
      ])
    #expect(totals.all == 9 && totals.undecoded == 9)
    #expect(totals.first?.seconds == 1_000 && totals.last?.seconds == 1_001)
  }

  @Test func aRowSaysWhatTCPShows() throws {
    let peer = Endpoint(address: IPAddress(v4: 0xc633_6464), port: 443)
    let store = try MadeStore(
      [],
      batch: {
        $0.add(
          .made(1) {
            ($0.serverHandshake, $0.clientHandshake) = (.microseconds(700), .microseconds(300))
            ($0.gapCount, $0.gapBytes) = (2, .max)
            ($0.wireBytes, $0.packets) = ([.max, 20], [.max, 4])
            $0.segments[0].retransmissions = 3
            $0.segments[1].retransmissions = 4
            ($0.info.peer, $0.info.carriers) = (peer, [.proxy2])
          })
        // The clock went back: a connection does not end before it began.
        $0.add(.made(2) { $0.lastSeen = Timestamp(seconds: 1, fraction: 0) })
        $0.add(.made(3) { $0.serverHandshake = .microseconds(700) })
      })
    #expect(
      try store.rows(
        "SELECT handshake_us, ack_c2s_us, retransmissions, gaps, missing_bytes, packets_c2s, packets_s2c, bytes_c2s, bytes_s2c, profile, protocol FROM connection WHERE id = 1"
      ) == ["1000|-|7|2|9223372036854775807|4294967295|4|9223372036854775807|20|-|-"])
    #expect(
      try store.rows("SELECT client, via, carrier FROM connection WHERE id = 1") == [
        "192.0.2.1:40001|198.51.100.100:443|[\"proxy_v2\"]"
      ])
    #expect(
      try store.rows("SELECT start_us, end_us, handshake_us, via, carrier FROM connection WHERE id > 1") == [
        "1000000000|1000000000|-|-|-", "1000000000|1001000000|-|-|-",
      ])
  }

  /// Only the last report of a connection counts, and its messages are counted with it.
  @Test func theLastReportCounts() throws {
    let store = try MadeStore(
      [Sent(0, at: 1_000_500_000)],
      batch: {
        $0.add(.made(1, .open) { $0.info.plan = 0 })
        $0.add(
          .made(1, .reset) {
            ($0.info.plan, $0.resetBy, $0.packets) = (0, .clientToServer, [9, 9])
            $0.figures = ConnectionMetrics(endpoint: 0)
          })
      })
    #expect(
      try store.rows("SELECT id, state, packets_c2s, messages, profile, protocol, first_us FROM connection") == [
        "1|reset|9|1|tjp|tjp|1000500000"
      ])
  }

  // MARK: Lists

  private static let lists: [Sent] = [
    Sent(0, at: 1_000_000),
    Sent(1, at: 2_000_000) { $0.connection = 2 }, Sent(2, at: 2_100_000) { $0.connection = 2 },
    Sent(3, at: 3_000_000) { ($0.connection, $0.fate) = (3, .unanswered) },
    Sent(4, at: 4_000_000) { ($0.connection, $0.fate, $0.answerAfter) = (4, .rejected, 1) },
    Sent(5, at: 5_000_000) { ($0.connection, $0.kind, $0.fate) = (5, .heartbeat, .unanswered) },
    Sent(6, at: 6_000_000) { ($0.connection, $0.fate, $0.retries, $0.answerAfter) = (6, .ackedAfterRetry, 1, 9) },
    Sent(7, at: 7_000_000) { ($0.connection, $0.fate) = (7, .unacknowledged) },
  ]

  @Test func theWorstStandFirst() throws {
    let store = try MadeStore(
      Self.lists, batch: { $0.add(.made(8, .refused) { $0.firstSeen = Timestamp(seconds: 8, fraction: 0) }) })
    let reader = try store.reader
    #expect(try reader.connections(limit: 100).map(\.id) == [3, 4, 8, 6, 5, 2, 1, 7])
    #expect(try reader.connections(limit: 2).map(\.id) == [3, 4])
    #expect(try reader.connections(limit: 0).isEmpty)
  }

  /// Words are searched in addresses, profiles and states, and all must be found.
  @Test(
    arguments: [
      (["192.0.2.3:"], [3]), (["tjp"], [3, 4, 6, 5, 2, 1, 7]), (["TJP", ":40006"], [6]), (["refused"], [8]),
      (["open", "192.0.2.7"], [7]), (["nowhere"], []), (["%"], []), (["' OR 1 --"], []),
      ([], [3, 4, 8, 6, 5, 2, 1, 7]),
    ] as [([String], [Int64])])
  func wordsChoose(_ words: [String], _ expected: [Int64]) throws {
    let store = try MadeStore(Self.lists, batch: { $0.add(.made(8, .refused)) })
    #expect(try store.reader.connections(words: words, limit: 100).map(\.id) == expected)
  }

  /// A connection belongs to a time range if it was open within it.
  @Test(
    arguments: [
      (0, 1_000_000, []), (0, 1_000_001, [1]), (1_000_000, 1_500_000, [1]), (1_000_001, 2_000_000, []),
      (2_100_000, 2_200_000, [2]), (2_050_000, 2_060_000, [2]), (2_100_001, 3_000_000, []),
      (0, 9_000_000, [3, 4, 6, 5, 2, 1, 7]),
    ] as [(Int64, Int64, [Int64])])
  func timesChoose(_ from: Int64, _ to: Int64, _ expected: [Int64]) throws {
    let store = try MadeStore(Self.lists)
    let times = Timestamp(microseconds: from)..<Timestamp(microseconds: to)
    #expect(try store.reader.connections(times, limit: 100).map(\.id) == expected)
  }

  @Test func aConnectionIsRead() throws {
    let store = try MadeStore(
      Self.lists, batch: { $0.add(.made(3, .reset) { ($0.info.plan, $0.resetBy) = (0, .serverToClient) }) })
    let reader = try store.reader
    let found = try #require(try reader.connections(limit: 1).first)
    #expect(found.id == 3 && found.client == "192.0.2.3:40003" && found.server == "198.51.100.1:8080")
    #expect(found.state == "reset" && found.resetBy == "s2c" && found.messages == 1 && found.lost == 1)
    #expect(found.bytesToServer == 300 && found.bytesToClient == 200 && found.retransmissions == 0)
    #expect(found.first?.seconds == 1_000 && found.last?.seconds == 1_001 && found.handshake == nil)
    // An unknown value is absent, not 0.
    let other = try #require(try reader.connections(words: [":40007"], limit: 1).first)
    #expect(other.bytesToServer == nil && other.oneWay == 1 && other.messages == 0 && other.first?.seconds == 7)
    #expect(try reader.ends(ofConnection: 3)?.client == "192.0.2.3:40003")
    #expect(try reader.ends(ofConnection: 99) == nil)
    #expect(try reader.start(ofConnection: 3)?.seconds == 1_000 && reader.start(ofConnection: 1) == nil)
    #expect(try reader.profile(ofConnection: 1) == "tjp" && reader.profile(ofConnection: 99) == nil)
  }

  // MARK: Sessions

  /// The ends of a session's connections, the latest one last, and its state.
  @Test(
    arguments: [
      ([nil], "open"), ([.fin], "closed"), ([.reset], "reset"), ([.fin, .open], "reconnected"),
      ([.reset, nil], "reconnected"), ([.open, .open], "open"), ([.evicted, .open], "open"),
      ([.reset, .fin], "closed"),
    ] as [([CloseReason?], String)])
  func aSessionHasAState(_ ends: [CloseReason?], _ state: String) throws {
    let store = try MadeStore(
      ends.indices.map { i in Sent(UInt32(i), at: Int64(i) * 1_000) { $0.connection = UInt32(i + 1) } },
      batch: { batch in
        for (i, end) in ends.enumerated() { if let end { batch.add(.made(UInt32(i + 1), end)) } }
      })
    #expect(try store.rows("SELECT state FROM sessions") == [state])
    let session = try #require(try store.reader.sessions().first)
    #expect(session.state == state && session.connections == Int64(ends.count))
    #expect(session.connection == Int64(ends.count) && session.client == "192.0.2.\(ends.count):\(40_000 + ends.count)")
  }
}
