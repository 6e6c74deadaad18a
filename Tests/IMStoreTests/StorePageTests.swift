import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// Pages of messages: those that match a selection, in order, up to the size of a page.
@Suite struct StorePageTests {
  private static let messages: [Sent] = (0..<30).map { id in
    Sent(id, at: Int64(id) * 1_000_000) {
      ($0.session, $0.connection) = (id % 3, id % 2 + 1)
      $0.kind = id % 5 == 0 ? .heartbeat : .data
      $0.fate = id % 4 == 0 ? .damaged : .acked
      if id % 6 == 1 { ($0.topic, $0.text) = ("room/\(id % 4)", "hello \(id)") }
    }
  }

  /// A selection, and a plain filter for the numbers of its messages.
  private static let choices: [(choice: PageChoice, isChosen: @Sendable (UInt32) -> Bool)] = [
    (PageChoice(), { _ in true }), (PageChoice(session: 2), { $0 % 3 == 1 }), (PageChoice(session: 99), { _ in false }),
    (PageChoice(connection: 1), { $0 % 2 == 0 }),
    (PageChoice(session: 1, connection: 2), { $0 % 3 == 0 && $0 % 2 == 1 }),
    (PageChoice(type: 1), { $0 % 5 == 0 }), (PageChoice(type: 2), { $0 % 5 != 0 }),
    (PageChoice(topic: "room/3"), { $0 % 6 == 1 && $0 % 4 == 3 }), (PageChoice(topic: "room"), { _ in false }),
    (PageChoice(problems: .all), { $0 % 4 == 0 }), (PageChoice(problems: .damaged), { $0 % 4 == 0 && $0 % 5 != 0 }),
    (PageChoice(problems: .heartbeatMissed), { $0 % 20 == 0 }), (PageChoice(problems: .late), { _ in false }),
    (PageChoice(session: 1, problems: .all), { $0 % 12 == 0 }),
    (
      PageChoice(times: Timestamp(seconds: 3, fraction: 0)..<Timestamp(seconds: 7, fraction: 0)),
      { (3..<7).contains($0) }
    ),
    (
      PageChoice(
        connection: 2, topic: "room/1", times: Timestamp(seconds: 1, fraction: 0)..<Timestamp(seconds: 20, fraction: 0)),
      { $0 % 6 == 1 && $0 % 4 == 1 && (1..<20).contains($0) }
    ),
    (PageChoice(times: Timestamp(seconds: 40, fraction: 0)..<Timestamp(seconds: 50, fraction: 0)), { _ in false }),
  ]

