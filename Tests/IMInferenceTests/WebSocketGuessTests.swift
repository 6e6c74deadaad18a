import IMEngine
import IMInference
import IMProfile
import IMTestSupport
import Testing

/// Messages in WebSocket, and the profiles inferred from them.
@Suite struct WebSocketGuessTests {
  private static let request = Array("GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n".utf8)
  private static let answer = Array("HTTP/1.1 101 Switching Protocols\r\n\r\n".utf8)

  /// A frame of RFC 6455; clients mask theirs.
  private static func frame(_ opcode: UInt8, _ payload: [UInt8], masked: Bool, isFinal: Bool = true) -> [UInt8] {
    let mask: UInt8 = masked ? 0x80 : 0
    var frame: [UInt8] = [opcode | (isFinal ? 0x80 : 0)]
    frame +=
      payload.count < 126
      ? [mask | UInt8(payload.count)] : [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    let key: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]
    return masked ? frame + key + payload.enumerated().map { $0.element ^ key[$0.offset % 4] } : frame + payload
  }

  /// The conversation in WebSocket; in each direction it follows the HTTP request or response.
  private static func streams(
    _ bytes: @escaping (SpokenProtocol.Message) -> [UInt8], opcode: UInt8 = 1
  ) -> [StreamSample] {
    SpokenProtocol.samples { message in
      let isServer = message.code != nil || message.number == 0
      return frame(opcode, bytes(message), masked: !isServer)
    }.map { sample in
      let head = sample.direction == 0 ? request : answer
      let starts = sample.starts.map { SegmentStart(offset: $0.offset + head.count, packet: $0.packet) }
      return StreamSample(
        connection: sample.connection, direction: sample.direction, isFromStart: true, bytes: head + sample.bytes,
        runs: [0..<head.count + sample.bytes.count], starts: [SegmentStart(offset: 0, packet: 0)] + starts)
    }
  }

  @Test func messagesAreUnmaskedAndPutTogether() throws {
    let parts =
      Self.request + Self.frame(1, Array("one ".utf8), masked: true, isFinal: false)
      + Self.frame(9, Array("?".utf8), masked: true) + Self.frame(0, Array("message".utf8), masked: true)
      + Self.frame(2, [1, 2, 3], masked: true) + Self.frame(0x41, [9, 9], masked: true)
    let sample = StreamSample(
      connection: 1, direction: 0, isFromStart: true, bytes: parts, runs: [0..<parts.count],
      starts: [SegmentStart(offset: 0, packet: 7)])
    let web = WebSocketMessages(sample)
    #expect(web.count == 2 && web.binaryCount == 1 && web.compressedCount == 1 && web.isBelieved)
    let messages = try #require(web.sample)
    #expect(messages.bytes == Array("one message".utf8) + [1, 2, 3])
    #expect(messages.runs == [0..<11, 11..<14] && messages.starts.map(\.packet) == [7, 7])
    #expect(try #require(web.stream).runs == [0..<14])
    // RFC 6455, section 5.7: the server does not mask.
    let hello = Self.answer + [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]
    let reply = StreamSample(
      connection: 1, direction: 1, isFromStart: true, bytes: hello, runs: [0..<hello.count], starts: [])
    #expect(WebSocketMessages(reply).sample?.bytes == Array("Hello".utf8))
  }

  /// A connection captured from the middle of a frame.
  @Test func theMiddleOfAConnectionIsRead() throws {
    let whole = Self.streams(SpokenProtocol.json)[0]
    let second = whole.starts[3].offset - 4
    let bytes = Array(whole.bytes[second...])
    let starts = whole.starts.dropFirst(3).map { SegmentStart(offset: $0.offset - second, packet: $0.packet) }
    let cut = StreamSample(
      connection: 0, direction: 0, isFromStart: false, bytes: bytes, runs: [0..<bytes.count],
      starts: [SegmentStart(offset: 0, packet: 1)] + starts)
    let web = WebSocketMessages(cut)
    #expect(web.isBelieved && web.count == 58 && web.explainedCount == bytes.count - 4)
  }

