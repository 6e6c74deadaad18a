import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// The rows of messages, column by column, as read with SQL.
@Suite struct MessageRowTests {
  /// A message, columns of the view `messages`, and their expected values.
  private static let rows: [(name: String, message: Sent, columns: String, expected: String)] = [
    (
      "place and time",
      Sent(4, at: 1_760_000_000_123_456) {
        ($0.packet, $0.streamOffset, $0.bodyCount, $0.sequence) = (9, 4_000, 11, 77)
      },
      "id, time, time_us, len, packet, stream_offset, byte_count, seq",
      "5|2025-10-09T08:53:20.123456Z|1760000000123456|11|9|4000|39|77"
    ),
    (
      "who talks", Sent(0, at: 0) { ($0.connection, $0.session, $0.direction) = (3, 2, .serverToClient) },
      "conn, client, server, via, carrier, dir, session", "3|192.0.2.3:40003|198.51.100.1:8080|-|-|s2c|1002"
    ),
    ("a name", Sent(0, at: 0) { ($0.plan, $0.name) = (1, "alice") }, "session, profile", "alice|named"),
    ("no name", Sent(0, at: 0) { $0.plan = 1 }, "session, profile", "-|named"),
    ("a message", Sent(0, at: 0), "type, role, fate, cause, status, status_name", "data|message|acked|-|-|-"),
    ("a heartbeat", Sent(0, at: 0) { $0.kind = .heartbeat }, "type, role", "heartbeat|heartbeat"),
    ("a receipt", Sent(0, at: 0) { $0.kind = .receipt }, "type, role", "receipt|receipt"),
    ("a type that is unknown", Sent(0, at: 0) { $0.kind = .unknown }, "type, role", "type_99|other"),
    ("no number", Sent(0, at: 0), "seq, typeof(seq)", "-|null"),
    (
      "the largest number of SQLite", Sent(0, at: 0) { $0.sequence = UInt64(Int64.max) }, "seq, typeof(seq)",
      "9223372036854775807|integer"
    ),
    (
      "a larger number", Sent(0, at: 0) { $0.sequence = UInt64(Int64.max) + 1 }, "seq, typeof(seq)",
      "9223372036854775808|text"
    ),
    ("the largest number", Sent(0, at: 0) { $0.sequence = .max }, "seq, typeof(seq)", "18446744073709551615|text"),
    (
      "offsets beyond SQLite's numbers", Sent(0, at: 0) { ($0.streamOffset, $0.place) = (.max, .max - 1) },
      "stream_offset, byte_offset", "9223372036854775807|9223372036854775807"
    ),
    ("bytes in one piece", Sent(0, at: 0) { $0.place = 9_210_733 }, "byte_offset", "9210733"),
    ("bytes in several pieces", Sent(0, at: 0), "byte_offset", "-"),
    ("the second capture", Sent(0, at: 0) { $0.capture = 1 }, "capture", "b.pcap"),
    ("a capture that nobody named", Sent(0, at: 0) { $0.capture = 2 }, "capture", "-"),
    (
      "an answer", Sent(0, at: 50) { $0.answerAfter = 18_000 }, "rtt_us, rtt_karn_us, late, retries, dup_after_ack",
      "18000|18000|0|0|0"
    ),
    (
      "an answer after a retry",
      Sent(0, at: 50) { ($0.fate, $0.answerAfter, $0.retries, $0.duplicates) = (.ackedAfterRetry, 18_000, 2, 1) },
      "fate, rtt_us, rtt_karn_us, retries, dup_after_ack", "acked_after_retry|18000|-|2|1"
    ),
    (
      "a copy that came to light behind the fate",
      Sent(0, at: 50) { ($0.fate, $0.answerAfter, $0.retries) = (.acked, 18_000, 1) }, "rtt_us, rtt_karn_us",
      "18000|18000"
    ),
    ("a late answer", Sent(0, at: 50) { ($0.answerAfter, $0.isLate) = (40_000_000, true) }, "late, problems", "1|16"),
    (
      "a refusal", Sent(0, at: 0) { ($0.fate, $0.answerAfter, $0.status) = (.rejected, 5, (3, 1)) },
      "fate, cause, status, status_name, problems", "rejected|status|3|no_route|1"
    ),
    (
      "a status without a name", Sent(0, at: 0) { ($0.fate, $0.answerAfter, $0.status) = (.rejected, 5, (4, 1)) },
      "status, status_name", "4|-"
    ),
    (
      "a status beyond SQLite's numbers",
      Sent(0, at: 0) { ($0.fate, $0.answerAfter, $0.status) = (.rejected, 5, (.max, 1)) }, "status, typeof(status)",
      "18446744073709551615|text"
    ),
    (
      "no answer", Sent(0, at: 0) { ($0.fate, $0.cause) = (.unanswered, .peer) }, "fate, cause, rtt_us, problems",
      "unanswered|peer|-|2"
    ),
    ("nothing captured of the peer", Sent(0, at: 0) { $0.fate = .unanswered }, "fate, cause", "unanswered|-"),
    ("no room", Sent(0, at: 0) { ($0.fate, $0.cause) = (.unknown, .limit) }, "fate, cause", "unknown|limit"),
    (
      "damage", Sent(0, at: 0) { ($0.fate, $0.checksum) = (.damaged, .bad) }, "fate, cause, crc", "damaged|checksum|bad"
    ),
    ("remarks", Sent(0, at: 0) { $0.flags = 1 << 17 }, "flags, comp, crc", "131072|-|be"),
    (
      "texts", Sent(0, at: 0) { ($0.topic, $0.text, $0.otherText) = ("room/7", "今晚上 it's \"5\"", "") },
      "topic, text, other_text", "room/7|今晚上 it's \"5\"|"
    ),
    (
      "a text that is no SQL", Sent(0, at: 0) { $0.text = "'); DROP TABLE message; --\u{0}\u{1b}[2J" }, "text, topic",
      "'); DROP TABLE message; --\u{0}\u{1b}[2J|-"
    ),
    ("no text", Sent(0, at: 0), "topic, text, other_text", "-|-|-"),
    (
      "before 1970", Sent(0, at: -1_500_000) { $0.answerAfter = 1 }, "time_us, rtt_us", "-1500000|1"
    ),
  ]

