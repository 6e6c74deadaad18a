import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// MQTT in WebSocket frames: what comes out is what went in, whatever happens to the segments.
@Suite struct WebSocketTests {
  /// What one side writes at once, and the protocol's frames in it that are whole.
  struct Step: Sendable {
    var direction: Direction
    var bytes: [UInt8]
    var frames: [[UInt8]] = []
  }

  private static let key: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]

  private static func frame(
    _ payload: [UInt8], _ direction: Direction, opcode: UInt8 = 2, isFinal: Bool = true, isCompressed: Bool = false
  ) -> [UInt8] {
    WebSocketBuilder.frame(
      payload, opcode: opcode, isFinal: isFinal, isCompressed: isCompressed,
      key: direction == .clientToServer ? key : nil)
  }

  private static func say(_ direction: Direction, _ frames: [UInt8]...) -> Step {
    Step(direction: direction, bytes: frame(frames.flatMap { $0 }, direction), frames: frames)
  }

  static let opening = [
    Step(direction: .clientToServer, bytes: WebSocketBuilder.request()),
    Step(direction: .serverToClient, bytes: WebSocketBuilder.answer()),
  ]

  /// A conversation: packets alone, two in a frame, one in two frames, one in three fragments with a ping between them.
  static let talk: [Step] = {
    let long = MQTTPacketBuilder.publish("a/b", [UInt8](repeating: 0x61, count: 300), qos: 1, packetID: 4)
    let cut = MQTTPacketBuilder.publish("a/b", [UInt8]("in two frames".utf8), qos: 1, packetID: 5)
    let parts = MQTTPacketBuilder.publish("a/b", [UInt8]("in three fragments".utf8), qos: 1, packetID: 6)
    return [
      say(.clientToServer, MQTTPacketBuilder.connect(clientID: "web")),
      say(.serverToClient, MQTTPacketBuilder.connack()),
      say(.clientToServer, MQTTPacketBuilder.subscribe(1, [("a/b", 1)])),
      say(.serverToClient, MQTTPacketBuilder.suback(1, [1])),
      say(
        .clientToServer, MQTTPacketBuilder.publish("a/b", [1, 2], qos: 1, packetID: 2),
        MQTTPacketBuilder.publish("a/b", [3], qos: 1, packetID: 3)),
      say(.serverToClient, MQTTPacketBuilder.puback(2), MQTTPacketBuilder.puback(3)),
      say(.clientToServer, long), say(.serverToClient, MQTTPacketBuilder.puback(4)),
      Step(direction: .clientToServer, bytes: frame([UInt8](cut[..<7]), .clientToServer)),
      Step(direction: .clientToServer, bytes: frame([UInt8](cut[7...]), .clientToServer), frames: [cut]),
      say(.serverToClient, MQTTPacketBuilder.puback(5)),
      Step(direction: .clientToServer, bytes: frame([UInt8](parts[..<5]), .clientToServer, isFinal: false)),
      Step(direction: .clientToServer, bytes: frame([9, 9], .clientToServer, opcode: 9)),
      Step(direction: .clientToServer, bytes: frame([UInt8](parts[5..<9]), .clientToServer, opcode: 0, isFinal: false)),
      Step(direction: .serverToClient, bytes: frame([9, 9], .serverToClient, opcode: 10)),
      Step(direction: .clientToServer, bytes: frame([UInt8](parts[9...]), .clientToServer, opcode: 0), frames: [parts]),
      say(.serverToClient, MQTTPacketBuilder.puback(6)), say(.clientToServer, MQTTPacketBuilder.pingreq),
      say(.serverToClient, MQTTPacketBuilder.pingresp), say(.clientToServer, MQTTPacketBuilder.disconnect),
      Step(direction: .clientToServer, bytes: frame([3, 0xe8], .clientToServer, opcode: 8)),
      Step(direction: .serverToClient, bytes: frame([3, 0xe8], .serverToClient, opcode: 8)),
    ]
  }()

  /// The packets of a connection; `segmentSize` cuts what is written, `from` leaves out what was written before, and
  /// `without` one segment.
  static func packets(
    _ steps: [Step], segmentSize: Int = 1_448, isOpened: Bool = true, without: Int? = nil
  ) -> [TimedPacket] {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(9_001))
    talk.segmentSize = segmentSize
    if isOpened { talk.open(at: Scene.ms(0)) }
    var segments: [Int] = []
    for (i, step) in steps.enumerated() {
      segments += talk.send(step.bytes, step.direction, at: Scene.ms(Int64(i + 1) * 100))
    }
    if isOpened { talk.close(.fin(by: .clientToServer), at: Scene.ms(Int64(steps.count + 2) * 100)) }
    if let without { talk.drop(segments[without]) }
    return talk.packets
  }

  private static func frames(_ steps: [Step], _ direction: Direction) -> [[UInt8]] {
    steps.filter { $0.direction == direction }.flatMap(\.frames)
  }

  private func frames(_ run: Run, _ direction: Direction) -> [[UInt8]] {
    run.frames.filter { $0.direction == direction }.map(\.bytes)
  }

  // MARK: Headers

  static let headers: [(String, [UInt8], Bool?, Bool, WebSocketHeader.Outcome)] = [
    ("nothing", [], nil, true, .needMore), ("one byte", [0x82], nil, true, .needMore),
    ("reserved opcode", [0x83], nil, true, .invalid), ("RSV2", [0xa2], nil, true, .invalid),
    ("compressed where it may not be", [0xc2], nil, false, .invalid),
    ("compressed continuation", [0xc0], nil, true, .invalid),
    ("control frame in parts", [0x09, 0], nil, true, .invalid), ("long ping", [0x89, 126], nil, true, .invalid),
    ("close of one byte", [0x88, 1], nil, true, .invalid),
    ("masked by a server", [0x82, 0x81], false, true, .invalid),
    ("not masked by a client", [0x82, 1], true, true, .invalid),
    ("length that would be shorter", [0x82, 126, 0, 125], nil, true, .invalid),
    ("long length that would be shorter", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], nil, true, .invalid),
    ("length of 2^63", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], nil, true, .invalid),
    ("length of 1 GiB and one", [0x82, 127, 0, 0, 0, 0, 0x40, 0, 0, 1], nil, true, .invalid),
    ("mask cut", [0x82, 0x81, 1, 2, 3], nil, true, .needMore),
    (
      "16 bits", [0x02, 126, 1, 0], nil, true,
      .header(
        WebSocketHeader(isFinal: false, isCompressed: false, opcode: 2, key: nil, payloadCount: 256, count: 4))
    ),
    (
      "64 bits, masked", [0xc1, 255, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4], true, true,
      .header(
        WebSocketHeader(
          isFinal: true, isCompressed: true, opcode: 1, key: 0x0102_0304, payloadCount: 65_536, count: 14))
    ),
  ]

  @Test func everyHeader() {
    for (name, bytes, isMasked, allows, outcome) in Self.headers {
      let padded = bytes + [UInt8](repeating: 0, count: 16)
      let found = WebSocketHeader.read(
        Bytes(padded.span.bytes), 0, bytes.count, isMasked: isMasked, allowsCompression: allows)
      #expect(found == outcome, "\(name)")
    }
  }

  // MARK: Whole connections

  @Test func conversation() {
    let run = Run(Self.packets(Self.opening + Self.talk))
    run.expectLedgerAddsUp()
    for direction in [Direction.clientToServer, .serverToClient] {
      #expect(frames(run, direction) == Self.frames(Self.talk, direction))
    }
    let payload = Self.talk.flatMap(\.frames).reduce(0) { $0 + $1.count }
    let all = (Self.opening + Self.talk).reduce(0) { $0 + $1.bytes.count }
    #expect(run.ledger.decodedBytes == UInt64(payload))
    #expect(run.ledger.carrierBytes == UInt64(all - payload))
    #expect(run.ledger.strayBytes == run.ledger.carrierBytes)
    #expect(run.issues.isEmpty)
    let figures = run.heard.reports.first?.carrier?.webSocket
    #expect(figures?.answered[0] == 1)
    #expect(figures?.roundTripSum == 200_000)
    #expect(figures?.closeStatus == 1_000)
    #expect(run.heard.reports.first?.info.carriers == [.webSocket])
    // The first frame stands behind the request, its own header and its mask.
    #expect(run.frames.first?.streamOffset == UInt64(Self.opening[0].bytes.count + 6))
  }

  /// However segments cut the streams, the same frames come out, each at the time of the segment with its last byte.
  @Test func everySize() {
    let whole = Run(Self.packets(Self.opening + Self.talk))
    for size in 1...80 {
      let run = Run(Self.packets(Self.opening + Self.talk, segmentSize: size))
      run.expectLedgerAddsUp("\(size)")
      for direction in [Direction.clientToServer, .serverToClient] {
        #expect(frames(run, direction) == Self.frames(Self.talk, direction), "\(size)")
      }
      #expect(run.ledger.carrierBytes == whole.ledger.carrierBytes, "\(size)")
      #expect(
        run.frames.filter { $0.direction == .clientToServer }.map(\.streamOffset)
          == whole.frames.filter { $0.direction == .clientToServer }.map(\.streamOffset), "\(size)")
      #expect(run.issues.isEmpty, "\(size)")
    }
  }

  /// The client's stream cut once at every offset.
  @Test func everyCut() {
    let steps = Self.opening + Self.talk
    for (i, step) in steps.enumerated() {
      for cut in 1..<max(2, step.bytes.count) {
        var parts = steps
        parts[i] = Step(direction: step.direction, bytes: [UInt8](step.bytes[..<cut]))
        parts.insert(
          Step(direction: step.direction, bytes: [UInt8](step.bytes[cut...]), frames: step.frames), at: i + 1)
        let run = Run(Self.packets(parts))
        run.expectLedgerAddsUp("\(i) at \(cut)")
        for direction in [Direction.clientToServer, .serverToClient] {
          #expect(frames(run, direction) == Self.frames(Self.talk, direction), "\(i) at \(cut)")
        }
      }
    }
  }

  /// One segment of the capture is missing: every frame that is whole without it is decoded. A ping between the fragments of
  /// a frame costs nothing: they have as many bytes as the frame.
  @Test func oneMissing() {
    let steps = Self.opening + Self.talk
    for missing in steps.indices {
      let run = Run(Self.packets(steps, without: missing))
      run.expectLedgerAddsUp("\(missing)")
      for direction in [Direction.clientToServer, .serverToClient] {
        var left = steps
        left.remove(at: missing)
        var expected = Self.frames(left, direction)
        let touched = [10: 11, 13: 17, 15: 17, 17: 17][missing]
        if let touched, steps[missing].direction == direction {
          expected.removeAll { steps[touched].frames.contains($0) }
        }
        #expect(frames(run, direction) == expected, "\(missing) \(direction)")
      }
    }
  }

  /// Each segment in turn arrives long after its acknowledgment, when its place was given up: every frame is decoded, once.
  @Test func oneLate() throws {
    let steps = Self.opening + Self.talk
    for late in steps.indices {
      var packets = Self.packets(steps)
      let bytes = steps[late].bytes
      let place = try #require(
        packets.firstIndex { $0.bytes.suffix(bytes.count).elementsEqual(bytes) && $0.bytes.count > bytes.count })
      let packet = packets.remove(at: place)
      let time = packet.timestamp.advanced(by: Nanoseconds.milliseconds(450))
      packets.insert(
        TimedPacket(packet, at: time), at: packets.firstIndex { $0.timestamp > time } ?? packets.count)
      let run = Run(packets)
      run.expectLedgerAddsUp("\(late)")
      for direction in [Direction.clientToServer, .serverToClient] {
        let expected = Self.frames(steps, direction).map { String(decoding: $0, as: UTF8.self) }.sorted()
        let found = frames(run, direction).map { String(decoding: $0, as: UTF8.self) }.sorted()
        #expect(found == expected, "\(late) \(direction)")
      }
    }
  }

  /// A capture that begins in the middle: frames that follow one another and carry the protocol tell.
  @Test func midstream() {
    for first in 0..<10 {
      let steps = [Step](Self.talk[first...])
      let run = Run(Self.packets(steps, isOpened: false))
      run.expectLedgerAddsUp("\(first)")
      let found = Set(run.frames.map(\.bytes))
      let all = Set(steps.flatMap(\.frames))
      #expect(all.subtracting(found).count <= (first == 9 ? 1 : 0), "\(first)")
      #expect(found.subtracting(all).isEmpty, "\(first)")
    }
  }

  /// A PROXY header, then WebSocket, then the protocol.
  @Test func proxied() {
    let client = Endpoint(address: IPAddress(v4: 0xc000_024d), port: 50_110)
    let header = ProxyHeaderBuilder.binary(client, Endpoint(address: IPAddress(v4: 0xc633_6401), port: 443))
    let run = Run(Self.packets([Step(direction: .clientToServer, bytes: header)] + Self.opening + Self.talk))
    run.expectLedgerAddsUp()
    #expect(frames(run, .clientToServer) == Self.frames(Self.talk, .clientToServer))
    #expect(run.heard.reports.map(\.info.client) == [client])
    #expect(run.heard.reports.map(\.info.carriers) == [[.proxy2, .webSocket]])
  }

  /// Frames of a protocol that nobody reads are counted all the same.
  @Test func unread() {
    let text = Self.frame([UInt8](repeating: 0x7a, count: 600), .serverToClient, opcode: 1)
    let steps = Self.opening + [Step](repeating: Step(direction: .serverToClient, bytes: text), count: 40)
    let run = Run(Self.packets(steps))
    run.expectLedgerAddsUp()
    #expect(run.ledger.webSocketFrames[Int(WebSocketFrameType.text.rawValue)] == 40)
    #expect(run.ledger.unreadBytes == 40 * 600)
    #expect(run.ledger.decodedConnections == 0)
  }

  /// A server that does not want WebSocket.
  @Test func refused() {
    let answer = [UInt8]("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8)
    let steps = [Self.opening[0], Step(direction: .serverToClient, bytes: answer)]
    let run = Run(Self.packets(steps))
    run.expectLedgerAddsUp()
    #expect(run.ledger.webSocketConnections == 0)
    #expect(run.frames.isEmpty)
  }

  // MARK: Compression

  /// Two PUBLISH packets that say the same, by Python's `zlib`: the second one goes on with the first one's window, or not.
  private static let words = [UInt8]("the same words, again and again".utf8)
  private static let publishes = [2, 3].map { MQTTPacketBuilder.publish("a/b", words, qos: 1, packetID: $0) }
  private static let kept = [
    "325263604ed44f62602ac94855284ecc4d5528cf2f4a29d651484c4fcccc5348cc4b81b00000", "3282aa6326a00e00",
  ].map { [UInt8](hex: $0) }
  private static let alone = [
    "325263604ed44f62602ac94855284ecc4d5528cf2f4a29d651484c4fcccc5348cc4b81b00000",
    "325263604ed44f62602ec94855284ecc4d5528cf2f4a29d651484c4fcccc5348cc4b81b00000",
  ].map { [UInt8](hex: $0) }

  private func deflated(_ packed: [[UInt8]], _ agreed: String, without: Int? = nil) -> Run {
    let opening = [
      Step(direction: .clientToServer, bytes: WebSocketBuilder.request(extensions: "permessage-deflate")),
      Step(direction: .serverToClient, bytes: WebSocketBuilder.answer(extensions: agreed)),
      Self.say(.clientToServer, MQTTPacketBuilder.connect(clientID: "web")),
    ]
    let steps = packed.map {
      Step(direction: .clientToServer, bytes: Self.frame($0, .clientToServer, isCompressed: true))
    }
    return Run(Self.packets(opening + steps, without: without)) { $0.inflateLimit = 1 << 21 }
  }

  @Test func compressed() {
    for (packed, agreed) in [
      (Self.kept, "permessage-deflate"), (Self.alone, "permessage-deflate; client_no_context_takeover"),
    ] {
      let run = deflated(packed, agreed)
      #expect(run.frames.dropFirst().map(\.bytes) == Self.publishes, "\(agreed)")
      #expect(run.issues.isEmpty)
      // What they were on the wire counts, not what they say.
      let connect = UInt64(MQTTPacketBuilder.connect(clientID: "web").count)
      #expect(run.ledger.decodedBytes == connect + UInt64(packed.reduce(0) { $0 + $1.count }), "\(agreed)")
      #expect(run.heard.reports.first?.info.carriers == [.webSocket, .deflate])
      #expect(
        run.reassembly.payloadBytes == run.ledger.decodedBytes + run.ledger.strayBytes + run.ledger.unreadBytes)
    }
  }

  /// Without the first message, the second one is read where it stands alone, and told where it does not.
  @Test func windowMissing() {
    let alone = deflated(Self.alone, "permessage-deflate; client_no_context_takeover", without: 3)
    #expect(alone.frames.last?.bytes == Self.publishes[1])
    let kept = deflated(Self.kept, "permessage-deflate", without: 3)
    #expect(kept.frames.count == 1)
    // What stands in front of the first reference to the missing window was read, and is a frame that is cut.
    let told = kept.issues.filter { $0.kind == .notInflated }.map(\.byteCount)
    #expect(told.count == 1 && told[0] > 0 && told[0] <= UInt64(Self.kept[1].count))
    #expect(kept.heard.reports.first?.carrier?.webSocket?.notInflated == told[0])
    #expect(
      kept.reassembly.payloadBytes == kept.ledger.decodedBytes + kept.ledger.strayBytes + kept.ledger.unreadBytes)
  }

  /// A message in several segments of which one is missing: what it holds is lost as bytes of the carrier, whether it is
  /// compressed or not, and those behind it are read. Compressed, it is a stored block (RFC 1951, section 3.2.4), which
  /// leaves nothing to refer to.
  @Test(arguments: [false, true], [1, 2]) func segmentMissing(_ isCompressed: Bool, _ lost: Int) {
    func packed(_ bytes: [UInt8]) -> [UInt8] {
      var block: [UInt8] = [0]
      block.append(little: UInt16(bytes.count))
      block.append(little: ~UInt16(bytes.count))
      return block + bytes + [0]
    }
    let agreed = "permessage-deflate; client_no_context_takeover"
    var steps = [
      Step(direction: .clientToServer, bytes: WebSocketBuilder.request(extensions: isCompressed ? agreed : nil)),
      Step(direction: .serverToClient, bytes: WebSocketBuilder.answer(extensions: isCompressed ? agreed : nil)),
      Self.say(.clientToServer, MQTTPacketBuilder.connect(clientID: "web")),
    ]
    var said: [[UInt8]] = []
    for (i, count) in [100, 5_000, 200, 300].enumerated() {
      said.append(
        MQTTPacketBuilder.publish("a/b", [UInt8](repeating: 0x61, count: count), qos: 1, packetID: UInt16(i + 2)))
      let payload = isCompressed ? packed(said[i]) : said[i]
      steps.append(
        Step(
          direction: .clientToServer, bytes: Self.frame(payload, .clientToServer, isCompressed: isCompressed),
          frames: [said[i]]))
    }
    // Three segments of the opening and CONNECT, one of the first message, and then four of the long one.
    let run = Run(Self.packets(steps, without: 4 + lost))
    let whole = frames(run, .clientToServer).filter { said.contains($0) }
    #expect(whole == [said[0], said[2], said[3]])
    #expect(run.gaps.map(\.byteCount) == [1_448])
  }

  /// A close without a reason is told as one, and one behind it is not told again.
  @Test func closedWithoutReason() {
    let closing = Self.frame([], .clientToServer, opcode: 8)
    let again = Self.frame([3, 0xe8], .serverToClient, opcode: 8)
    let run = Run(
      Self.packets(
        Self.opening + [
          Self.say(.clientToServer, MQTTPacketBuilder.connect(clientID: "web")),
          Step(direction: .clientToServer, bytes: closing), Step(direction: .serverToClient, bytes: again),
        ]))
    let closes = run.heard.carriers.compactMap { told -> UInt16?? in
      guard case .webSocketClose(let status) = told.event.what else { return nil }
      return .some(status)
    }
    #expect(closes == [UInt16?.none])
    #expect(run.heard.reports.last?.carrier?.webSocket?.closeStatus == 0)
  }

  /// Stored blocks of zeros that a length of 258 repeats: more than may be is not read.
  @Test func bomb() {
    // A fixed Huffman block: a zero byte, then lengths of 258 at distance 1, 5 bits and 8 bits each, by the thousand.
    var bits: [UInt8] = [0, 1, 0]
    func put(_ code: Int, _ count: Int) { for i in (0..<count).reversed() { bits.append(UInt8(code >> i & 1)) } }
    put(0x30, 8)
    for _ in 0..<12_000 {
      put(0xc5, 8)
      put(0, 5)
    }
    put(0, 7)
    var bytes = stride(from: 0, to: bits.count, by: 8).map { at in
      (0..<8).reduce(UInt8(0)) { $0 | (at + $1 < bits.count ? bits[at + $1] : 0) << UInt8($1) }
    }
    bytes += [0, 0, 0, 0xff, 0xff, 0]
    let run = deflated([bytes], "permessage-deflate; client_no_context_takeover")
    #expect(run.issues.contains { $0.kind == .inflateLimit })
    #expect(
      run.reassembly.payloadBytes == run.ledger.decodedBytes + run.ledger.strayBytes + run.ledger.unreadBytes)
  }

  // MARK: Hostile bytes

  /// Anything behind the upgrade: nothing traps, everything is accounted for.
  @Test func anything() {
    var random = SeededRandom(17)
    for round in 0..<300 {
      var steps = [
        Step(direction: .clientToServer, bytes: WebSocketBuilder.request(extensions: "permessage-deflate")),
        Step(direction: .serverToClient, bytes: WebSocketBuilder.answer(extensions: "permessage-deflate")),
      ]
      for _ in 0..<12 {
        let direction = Bool.random(using: &random) ? Direction.clientToServer : .serverToClient
        var bytes = (0..<Int.random(in: 1...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: break
        case 1: bytes = Self.frame(bytes, direction, isCompressed: true)
        case 2: bytes = Self.frame(bytes, direction, opcode: UInt8.random(in: 0...2, using: &random), isFinal: false)
        default:
          bytes = Self.talk.filter { $0.direction == direction }.randomElement(using: &random)?.bytes ?? []
          if Bool.random(using: &random), !bytes.isEmpty {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 0x10
          }
        }
        steps.append(Step(direction: direction, bytes: bytes))
      }
      let without = Bool.random(using: &random) ? Int.random(in: 2..<steps.count, using: &random) : nil
      let packets = Self.packets(steps, segmentSize: Int.random(in: 5...500, using: &random), without: without)
      let run = Run(packets) { $0.memory = round % 2 == 0 ? 1 << 20 : 256 << 20 }
      #expect(
        run.reassembly.payloadBytes
          == run.ledger.decodedBytes + run.ledger.damagedBytes + run.ledger.strayBytes + run.ledger.unreadBytes
          + run.reassembly.repeatedBytes + run.reassembly.ignoredBytes, "\(round)")
    }
  }

  /// Many connections with windows of their own stay within the limit on memory, also where it is so small that their records
  /// alone fill it.
  @Test(arguments: [8 << 20, 1 << 20]) func memory(_ limit: Int) {
    var packets: [TimedPacket] = []
    let opening = [
      WebSocketBuilder.request(extensions: "permessage-deflate"),
      Self.frame(MQTTPacketBuilder.connect(clientID: "web"), .clientToServer),
      Self.frame(Self.kept[0], .clientToServer, isCompressed: true),
    ]
    for i in 0..<600 {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a01_0000 + UInt32(i)), port: 40_000), server: Talk.server(9_001))
      talk.open(at: Scene.ms(Int64(i)))
      for (j, bytes) in opening.enumerated() { talk.send(bytes, .clientToServer, at: Scene.ms(Int64(i + 10 * j + 10))) }
      packets += talk.packets
    }
    packets.sort { $0.timestamp < $1.timestamp }
    var options = EngineOptions(plans: Plans.both)
    options.memory = limit
    options.exchangeCapacity = 64
    options.needs = [.frames]
    let heard = Recorder()
    var engine = Engine(options: options, sink: heard)
    var most = 0
    for first in stride(from: 0, to: packets.count, by: 50) {
      let batch = CaptureBuilder([TimedPacket](packets[first..<min(first + 50, packets.count)])).batch(
        firstNumber: UInt64(first + 1))
      engine.process(batch.bytes.span.bytes, batch.records.span)
      most = max(most, engine.memoryBytes)
    }
    engine.finish()
    // A batch may bring what one look takes away again.
    #expect(most < limit + 2 << 20)
    if limit > 1 << 20 { #expect(heard.frames.count == 1_200) }
  }

  /// Found by fuzzing: only the last bytes of the server tell that both directions are WebSocket, and what the client's then
  /// held was counted nowhere.
  @Test func toldAtTheEnd() {
    let segments: [(at: Int64, direction: Direction, hex: String)] = [
      (
        0, .serverToClient,
        "47474747474747474747474747474747474747474747474747474747474747474747474747474747"
          + "4747474747474747474747470f0000000b0110474747474747474747474747"
      ),
      (
        31, .serverToClient,
        "47474747474747474747474747474747474747474747474747474747474747474700023b0000002b"
          + "00000102000000003a00000901013439313535353031353000010100000000"
      ),
      (32, .clientToServer, "828001020304"),
      (33, .clientToServer, "828001020304"),
      (34, .clientToServer, "828001020304"),
      (35, .clientToServer, "828001020304"),
      (36, .clientToServer, "828001020304"),
      (37, .clientToServer, "828001020304"),
      (38, .clientToServer, "828001020304"),
      (39, .clientToServer, "828001020304"),
      (40, .clientToServer, "008001020304"),
      (41, .clientToServer, "828001020304"),
      (42, .clientToServer, "008001020304"),
      (43, .clientToServer, "008001020304"),
      (44, .serverToClient, "8200"),
      (45, .clientToServer, "828001020304"),
      (47, .clientToServer, "828001020304"),
      (48, .serverToClient, "10"),
      (49, .clientToServer, "828001020304"),
      (50, .clientToServer, "82900102030401020114010203140112030501020304"),
      (51, .clientToServer, "008001020304"),
      (52, .clientToServer, "828001020304"),
      (53, .clientToServer, "008001020304"),
      (54, .clientToServer, "008001020304"),
      (55, .serverToClient, "8200"),
      (56, .clientToServer, "828001020304"),
      (58, .clientToServer, "828001020304"),
      (
        59, .serverToClient,
        "66656400100000021000000010001000010000000f0000000b010000000000000000000000000000"
          + "00000000000000000000000000000000000000000010000000100010000100000f0000000b011000"
          + "00002a10001000010000000f000000100001000000000a"
      ),
    ]
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0x0a00_0002), port: 9_001), initial: (1, 1))
    for segment in segments {
      talk.send(
        [UInt8](hex: segment.hex), segment.direction, at: Timestamp(milliseconds: 1_700_000_000_000 + segment.at))
    }
    let run = Run(talk.packets, plans: Plans.usual)
    #expect(run.ledger.webSocketConnections == 1)
    run.expectLedgerAddsUp()
  }
}
