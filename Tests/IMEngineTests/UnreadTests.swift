import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Bytes that no plan decodes: TLS, protocols of others, the middle of something long.
@Suite struct UnreadTests {
  /// Leads packets through an engine and gives it back, with all that it knows at the end.
  private func engine(_ packets: [TimedPacket], _ heard: Recorder = Recorder()) -> Engine {
    var options = EngineOptions(plans: Plans.usual)
    options.needs = [.frames, .resolved, .finished, .issues, .connections]
    var engine = Engine(options: options, sink: heard)
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    return engine
  }

  private static func sized(_ bytes: [UInt8]) -> [UInt8] {
    var all: [UInt8] = []
    all.append(big: UInt16(bytes.count))
    return all + bytes
  }

  /// A ClientHello of TLS 1.3 in one record (RFC 8446, section 4.1.2), with the extensions server_name, ALPN and
  /// supported_versions.
  static func clientHello(_ name: String) -> [UInt8] {
    let serverName = sized([0] + sized([UInt8](name.utf8)))
    let protocols = sized([2] + [UInt8]("h2".utf8) + [8] + [UInt8]("http/1.1".utf8))
    let extensions = [0, 0] + sized(serverName) + [0, 0x10] + sized(protocols) + [0, 0x2b, 0, 3, 2, 3, 4]
    let random = [UInt8](repeating: 0xa5, count: 32)
    let message = [3, 3] + random + [0] + sized([0x13, 1]) + [1, 0] + sized(extensions)
    return [0x16, 3, 1] + sized([1, 0] + sized(message))
  }

  /// TLS is known by its first message, however that is cut: none of its bytes is decoded, all are counted, and what the
  /// message says to everybody is kept.
  @Test(arguments: [1, 7, 40, 1_448]) func tls(_ segmentSize: Int) throws {
    let hello = Self.clientHello("im.example")
    let rest = [UInt8](repeating: 0x17, count: 1_000)
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_443))
    talk.segmentSize = segmentSize
    talk.open(at: Scene.ms(0))
    talk.send(hello, .clientToServer, at: Scene.ms(10))
    talk.segmentSize = 1_448
    talk.send(rest, .serverToClient, at: Scene.ms(200))
    talk.send(rest, .clientToServer, at: Scene.ms(300))
    talk.close(.fin(by: .clientToServer), at: Scene.ms(400))
    let heard = Recorder()
    let engine = engine(talk.packets, heard)
    let all = UInt64(hello.count + 2 * rest.count)
    #expect(engine.totals.tlsConnections == 1)
    #expect(engine.totals.tlsBytes == all)
    #expect(engine.totals.unreadBytes == all)
    #expect(heard.frames.isEmpty)
    let told = try #require(engine.tls.values.first)
    #expect(told.serverName == "im.example")
    #expect(told.protocols == ["h2", "http/1.1"])
    #expect(told.versionName == "TLS 1.3")
    #expect(engine.tls.count == 1)
    #expect(engine.busiestUndecodedPorts(3).map { [UInt64($0.port), $0.bytes] } == [[8_443, all]])
    #expect(engine.connectionCount <= 1)
  }

  /// Bytes of no protocol are counted by the lower port of their connection, the busiest port first.
  @Test func busiestPorts() {
    let sizes: [(port: UInt16, count: Int)] = [(9_001, 5_000), (9_002, 9_000), (9_003, 7_000), (9_004, 6_000)]
    let talks = sizes.map { port, count in
      Scene.unknown(port, count)
    }
    let engine = engine(talks.flatMap { $0 }.sorted { $0.timestamp < $1.timestamp })
    #expect(engine.busiestUndecodedPorts(3).map { Int($0.port) } == [9_002, 9_003, 9_004])
    #expect(engine.busiestUndecodedPorts(3).map { Int($0.bytes) } == [9_000, 7_000, 6_000])
    #expect(engine.totals.unreadBytes == 27_000)
  }

  /// A capture that begins inside something long, on a port that promises the protocol: it is passed over for as long as a
  /// frame may be, and the first frame behind it is found.
  @Test(arguments: [70_000, 200_000, 1_000_000]) func midstream(_ count: Int) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.send([UInt8](repeating: 0x58, count: count), .clientToServer, at: Scene.ms(0))
    let frames = (1...3).map { TJPFrameBuilder(text: "behind it", sequence: $0).bytes }
    for (i, frame) in frames.enumerated() { talk.send(frame, .clientToServer, at: Scene.ms(1_000 + Int64(i) * 10)) }
    let run = Run(talk.packets)
    #expect(run.frames.map(\.bytes) == frames)
    #expect(run.ledger.unreadBytes + run.ledger.strayBytes == UInt64(count))
    run.expectLedgerAddsUp()
  }
}

extension Scene {
  /// A connection on `port` whose client says `count` bytes of no protocol.
  fileprivate static func unknown(_ port: UInt16, _ count: Int) -> [TimedPacket] {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(port))
    talk.open(at: ms(0))
    talk.send([UInt8](repeating: 0x58, count: count), .clientToServer, at: ms(10))
    talk.close(.fin(by: .clientToServer), at: ms(100))
    return talk.packets
  }
}