  /// Infers a profile and checks that it contains `lines`.
  private func check(_ messages: [StreamSample], _ lines: [String]) throws {
    let guess = try #require(GuessedContent(messages: messages))
    let page = ContentSkeleton.text(guess, name: "web", ports: [80], notes: [], outcome: nil)
    for line in lines { #expect(page.contains(line), "\(line) in\n\(page)") }
    #expect(try ProfileCompiler.compile(page, source: "web.yaml").name == "web")
  }

  private func messages(
    opcode: UInt8 = 1, _ bytes: @escaping (SpokenProtocol.Message) -> [UInt8]
  ) -> [StreamSample] {
    Self.streams(bytes, opcode: opcode).compactMap { WebSocketMessages($0).sample }
  }

  @Test func jsonInMessagesIsFound() throws {
    try check(
      messages(SpokenProtocol.json),
      [
        "framing: { kind: message, maximum: 65536 }", "content: json", "  type: { at: \"cmd\" }",
        "  sequence: { at: \"seq\" }", "answers: [send], refuses: true }",
      ])
  }

  /// Several records in one message, as in SignalR.
  @Test func recordsInMessagesAreFound() throws {
    try check(
      messages { SpokenProtocol.json($0) + [0x1e] },
      ["framing: { kind: message, records: \"1E\"", "  type: { at: \"cmd\" }"])
  }

  /// Arrays with a number first and a name after the identifier, as in OCPP.
  @Test func typesOfTwoPartsAreFound() throws {
    try check(
      messages { message in
        let id = "\"m\(message.number)\""
        switch message.code {
        case nil: return Array("[2,\(id),\"\(message.name)\",{\"\(message.name)_text\":\"\(message.text)\"}]".utf8)
        case 0?: return Array("[3,\(id),{}]".utf8)
        case _?: return Array("[4,\(id),\"NotSupported\",\"\",{}]".utf8)
        }
      },
      [
        "  type: [{ at: \"0\" }, { at: \"2\" }]", "  sequence: { at: \"1\" }", "  \"2 send\": { name: type_2_send",
        "  \"3 *\": { name: type_3, role: acknowledgment", "  \"4 *\": { name: type_4, role: acknowledgment",
      ])
  }

  /// Digits before JSON, as in Socket.IO.
  @Test func digitsInFrontAreFound() throws {
    try check(
      messages { message in
        if message.code != nil { return Array("43\(message.number)[]".utf8) }
        if message.name == "push" { return Array("42[\"push\",\"\(message.text)\"]".utf8) }
        return message.name == "ping"
          ? Array("40/room,{}".utf8) : Array("42\(message.number)[\"\(message.name)\",\"\(message.text)\"]".utf8)
      },
      [
        "content: { kind: json, lead: [{ digits: { maximum: 2, into: type } }", "  sequence: lead",
        "role: acknowledgment, answers: [",
      ])
  }

  /// Protocol Buffers in binary messages: the number is field 1 or 4, and which of several fields is present determines the type.
  @Test func protobufInMessagesIsFound() throws {
    try check(
      messages(opcode: 2) { message in
        func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(bytes.count)] + bytes }
        func number(_ field: UInt8, _ value: Int) -> [UInt8] {
          [field << 3, UInt8(value & 127) | 128, UInt8(value >> 7)]
        }
        let inner = [0x0a, UInt8(message.text.count)] + Array(message.text.utf8) + [0x10, 1]
        guard message.code == nil else {
          return number(4, message.number) + number(5, 1_000) + field(6, Array("okay".utf8))
        }
        guard message.number > 0 else { return field(10, inner) + [0x18, 7] }
        return number(1, message.number) + field(message.name == "send" ? 12 : 11, inner)
      },
      ["framing: { kind: message", "content: protobuf", "  sequence: { at: [", "role: acknowledgment"])
  }

  /// A stream protocol whose frames are split across messages at arbitrary offsets: the messages are concatenated.
  @Test func streamsInsideAreFound() throws {
    let streams = Self.streams({ SpokenProtocol.json($0) + [0x0a] }, opcode: 2)
    let guess = try #require(GuessedContent(streams.compactMap { WebSocketMessages($0).stream }))
    #expect(guess.found.framing == .terminated(begins: [], ends: [0x0a]))
  }
}