  @Test(arguments: [true, false]) func aChoiceIsAPlainFilter(_ isWhole: Bool) throws {
    let store = try MadeStore(Self.messages, isWhole: isWhole)
    let reader = try store.reader
    #expect(try reader.isWhole() == isWhole)
    for (choice, isChosen) in Self.choices {
      let wanted = (0..<30 as Range<UInt32>).filter(isChosen).map { Int64($0) + 1 }
      #expect(try reader.ids(choice) == wanted, "\(choice)")
      #expect(try reader.messages(before: .max, choice, count: 1_000).map(\.id) == wanted, "\(choice)")
      // A page from any message, in either direction.
      for id in [0, 1, 9, 30, 31] as [Int64] {
        #expect(
          try reader.messages(after: id, choice, count: 4).map(\.id) == Array(wanted.filter { $0 > id }.prefix(4)))
        #expect(
          try reader.messages(before: id, choice, count: 4).map(\.id) == Array(wanted.filter { $0 < id }.suffix(4)))
      }
    }
  }

  @Test func aPageHasALimit() throws {
    let store = try MadeStore((0..<1_003).map { Sent($0, at: 0) })
    let reader = try store.reader
    for (count, expected) in [(0, 0), (-1, 0), (Int.min, 0), (1, 1), (1_000, 1_000), (1_001, 1_000), (Int.max, 1_000)] {
      #expect(try reader.messages(after: 0, count: count).count == expected)
      #expect(try reader.messages(before: .max, count: count).count == expected)
    }
    #expect(try reader.messages(before: .max, count: 5_000).first?.id == 4)
    #expect(try reader.messages(after: .max, count: 10).isEmpty && reader.messages(before: .min, count: 10).isEmpty)
    #expect(try reader.messages(after: .min, count: 1).first?.id == 1)
    #expect(try reader.message(1_003)?.id == 1_003 && reader.message(1_004) == nil && reader.message(.min) == nil)
    var rows = try reader.rows(ofMessages: Array(1...1_003))
    var count = 0
    while try rows.next() { count += 1 }
    #expect(count == 1_000)
  }

  /// Only selections by type, by topic, or by time in an incomplete store scan messages that they do not return.
  @Test(
    arguments: [
      (PageChoice(), "SEARCH message USING INTEGER PRIMARY KEY (rowid>?)"),
      (PageChoice(session: 1), "SEARCH message USING INDEX message_session (session=? AND id>?)"),
      (PageChoice(connection: 1), "SEARCH message USING INDEX message_connection (connection=? AND id>?)"),
      (PageChoice(problems: .all), "SEARCH message USING INDEX message_problem (id>?)"),
      (
        PageChoice(session: 1, problems: .late),
        "SEARCH message USING INDEX message_session_problem (session=? AND id>?)"
      ),
    ])
  func anIndexFindsThem(_ choice: PageChoice, _ plan: String) throws {
    let found = try MadeStore(Self.messages).reader.plan(of: choice)
    #expect(found.hasPrefix(plan) && !found.contains("SCAN message") && !found.contains("TEMP B-TREE"), "\(found)")
  }

  @Test func aMessageIsReadAsItIsStored() throws {
    let store = try MadeStore([
      Sent(0, at: 1_000_001) {
        ($0.kind, $0.fate, $0.cause, $0.direction) = (.control, .unanswered, .peer, .serverToClient)
        ($0.sequence, $0.retries, $0.capture, $0.packet, $0.streamOffset) = (.max, 2, 0, 12, 77)
      },
      Sent(1, at: 2) { ($0.fate, $0.answerAfter, $0.status, $0.duplicates) = (.rejected, 40, (3, 1), 1) },
      Sent(2, at: 3) { ($0.kind, $0.fate, $0.answerAfter, $0.status) = (.unknown, .rejected, 40, (8, 2)) },
    ])
    let read = try store.reader.messages(after: 0, count: 3)
    #expect(
      read[0]
        == StoredMessage(
          id: 1, time: Timestamp(microseconds: 1_000_001), connection: 1, session: 1, direction: .serverToClient,
          type: "control", sequence: "18446744073709551615", byteCount: 10, fate: .unanswered, cause: .peer, retries: 2,
          duplicates: 0, latency: nil, problems: [.controlUnanswered, .retried], capture: 1, packet: 12,
          streamOffset: 77, role: .control, deliveredAfter: nil, readAfter: nil, status: nil))
    #expect(
      read[1].status == "no_route" && read[1].latency == 40 && read[1].duplicates == 1 && read[1].role == .message)
    #expect(read[1].problems == [.rejected, .duplicate] && read[1].cause == .status && read[1].sequence == nil)
    #expect(read[2].status == "8" && read[2].type == "type_99" && read[2].role == .other)
  }

  /// A fate, a cause or a role that this version does not know is absent; it is not taken for the one with the same low byte.
  @Test(arguments: [8, 255, 256, 259, -1, 1 << 40] as [Int64]) func whatIsNotKnownIsNone(_ number: Int64) throws {
    let store = try MadeStore([Sent(0, at: 0) { ($0.fate, $0.cause) = (.unanswered, .peer) }])
    try store.run("UPDATE message SET fate = \(number), cause = \(number); UPDATE type SET role = 'later'")
    let reader = try store.reader
    let message = try #require(try reader.message(1))
    #expect(message.fate == nil && message.cause == nil && message.role == nil && message.type == "data")
    try store.run("UPDATE type SET role = 'message'")
    let type = try #require(try store.reader.types().types.first)
    #expect(type.count == 1 && type.lost == 0 && type.messages == 1)
  }

  @Test func placesAreWhereTheBytesAre() throws {
    let store = try MadeStore(
      [
        Sent(0, at: 0) { ($0.place, $0.bodyCount, $0.sequence) = (4_096, 12, 5) },
        Sent(1, at: 0) { ($0.capture, $0.kind) = (1, .receipt) }, Sent(2, at: 0) { $0.capture = 7 },
      ], captures: [.init(path: "a.pcap", byteCount: .max), .init(path: "b.pcap")])
    let reader = try store.reader
    let first = try #require(try reader.place(ofMessage: 1))
    #expect(
      first
        == StoredPlace(
          capture: "a.pcap", captureByteCount: UInt64(Int64.max), offset: 4_096, byteCount: 40, bodyCount: 12,
          type: "data", sequence: "5", profile: "tjp", client: "192.0.2.1:40001", server: "198.51.100.1:8080"))
    let second = try #require(try reader.place(ofMessage: 2))
    #expect(
      second.capture == "b.pcap" && second.captureByteCount == nil && second.offset == nil && second.type == "receipt")
    #expect(try reader.place(ofMessage: 3)?.capture == nil && reader.place(ofMessage: 4) == nil)
    // For a client behind a load balancer, packets have the balancer's address.
    try store.run("UPDATE connection SET via = '203.0.113.9:1'; UPDATE message SET byte_offset = -1")
    #expect(try store.reader.place(ofMessage: 1)?.client == "203.0.113.9:1")
    #expect(try store.reader.place(ofMessage: 1)?.offset == nil)
  }

  /// Captures that a live run begins, and captures that were deleted.
  @Test func capturesComeAndGo() throws {
    let (store, writer) = try MadeStore.begun(captures: [])
    var batch = StoreBatch()
    batch.begin(1, "spill-1.pcap")
    batch.begin(2, "spill-2.pcap")
    #expect(!batch.isEmpty && batch.count == 0)
    batch.drop()
    // Changes of captures are reported only once, so that they stay in the batch.
    #expect(!batch.isEmpty)
    try writer.write(batch)
    #expect(try store.reader.captures() == ["spill-1.pcap", "spill-2.pcap"])
    batch.clear()
    batch.begin(3, "spill-1.pcap")
    batch.forget(2)
    try writer.write(batch)
    #expect(try store.reader.captures() == ["", "", "spill-1.pcap"])
    #expect(try store.rows("SELECT id, path FROM capture") == ["1|-", "2|-", "3|spill-1.pcap"])
  }

  /// A reader that follows a store sees that it was changed, and its new messages.
  @Test func changesAreSeen() throws {
    let (store, writer) = try MadeStore.begun { $0.isLive = true }
    let reader = try store.reader
    let before = try reader.changeNumber()
    #expect(try reader.changeNumber() == before && reader.ids().isEmpty)
    var batch = StoreBatch()
    batch.add(Sent(0, at: 5) { $0.kind = .receipt }.facts)
    try writer.write(batch)
    #expect(try reader.changeNumber() != before)
    #expect(try reader.messages(after: 0, count: 5).map(\.type) == ["receipt"])
    #expect(try !reader.isWhole())
    try writer.finish(isWhole: true)
    #expect(try reader.isWhole())
  }

  /// A call ends if its caller no longer needs the result.
  @Test func aCallIsStopped() throws {
    let reader = try MadeStore(Self.messages).reader
    var isStale = true
    reader.stop { isStale }
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    let error = #expect(throws: StoreError.self) { try reader.database.number(endless, "test") }
    #expect(error?.kind == .interrupted)
    isStale = false
    #expect(try reader.ids().count == 30)
  }
}
