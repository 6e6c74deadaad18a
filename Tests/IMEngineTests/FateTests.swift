import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Drawn timelines of one message, and what must be said of them. A column is a second unless it is said otherwise.
@Suite struct FateTests {
  @Test(arguments: [
    // One answer.
    ("da", "acked latency=1000 rtt=1000"),
    ("d....a", "acked latency=5000 rtt=5000"),
    ("daa", "acked acks=2 latency=1000 rtt=1000 dup_acks=1"),
    // A message has six seconds, from its last copy.
    ("d......", "unanswered"),
    ("d.......", "unanswered"),
    ("d..r......", "unanswered copies=2 repeats=1 retries=1"),
    ("d.....", "pending"),
    ("d....r.....", "pending copies=2 repeats=1 retries=1"),
    ("d", "pending"),
    // Karn: nobody knows which copy was answered.
    ("d..ra", "acked_after_retry copies=2 repeats=1 latency=4000 retries=1"),
    ("d..r..ra", "acked_after_retry copies=3 repeats=2 latency=7000 retries=2"),
    ("dia", "acked_after_retry copies=2 repeats=1 latency=2000 retries=1"),
    // A copy behind the answer.
    ("dar", "acked copies=2 dup_after_ack=1 latency=1000 rtt=1000"),
    ("d..rar", "acked_after_retry copies=3 repeats=1 dup_after_ack=1 latency=4000 retries=1"),
    ("dara", "acked copies=2 dup_after_ack=1 acks=2 latency=1000 rtt=1000 dup_acks=1"),
    // Too late.
    ("d.......a", "acked late latency=8000 rtt=8000"),
    ("d..r.......a", "acked_after_retry copies=2 repeats=1 late latency=11000 retries=1"),
    // The connection ends before the answer; an answer may still be on its way.
    ("d.F", "unanswered"),
    ("d.R", "unanswered"),
    ("daF", "acked latency=1000 rtt=1000"),
    // Damage.
    ("x", "pending"),
    ("x.......", "damaged"),
    ("x..r......", "unanswered copies=2 repeats=1 retries=1"),
    ("x..ra", "acked_after_retry copies=2 repeats=1 latency=4000 retries=1"),
    ("d..xa", "acked_after_retry copies=2 repeats=1 latency=4000 retries=1"),
    ("xF", "damaged"),
    // Answers that name nothing.
    ("b", "orphans=1"), ("bb", "orphans=2"), ("a", "orphans=1"), ("dba", "acked latency=2000 rtt=2000 orphans=1"),
    ("", ""),
  ])
  func message(_ drawing: String, _ expected: String) {
    let timeline = Timeline(drawing)
    #expect(timeline.outcome == expected, "\(drawing)")
    timeline.run.expectLedgerAddsUp("\(drawing)")
  }

  /// The same with 100 ms a column: a copy within a second with the same clock was not written anew.
  @Test(arguments: [
    ("dia", "acked_after_retry copies=2 repeats=1 latency=200 immediate=1"),
    ("diii", "pending copies=4 repeats=3 immediate=3"),
    ("dra", "acked_after_retry copies=2 repeats=1 latency=200 retries=1"),
    ("dai", "acked copies=2 dup_after_ack=1 latency=100 rtt=100"),
    ("d.........i", "pending copies=2 repeats=1 retries=1"),
  ])
  func quick(_ drawing: String, _ expected: String) {
    let timeline = Timeline(drawing, column: 100)
    #expect(timeline.outcome == expected, "\(drawing)")
    timeline.run.expectLedgerAddsUp("\(drawing)")
  }

  /// The run ends with its last packet, however little time passed before it.
  @Test func lastAt() {
    let run = Timeline("d.", column: 3).run
    #expect(run.ledger.firstAt == Timestamp(milliseconds: 1_699_999_999_990))
    #expect(run.ledger.lastAt == Timestamp(milliseconds: 1_700_000_000_003))
  }

  /// Every message's fate is told when it is decided, and told again when a late answer changes it.
  @Test func settledTwice() {
    let run = Timeline("d.......a").run
    #expect(run.heard.resolved.map(\.fate) == [.unanswered, .acked])
    #expect(run.totals[0][0].fates[0].late == 1)
    #expect(run.totals[0][0].fates[0].acked == 1)
    #expect(run.totals[0][0].fates[0].unanswered == 0)
  }

  /// The same number with another body is another message; so is the same number of another type.
  @Test func sameNumberOtherBody() {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: 0))
    let receipt = TJPFrameBuilder(type: TJPType.receipt, sequence: 1, body: TLVBuilder().text("one").bytes).bytes
    for (i, bytes) in [
      TJPFrameBuilder(text: "one", sequence: 1).bytes, TJPFrameBuilder(text: "two", sequence: 1).bytes, receipt,
    ].enumerated() {
      talk.send(bytes, .clientToServer, at: Timestamp(milliseconds: 10 + Int64(i)))
    }
    let run = Run(talk.packets)
    #expect(run.heard.finished.map(\.copies) == [1, 1, 1])
    run.expectLedgerAddsUp()
  }

  /// An answer that comes out first, because its message waits behind a hole, is given back to it.
  @Test func answerBeforeMessage() {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: 0))
    let first = talk.send(
      TJPFrameBuilder(text: "lost", sequence: 1).bytes, .clientToServer, at: Timestamp(milliseconds: 10))
    talk.send(TJPFrameBuilder(text: "kept", sequence: 2).bytes, .clientToServer, at: Timestamp(milliseconds: 11))
    talk.send(TJPFrameBuilder.echoACK(of: 2).bytes, .serverToClient, at: Timestamp(milliseconds: 15))
    talk.acknowledge(.clientToServer, at: Timestamp(milliseconds: 100))
    talk.drop(first[0])
    let run = Run(talk.packets)
    #expect(run.heard.finished.map(\.fate) == [.acked])
    #expect(run.heard.finished.map { $0.latency?.microseconds } == [4_000])
    #expect(run.heard.reports.map(\.rare.orphanAcks) == [0])
    #expect(run.heard.adopted.map(\.times) == [[Timestamp(milliseconds: 15)]])
    run.expectLedgerAddsUp()
  }
}
