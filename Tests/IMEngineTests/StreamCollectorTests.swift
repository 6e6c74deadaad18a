import IMEngine
import IMTestSupport
import IMWire
import Testing

/// Which packets make a stream, what of it is kept, and what no input may do.
@Suite struct StreamCollectorTests {
  static let client = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 50_000)
  static let server = Endpoint(address: IPAddress(v4: 0x0a00_0002), port: 443)

  static func talk(_ link: LinkLayer = .ethernet, initial: (UInt32, UInt32) = (1_000, 5_000)) -> ConversationBuilder {
    ConversationBuilder(client: client, server: server, link: link, initial: initial)
  }

  static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

  static func ranges(_ ranges: [StreamRange]) -> [[Int]] { ranges.map { [$0.offset, $0.count] } }

  @Test func wholeConversation() throws {
    var talk = Self.talk(initial: (UInt32.max - 2, 5_000))
    talk.open(at: Self.at(0))
    talk.send(Array("hello, wrapped world".utf8), .clientToServer, at: Self.at(1))
    talk.send(Array("yes".utf8), .serverToClient, at: Self.at(2))
    talk.close(.fin(by: .clientToServer), at: Self.at(3))
    let stream = try #require(collect(CaptureBuilder(talk)).first)
    #expect(stream.id == 1)
    #expect(stream.firstFrame == 1)
    #expect(stream.client == Self.client)
    #expect(stream.server == Self.server)
    #expect(stream.sawSYN)
    #expect(stream.directions[0].content.flatMap { $0 } == Array("hello, wrapped world".utf8))
    #expect(stream.directions[1].content.flatMap { $0 } == Array("yes".utf8))
    #expect(stream.directions.allSatisfy { $0.gaps.isEmpty })
    #expect(stream.isComplete)
  }

  /// More streams than any table begins with: each has its bytes, in the order of their first packets.
  @Test func manyStreams() {
    let count: UInt32 = 3_000
    var packets: [TimedPacket] = []
    for turn in 0...1 {
      for i in 0..<count {
        var data = FloodPacket(
          [.psh, .ack], payload: [UInt8(truncatingIfNeeded: i), UInt8(turn)], sourcePort: 4_000, destinationPort: 443)
        data.set(from: 0x0a00_0000 + i, to: 0x0b00_0001, sequence: 100 + UInt32(turn) * 2, acknowledgment: 500)
        packets.append(TimedPacket(timestamp: Self.at(Int64(packets.count)), bytes: data.bytes))
      }
    }
    let streams = collect(CaptureBuilder(packets))
    #expect(streams.count == Int(count))
    #expect(
      streams.enumerated().allSatisfy { i, stream in
        let byte = UInt8(truncatingIfNeeded: i)
        return stream.firstFrame == UInt64(i + 1) && stream.client.address == IPAddress(v4: 0x0a00_0000 + UInt32(i))
          && stream.directions[0].content.flatMap { $0 } == [byte, 0, byte, 1]
      })
  }

  @Test func newNumberBeginsAnotherStream() {
    var first = Self.talk()
    first.open(at: Self.at(0))
    first.send([1], .clientToServer, at: Self.at(1))
    var second = Self.talk(initial: (900_000, 700_000))
    second.open(at: Self.at(100))
    second.send([2], .clientToServer, at: Self.at(101))
    // The same number again is only the SYN again.
    second.append(.clientToServer, .syn, sequence: 900_000, acknowledgment: 0, at: Self.at(200))
    let streams = collect(CaptureBuilder(first, second))
    #expect(streams.map(\.id) == [1, 2])
    #expect(streams.map(\.firstFrame) == [1, 6])
    #expect(streams.map { $0.directions[0].content.flatMap { $0 } } == [[1], [2]])
  }

  @Test func answerToUnseenSYNTellsTheClient() throws {
    var talk = Self.talk()
    let handshake = talk.open(at: Self.at(0))
    talk.drop(handshake[0])
    let stream = try #require(collect(CaptureBuilder(talk)).first)
    #expect(stream.client == Self.client)
    #expect(!stream.sawSYN)
  }

  @Test func tagsDoNotSplit() {
    var plain = Self.talk()
    plain.open(at: Self.at(0))
    var tagged = Self.talk(.vlan([7, 8]))
    tagged.append(.clientToServer, .ack, sequence: 1_001, acknowledgment: 5_001, payload: [9], at: Self.at(5))
    let streams = collect(CaptureBuilder(plain, tagged))
    #expect(streams.count == 1)
    #expect(streams.first?.directions[0].content.flatMap { $0 } == [9])
  }

  @Test func resetsAndJumpsAreLeftOut() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send([1, 2, 3], .clientToServer, at: Self.at(1))
    talk.append(
      .clientToServer, .ack, sequence: 1_001 + 1 << 30 + 4, acknowledgment: 5_001, payload: [4], at: Self.at(2))
    talk.append(.clientToServer, .rst, sequence: 1_004, acknowledgment: 0, payload: [5, 6], at: Self.at(3))
    let direction = try #require(collect(CaptureBuilder(talk)).first).directions[0]
    #expect(Self.ranges(direction.ranges) == [[0, 3]])
    #expect(direction.gaps.isEmpty)
    #expect(direction.farBytes == 1)
    #expect(direction.resetBytes == 2)
  }

  @Test func snaplenCutsOptions() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send([1, 2, 3], .clientToServer, at: Self.at(1))
    var capture = CaptureBuilder(talk)
    capture.snapLength = 54
    let stream = try #require(collect(capture).first)
    #expect(stream.sawSYN)
    #expect(stream.directions[0].ranges.isEmpty)
    #expect(Self.ranges(stream.directions[0].gaps) == [[0, 3]])
  }

  @Test(arguments: [1, 2, 3, 7]) func batchesDoNotMatter(size: Int) {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send([UInt8](repeating: 3, count: 10_000), .clientToServer, at: Self.at(1))
    let whole = collect(CaptureBuilder(talk))
    let pieces = collect(CaptureBuilder(talk), batch: size)
    #expect(whole.map { $0.directions[0].ranges } == pieces.map { $0.directions[0].ranges })
    #expect(whole.map(\.analysis) == pieces.map(\.analysis))
  }

  @Test func limitsAreTold() throws {
    var talk = Self.talk()
    talk.segmentSize = 10
    talk.open(at: Self.at(0))
    let sent = talk.send([UInt8](0..<100), .clientToServer, at: Self.at(1))
    var options = StreamOptions()
    options.contentLimit = 35
    let content = try #require(collect(CaptureBuilder(talk), options: options).first)
    #expect(Self.ranges(content.directions[0].ranges) == [[0, 100]])
    #expect(content.directions[0].content.flatMap { $0 } == [UInt8](0..<30))
    #expect(content.directions[0].bytesNotKept == 70)
    #expect(!content.isComplete)

    // Every second segment is missing: each of the others is a piece.
    for i in stride(from: 1, to: sent.count, by: 2) { talk.drop(sent[i]) }
    options = StreamOptions()
    options.pieceLimit = 3
    let pieces = try #require(collect(CaptureBuilder(talk), options: options).first)
    #expect(Self.ranges(pieces.directions[0].ranges) == [[0, 10], [20, 10], [40, 10]])
    #expect(pieces.directions[0].payloadLeftOut == 20)

    options = StreamOptions()
    options.streamLimit = 0
    var collector = StreamCollector(options: options)
    feed(&collector, CaptureBuilder(talk))
    #expect(collector.packetsLeftOut == collector.segments)
    #expect(collector.finish().isEmpty)
  }

  @Test func scatteredBytesComeTogether() throws {
    // 3,000 bytes, one a segment, the odd ones first and backwards: more pieces than a block holds.
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    let odd = stride(from: 2_999, through: 1, by: -2)
    for (i, place) in (Array(odd) + Array(stride(from: 0, to: 3_000, by: 2))).enumerated() {
      talk.append(
        .clientToServer, .ack, sequence: 1_001 + UInt32(place), acknowledgment: 5_001,
        payload: [UInt8(truncatingIfNeeded: place)], at: Self.at(Int64(10 + i)))
    }
    let direction = try #require(collect(CaptureBuilder(talk)).first).directions[0]
    #expect(Self.ranges(direction.ranges) == [[0, 3_000]])
    #expect(direction.content.flatMap { $0 } == (0..<3_000).map { UInt8(truncatingIfNeeded: $0) })
  }

  @Test(arguments: 0..<40) func noiseDoesNotTrap(seed: Int) {
    var random = StreamScriptTests.Random(state: UInt64(seed))
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send([UInt8](repeating: 1, count: 600), .clientToServer, at: Self.at(1))
    var capture = CaptureBuilder(talk)
    for _ in 0..<200 {
      guard var packet = capture.packets.randomElement(using: &random) else { continue }
      for _ in 0..<Int.random(in: 1...6, using: &random) where !packet.bytes.isEmpty {
        packet.bytes[Int.random(in: 0..<packet.bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      packet.bytes.removeLast(Int.random(in: 0...min(9, packet.bytes.count), using: &random))
      packet.linkType = [0, 1, 1, 1, 101, 113, 276].randomElement(using: &random) ?? 1
      packet.timestamp = Timestamp(nanoseconds: Int64.random(in: Int64.min...Int64.max, using: &random))
      packet.originalLength = UInt32.random(in: 0...UInt32.max, using: &random)
      capture.packets.append(packet)
    }
    for stream in collect(capture) {
      for direction in stream.directions {
        #expect(direction.content.reduce(0) { $0 + $1.count } == direction.ranges.reduce(0) { $0 + $1.count })
      }
    }
  }
}
