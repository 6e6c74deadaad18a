import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// The file itself: the same messages produce the same bytes, and a size limit is kept.
@Suite struct StoreBytesTests {
  private static func drawn(_ count: UInt32, seed: UInt64) -> [Sent] {
    var random = SeededRandom(seed)
    return (0..<count).map { id in
      Sent(id, at: 1_000_000_000 + Int64(id) * 40_000) {
        ($0.session, $0.connection) = (UInt32(random.next() % 40), UInt32(random.next() % 40) + 1)
        $0.kind = random.one(of: [.data, .data, .heartbeat, .control, .receipt])
        $0.fate = random.one(of: [.acked, .acked, .acked, .unanswered, .damaged])
        if $0.fate == .acked { $0.answerAfter = Int64(random.next() % 500_000) }
        if random.once(in: 3) { ($0.topic, $0.text) = ("room/\(random.next() % 9)", "text \(random.next())") }
      }
    }
  }

  @Test func theSameMessagesAreTheSameBytes() throws {
    func bytes() throws -> [UInt8] {
      try MadeStore(
        Self.drawn(400, seed: 3),
        batch: { batch in
          // In any order: rows are ordered by their numbers.
          for serial in 0..<60 as Range<UInt32> { batch.add(.made(1 + serial * 37 % 60)) }
        }
      ).bytes
    }
    let first = try bytes()
    for _ in 0..<3 { #expect(try bytes() == first) }
  }

  /// A store whose oldest messages were removed equals a store of the remaining messages.
  @Test func aStoreHasALimit() throws {
    let limit: UInt64 = 1 << 20
    let messages = Self.drawn(9_000, seed: 4)
    let (store, writer) = try MadeStore.begun { $0.maximumBytes = limit }
    for start in stride(from: 0, to: messages.count, by: 64) {
      var batch = StoreBatch()
      for message in messages[start..<min(start + 64, messages.count)] { batch.add(message.facts) }
      try writer.write(batch)
    }
    try writer.finish(isWhole: true)
    #expect(try store.bytes.count <= Int(limit))
    let left = try store.rows("SELECT count(*), min(id), max(id) FROM message")[0].split(separator: "|").compactMap {
      Int($0)
    }
    #expect(left[0] > 0 && left[2] == 9_000 && left[1] == 9_001 - left[0] && UInt64(9_000 - left[0]) == writer.removed)
    #expect(writer.removed > 0 && writer.oldestCapture == 1)
    #expect(
      try store.rows("SELECT value FROM info WHERE key IN ('removed_messages', 'whole')").sorted()
        == ["0", "\(writer.removed)"].sorted())

    // Totals, problems and texts are those of a store that never contained the removed messages.
    let kept = try MadeStore(messages.filter { Int($0.id) + 1 >= left[1] })
    let sums =
      "messages, acked, unanswered, damaged, heartbeats, heartbeats_lost, others, rtt_c2s_count, rtt_c2s_sum_us"
    for table in ["session", "bucket WHERE width_s = 1", "bucket WHERE width_s = 10", "bucket WHERE width_s = 60"] {
      let key = table == "session" ? "id" : "start_s"
      let sql = "SELECT \(key), \(sums) FROM \(table) ORDER BY 1"
      #expect(try store.rows(sql) == kept.rows(sql), "\(table)")
    }
    for sql in [
      "SELECT message, kind, cause FROM problem ORDER BY 1, 2", "SELECT id, topic, text FROM message_text ORDER BY 1",
      "SELECT rowid FROM message_search WHERE message_search MATCH 'text' ORDER BY 1",
    ] { #expect(try store.rows(sql) == kept.rows(sql), "\(sql)") }
  }

  /// Batches grow, up to a sixteenth of a size limit.
  @Test(
    arguments: [
      (nil, [100, 200, 400, 800, 1_600, 2_500, 2_500]), (0, [50, 50]), (1 << 20, [64, 64]),
      (2_457_600, [100, 150, 150]),
      (1 << 40, [100, 200, 400, 800, 1_600, 2_500]), (.max, [100, 200]),
    ] as [(UInt64?, [Int])])
  func batchesGrow(_ limit: UInt64?, _ sizes: [Int]) {
    var size = BatchSize(maximumBytes: limit)
    for expected in sizes {
      #expect(size.next == expected)
      size.grow()
    }
  }
}