  @Test func columns() throws {
    for row in Self.rows {
      let store = try MadeStore([row.message], captures: [.init(path: "a.pcap"), .init(path: "b.pcap")])
      #expect(try store.rows("SELECT \(row.columns) FROM messages") == [row.expected], "\(row.name)")
    }
  }

  /// Copies, checksums and answers are stored as lists only if other columns do not contain them.
  @Test(
    arguments: [
      (Sent(0, at: 10), "-|-|-"),
      (Sent(0, at: 10) { $0.answerAfter = 5 }, "-|-|-"),
      (Sent(0, at: 10) { ($0.answerAfter, $0.answers) = (5, [19]) }, "-|-|[15,19]"),
      (
        Sent(0, at: 10) { ($0.copies, $0.retries) = ([20, 31], 2) }, "[10,20,31]|[\"be\",\"unchecked\",\"unchecked\"]|-"
      ),
      (
        Sent(0, at: 10) { ($0.copies, $0.checksum, $0.answerAfter, $0.duplicates) = ([20], .bad, 5, 1) },
        "[10,20]|[\"bad\",\"unchecked\"]|-"
      ),
    ] as [(Sent, String)])
  func listsSayWhatOtherColumnsDoNot(_ message: Sent, _ expected: String) throws {
    let file = try MadeStore([message])
    #expect(try file.rows("SELECT copies, checksums, answers FROM message") == [expected])
    // A live run passes the same values in another way.
    let (live, writer) = try MadeStore.begun { $0.isLive = true }
    var batch = StoreBatch()
    batch.addFinal(message.record, message.exchange)
    try writer.write(batch)
    #expect(try live.rows("SELECT copies, checksums, answers FROM message") == [expected])
  }

