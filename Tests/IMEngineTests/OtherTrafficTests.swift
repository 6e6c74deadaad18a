import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What comes of a connection depends on its own packets and on time, and not on what else was captured: a capture filter that keeps
/// all packets of a connection changes nothing of what is told of it.
@Suite struct OtherTrafficTests {
  /// All that is told of one connection, without the numbers that depend on what else is in the run.
  private struct Told: Equatable {
    struct Message: Hashable {
      var sequence: UInt64, firstAt: Timestamp, ackedAt: Timestamp, flags: UInt8, fate: Fate, cause: Cause?
      var copies: UInt16, acks: UInt16
    }
    var messages: [Message: Int] = [:]
    var frames: [SeenFrame] = []
    var gaps: [UInt32] = []
    var segments: [SegmentCounts] = []
    var issues: [String: Int] = [:]
    var ends: [Timestamp?] = []
  }

  /// What is counted of one side's segments.
  private struct SegmentCounts: Equatable {
    var retransmissions: UInt32, fast: UInt32, spurious: UInt32, outOfOrder: UInt32, lost: UInt32, missed: UInt64
  }

  private static func told(_ run: Run, _ port: UInt16) -> Told {
    var told = Told()
    let reports = run.heard.reports.filter { $0.isFinal && $0.info.client.port == port }
    let serials = Set(reports.map(\.info.serial))
    for exchange in run.heard.finished where serials.contains(exchange.connection) {
      let message = Told.Message(
        sequence: exchange.sequence, firstAt: exchange.firstAt, ackedAt: exchange.ackedAt,
        flags: exchange.flags.subtracting(.moved).rawValue, fate: exchange.fate, cause: exchange.cause,
        copies: exchange.copies, acks: exchange.acks)
      told.messages[message, default: 0] += 1
    }
    for var frame in run.heard.frames where serials.contains(frame.connection) {
      (frame.connection, frame.number, frame.exchange, frame.session) = (0, 0, 0, 0)
      told.frames.append(frame)
    }
    for (issue, connection) in run.heard.issues where serials.contains(connection) {
      told.issues["\(issue.kind) \(issue.timestamp) \(issue.byteCount)", default: 0] += 1
    }
    for report in reports {
      told.gaps.append(report.gapCount)
      told.ends.append(report.closedAt)
      for side in 0...1 {
        let segments = report.segments[side]
        told.segments.append(
          SegmentCounts(
            retransmissions: segments.retransmissions, fast: segments.fast, spurious: segments.spurious,
            outOfOrder: segments.outOfOrder, lost: segments.lost, missed: segments.missedBytes))
      }
    }
    return told
  }

