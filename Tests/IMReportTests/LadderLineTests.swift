import IMEngine
import IMOutput
import IMWire
import Testing

@testable import IMReport

/// What a ladder says of its rows.
@Suite struct LadderLineTests {
  private static func ladder(_ rows: [Ladder.Row]) -> Ladder {
    var ladder = Ladder(
      serial: 3, client: "192.0.2.1:40000", server: "192.0.2.9:8080", profile: "tjp", session: "7",
      firstSeen: Timestamp(seconds: 100, fraction: 0))
    ladder.rows = rows
    return ladder
  }

  private static func row(_ milliseconds: Int64, _ step: Ladder.Step) -> Ladder.Row {
    Ladder.Row(at: Timestamp(seconds: 100, fraction: 0).advanced(by: milliseconds * 1_000_000), event: .step(step))
  }

  private static func sent(
    _ label: String, copy: UInt16 = 1, _ facts: Ladder.Facts = [], since: Int64? = nil, fate: Fate? = nil,
    cause: Cause? = nil
  ) -> Ladder.Step {
    Ladder.Step(
      label: label, sequence: nil, isFromClient: true, facts: facts, copy: copy, sinceCopy: since, fate: fate,
      cause: cause)
  }

  @Test(arguments: [
    (sent("text 1", fate: .acked), "", "text 1", ""),
    (sent("text 1", fate: .unanswered, cause: .network), "!", "text 1", "no answer (network)"),
    (sent("beat 1", [.heartbeat], fate: .unanswered, cause: .peer), "!", "beat 1", "no answer (peer)"),
    (sent("text 1", [.damaged], fate: .damaged, cause: .checksum), "!", "text 1", "damaged, no answer"),
    (sent("text 1", [.damaged], fate: .acked), "!", "text 1", "checksum wrong"),
    (sent("text 1", fate: .rejected), "!", "text 1", "rejected"),
    (sent("text 1", fate: .pending), "", "text 1", "pending at the end of the capture"),
    (sent("text 1", [.late], fate: .acked), "!", "text 1", "answered late"),
    (sent("text 1", copy: 3, [.retry], since: 3_000_000), "R2", "text 1 retry Δ3.0 s", ""),
    (sent("text 1", copy: 2, [.duplicate], since: 500_000), "D1", "text 1 copy Δ500.0 ms", "answered before"),
    (
      Ladder.Step(
        label: "ack 1", sequence: 1, isFromClient: false, facts: [.answer], copy: 0, latency: .milliseconds(18),
        roundTrip: .milliseconds(18)),
      "", "ack 1", "RTT 18.0 ms"
    ),
    (
      Ladder.Step(
        label: "ack 1", sequence: 1, isFromClient: false, facts: [.answer], copy: 0, latency: .milliseconds(198)),
      "", "ack 1", "198.0 ms after the first copy (ambiguous, not in RTT)"
    ),
    (
      Ladder.Step(label: "ack 1", sequence: 1, isFromClient: false, facts: [.answer, .orphan], copy: 0), "?", "ack 1",
      "message not in the capture"
    ),
    (
      Ladder.Step(label: "ack 1", sequence: 1, isFromClient: false, facts: [.answer, .repeatedAnswer], copy: 0), "D",
      "ack 1", "answered before"
    ),
  ]) func aFrameSaysWhatBecameOfIt(_ step: Ladder.Step, _ mark: String, _ label: String, _ remark: String) throws {
    let line = try #require(Self.ladder([Self.row(3_120, step)]).lines.first)
    #expect(line.time == "+3.120" && line.mark == mark && line.label == label && line.remark == remark)
  }

  /// A silence has a line from 5 s on, and one in which heartbeats were due says how many did not come.
  @Test(
    arguments: [
      (4_999, nil, nil), (5_000, nil, "5.0 s without a frame"), (30_000, nil, "30.0 s without a frame"),
      (30_000, 21_000, "30.0 s without a frame"),
      (40_000, 20_000, "40.0 s without a frame: 1 heartbeat missing, due every 20.0 s"),
      (65_000, 20_000, "65.0 s without a frame: 2 heartbeats missing, due every 20.0 s"),
    ] as [(Int64, Int64?, String?)]) func silences(_ length: Int64, _ heartbeat: Int64?, _ expected: String?)
  {
    var ladder = Self.ladder([Self.row(0, Self.sent("a")), Self.row(length, Self.sent("b"))])
    ladder.heartbeat = heartbeat.map { ($0 * 1_000, true) }
    let lines = ladder.lines.filter { $0.form == .silence }
    #expect(lines.map(\.label) == (expected.map { [$0] } ?? []))
  }

  @Test func whatIsLeftOutIsCounted() {
    var ladder = Self.ladder((0..<10).map { Self.row($0, Self.sent("a")) })
    (ladder.leftOutBefore, ladder.leftOutBehind) = (1_234, 5)
    let lines = ladder.cut(to: 4).lines.map(\.label)
    #expect(lines == ["1,234 earlier frames left out", "a", "a", "a", "a", "11 later frames left out"])
  }

  @Test func asciiHoldsNothingElse() {
    let ladder = Self.ladder([
      Self.row(0, Self.sent("a")), Self.row(9_000, Self.sent("a", copy: 2, [.retry], since: 9_000_000)),
    ])
    var out = ByteWriter()
    LadderText(isASCII: true).write(ladder, to: &out)
    #expect(out.withBytes { $0.allSatisfy { $0 < 0x80 } })
    #expect(out.text.contains("|.... a retry +9.0 s ....") && out.text.contains("R1"))
  }

  /// A row of a whole ladder has its packet behind its time. On a terminal no row is longer than it: what is said beside an arrow then
  /// has a line of its own.
  @Test(arguments: [60, 80, 100, 200, nil] as [Int?]) func aRowHasItsPacket(_ width: Int?) {
    var lost = Self.sent("data 14209862", fate: .unanswered, cause: .network)
    lost.packet = 1_234_567
    let answer = Ladder.Step(
      label: "ack 14209859", sequence: 14_209_859, isFromClient: false, facts: [.answer], copy: 0,
      latency: .milliseconds(3_027), packet: 9)
    let ladder = Self.ladder([Self.row(0, lost), Self.row(9_000, answer)])
    var out = ByteWriter()
    LadderText(isASCII: true, width: width).write(ladder, to: &out)
    let lines = out.text.split(separator: "\n").map(String.init)
    if let width { #expect(lines.allSatisfy { $0.count <= width }, "\(lines)") }
    #expect(lines[1].contains(/^ *time +packet +client +server$/))
    let rows = lines.filter { $0.contains(">|") || $0.contains("|<") }
    #expect(
      rows.map { Array($0.split(separator: " ").prefix(2)).map(String.init) } == [
        ["+0.000", "1234567"], ["+9.000", "9"],
      ])
    #expect(lines.contains { $0.hasSuffix(" 3.03 s after the first copy (ambiguous, not in RTT)") }, "\(lines)")
  }

  /// By a clock, rows have the time of day.
  @Test func aClockGivesTheTimeOfDay() {
    let ladder = Self.ladder([Self.row(3_120, Self.sent("a"))])
    var out = ByteWriter()
    LadderText(isASCII: true, clock: LocalZone { _ in (28_800, "CST") }).write(ladder, to: &out)
    #expect(out.text.split(separator: "\n").last?.hasPrefix("08:01:43.120 ") == true, "\(out.text)")
  }
}
