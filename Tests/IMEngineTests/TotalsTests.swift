import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What an engine can be asked for at its end.
@Suite struct TotalsTests {
  private func engine(_ packets: [TimedPacket], _ heard: Recorder = Recorder()) -> Engine {
    var options = EngineOptions(plans: Plans.usual)
    options.needs = [.frames, .resolved, .finished, .issues, .connections]
    var engine = Engine(options: options, sink: heard)
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    return engine
  }

  /// A capture without packets has no time, no server and no connection.
  @Test func nothing() {
    let engine = engine([])
    #expect(engine.totals.packets == 0)
    #expect(engine.totals.firstAt == nil)
    #expect(engine.totals.lastAt == nil)
    #expect(engine.endpoints().isEmpty)
    #expect(engine.busiestUndecodedPorts(1).isEmpty)
    #expect(engine.heldBytes == 0 && engine.connectionCount == 0 && engine.expiredDatagrams == 0)
  }

  /// A session has the name that its client gave itself, or the number that the wire has.
  @Test func sessions() throws {
    var named = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    named.open(at: Scene.ms(0))
    named.send(MQTTPacketBuilder.connect(clientID: "phone-21"), .clientToServer, at: Scene.ms(10))
    var numbered = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    numbered.open(at: Scene.ms(100))
    numbered.send(TJPFrameBuilder(text: "hi", sequence: 1, session: 77).bytes, .clientToServer, at: Scene.ms(110))
    let heard = Recorder()
    let engine = engine(named.packets + numbered.packets, heard)
    try #require(heard.frames.count == 2)
    let (mqtt, tjp) = (heard.frames[0].session, heard.frames[1].session)
    #expect(engine.sessionName(mqtt) == "phone-21")
    #expect(engine.sessionName(tjp) == nil)
    #expect(engine.sessionKey(tjp) == 77)
    #expect(!engine.sessionIsUncertain(mqtt) && !engine.sessionIsUncertain(tjp))
    #expect(engine.endpoints().map(\.endpoint) == [Talk.server(1_883), Talk.server(8_080)])
  }

  /// A datagram of which only the first part comes is given up when its time is over.
  @Test func datagramInParts() {
    var part = [UInt8](hex: "020000000001 020000000002 0800 4500 003c 0007 2000 4006 0000 0a000001 0a000002")
    part += [UInt8](repeating: 1, count: 40)
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Scene.ms(600_000))
    let first = TimedPacket(timestamp: Scene.ms(0), bytes: part)
    var again = part
    again[19] = 8
    let engine = engine([first] + talk.packets + [TimedPacket(timestamp: Scene.ms(600_100), bytes: again)])
    #expect(engine.expiredDatagrams == 1)
    #expect(engine.totals.skipped[Int(SkipReason.fragmentHeld.rawValue)] == 2)
  }
}