  /// A client that asks at random moments and is answered around the time at which its messages' patience ends, on a bad network:
  /// packets that the capture lacks, that are overtaken, that come again.
  private static func client(_ port: UInt16, _ seed: UInt64) -> [TimedPacket] {
    var random = SeededRandom(seed)
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a01_0000 + UInt32(port)), port: port), server: Talk.server(8_080),
      initial: (.random(in: 0 ... .max, using: &random), .random(in: 0 ... .max, using: &random)))
    talk.segmentSize = 40
    talk.spacing = 37_000
    var now = Timestamp(milliseconds: 1_700_000_000_000).advanced(
      by: Int64.random(in: 0..<3_000_000_000, using: &random))
    talk.open(at: now)
    var open: [(number: UInt32, due: Timestamp)] = []
    var answered = now
    for number in UInt32(1)...60 {
      now = now.advanced(by: Int64.random(in: 1_000_000..<700_000_000, using: &random))
      for (asked, due) in open.filter({ $0.due < now }).sorted(by: { $0.due < $1.due }) {
        answered = max(due, answered.advanced(by: 1_000_000))
        damage(&talk, talk.send(answer(asked, port), .serverToClient, at: answered), answered, &random)
      }
      open.removeAll { $0.due < now }
      now = max(now, answered.advanced(by: 1_000_000))
      damage(&talk, talk.send(text(number, port), .clientToServer, at: now), now, &random)
      if Int.random(in: 0..<12, using: &random) == 0 {
        damage(&talk, talk.send(text(number, port), .clientToServer, at: now.advanced(by: 500_000)), now, &random)
      }
      // Around the six seconds in which a message is answered, or soon, or never.
      let isSlow = Int.random(in: 0..<4, using: &random) == 0
      let delay = isSlow ? Int64.random(in: 5_900_000_000..<6_150_000_000, using: &random) : 20_000_000
      if Int.random(in: 0..<10, using: &random) > 0 { open.append((number, now.advanced(by: delay))) }
    }
    if Bool.random(using: &random) { talk.close(.fin(by: .clientToServer), at: now.advanced(by: 40_000_000)) }
    return talk.packets
  }

  /// A message of the client with that port, and its answer: each client has a session of its own.
  private static func text(_ number: UInt32, _ port: UInt16) -> [UInt8] {
    TJPFrameBuilder(text: "text \(number)", sequence: number, session: port).bytes
  }
  private static func answer(_ number: UInt32, _ port: UInt16) -> [UInt8] {
    TJPFrameBuilder.echoACK(of: number, session: port).bytes
  }

  private static func damage(
    _ talk: inout ConversationBuilder, _ packets: [Int], _ now: Timestamp, _ random: inout SeededRandom
  ) {
    for packet in packets {
      switch Int.random(in: 0..<40, using: &random) {
      case 0: talk.drop(packet)
      case 1: talk.duplicate(packet, at: now.advanced(by: Int64.random(in: 30_000_000..<2_500_000_000, using: &random)))
      case 2 where packet + 2 < packets[packets.count - 1]: talk.swap(packet, packet + 2)
      default: break
      }
    }
  }

  /// Each of 24 connections alone, with the end of the whole capture, is what it is among the others.
  @Test(arguments: [1, 2, 3] as [UInt64]) func aConnectionAlone(_ seed: UInt64) {
    let clients = (0..<24).map { Self.client(40_000 + UInt16($0), seed << 8 + UInt64($0)) }
    let all = clients.joined().sorted { $0.timestamp < $1.timestamp }
    let together = Run(all, plans: [Plans.tjp])
    guard let end = all.last?.timestamp else { return }
    for (i, packets) in clients.enumerated() {
      let alone = Run(packets, plans: [Plans.tjp], end: end)
      let (one, other) = (Self.told(alone, 40_000 + UInt16(i)), Self.told(together, 40_000 + UInt16(i)))
      #expect(one.messages == other.messages, "client \(i)")
      #expect(one.frames == other.frames, "client \(i)")
      #expect(one.issues == other.issues, "client \(i)")
      #expect(one.segments == other.segments, "client \(i)")
      #expect(one.gaps == other.gaps && one.ends == other.ends, "client \(i)")
    }
  }

  /// The traffic has what the rule is about: late answers, holes that were given up, messages of every fate.
  @Test func theTrafficIsHard() {
    let clients = (0..<24).map { Self.client(40_000 + UInt16($0), 1 << 8 + UInt64($0)) }
    let run = Run(clients.joined().sorted { $0.timestamp < $1.timestamp }, plans: [Plans.tjp])
    let messages = run.heard.finished
    #expect(messages.count { $0.flags.contains(.late) } > 5)
    #expect(messages.count { $0.fate == .unanswered } > 20)
    #expect(messages.count { $0.fate == .unknown } > 1)
    #expect(run.gaps.count > 10)
  }

  /// An answer is late when its time is over, to the microsecond, whatever else moves the clock.
  @Test(arguments: [5_999_900, 6_000_000, 6_000_100, 6_050_000, 6_099_000, 6_101_000] as [Int64], [false, true])
  func lateToTheMicrosecond(_ microseconds: Int64, _ hasOthers: Bool) {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      talk.send(
        TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(10).advanced(by: microseconds * 1_000))
    }
    var other = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a02_0001), port: 50_000), server: Talk.server(8_080))
    other.open(at: Scene.ms(1))
    for n in UInt32(1)...700 { other.send(Self.text(n, 9), .clientToServer, at: Scene.ms(1 + 10 * Int64(n))) }
    let all = (packets + (hasOthers ? other.packets : [])).sorted { $0.timestamp < $1.timestamp }
    let run = Run(all, plans: [Plans.tjp])
    let first = run.heard.reports.first { $0.info.client.port == Talk.phone.port }?.info.serial
    let message = run.heard.finished.first { $0.connection == first }
    #expect(message?.fate == .acked)
    #expect(message?.flags.contains(.late) == (microseconds > 6_000_000))
  }
}
