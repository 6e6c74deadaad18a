import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What is counted for a connection, when it is final, and whose it is.
@Suite struct FigureTests {
  private static let beat = TJPFrameBuilder.heartbeat(sequence: 0x0100_0001).bytes

  /// A message that something else is said after, `seconds` later.
  private static func packets(_ steps: (inout ConversationBuilder) -> Void, then seconds: Int64) -> [TimedPacket] {
    var later = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0063), port: 4_099), server: Talk.server(8_080))
    later.send(Scene.text(9_999), .clientToServer, at: Scene.ms(seconds * 1_000))
    return Scene.talk(steps) + later.packets
  }

  /// Metrics without a group count messages only: an unanswered heartbeat or control frame is not a message.
  @Test func connectionsCountMessages() throws {
    let run = Run(
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        talk.send(
          TJPFrameBuilder(type: TJPType.control, sequence: 0x0200_0001).bytes, .clientToServer, at: Scene.ms(100))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(200))
        talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(210))
        talk.send(Scene.text(2), .clientToServer, at: Scene.ms(300))
        talk.send(Self.beat, .clientToServer, at: Scene.ms(400))
        talk.close(.fin(by: .clientToServer), at: Scene.ms(500))
      })
    let report = try #require(run.heard.reports.first)
    let fates = report.rare.fates[0]
    #expect([fates.units, fates.acked, fates.unanswered, fates.open] == [2, 1, 1, 0])
    #expect(report.rare.unansweredControls == 1)
    #expect(report.rare.rejectedControls == 0)
    #expect(report.heartbeats?.missed == 1)
    run.expectLedgerAddsUp()
  }

  /// An answer counts within 60 s of the last copy; later it is an orphan, however long the engine still knows its message.
  @Test(arguments: [(59_000, Fate.acked), (61_000, .unanswered)] as [(Int64, Fate)])
  func lateAnswer(_ delay: Int64, _ fate: Fate) throws {
    let run = Run(
      Scene.talk { talk in
        talk.open(at: Scene.ms(0))
        // The one before, whose last copy comes late, keeps the table from forgetting the one that is answered.
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(100))
        talk.send(Scene.text(2), .clientToServer, at: Scene.ms(1_000))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(50_000))
        talk.send(TJPFrameBuilder.echoACK(of: 2).bytes, .serverToClient, at: Scene.ms(1_000 + delay))
      })
    let second = try #require(run.heard.finished.first { $0.sequence == 2 })
    #expect(second.fate == fate)
    #expect(second.isAnswered == (fate == .acked))
    #expect(run.frames.last?.isOrphan == (fate != .acked))
    #expect(run.issues.count { $0.kind == .orphanAck } == (fate == .acked ? 0 : 1))
    let report = try #require(run.heard.reports.first)
    #expect(report.rare.fates[0].late == (fate == .acked ? 1 : 0))
    run.expectLedgerAddsUp()
  }

  /// The last report of a connection waits as long as an answer would count, and has what came on the session's next one.
  @Test func lastReportIsFinal() throws {
    var next = ConversationBuilder(
      client: Endpoint(address: Talk.phone.address, port: 40_002), server: Talk.server(8_080))
    next.open(at: Scene.ms(20_000))
    next.send(Scene.text(2), .clientToServer, at: Scene.ms(20_100))
    next.send(TJPFrameBuilder.echoACK(of: 2).bytes, .serverToClient, at: Scene.ms(20_200))
    let first = Self.packets(
      { talk in
        talk.open(at: Scene.ms(0))
        talk.send(Scene.text(1), .clientToServer, at: Scene.ms(100))
        talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(110))
        talk.send(Scene.text(2), .clientToServer, at: Scene.ms(200))
        talk.close(.fin(by: .clientToServer), at: Scene.ms(300))
      }, then: 200)
    let run = Run((first + next.packets).sorted { $0.timestamp < $1.timestamp })
    let report = try #require(run.heard.reports.first { $0.info.serial == 1 && $0.isFinal })
    let fates = report.rare.fates[0]
    #expect([fates.units, fates.acked, fates.ackedAfterRetry, fates.unanswered, fates.late] == [2, 1, 1, 0, 1])
    run.expectLedgerAddsUp()
  }

  /// Without anything that could change, the report comes six seconds after the end.
  @Test(arguments: [(true, 6), (false, 60)] as [(Bool, Int64)]) func reportWaits(_ isAnswered: Bool, _ least: Int64)
    throws
  {
    var packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(100))
      if isAnswered { talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(110)) }
      talk.close(.fin(by: .clientToServer), at: Scene.ms(200))
    }
    var clock = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0063), port: 4_099), server: Talk.server(9))
    for second in 1...100 { clock.send([0], .clientToServer, at: Scene.ms(Int64(second) * 1_000)) }
    packets += clock.packets
    let run = Run(packets)
    let report = try #require(run.heard.reports.first { $0.info.serial == 1 && $0.isFinal })
    let waited = report.madeAt.nanoseconds(since: try #require(report.closedAt)) / 1_000_000_000
    #expect((least...least + 7).contains(waited))
  }

  /// A connection that failed belongs to the server that is known by its address, or that its port is usual for.
  @Test(arguments: [(8_080, 0), (9, UInt32.max)] as [(UInt16, UInt32)])
  func failedConnectionsHaveServers(_ port: UInt16, _ endpoint: UInt32) throws {
    for knows in [false, true] {
      var refused = ConversationBuilder(client: Talk.phone, server: Talk.server(port))
      refused.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Scene.ms(9_000))
      refused.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 1_001, at: Scene.ms(9_001))
      var good = ConversationBuilder(
        client: Endpoint(address: Talk.phone.address, port: 40_002), server: Talk.server(port))
      good.open(at: Scene.ms(0))
      good.send(Scene.text(1), .clientToServer, at: Scene.ms(100))
      let run = Run((knows ? good.packets : []) + refused.packets)
      let report = try #require(run.heard.reports.first { $0.reason == .refused })
      #expect(report.info.endpoint == (knows ? 0 : endpoint), "\(knows)")
    }
  }
}
