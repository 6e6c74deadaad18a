import IMEngine
import IMTestSupport
import IMWire
import Testing

/// What segments are found to be. Each case says what the client did after the handshake, and what is expected of it.
@Suite struct StreamAnalysisTests {
  static let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 50_000)
  static let server = Endpoint(address: IPAddress(v4: 0x0a00_0002), port: 443)

  /// A conversation after its handshake at 0 ms: the client's next number is 1001, the server's 5001.
  static func talk() -> ConversationBuilder {
    var talk = ConversationBuilder(client: client, server: server)
    talk.acknowledges = false
    talk.open(at: Timestamp(milliseconds: 0))
    return talk
  }

  static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var expected: [StreamEvent: UInt64]
    var act: @Sendable (inout ConversationBuilder) -> Void
  }

  static let bytes = [UInt8](repeating: 7, count: 100)

  static let cases: [Case] = [
    Case(testDescription: "nothing but data and its acknowledgments", expected: [:]) { talk in
      talk.send(bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
    },
    Case(testDescription: "sent again after 300 ms", expected: [.retransmission: 1]) { talk in
      let sent = talk.send(bytes, .clientToServer, at: at(10))
      talk.duplicate(sent[0], at: at(310))
    },
    Case(
      testDescription: "sent again although acknowledged", expected: [.retransmission: 1, .spuriousRetransmission: 1]
    ) { talk in
      let sent = talk.send(bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
      talk.duplicate(sent[0], at: at(310))
    },
    Case(testDescription: "captured twice within 30 us", expected: [.captureDuplicate: 1]) { talk in
      let sent = talk.send(bytes, .clientToServer, at: at(10))
      talk.duplicate(sent[0], at: at(10).advanced(by: 30_000))
    },
    Case(testDescription: "the SYN again", expected: [.retransmission: 1]) { talk in
      talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: at(500))
    },
    Case(testDescription: "overtaken within the round trip", expected: [.lostSegment: 1, .outOfOrder: 1]) { talk in
      talk.segmentSize = 100
      talk.spacing = 50_000
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      talk.swap(sent[0], sent[1])
    },
    Case(testDescription: "lost by the capture", expected: [.lostSegment: 1, .ackLostSegment: 1]) { talk in
      talk.segmentSize = 100
      let sent = talk.send(bytes + bytes, .clientToServer, at: at(10))
      talk.drop(sent[0])
      talk.acknowledge(.serverToClient, at: at(12))
    },
    Case(
      testDescription: "asked for by three acknowledgments",
      expected: [.lostSegment: 1, .duplicateAck: 2, .retransmission: 1, .fastRetransmission: 1]
    ) { talk in
      let ack = { (talk: inout ConversationBuilder, time: Int64) in
        _ = talk.append(.serverToClient, .ack, sequence: 5_001, acknowledgment: 1_101, at: at(time))
      }
      talk.send(bytes, .clientToServer, at: at(10))
      ack(&talk, 11)
      talk.append(.clientToServer, .ack, sequence: 1_201, acknowledgment: 5_001, payload: bytes, at: at(12))
      ack(&talk, 13)
      ack(&talk, 14)
      talk.append(.clientToServer, .ack, sequence: 1_101, acknowledgment: 5_001, payload: bytes, at: at(15))
    },
    Case(testDescription: "keep-alive and its answer", expected: [.keepAlive: 1, .keepAliveAck: 1]) { talk in
      talk.send(bytes, .clientToServer, at: at(10))
      talk.acknowledge(.serverToClient, at: at(11))
      talk.append(.clientToServer, .ack, sequence: 1_100, acknowledgment: 5_001, payload: [0], at: at(9_000))
      talk.acknowledge(.serverToClient, at: at(9_001))
    },
  ]

  @Test(arguments: cases) func event(_ test: Case) throws {
    var talk = Self.talk()
    test.act(&talk)
    let streams = collect(CaptureBuilder(talk))
    try #require(streams.count == 1)
    for event in StreamEvent.allCases {
      #expect(streams[0].analysis[event] == test.expected[event] ?? 0, "\(event.name)")
    }
  }

  @Test func closedWindowAndProbe() throws {
    var talk = Self.talk()
    talk.send(Self.bytes, .clientToServer, at: Self.at(10))
    var packet = TCPSegment(
      sourcePort: 443, destinationPort: 50_000, sequence: 5_001, acknowledgment: 1_101, flags: .ack)
    packet.window = 0
    var builder = PacketBuilder()
    let closed = builder.packet(packet, from: Self.server.address, to: Self.client.address)
    var capture = CaptureBuilder(talk)
    capture.packets.append(TimedPacket(timestamp: Self.at(20), bytes: closed))
    let probe = TCPSegment(
      sourcePort: 50_000, destinationPort: 443, sequence: 1_101, acknowledgment: 5_001, flags: .ack, payload: [1])
    capture.packets.append(
      TimedPacket(
        timestamp: Self.at(30), bytes: builder.packet(probe, from: Self.client.address, to: Self.server.address)))
    capture.packets.append(TimedPacket(timestamp: Self.at(31), bytes: closed))
    let stream = try #require(collect(capture).first)
    #expect(stream.directions[1].analysis[.zeroWindow] == 2)
    #expect(stream.directions[1].analysis[.zeroWindowProbeAck] == 1)
    #expect(stream.directions[0].analysis[.zeroWindowProbe] == 1)
    #expect(stream.analysis[.retransmission] == 0)
  }

  /// A probe of a byte that the receiver takes after all: its acknowledgment is one of the probe, and with a window again,
  /// news of that window; neither the next byte nor what follows is sent again.
  @Test(arguments: [(1_102 as UInt32, 0 as UInt16), (1_101, 500)]) func probeIsTaken(_ taken: UInt32, _ window: UInt16)
    throws
  {
    var talk = Self.talk()
    talk.send(Self.bytes, .clientToServer, at: Self.at(10))
    var capture = CaptureBuilder(talk)
    var builder = PacketBuilder()
    func add(_ milliseconds: Int64, _ acknowledgment: UInt32, _ window: UInt16) {
      var packet = TCPSegment(
        sourcePort: 443, destinationPort: 50_000, sequence: 5_001, acknowledgment: acknowledgment, flags: .ack)
      packet.window = window
      capture.packets.append(
        TimedPacket(
          timestamp: Self.at(milliseconds),
          bytes: builder.packet(packet, from: Self.server.address, to: Self.client.address)))
    }
    add(20, 1_101, 0)
    let probe = TCPSegment(
      sourcePort: 50_000, destinationPort: 443, sequence: 1_101, acknowledgment: 5_001, flags: .ack, payload: [1])
    capture.packets.append(
      TimedPacket(
        timestamp: Self.at(30), bytes: builder.packet(probe, from: Self.client.address, to: Self.server.address)))
    add(31, taken, window)
    let stream = try #require(collect(capture).first)
    #expect(stream.directions[0].analysis[.zeroWindowProbe] == 1)
    #expect(stream.directions[1].analysis[.zeroWindowProbeAck] == (window == 0 ? 1 : 0))
    #expect(stream.directions[1].analysis[.windowUpdate] == (window == 0 ? 0 : 1))
    #expect(stream.directions[1].analysis[.zeroWindow] == (window == 0 ? 2 : 1))
    #expect(stream.analysis[.retransmission] == 0)
  }

  @Test func roundTrips() throws {
    var talk = Self.talk()
    let sent = talk.send(Self.bytes, .clientToServer, at: Self.at(10))
    talk.acknowledge(.serverToClient, at: Self.at(14))
    // Sent twice: its acknowledgment tells nothing (Karn).
    let again = talk.send(Self.bytes, .clientToServer, at: Self.at(20))
    talk.duplicate(again[0], at: Self.at(320))
    talk.acknowledge(.serverToClient, at: Self.at(330))
    #expect(sent.count == 1)
    let stream = try #require(collect(CaptureBuilder(talk)).first)
    // The SYN's answer after 0.1 ms is the other one.
    #expect(stream.directions[1].acknowledgments.count == 2)
    #expect(stream.directions[1].acknowledgments.least == .microseconds(100))
    #expect(stream.directions[1].acknowledgments.most == .milliseconds(4))
    #expect(stream.serverHandshake == .microseconds(100))
    #expect(stream.clientHandshake == .microseconds(100))
    #expect(stream.handshake == .microseconds(200))
  }
}