  /// Rows written by one statement and rows written one by one are the same, whatever the rows before them contain.
  @Test(arguments: [1, 15, 16, 17, 40]) func rowsTogetherAreThoseOfOneByOne(_ count: Int) throws {
    let messages = (0..<UInt32(count)).map { id in
      Sent(id, at: Int64(id) * 1_000) { message in
        message.sequence = id % 3 == 0 ? nil : UInt64(id)
        message.place = id % 2 == 0 ? nil : UInt64(id) * 100
        message.answerAfter = id % 5 == 0 ? nil : Int64(id)
        let isRejected = id % 7 == 3 && id % 5 != 0
        message.fate = isRejected ? .rejected : .acked
        message.status = isRejected ? (UInt64(id), UInt16(1 + id / 7)) : nil
        message.copies = id % 11 == 0 ? [Int64(id) * 1_000 + 1] : []
      }
    }
    let store = try MadeStore(messages)
    let expected = messages.map { message -> String in
      let id = message.id
      let columns: [String] = [
        "\(id + 1)", "\(Int64(id) * 1_000)", message.sequence.map { "\($0)" } ?? "-",
        message.place.map { "\($0)" } ?? "-",
        message.answerAfter.map { "\($0)" } ?? "-", message.fate == .rejected ? "rejected" : "acked",
        message.status.map { "\($0.number)" } ?? "-",
        message.copies.isEmpty ? "-" : "[\(message.at),\(message.at + 1)]",
      ]
      return columns.joined(separator: "|")
    }
    let sql =
      "SELECT v.id, v.time_us, v.seq, v.byte_offset, v.rtt_us, v.fate, v.status, m.copies FROM messages AS v "
      + "JOIN message AS m USING (id) ORDER BY id"
    #expect(try store.rows(sql) == expected)
  }

  /// Rows are in the order of their numbers, in whichever order the writer receives them.
  @Test func theOrderIsThatOfNumbers() throws {
    let ids: [UInt32] = [9, 3, 0, 7, 1]
    var batch = StoreBatch(count: ids.count)
    for id in ids { batch.add(Sent(id, at: Int64(id)).facts) }
    #expect(batch.order == [2, 4, 1, 3, 0])
    #expect(batch.count == 5 && batch.messageCount == 5 && !batch.isEmpty)
    let store = try MadeStore([], batch: { $0 = batch })
    #expect(try store.rows("SELECT id, time_us FROM message ORDER BY rowid") == ["1|0", "2|1", "4|3", "8|7", "10|9"])
    batch.clear()
    #expect(batch.isEmpty && batch.order == nil)
  }

  /// Each name is stored once, however many messages refer to it.
  @Test func namesStandOnce() throws {
    let store = try MadeStore(
      (0..<6).map { id in
        Sent(id, at: Int64(id)) {
          ($0.fate, $0.answerAfter, $0.status) = (.rejected, 1, (UInt64(id % 2), UInt16(1 + id % 2)))
          $0.plan = UInt8(id / 3)
        }
      })
    #expect(
      try store.rows("SELECT id, profile, name, role FROM type") == ["1|tjp|data|message", "2|named|data|message"])
    #expect(try store.rows("SELECT id, number, name FROM status") == ["1|0|-", "2|1|-"])
    #expect(
      try store.rows("SELECT name FROM fate ORDER BY id") == [
        "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unacknowledged", "unknown",
      ])
    #expect(try store.rows("SELECT bit FROM flag ORDER BY bit").prefix(3) == ["1", "2", "4"])
    #expect(try store.rows("SELECT name FROM flag WHERE bit = 131072") == ["after_gap"])
  }
}
