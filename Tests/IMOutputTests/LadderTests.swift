import IMEngine
import IMOutput
import IMTestSupport
import IMWire
import Testing

/// Ladders: the text of each frame, silences between frames, times, and excerpts.
@Suite struct LadderTests {
  private static func step(
    _ facts: Ladder.Facts = [], copy: UInt16 = 1, since: Int64? = nil, latency: Int64? = nil, roundTrip: Int64? = nil,
    fate: Fate? = nil, cause: Cause? = nil, exchange: UInt32? = nil, isFromClient: Bool = true
  ) -> Ladder.Event {
    .step(
      Ladder.Step(
        label: "data 7", sequence: 7, isFromClient: isFromClient, facts: facts, copy: copy, sinceCopy: since,
        latency: latency.map { .microseconds($0) }, roundTrip: roundTrip.map { .microseconds($0) }, fate: fate,
        cause: cause, exchange: exchange, packet: 42))
  }

  private static func ladder(_ rows: [(at: Int64, event: Ladder.Event)]) -> Ladder {
    var ladder = Ladder(
      serial: 3, client: "192.0.2.77:40001", server: "198.51.100.1:9000", profile: "tjp", session: nil,
      firstSeen: Timestamp(milliseconds: 10_000))
    ladder.rows = rows.map { Ladder.Row(at: Timestamp(milliseconds: 10_000 + $0.at), event: $0.event) }
    return ladder
  }

  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let event: Ladder.Event
    let form: LadderLine.Form
    var mark = "", label = "data 7", remark = "", isTrouble = false
  }

  private static let cases: [Case] = [
    Case(testDescription: "answered in time", event: step(fate: .acked), form: .message),
    Case(testDescription: "asks for no answer", event: step(fate: .unacknowledged), form: .message),
    Case(
      testDescription: "answered late", event: step(.late, fate: .ackedAfterRetry), form: .message, mark: "!",
      remark: "answered late", isTrouble: true),
    Case(
      testDescription: "no answer, with its cause", event: step(fate: .unanswered, cause: .network), form: .message,
      mark: "!", remark: "no answer (network)", isTrouble: true),
    Case(
      testDescription: "no answer", event: step(fate: .unanswered), form: .message, mark: "!", remark: "no answer",
      isTrouble: true),
    Case(
      testDescription: "refused", event: step(fate: .rejected, cause: .status), form: .message, mark: "!",
      remark: "rejected", isTrouble: true),
    Case(
      testDescription: "damaged in every copy", event: step(.damaged, fate: .damaged), form: .message, mark: "!",
      remark: "damaged, no answer", isTrouble: true),
    Case(
      testDescription: "a damaged copy of what was answered", event: step(.damaged, fate: .ackedAfterRetry),
      form: .message, mark: "!", remark: "checksum wrong", isTrouble: true),
    Case(
      testDescription: "pending", event: step(fate: .pending), form: .message,
      remark: "pending at the end of the capture"),
    Case(
      testDescription: "unknown", event: step(fate: .unknown, cause: .capture), form: .message, mark: "!",
      remark: "answer not in the capture", isTrouble: true),
    Case(
      testDescription: "a retry", event: step(.retry, copy: 3, since: 1_500_000), form: .copy, mark: "R2",
      label: "data 7 retry Δ1.5 s", isTrouble: true),
    Case(
      testDescription: "sent twice at once", event: step(copy: 2), form: .copy, mark: "R1", label: "data 7 sent twice",
      isTrouble: true),
    Case(
      testDescription: "a copy behind the answer", event: step(.duplicate, copy: 2), form: .copy, mark: "D1",
      label: "data 7 copy", remark: "answered before"),
    Case(
      testDescription: "an answer", event: step(.answer, copy: 0, latency: 61_000, roundTrip: 61_000), form: .answer,
      remark: "RTT 61.0 ms"),
    Case(
      testDescription: "an answer after two copies", event: step(.answer, copy: 0, latency: 61_000), form: .answer,
      remark: "61.0 ms after the first copy (ambiguous, not in RTT)"),
    Case(
      testDescription: "an answer again", event: step([.answer, .repeatedAnswer], copy: 0, latency: 5), form: .answer,
      mark: "D", remark: "answered before"),
    Case(
      testDescription: "an answer to nothing", event: step([.answer, .orphan], copy: 0), form: .answer, mark: "?",
      remark: "message not in the capture"),
    Case(
      testDescription: "a damaged answer again", event: step([.answer, .repeatedAnswer, .damaged], copy: 0),
      form: .answer, mark: "D", remark: "answered before, checksum wrong", isTrouble: true),
    Case(testDescription: "a note", event: .note("SYN", isTrouble: false), form: .note, label: "SYN"),
    Case(
      testDescription: "trouble", event: .note("gap of 10 bytes", isTrouble: true), form: .note, mark: "!",
      label: "gap of 10 bytes", isTrouble: true),
  ]

  @Test(arguments: cases) func whatIsSaidOfARow(_ test: Case) throws {
    let lines = Self.ladder([(0, test.event)]).lines
    try #require(lines.count == 1)
    #expect(lines[0].form == test.form && lines[0].mark == test.mark && lines[0].label == test.label)
    #expect(lines[0].remark == test.remark && lines[0].isTrouble == test.isTrouble && lines[0].row == 0)
    if case .step = test.event { #expect(lines[0].packet == 42 && lines[0].isFromClient) }
  }

  @Test func titles() {
    var ladder = Self.ladder([])
    #expect(ladder.title == "#3 192.0.2.77:40001 to 198.51.100.1:9000, tjp" && ladder.lines.isEmpty)
    ladder.session = "22509"
    #expect(ladder.title.hasSuffix(", tjp, session 22509"))
  }

  /// Milliseconds, or microseconds if the whole ladder fits in a second; times before the connection have a minus sign.
  @Test func times() {
    var ladder = Self.ladder([(-5, Self.step()), (0, Self.step()), (999, Self.step())])
    #expect(ladder.lines.map(\.time) == ["-0.005000", "+0.000000", "+0.999000"])
    ladder.rows[2].at = Timestamp(milliseconds: 11_000)
    #expect(ladder.lines.map(\.time) == ["-0.005", "+0.000", "+1.000"])
    // A row may count from another instant, and the connection may end later than its last row.
    ladder.rows[2].start = Timestamp(milliseconds: 10_900)
    #expect(ladder.lines.map(\.time).last == "+0.100")
    ladder.rows.removeLast()
    ladder.lastSeen = Timestamp(milliseconds: 70_000)
    #expect(ladder.lines.map(\.time) == ["-0.005", "+0.000"])
    let zone = LocalZone { _ in (3_600, "CET") }
    #expect(ladder.lines(clock: zone).map(\.time) == ["01:00:09.995", "01:00:10.000"])
    #expect(ladder.lines(clock: .utc).map(\.time) == ["00:00:09.995", "00:00:10.000"])
  }

  @Test func timesAtTheEnds() {
    var ladder = Self.ladder([(0, Self.step()), (0, Self.step())])
    (ladder.rows[0].at, ladder.rows[1].at) = (.distantPast, .distantFuture)
    let lines = ladder.lines
    #expect(lines.count == 3 && lines[0].time.hasPrefix("-9223372036.") && lines[2].time.hasPrefix("+9223372"))
    #expect(lines[1].form == .silence && lines[1].time.isEmpty)
  }

  /// Silences of 5 s and more have a line of their own, with the heartbeats that are missing in them.
  @Test(
    arguments: [
      (4_999, nil, nil, false), (5_000, nil, "5.0 s without a frame", false),
      (60_000, (60_000_000, true), "60.0 s without a frame", false),
      (90_000, (60_000_000, true), "90.0 s without a frame", false),
      (90_001, (60_000_000, true), "90.0 s without a frame: 1 heartbeat missing, due every 60.0 s", true),
      (
        300_000, (30_000_000, false), "300.0 s without a frame: 9 heartbeats missing, usual every 30.0 s", true
      ),
      (60_000, (0, true), "60.0 s without a frame", false),
    ] as [(Int64, (Int64, Bool)?, String?, Bool)])
  func silences(_ milliseconds: Int64, _ heartbeat: (Int64, Bool)?, _ expected: String?, _ isTrouble: Bool) {
    var ladder = Self.ladder([(0, Self.step()), (milliseconds, Self.step())])
    ladder.heartbeat = heartbeat.map { (interval: $0.0, isPromised: $0.1) }
    let silences = ladder.lines.filter { $0.form == .silence }
    #expect(silences.map(\.label) == (expected.map { [$0] } ?? []))
    #expect(silences.allSatisfy { $0.isTrouble == isTrouble && $0.mark == (isTrouble ? "!" : "") && $0.row == nil })
  }

  /// A time that goes back is not a silence, and the next silence counts from the latest time.
  @Test func silencesCountFromTheLatestRow() {
    let ladder = Self.ladder([(0, Self.step()), (4_000, Self.step()), (0, Self.step()), (8_000, Self.step())])
    #expect(ladder.lines.count == 4)
  }

  @Test func whatIsLeftOut() {
    var ladder = Self.ladder([(0, Self.step())])
    (ladder.leftOutBefore, ladder.leftOutBehind) = (1, 12_345)
    #expect(
      ladder.lines.map(\.label) == ["1 earlier frame left out", "data 7", "12,345 later frames left out"])
    #expect(ladder.lines.map(\.row) == [nil, 0, nil])
  }

  /// The message's own rows, the one before it and those after it, as far as there is room, and always in order.
  @Test func excerpts() {
    let rows: [(at: Int64, event: Ladder.Event)] = [1, 2, 2, 1, 3, 1, 2, 4].enumerated().map { place, exchange in
      (Int64(place) * 100, Self.step(exchange: UInt32(exchange)))
    }
    let ladder = Self.ladder(rows)
    func excerpt(_ exchange: UInt32, _ count: Int) -> [Int] {
      ladder.excerpt(exchange, count: count, clock: .utc).compactMap(\.row)
    }
    #expect(excerpt(9, 5).isEmpty && excerpt(3, 3) == [3, 4, 5] && excerpt(3, 5) == [3, 4, 5, 6, 7])
    // The first message has no row before it.
    #expect(excerpt(1, 4) == [0, 1, 2, 3] && excerpt(1, 8) == [0, 1, 2, 3, 4, 5, 6, 7])
    #expect(excerpt(4, 4) == [6, 7])
    for exchange in 1...4 as ClosedRange<UInt32> {
      for count in 1...10 {
        let found = excerpt(exchange, count)
        #expect(found.count <= count && found == found.sorted() && Set(found).count == found.count)
        // Its own first row is shown if there is room for a row before it.
        let first = rows.indices.first { [1, 2, 2, 1, 3, 1, 2, 4][$0] == Int(exchange) }
        if count > 1 { #expect(first.map(found.contains) == true) }
      }
    }
  }
}
