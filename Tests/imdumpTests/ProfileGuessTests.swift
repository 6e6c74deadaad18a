import Foundation
import IMTestSupport
import IMWire
import Testing

/// `imdump profile new` over every sample, held against the built-in profile that decodes it, and over what is hostile.
@Suite struct ProfileGuessTests {
  /// A sample, the profile that knows it, and the lines that the skeleton must have.
  struct Case: CustomTestStringConvertible, Sendable {
    var sample: String
    var profile: String
    var lines: [String]
    var testDescription: String { sample }
  }

  private static let tjp = [
    "  length: 28", "magic: { offset: 0, bytes: DECAFBAD }", "length: { offset: 20, size: 4, counts: body",
    "  type: { offset: 6, size: 2 }", "  sequence: { offset: 8, size: 4 }", "  time: { offset: 12, size: 4 }",
    "  checksum: { offset: 24, size: 4 }", "checksum: { algorithm: crc32, covers: body",
    "sequence: { kind: counter, bits: 24 }",
  ]
  private static let mqtt = [
    "  length: 2\n", "length: { offset: 1, encoding: varint, counts: body",
    "  type: { offset: 0, size: 1, mask: 0xF0 }",
  ]

  static let cases: [Case] = [
    Case(sample: "tjp-clean-chat.pcap", profile: "tjp", lines: tjp),
    Case(sample: "tjp-weak-network.pcap", profile: "tjp", lines: tjp),
    Case(sample: "tjp-racing.pcap", profile: "tjp", lines: tjp),
    Case(sample: "tjp-damage.pcap", profile: "tjp", lines: tjp),
    Case(sample: "tjp-nat.pcap", profile: "tjp", lines: tjp),
    Case(sample: "tjp-ipv6-vlan.pcapng", profile: "tjp", lines: tjp),
    Case(sample: "tjp-article-chat.pcap", profile: "tjp-article", lines: tjp),
    Case(
      sample: "tjp-v2-chat.pcap", profile: "tjp-v2",
      lines: [
        "  length: 20\n", "magic: { offset: 0, bytes: DECAFBAD }", "length: { offset: 12, size: 4, counts: body",
        "  sequence: { offset: 8, size: 4 }", "  checksum: { offset: 16, size: 4 }",
        "checksum: { algorithm: crc32, covers: body, order: either }",
      ]),
    Case(sample: "mqtt-mosquitto.pcap", profile: "mqtt", lines: mqtt),
    Case(sample: "mqtt5-mosquitto.pcap", profile: "mqtt", lines: mqtt),
    // All its publishes have one QoS, so that nothing tells the flags from the type.
    Case(sample: "proxy-balancer.pcap", profile: "mqtt", lines: Array(mqtt.dropLast())),
    Case(
      sample: "smpp-gateway.pcap", profile: "smpp",
      lines: [
        "length: { offset: 0, size: 4, counts: frame", "  type: { offset: 4, size: 4 }",
        "  sequence: { offset: 12, size: 4 }",
        "0x80000004: { name: type_80000004, role: acknowledgment, answers: [type_4]",
      ]),
    Case(
      sample: "diameter-charging.pcap", profile: "diameter",
      lines: [
        "  length: 20 ", "version: { offset: 0, bytes: 01 }", "length: { offset: 1, size: 3, counts: frame",
        "  type: { offset: 4, size: 4, mask: 0x80FFFFFF }", "  sequence: { offset: 12, size: 4 }",
        "0x00000110: { name: type_110, role: acknowledgment, answers: [type_80000110]",
      ]),
    Case(
      sample: "goim-room.pcap", profile: "goim",
      lines: [
        "  length: 16 ", "magic: { offset: 4, bytes: 00100001 }", "length: { offset: 0, size: 4, counts: frame",
        "  type: { offset: 8, size: 4 }", "  sequence: { offset: 12, size: 4 }",
        "0x00000005: { name: type_5, role: acknowledgment, answers: [type_4]",
      ]),
    Case(
      sample: "jt808-terminals.pcap", profile: "jt808",
      lines: [
        "kind: delimited", "delimiter: 7E", "escape: { byte: 7D, replaces: { 01: 7D, 02: 7E } }", "  length: 12 ",
        "trailer: { length: 1 }", "  type: { offset: 0, size: 2 }", "  sequence: { offset: 10, size: 2 }",
        "checksum: { algorithm: xor, covers: frame, in: trailer }", "0x8001: { name: type_8001, role: acknowledgment",
        "body: [{ load: { size: 2, into: answered } }]",
      ]),
    Case(
      sample: "iec104-station.pcap", profile: "iec104",
      lines: ["magic: { offset: 0, bytes: 68 }", "length: { offset: 1, size: 1, counts: { from: 2 }"]),
    Case(
      sample: "ocpp-charging.pcap", profile: "ocpp",
      lines: [
        "framing: { kind: message, maximum: 65536 }", "content: json", "  sequence: { at: \"1\" }",
        "role: acknowledgment, answers: [",
      ]),
    Case(
      sample: "phoenix-room.pcap", profile: "phoenix",
      lines: [
        "framing: { kind: message, maximum: 65536 }", "content: json", "  type: { at: \"3\" }",
        "  sequence: { at: \"1\" }", "  \"phx_reply\": { name: phx_reply, role: acknowledgment",
        "  \"heartbeat\": { name: heartbeat, role: heartbeat, answered: true",
      ]),
    Case(
      sample: "signalr-hub.pcap", profile: "signalr",
      lines: [
        "framing: { kind: message, records: \"1E\"", "{ at: \"type\" }", "  sequence: { at: \"invocationId\" }",
        "  status: { at: \"error\", present: 1 }",
      ]),
    Case(
      sample: "socketio-chat.pcap", profile: "socketio",
      lines: [
        "content: { kind: json, lead: [{ digits: { maximum: 2, into: type } }", "  sequence: lead",
        "role: acknowledgment, answers: [type_42",
      ]),
    Case(
      sample: "stomp-queue.pcap", profile: "stomp",
      lines: [
        "framing: { kind: headers, ends: \"00\", body: { header: content-length }, beat: 0A", "  type: { word: 1 }",
        "  \"CONNECTED\": { name: connected, role: acknowledgment, answers: [connect], in-order: true",
        "number: \"receipt-id\"",
      ]),
    Case(
      sample: "redis-keys.pcap", profile: "redis",
      lines: [
        "framing: { kind: resp", "  type: [side, { at: \"0\" }]", "  \"client PING\": { name: ping, role: heartbeat",
      ]),
    Case(
      sample: "turms-chat.pcap", profile: "turms",
      lines: [
        "header: { length: 1 }", "length: { offset: 0, encoding: varint", "content: protobuf",
        "{ which: [\"3\", \"10\", \"22\"] }", "  sequence: { at: [\"1\", \"4\"] }",
      ]),
    Case(
      sample: "xmpp-chat.pcap", profile: "xmpp",
      lines: [
        "framing: { kind: xml, stream: stream, beat: \"20\"", "{ element: true }, { at: \"@type\" }]",
        "  sequence: { at: \"@id\" }", "iq result\": { name: iq_result, role: acknowledgment",
      ]),
  ]

