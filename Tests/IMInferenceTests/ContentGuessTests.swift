import IMEngine
import IMInference
import IMProfile
import IMTestSupport
import Testing

/// Framings and contents that confirm each other, and the paths to types, numbers and statuses.
@Suite struct ContentGuessTests {
  private typealias Message = SpokenProtocol.Message

  /// One encoding of the conversation, and the lines expected in its profile.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: @Sendable (SpokenProtocol.Message) -> [UInt8]
    var lines: [String]
  }

  private static let byMembers = [
    "content: json", "  type: { at: \"cmd\" }", "  sequence: { at: \"seq\" }", "  status: { at: \"code\" }",
    "  \"send\": { name: send, role: other, answered: true }",
    "  \"ping\": { name: ping, role: heartbeat, answered: true }",
    "  \"send_ack\": { name: send_ack, role: acknowledgment, answers: [send], refuses: true }",
    "  \"push\": { name: push, role: other }",
  ]

  private static func json(_ name: String, _ line: String, _ wrap: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Case {
    Case(testDescription: name, bytes: { wrap(SpokenProtocol.json($0)) }, lines: [line] + byMembers)
  }

  private static func varint(_ count: Int) -> [UInt8] {
    count < 128 ? [UInt8(count)] : [UInt8(count & 127) | 128, UInt8(count >> 7)]
  }

  static let cases: [Case] = [
    json("line feed", "framing: { kind: terminated, ends: \"0A\"") { $0 + [0x0a] },
    json("CR LF", "framing: { kind: terminated, ends: \"0D0A\"") { $0 + [0x0d, 0x0a] },
    json("NUL", "framing: { kind: terminated, ends: \"00\"") { $0 + [0] },
    json("record separator", "framing: { kind: terminated, ends: \"1E\"") { $0 + [0x1e] },
    json("begin and end", "framing: { kind: terminated, begins: \"0B\", ends: \"1C0D\"") {
      [0x0b] + $0 + [0x1c, 0x0d]
    },
    json("decimal", "length: { offset: 0, encoding: decimal") { Array("\($0.count):".utf8) + $0 },
    // Spaces after the text: some lengths need two bytes.
    json("varint", "length: { offset: 0, encoding: varint") {
      let padded = $0 + [UInt8](repeating: 0x20, count: 60)
      return varint(padded.count) + padded
    },
    json("four bytes", "length: { offset: 0, size: 4, counts: body") { [0, 0, 0, UInt8($0.count)] + $0 },
    json("two bytes, of the frame", "length: { offset: 0, size: 2, order: little, counts: frame") {
      [UInt8($0.count + 2), 0] + $0
    },
    Case(
      testDescription: "the member tells the type",
      bytes: { message in
        let code = message.code.map { ",\"code\":\($0)" } ?? ",\"text\":\"\(message.text)\""
        return Array("{\"\(message.name)\":{\"id\":\"\(message.number)\"\(code)}}\n".utf8)
      },
      lines: [
        "  type: { which: [\"login\", \"login_ack\", \"ping\", \"ping_ack\", \"push\", \"send\", \"send_ack\"] }",
        "  sequence: { at: \"*.id\" }", "  status: { at: \"*.code\" }",
        "  \"send_ack\": { name: send_ack, role: acknowledgment, answers: [send], refuses: true }",
      ]),
    Case(
      testDescription: "answers have no method, and some an error",
      bytes: { message in
        guard let code = message.code else {
          let id = message.number > 0 ? ",\"id\":\(message.number)" : ""
          return Array("{\"method\":\"\(message.name)\"\(id),\"params\":{\"a\":\"\(message.text)\"}}\r\n".utf8)
        }
        let result = code == 0 ? "\"result\":true" : "\"error\":{\"code\":-\(code)}"
        return Array("{\"id\":\(message.number),\(result)}\r\n".utf8)
      },
      lines: [
        "  type: { at: \"method\" }", "  sequence: { at: \"id\" }", "  status: { at: \"error\", present: 1 }",
        "  \"-\": { name: frame, role: acknowledgment, answers: [login, ping, send], refuses: true }",
      ]),
    Case(
      testDescription: "header blocks",
      bytes: { message in
        let number = message.code == nil ? "receipt:\(message.number)" : "receipt-id:\(message.number)"
        let head = message.number > 0 ? number + "\n" : ""
        return Array("\(message.name.uppercased())\n\(head)\n\(message.text)".utf8) + [0]
      },
      lines: [
        "framing: { kind: headers, ends: \"00\", body: { header: content-length }, beat: 0A", "content: headers",
        "  type: { word: 1 }", "  sequence: { at: [\"receipt\", \"receipt-id\"] }",
        "  \"SEND_ACK\": { name: send_ack, role: acknowledgment, answers: [send], number: \"receipt-id\" }",
      ]),
    Case(
      testDescription: "lines with counted bodies",
      bytes: { message in
        switch message.name {
        case "send", "push":
          Array("\(message.name.uppercased()) room \(message.text.count)\r\n\(message.text)\r\n".utf8)
        case "ping": Array("PING\r\n".utf8)
        case "ping_ack": Array("PONG\r\n".utf8)
        default: Array("+OK\r\n".utf8)
        }
      },
      lines: [
        "framing: { kind: headers, lines: 1, ends: 0D0A, body: { word: last, of: [\"PUSH\", \"SEND\"] }",
        "content: words",
        "  \"PING\": { name: ping, role: heartbeat, answered: true, in-order: true }",
        "  \"PONG\": { name: pong, role: acknowledgment, answers: [ping], in-order: true }",
      ]),
    Case(
      testDescription: "RESP",
      bytes: { message in
        guard message.code == nil else { return Array((message.code == 0 ? "+OK\r\n" : "-ERR no\r\n").utf8) }
        guard message.number > 0 else { return Array("*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n".utf8) }
        return Array(
          "*2\r\n$\(message.name.count)\r\n\(message.name)\r\n$\(message.text.count)\r\n\(message.text)\r\n".utf8)
      },
      lines: [
        "framing: { kind: resp", "content: resp", "  \"client PING\": { name: ping, role: heartbeat",
        "  \"server error\": { name: error", "  \"server message\": { name: message", "  \"client *\": { name: command",
      ]),
    Case(
      testDescription: "XML",
      bytes: { message in
        let id = message.number > 0 ? " id='\(message.number)'" : ""
        let type = message.code.map { $0 == 0 ? " type='result'" : " type='error'" } ?? " type='set'"
        return Array("<iq\(id)\(type)><\(message.name)>\(message.text)</\(message.name)></iq>".utf8)
      },
      lines: [
        "framing: { kind: xml, stream: stream", "content: xml", "{ element: true }, { at: \"@type\" }]",
        "  sequence: { at: \"@id\" }",
      ]),
    Case(
      testDescription: "FIX",
      bytes: { message in
        let type = message.code != nil ? "8" : String(message.name.uppercased().prefix(1))
        let number = message.number > 0 ? "11=\(message.number)\u{1}" : ""
        let body = "35=\(type)\u{1}\(number)58=\(message.text)\u{1}"
        return Array("8=FIX.4.4\u{1}9=\(body.utf8.count)\u{1}\(body)10=000\u{1}".utf8)
      },
      lines: [
        "framing: { kind: pairs, separator: 01, begins: \"8=\", length: 9, checksum: 10", "  type: { at: \"35\" }",
        "  sequence: { at: \"11\" }", "  \"8\": { name: type_8, role: acknowledgment",
      ]),
    Case(
      testDescription: "BER",
      bytes: { message in
        let tags: [String: UInt8] = [
          "login": 0x60, "login_ack": 0x61, "send": 0x63, "send_ack": 0x65, "push": 0x73, "ping_ack": 0x78,
        ]
        func element(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] { [tag, UInt8(bytes.count)] + bytes }
        let number = element(2, [UInt8(message.number >> 8), UInt8(message.number & 255)])
        return element(
          0x30, number + element(tags[message.name] ?? 0x77, element(4, Array("dc=x\(message.text)".utf8))))
      },
      lines: [
        "length: { offset: 1, encoding: ber", "content: ber", "  type: { at: \"1.@tag\" }", "  sequence: { at: \"0\" }",
      ]),
  ]

  @Test(arguments: cases) func contentsAreFound(_ one: Case) throws {
    let guess = try #require(GuessedContent(SpokenProtocol.samples(one.bytes)))
    #expect(ContentSkeleton.refusal(guess) == nil)
    #expect(guess.found.explainedCount == guess.found.byteCount && guess.found.errors == 0)
    // Each segment is one frame, and was recognized as one.
    #expect(guess.found.frameCount == SpokenProtocol.messages(seed: 1).count)
    let page = ContentSkeleton.text(guess, name: "spoken", ports: [7_000], notes: [], outcome: nil)
    for line in one.lines { #expect(page.contains(line), "\(line) in\n\(page)") }
    #expect(try ProfileCompiler.compile(page, source: "spoken.yaml").name == "spoken")
    let held = try #require(guess.heldOut)
    #expect(held.connections == 1 && held.frames > 50 && held.known == held.frames && held.matched == held.answers)
  }

  /// A header with more than a length before JSON: type and number are in the header.
  @Test func headersInFrontOfJSONAreRead() throws {
    let types = ["login", "login_ack", "ping", "ping_ack", "push", "send", "send_ack"]
    let samples = SpokenProtocol.samples { message in
      let body = SpokenProtocol.json(Message(name: "x", number: 0, code: message.code, text: message.text))
      let type = UInt8(types.firstIndex(of: message.name) ?? 0) + 1
      return [0, 0, 0, UInt8(body.count + 12), 0x5a, 0xa5, 0, type, 0, 0]
        + [UInt8(message.number >> 8), UInt8(message.number & 255)] + body
    }
    let content = try #require(GuessedContent(samples))
    #expect(content.found.framing == .counted(.number(NumberPlace(offset: 0, size: 4), adds: 0), header: 12))
    #expect(content.hasOtherHeader)
    let guess = try #require(GuessedProtocol(samples, seconds: 0...0, content: content.found))
    #expect(guess.headerCount == 12 && guess.kinds.count == types.count)
    let page = ProfileSkeleton.text(guess, name: "headed", ports: [], notes: [], proof: .none, outcome: nil)
    for line in [
      "  length: 12\n", "  magic: { offset: 4, bytes: 5AA5 }", "content: json", "  type: { offset: 6, size: 2 }",
    ] {
      #expect(page.contains(line), "\(line) in\n\(page)")
    }
    #expect(try ProfileCompiler.compile(page, source: "headed.yaml").typeNames.count == types.count + 1)
  }

  // MARK: Input without a profile

  @Test func textWithoutFramesIsRefused() {
    var random = SeededRandom(6)
    let words = (0..<400).map { _ in
      String(
        (0..<Int.random(in: 3...9, using: &random)).map { _ in
          Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random)))
        })
    }
    var word = 0
    let prose = SpokenProtocol.samples { _ in
      word += 1
      return Array("\(words[word * 7 % 400]) \(words[word % 400]) \(words[word * 3 % 400])\n".utf8)
    }
    #expect(GuessedContent(prose) == nil)
    #expect(GuessedContent.reasonAgainstText(prose)?.hasPrefix("text") == true)
    let bare = SpokenProtocol.samples(SpokenProtocol.json)
    #expect(GuessedContent(bare) == nil)
    #expect(GuessedContent.reasonAgainstText(bare)?.hasPrefix("JSON texts follow each other") == true)
  }

  @Test func binaryHeadersAreNoContent() throws {
    for seed in 0..<6 as Range<UInt64> {
      var random = SeededRandom(seed &+ 40)
      let (samples, _) = DrawnProtocol(&random).samples(&random)
      #expect(GuessedContent(samples) == nil)
      #expect(GuessedContent(samples, isBinary: true) == nil)
      #expect(GuessedContent.reasonAgainstText(samples) == nil)
    }
  }

  /// Bytes corrupted anywhere: any page that results is a valid profile.
  @Test(arguments: cases) func damagedBytesMakeNoInvalidPage(_ one: Case) throws {
    for seed in 0..<(LongRun.isWanted ? 40 : 4) {
      var random = SeededRandom(UInt64(seed) &+ 900)
      let samples = SpokenProtocol.samples(seed: UInt64(seed), one.bytes).map { sample -> StreamSample in
        var bytes = sample.bytes
        for _ in 0..<[1, 8, 64][seed % 3] {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] =
            [0x22, 0x5c, 0x7b, 0x5d, 0x2a, 0x2d, 0x20, 0x0a, 0x00, 0xff][Int.random(in: 0..<10, using: &random)]
        }
        return StreamSample(
          connection: sample.connection, direction: sample.direction, isFromStart: seed % 2 == 0, bytes: bytes,
          runs: sample.runs, starts: sample.starts)
      }
      guard let guess = GuessedContent(samples), ContentSkeleton.refusal(guess) == nil else { continue }
      let page = ContentSkeleton.text(guess, name: "damaged", ports: [], notes: [], outcome: nil)
      #expect(try ProfileCompiler.compile(page, source: "damaged.yaml").name == "damaged", "\(page)")
    }
  }

  @Test(arguments: cases) func prefixesAreNoTrap(_ one: Case) {
    let samples = SpokenProtocol.samples(one.bytes)
    for count in stride(from: 0, to: 400, by: LongRun.isWanted ? 1 : 13) {
      let cut = samples.map { sample in
        let bytes = Array(sample.bytes.prefix(count))
        return StreamSample(
          connection: sample.connection, direction: sample.direction, isFromStart: true, bytes: bytes,
          runs: bytes.isEmpty ? [] : [0..<bytes.count], starts: sample.starts)
      }
      if let guess = GuessedContent(cut) { #expect(guess.found.explainedCount <= guess.found.byteCount) }
    }
  }
}
