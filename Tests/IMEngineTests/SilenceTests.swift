import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// How long nothing may cross a connection, and how long was fatal.
@Suite struct SilenceTests {
  /// One thing that happens on a connection, `after` seconds behind the one before.
  private enum Step {
    /// The client's ping that the server answers; one that the server's TCP acknowledges, one that nothing comes of; the same
    /// segment again.
    case ping, acknowledged, unanswered, again
    /// A keep-alive of the server that the client's TCP answers; one of the client that nothing answers.
    case keepAlive, lostKeepAlive
    /// A bare acknowledgment of the client.
    case bare
    /// The client or the server resets; the client sends a FIN that nothing answers; both close.
    case reset, serverReset, finish, close
  }

  private static let start: Int64 = 1_700_000_000_000

  private static func run(_ steps: [(after: Double, step: Step)], sees both: Bool = true) -> ConnectionReport? {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    talk.acknowledges = false
    var now = start
    talk.open(at: Timestamp(milliseconds: now))
    func at(_ later: Int64 = 0) -> Timestamp { Timestamp(milliseconds: now + later) }
    func keepAlive(_ direction: Direction) {
      let (own, other) = (Int(direction.rawValue), Int(direction.reversed.rawValue))
      talk.append(
        direction, .ack, sequence: talk.next[own] &- 1, acknowledgment: talk.next[other], at: at())
    }
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(10))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(20))
    talk.acknowledge(.clientToServer, at: at(30))
    now += 30
    var last = -1
    for (after, step) in steps {
      now += Int64(after * 1_000)
      switch step {
      case .ping:
        talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at())
        talk.send(MQTTPacketBuilder.packet(13, []), .serverToClient, at: at(20))
        talk.acknowledge(.clientToServer, at: at(30))
        now += 30
      case .acknowledged:
        talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at())
        talk.acknowledge(.serverToClient, at: at(20))
        now += 20
      case .unanswered: last = talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at())[0]
      case .again: talk.duplicate(last, at: at())
      case .keepAlive:
        keepAlive(.serverToClient)
        talk.acknowledge(.clientToServer, at: at(20))
        now += 20
      case .lostKeepAlive: keepAlive(.clientToServer)
      case .bare: talk.acknowledge(.clientToServer, at: at())
      case .reset: talk.close(.reset(by: .clientToServer), at: at())
      case .serverReset: talk.close(.reset(by: .serverToClient), at: at())
      case .finish:
        talk.append(
          .clientToServer, [.fin, .ack], sequence: talk.next[0], acknowledgment: talk.next[1], at: at())
      case .close: talk.close(.fin(by: .clientToServer), at: at())
      }
    }
    // By the source port, behind Ethernet's and IPv4's headers.
    let packets = talk.packets.filter { both || $0.bytes[34..<36] != [0x07, 0x5b] }
    return Run(packets, plans: [Plans.mqtt]).heard.reports.last
  }

  /// What crosses ends a silence; what is retransmitted into the void does not.
  @Test(
    arguments: [
      ("pings", [(60, .ping), (60, .ping), (5, .close)], 60, nil),
      ("acknowledged by TCP alone", [(60, .acknowledged), (5, .close)], 60, nil),
      ("keep-alives between pings", [(60, .keepAlive), (60, .keepAlive), (60, .keepAlive), (30, .ping)], 60, nil),
      ("bare acknowledgments cross", [(60, .bare), (60, .bare), (60, .ping)], 60, nil),
      ("less than a second", [(0.9, .ping), (0.9, .ping), (0.5, .reset)], 0, nil),
      // A NAT that forgot: five transmissions, and the client gives up.
      (
        "killed", [(60, .ping), (400, .unanswered), (1, .again), (2, .again), (4, .again), (8, .again), (16, .reset)],
        60,
        400
      ),
      ("killed, reset by the other side", [(60, .ping), (400, .unanswered), (0.02, .serverReset)], 60, 400),
      (
        "killed, found by a keep-alive", [(60, .ping), (300, .lostKeepAlive), (75, .lostKeepAlive), (75, .reset)], 60,
        300
      ),
      ("reset after silence", [(60, .ping), (200, .serverReset)], 60, 200),
      // The application closes, and nothing answers its FIN either.
      ("closed in vain", [(60, .ping), (400, .unanswered), (1, .again), (5, .finish)], 60, 400),
      ("never answered again", [(60, .ping), (400, .unanswered), (10, .again), (25, .again)], 60, 400),
      // Answered after all: a lost segment killed nothing.
      ("a segment lost", [(60, .unanswered), (1, .again), (0.5, .ping), (5, .close)], 60, nil),
      // It survived as much before: not the silence ended it.
      ("an outage", [(60, .ping), (5, .unanswered), (1, .again), (10, .reset)], 60, nil),
      // The client gave up by itself, on a connection that may have been alive.
      ("the client drops it", [(60, .ping), (200, .reset)], 60, nil),
      // Nobody waited for an answer.
      ("quit", [(60, .ping), (90, .unanswered), (0.01, .reset)], 60, nil),
      ("the capture ends", [(60, .ping), (90, .unanswered)], 60, nil),
    ] as [(String, [(Double, Step)], Int64, Int64?)])
  private func silences(_ name: String, _ steps: [(Double, Step)], _ survived: Int64, _ fatal: Int64?) throws {
    let report = try #require(Self.run(steps.map { (after: $0.0, step: $0.1) }), "\(name)")
    let figures = try #require(report.figures, "\(name)")
    #expect(figures.longestSilence.milliseconds / 1_000 == survived, "\(name)")
    #expect(report.fatalSilence.map { $0.milliseconds / 1_000 } == fatal, "\(name)")
  }

  /// Where the answers were not captured, nothing is known.
  @Test func oneSideAlone() throws {
    let report = try #require(
      Self.run([(60, .ping), (400, .unanswered), (1, .again), (30, .reset)], sees: false))
    #expect(report.figures?.longestSilence == .zero && report.fatalSilence == nil)
  }
}