  /// Samples that have their own tests (WebSocket), whose skeletons explain only part of the frames, or whose layout is that of another
  /// protocol: CMPP, SGIP and SMGP have that of SMPP.
  private static let notTried = [
    "amqp091-", "cmpp-", "gbt32960-", "modbus-", "mqtt-websocket", "nats-", "sgip-", "smgp-", "teamtalk-", "wukongim-",
  ]

  @Test func everySampleOnTCPIsHere() throws {
    let known = Set(Self.cases.map(\.sample))
    let others = try Samples.captures().filter { !known.contains($0) }
    #expect(others.filter { sample in !Self.notTried.contains { sample.hasPrefix($0) } } == [])
  }

  @Test(arguments: cases) func aSkeletonFindsTheFramesOfTheProfile(_ one: Case) throws {
    let sample = "Samples/\(one.sample)"
    let new = try Command.run(["profile", "new", sample])
    #expect(new.status == 0 && new.errors == "", "\(new.errors)")
    for line in one.lines { #expect(new.output.contains(line), "\(line) in\n\(new.output)") }
    #expect(try Command.run(["profile", "new", sample]).output == new.output)
    let scratch = try Scratch()
    let page = try scratch.file("skeleton.yaml", new.output.utf8)
    let check = try Command.run(["profile", "check", page])
    #expect(check.status == 0, "\(check.errors)")
    // The same frames: where each ends up in its connection, and how long it is.
    // A profile that proves less is chosen a little later, so lines of both directions may change places.
    #expect(try Self.frames(sample, page).sorted() == Self.frames(sample, one.profile).sorted())
  }

  /// Packet, connection and direction of each frame, in their order.
  private static func frames(_ sample: String, _ profile: String) throws -> [String] {
    let run = try Command.run(["-r", sample, "--profile", profile, "--format", "json", "-q"])
    return try run.output.split(separator: "\n").map { line in
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      return "\(object["number"] ?? "") \(object["conn"] ?? "") \(object["dir"] ?? "")"
    }
  }

  @Test func theNameAndThePortAreTaken() throws {
    let new = try Command.run(["profile", "new", "Samples/goim-room.pcap", "--port", "3101", "--name", "room"])
    #expect(new.status == 0 && new.output.contains("profile: room\n") && new.output.contains("ports: [3101]"))
    let none = try Command.run(["profile", "new", "Samples/goim-room.pcap", "--port", "99"])
    #expect(
      none.status == 1 && none.output == "" && none.errors.contains("no TCP data on port 99; there is data on 3101"))
    #expect(try Command.run(["profile", "new", "Samples/goim-room.pcap", "--name", "Not A Name"]).status == 64)
    #expect(try Command.run(["profile", "new", "-"], input: "Samples/goim-room.pcap").status == 64)
  }

