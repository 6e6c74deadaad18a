import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput
@testable import IMStore

/// Later changes of stored messages: rows, problems and totals are the same as if the last state had been written first.
@Suite struct ChangedMessageTests {
  private static let tables = [
    "SELECT id, time_us, fate, cause, status, retries, dup_after_ack, rtt_us, flags, problems FROM messages",
    "SELECT copies, checksums, answers FROM message",
    "SELECT kind, cause, message FROM problems ORDER BY kind",
    "SELECT id, name, messages, acked, acked_after_retry, rejected, unanswered, damaged, pending, unknown, retries, late, heartbeats, heartbeats_lost, others, rtt_c2s_count, rtt_c2s_sum_us, rtt_s2c_count FROM session",
    "SELECT id, messages, acked, unanswered, pending, retries, late, heartbeats_lost, rtt_c2s_count, rtt_c2s_sum_us FROM connection",
    "SELECT width_s, start_s, messages, acked, unanswered, pending, retries, late, heartbeats_lost, rtt_c2s_count, rtt_c2s_p95_us FROM bucket",
  ]

  /// The successive states of a message.
  private static let lives: [[Sent]] = [
    [Sent(0, at: 2_000_000) { $0.fate = .pending }, Sent(0, at: 2_000_000) { $0.answerAfter = 900 }],
    [
      Sent(0, at: 2_000_000) { $0.fate = .pending },
      Sent(0, at: 2_000_000) { ($0.fate, $0.cause) = (.unanswered, .network) },
      Sent(0, at: 2_000_000) { ($0.fate, $0.cause) = (.unanswered, .peer) },
    ],
    [
      Sent(0, at: 2_000_000) { ($0.fate, $0.cause) = (.unanswered, .peer) },
      Sent(0, at: 2_000_000) { ($0.answerAfter, $0.isLate) = (45_000_000, true) },
    ],
    [
      Sent(0, at: 2_000_000) { $0.fate = .pending },
      Sent(0, at: 2_000_000) { ($0.fate, $0.retries) = (.unanswered, 1) },
      Sent(0, at: 2_000_000) {
        ($0.fate, $0.retries, $0.answerAfter, $0.isLate) = (.ackedAfterRetry, 2, 50_000_000, true)
      },
    ],
    [
      Sent(0, at: 2_000_000) { ($0.kind, $0.fate) = (.heartbeat, .unanswered) },
      Sent(0, at: 2_000_000) { ($0.kind, $0.answerAfter, $0.isLate) = (.heartbeat, 40_000_000, true) },
    ],
    [
      Sent(0, at: 2_000_000) { ($0.kind, $0.fate) = (.control, .pending) },
      Sent(0, at: 2_000_000) { ($0.kind, $0.fate, $0.answerAfter, $0.status) = (.control, .rejected, 10, (3, 1)) },
    ],
    [
      Sent(0, at: 2_000_000) { $0.fate = .pending },
      Sent(0, at: 2_000_000) { ($0.fate, $0.cause) = (.unknown, .limit) },
    ],
    [Sent(0, at: 2_000_000) { $0.answerAfter = 700 }, Sent(0, at: 2_000_000) { $0.answerAfter = 700 }],
  ]

