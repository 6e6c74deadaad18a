import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// The protocol's own handshake, drawn: one sign a column of a second, a packet each.
///
///     q  the client asks (number 5)     a  the server acknowledges it
///     v  the server answers in kind     A  and does so with a number that is not the next
///     o  a control frame of another kind, from the client     O  and its acknowledgment
///     x  the client asks, damaged on the way                  s  the client sends what only servers send: an answer
///     .  nothing but time               R  RST by the server
///     p  the acknowledgment and, at the same moment but later in the capture, what it acknowledges
@Suite struct HandshakeTests {
  @Test(
    arguments: [
      ("qv", HandshakeOutcome.answered, 1),
      ("qva", .answered, 1),
      ("qav", .answered, 1),
      ("q..A", .answered, 3),
      ("qa", .acknowledged, 1),
      ("q..aa", .acknowledged, 3),
      // A copy of the request is the same request.
      ("q.qv", .answered, 3),
      ("q", .pending, nil),
      ("q....", .pending, nil),
      ("q.............", .unanswered, nil),
      ("q..R", .unanswered, nil),
      // After ten seconds it is too late; what is asked then is another try.
      ("q............v", .unanswered, nil),
      ("q............qv", .answered, 1),
      // The capture may have the acknowledgment first.
      ("p", .acknowledged, 0),
      // None of these is an answer.
      ("qs", .pending, nil),
      ("qoO", .pending, nil),
      // Not asked for, or nobody can know what for.
      ("v", nil, nil), ("oO", nil, nil), ("x", nil, nil), ("a", nil, nil),
    ] as [(String, HandshakeOutcome?, Int64?)])
  func tjp(_ drawing: String, _ expected: HandshakeOutcome?, _ seconds: Int64?) throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    let start: Int64 = 1_700_000_000_000
    talk.open(at: Timestamp(milliseconds: start - 10))
    let asks = Self.control(5, tag: 1)
    for (column, sign) in drawing.enumerated() {
      let now = Timestamp(milliseconds: start + Int64(column) * 1_000)
      switch sign {
      case "q": talk.send(asks.bytes, .clientToServer, at: now)
      case "x":
        var damaged = asks
        damaged.checksum = .bad
        talk.send(damaged.bytes, .clientToServer, at: now)
      case "a": talk.send(TJPFrameBuilder.echoACK(of: 0x0200_0005).bytes, .serverToClient, at: now)
      case "p":
        talk.send(TJPFrameBuilder.echoACK(of: 0x0200_0005).bytes, .serverToClient, at: now)
        talk.send(asks.bytes, .clientToServer, at: now)
      case "v": talk.send(Self.control(6, tag: 2).bytes, .serverToClient, at: now)
      case "A": talk.send(Self.control(77, tag: 2).bytes, .serverToClient, at: now)
      case "s": talk.send(Self.control(6, tag: 2).bytes, .clientToServer, at: now)
      case "o": talk.send(Self.control(9, tag: 0x20).bytes, .clientToServer, at: now)
      case "O": talk.send(TJPFrameBuilder.echoACK(of: 0x0200_0009).bytes, .serverToClient, at: now)
      case "R": talk.close(.reset(by: .serverToClient), at: now)
      default: talk.acknowledge(.clientToServer, at: now)
      }
    }
    let run = Run(talk.packets)
    let report = try #require(run.heard.reports.last)
    #expect(report.handshake == expected, "\(drawing)")
    let figures = try #require(report.figures)
    if let seconds {
      #expect(figures.readyAt.nanoseconds(since: figures.handshakeAt) == seconds * 1_000_000_000, "\(drawing)")
    } else {
      #expect(figures.readyAt == .distantPast, "\(drawing)")
    }
    run.expectLedgerAddsUp("\(drawing)")
  }

  private static func control(_ number: UInt32, tag: UInt16) -> TJPFrameBuilder {
    TJPFrameBuilder(
      type: TJPType.control, sequence: 0x0200_0000 + number, body: TLVBuilder().field(tag, [1, 0, 0, 11]).bytes)
  }

  /// CONNECT is answered by CONNACK, whose code may refuse; another exchange says nothing of it.
  @Test(
    arguments: [
      ([0], HandshakeOutcome.answered), ([5], .refused), ([], .unanswered),
    ] as [([UInt8], HandshakeOutcome)])
  func mqtt(_ codes: [UInt8], _ expected: HandshakeOutcome) throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    talk.open(at: Timestamp(milliseconds: 0))
    talk.send(MQTTPacketBuilder.connect(clientID: "phone"), .clientToServer, at: Timestamp(milliseconds: 100))
    for code in codes {
      talk.send(MQTTPacketBuilder.connack(code: code), .serverToClient, at: Timestamp(milliseconds: 130))
    }
    if codes.first != 5 {
      talk.send(MQTTPacketBuilder.subscribe(1, [("a/b", 1)]), .clientToServer, at: Timestamp(milliseconds: 200))
      talk.send(MQTTPacketBuilder.suback(1, [1]), .serverToClient, at: Timestamp(milliseconds: 220))
    }
    talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: 400))
    let report = try #require(Run(talk.packets).heard.reports.last)
    #expect(report.handshake == expected)
  }
}