  /// MQTT in WebSocket, whose frames form a stream.
  @Test func messagesInsideWebSocketAreAnalyzed() throws {
    let new = try Command.run(["profile", "new", "Samples/mqtt-websocket.pcap"])
    #expect(new.status == 0 && new.errors == "", "\(new.errors)")
    #expect(new.output.contains("Inside WebSocket: 116 messages, 116 of them binary."), "\(new.output)")
    for line in Self.mqtt { #expect(new.output.contains(line), "\(line) in\n\(new.output)") }
  }

  @Test func compressedMessagesAreNamed() throws {
    let new = try Command.run(["profile", "new", "Samples/mqtt-websocket-deflate.pcap"])
    #expect(new.status == 1 && new.output == "" && new.errors.contains("WebSocket"), "\(new.errors)")
  }

  // MARK: What is hostile

  private func capture(_ conversations: [ConversationBuilder]) -> [UInt8] {
    var capture = CaptureBuilder()
    capture.packets = conversations.flatMap(\.packets).sorted { $0.timestamp < $1.timestamp }
    return capture.pcap()
  }

  private func talk(_ port: UInt16, _ bytes: [UInt8], _ count: Int) -> ConversationBuilder {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0001), port: port),
      server: Endpoint(address: IPAddress(v4: 0x0a00_0002), port: 7_000))
    talk.acknowledges = false
    talk.open(at: Timestamp(milliseconds: 1))
    let size = max(1, bytes.count / count)
    for (i, start) in stride(from: 0, to: bytes.count, by: size).enumerated() {
      talk.send(
        Array(bytes[start..<min(bytes.count, start + size)]), .clientToServer,
        at: Timestamp(milliseconds: 10 + Int64(i)))
    }
    return talk
  }

  @Test func whatIsNoProtocolIsSaid() throws {
    var random = SeededRandom(8)
    let scratch = try Scratch()
    let cases: [(String, [UInt8])] = [
      ("empty", capture([])),
      ("noise", capture([talk(4_000, random.bytes(60_000), 300), talk(4_001, random.bytes(60_000), 200)])),
      ("zeros", capture([talk(4_000, [UInt8](repeating: 0, count: 100_000), 123)])),
      ("short", capture([talk(4_000, [1, 2, 3], 1)])),
      ("silent", capture([talk(4_000, [], 1)])),
    ]
    for (name, bytes) in cases {
      let run = try Command.run(["profile", "new", try scratch.file("\(name).pcap", bytes)])
      #expect(
        run.status == 1 && run.output == "" && run.errors.split(separator: "\n").count == 1, "\(name): \(run.errors)")
    }
  }

  /// One stream of 12 MB: a part of it is looked at, and the page says so.
  @Test func aGiantStreamIsSampled() throws {
    var random = SeededRandom(3)
    var bytes: [UInt8] = []
    while bytes.count < 12 << 20 {
      let body = random.bytes(Int(random.next() % 2_000))
      bytes += [0xab, 0xcd, UInt8(body.count >> 8), UInt8(body.count & 255), UInt8(random.next() % 4), 0] + body
    }
    let scratch = try Scratch()
    let path = try scratch.file("giant.pcap", capture([talk(4_000, bytes, 9_000)]))
    let run = try Command.run(["profile", "new", path])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("not all") && run.output.contains("length: { offset: 2, size: 2, counts: body"))
    #expect(run.output.contains("magic: { offset: 0, bytes: ABCD }"))
  }
}