  private func expectSame(_ store: MadeStore, _ wanted: MadeStore, _ name: String) throws {
    for sql in Self.tables { #expect(try store.rows(sql) == wanted.rows(sql), "\(name): \(sql)") }
  }

  /// A message of a file, whose states are written in one batch or in one batch each.
  @Test(arguments: [true, false]) func aFileSaysTheLastWord(_ isTogether: Bool) throws {
    for (i, life) in Self.lives.enumerated() {
      let (store, writer) = try MadeStore.begun()
      var batch = StoreBatch()
      batch.add(life[0].facts)
      for next in life.dropFirst() {
        if !isTogether {
          try writer.write(batch)
          batch.clear()
        }
        batch.add(next.change())
      }
      try writer.write(batch)
      try writer.finish(isWhole: true)
      try expectSame(store, MadeStore([life[life.count - 1]]), "life \(i)")
    }
  }

  /// A message of a live run, whose row is written with its first state.
  @Test(arguments: [true, false]) func aLiveRunSaysTheLastWord(_ isTogether: Bool) throws {
    for (i, life) in Self.lives.enumerated() {
      let (store, writer) = try MadeStore.begun { $0.isLive = true }
      var batch = StoreBatch()
      for message in life.dropLast() {
        batch.addOpen(message.record, message.exchange)
        guard !isTogether else { continue }
        #expect(batch.messageCount == 0 && batch.count == 1)
        try writer.write(batch)
        batch.clear()
        #expect(try store.rows("SELECT fate FROM messages") == [message.fate.name])
      }
      let last = life[life.count - 1]
      batch.addFinal(last.record, last.exchange)
      #expect(batch.messageCount == 1 && batch.count == 1)
      try writer.write(batch)
      // Totals match the rows after every batch, not only at the end.
      try expectSame(store, MadeStore([last]), "live \(i)")
    }
  }

  /// Copies and answers that arrive after the row was written are added to its lists.
  @Test func listsGrow() throws {
    let (store, writer) = try MadeStore.begun()
    var batch = StoreBatch()
    batch.add(Sent(0, at: 10) { $0.answerAfter = 5 }.facts)
    batch.add(Sent(1, at: 20) { ($0.answerAfter, $0.checksum) = (5, .bad) }.facts)
    try writer.write(batch)
    batch.clear()
    batch.add(
      Sent(0, at: 10) { $0.answerAfter = 5 }.change {
        $0.add(TimedFrame(answerAt: 17))
        $0.add(TimedFrame(answerAt: 18))
      })
    batch.add(
      Sent(1, at: 20) { ($0.answerAfter, $0.duplicates, $0.checksum) = (5, 1, .bad) }.change {
        $0.add(TimedFrame(copyAt: 31, .be, flags: 1 << 15))
      })
    try writer.write(batch)
    batch.clear()
    batch.add(
      Sent(1, at: 20) { ($0.answerAfter, $0.duplicates, $0.checksum) = (5, 2, .bad) }.change {
        $0.add(TimedFrame(copyAt: 42, .le, flags: 1))
      })
    try writer.write(batch)
    try writer.finish(isWhole: true)
    #expect(
      try store.rows("SELECT copies, checksums, answers, duplicates, flags FROM message") == [
        "-|-|[15,17,18]|0|0", "[20,31,42]|[\"bad\",\"be\",\"le\"]|-|2|32769",
      ])
  }

  /// The number of elements in a list is limited.
  @Test func listsAreBounded() {
    var later = MessageChange.Later()
    for time in 0..<2_000 as Range<Int64> {
      later.add(TimedFrame(copyAt: time, .be, flags: time == 1_999 ? 4 : 0))
      later.add(TimedFrame(answerAt: time))
    }
    #expect(later.copies.count == 1_000 && later.checksums.count == 1_000 && later.answers.count == 1_000)
    // The flags of a copy that is not listed are still kept.
    #expect(later.flags == 4)
    // An answer that the row already contains is not added again.
    var awaiting = MessageChange.Later()
    awaiting.awaited = 7
    awaiting.add(TimedFrame(answerAt: 7))
    awaiting.add(TimedFrame(answerAt: 7))
    #expect(awaiting.answers == [7] && awaiting.awaited == nil)
  }

  /// A failed batch leaves nothing behind.
  @Test func aBatchIsAllOrNothing() throws {
    let (store, writer) = try MadeStore.begun()
    var batch = StoreBatch()
    batch.add(Sent(0, at: 0).facts)
    try writer.write(batch)
    var bad = StoreBatch()
    bad.add(Sent(1, at: 1).facts)
    // A number that already exists.
    bad.add(Sent(0, at: 2).facts)
    #expect(throws: StoreError.self) { try writer.write(bad) }
    #expect(try store.rows("SELECT id, time_us FROM message") == ["1|0"])
    #expect(!writer.database.isInTransaction)
  }

  /// A change of a message without a row is ignored.
  @Test func aChangeOfNothingChangesNothing() throws {
    let store = try MadeStore([Sent(0, at: 0)], batch: { $0.add(Sent(7, at: 0) { $0.fate = .damaged }.change()) })
    #expect(try store.rows("SELECT id, fate FROM messages") == ["1|acked"])
    #expect(try store.rows("SELECT count(*) FROM problem") == ["0"])
  }

  /// There is one receipt for each level: the first one counts.
  @Test func receiptsStandOnce() throws {
    func receipt(_ id: UInt32, _ level: MessageReceipt.Level, _ after: Int64) -> MessageReceipt {
      MessageReceipt(
        exchange: id, level: level, latency: .microseconds(after), direction: .clientToServer, endpoint: 0)
    }
    let store = try MadeStore(
      [Sent(0, at: 10), Sent(1, at: 20)],
      batch: {
        $0.add(receipt(0, .delivered, 300))
        $0.add(receipt(0, .delivered, 400))
        $0.add(receipt(0, .read, 900))
        $0.add(receipt(1, .read, 0))
        #expect($0.count == 6)
      })
    #expect(try store.rows("SELECT id, delivered_us, read_us FROM messages") == ["1|300|900", "2|-|0"])
    let read = try store.reader.messages(after: 0, count: 2)
    #expect(read.map(\.deliveredAfter) == [300, nil] && read.map(\.readAfter) == [900, 0])
  }
}
