import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Headers and lengths of every kind that the general reader supports, however the stream is segmented.
@Suite struct LayoutTests {
  /// A profile with the port 7000 and the given layout and types.
  private static func plan(_ text: String) throws -> ProtocolPlan {
    try ProfileCompiler.compile("profile: spoken\nversion: 1\nports: [7000]\n" + text, source: "spoken.yaml")
  }

  /// A protocol with a request and an answer, whose layout is given in YAML and whose types have the given values.
  private static func layout(
    _ name: String, _ layout: String, types: (request: String, answer: String) = ("0x1201", "0x1301"),
    request: @escaping @Sendable (Int) -> [UInt8], answer: @escaping @Sendable (Int) -> [UInt8]
  ) -> NumberedProtocol {
    let profile = """
      profile: spoken
      version: 1
      ports: [7000]
      \(layout)
      types:
        "\(types.request)": { name: request, role: message, answered: true, from: client }
        "\(types.answer)": { name: answer, role: acknowledgment, answers: [request], from: server }
      sequence: { kind: identifier }
      """
    return NumberedProtocol(name: name, profile: profile, request: request, answer: answer)
  }

  private static func number(_ number: Int, _ count: Int = 2) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
  }

  private static func json(_ kind: String, _ number: Int) -> [UInt8] {
    Array(#"{"t":"\#(kind)","id":\#(number),"text":"12:{"}"#.utf8)
  }

  private static let content = "content: json\nfields: { type: { at: [kind, t] }, sequence: { at: id } }"

  private static func digits(_ body: [UInt8]) -> [UInt8] {
    Array(String(10_004 + body.count).dropFirst().utf8) + body
  }

  private static func netstring(_ body: [UInt8]) -> [UInt8] { Array("\(body.count):".utf8) + body + [0x2c] }

  private static let varint = layout(
    "numbers after a varint at the beginning",
    """
    header: { length: 1 }
    length: { offset: 0, encoding: varint }
    fields: { type: { offset: 0, size: 2 }, sequence: { offset: 2, size: 2 } }
    """,
    request: { [0x84, 0x01, 0x12, 1] + number($0) + [UInt8](repeating: 7, count: 128) },
    answer: { [4, 0x13, 1] + number($0) })

  private static let words = NumberedProtocol(
    name: "digits among words",
    profile: """
      profile: words
      version: 1
      ports: [7000]
      framing: { kind: terminated, ends: 0D0A }
      content: words
      fields: { type: { word: 1 } }
      types:
        ASK: { name: request, role: message, answered: true, from: client, body: [until: 20, { digits: 9, into: sequence }] }
        TELL: { name: answer, role: acknowledgment, answers: [request], from: server, body: [until: { byte: 20 }, digits: { maximum: 9, into: answered }] }
      """, request: { Array("ASK \($0) now\r\n".utf8) }, answer: { Array("TELL \($0)\r\n".utf8) })

  static let layouts: [NumberedProtocol] = [
    layout(
      "four digits that count themselves",
      "header: { length: 4 }\nlength: { offset: 0, size: 4, encoding: decimal, counts: frame }\n" + content,
      types: ("ask", "tell"), request: { digits(json("ask", $0)) }, answer: { digits(json("tell", $0)) }),
    layout(
      "digits up to a colon, and no header",
      "length: { encoding: decimal }\ntrailer: { length: 1, bytes: 2C }\n" + content, types: ("ask", "tell"),
      request: { netstring(json("ask", $0)) }, answer: { netstring(json("tell", $0)) }),
    varint,
    layout(
      "numbers after a varint in the middle",
      """
      header: { length: 5 }
      length: { offset: 2, encoding: varint }
      fields: { type: { offset: 0, size: 2 }, sequence: { offset: 3, size: 2 } }
      """,
      request: { [0x12, 1, 0x80, 0x01] + number($0) + [UInt8](repeating: 7, count: 128) },
      answer: { [0x13, 1, 0] + number($0) }),
    layout(
      "a length after parts of the header",
      """
      header: { length: 2, parts: [{ when: { offset: 1, mask: 0x0F, is: [1, 5] }, at: 2, length: 4 }] }
      length: { after: parts, size: 2 }
      fields: { type: { offset: 0, size: 2 }, sequence: { after: length, offset: 0, size: 2 } }
      """, types: ("0x1201", "0x1302"),
      request: { [0x12, 1, 9, 9, 9, 9, 0, 3] + number($0) + [7] }, answer: { [0x13, 2, 0, 2] + number($0) }),
    layout(
      "the length of CoAP over TCP",
      """
      header: { length: 1 }
      length: { offset: 0, encoding: coap }
      fields: { type: { offset: 0 }, sequence: { offset: 1, size: 2 } }
      """, types: ("0x02", "0x45"),
      request: { [0xd2, 1, 0x02] + number($0) + [UInt8](repeating: 0xff, count: 14) },
      answer: { [0x12, 0x45] + number($0) + [0xff] }),
    layout(
      "a layout for each side",
      """
      header: { length: 6 }
      length: { offset: 2, size: 2 }
      fields: { type: { offset: 0, size: 2 }, sequence: { offset: 4, size: 2 } }
      from-server:
        header: { length: 8, magic: { offset: 0, bytes: BEEF } }
        length: { offset: 6, size: 2, counts: frame }
        fields: { type: { offset: 2, size: 2 }, sequence: { offset: 4, size: 2 } }
      """, request: { [0x12, 1, 0, 1] + number($0) + [7] },
      answer: { [0xbe, 0xef, 0x13, 1] + number($0) + [0, 10, 7, 7] }),
    layout(
      "a line of JSON", "framing: { kind: line }\n" + content, types: ("ask", "tell"),
      request: { json("ask", $0) + [0x0d, 0x0a] }, answer: { json("tell", $0) + [0x0a] }),
    layout(
      "texts in front of JSON",
      """
      framing: { kind: terminated, ends: 0A }
      content: { kind: json, lead: [{ until: 3A, into: type }, { until: { byte: 3A, into: sequence } }] }
      fields: { type: lead, sequence: lead }
      """, types: ("ask", "tell"),
      request: { Array("ask:a\($0):{\"a\":1}\n".utf8) }, answer: { Array("tell:a\($0):[]\n".utf8) }),
    layout(
      "a header before a terminator",
      """
      framing: { kind: terminated, ends: 0D0A }
      header: { length: 5 }
      fields: { type: { offset: 0, size: 2 }, sequence: { offset: 2, size: 3 } }
      """, types: ("0x4151", "0x4152"),
      request: { Array("AQ\($0)x\r\n".utf8) }, answer: { Array("AR\($0)\r\n".utf8) }),
    layout(
      "header lines up to an empty line",
      """
      framing: { kind: terminated, ends: 0D0A0D0A }
      content: { kind: headers, case: ignored }
      fields: { type: { which: [Action, Response] }, sequence: { at: actionid } }
      """, types: ("Action", "Response"),
      request: { Array("Action: Ping\r\nActionID: \($0)\r\n\r\n".utf8) },
      answer: { Array("Response: Success\r\nMessage: 10:20\r\nActionID: \($0)\r\n\r\n".utf8) }),
    words,
  ]

  @Test(arguments: layouts, [1, 2, 5, 1_400]) func everyRequestIsAnswered(_ layout: NumberedProtocol, _ size: Int)
    throws
  {
    let run = Run(layout.talk(size: size).packets, plans: [try layout.plan])
    run.expectAnswered(20)
    #expect(run.frames.count == 40)
    #expect(run.issues.isEmpty)
  }

  /// A preface that is longer than an integer.
  @Test func aLongPreface() throws {
    var layout = Self.varint
    layout.profile +=
      "\npreface: { client: [{ bytes: 505249202A20485454502F322E300D0A, length: 18, name: hello }] }"
    let plan = try layout.plan
    for last in ["0\r\n\r\n", "1\r\n\r\n"] as [String] {
      var talk = Talk(port: 7_000)
      talk.say(.clientToServer, Array("PRI * HTTP/2.".utf8) + Array(last.utf8) + layout.request(1))
      talk.say(.serverToClient, layout.answer(1))
      let run = Run(talk.packets, plans: [plan])
      #expect(run.heard.finished.count { $0.fate == .acked } == (last.hasPrefix("0") ? 1 : 0))
    }
  }

  /// A zlib stream with one stored block.
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    let count = UInt8(bytes.count)
    return [0x78, 0x01, 1, count, 0, ~count, 0xff] + bytes + number(Int(b), 2) + number(Int(a), 2)
  }

  /// Compression starts after a frame that announces it, and only some bodies are compressed.
  @Test(arguments: [1, 3, 1_400]) func compressedBodies(_ size: Int) throws {
    let plan = try Self.plan(
      """
      header: { length: 1 }
      length: { offset: 0, encoding: varint }
      compression: { kind: zlib, sized: varint, after: set_compression }
      fields: { type: [side, { offset: 0, size: 2 }], sequence: { offset: 2, size: 2 } }
      types:
        "client 0x1201": { name: request, role: message, answered: true, length: 4 }
        "server 0x1301": { name: answer, role: acknowledgment, answers: [request], length: 4 }
        "server 0x1003": { name: set_compression, role: control }
      sequence: { kind: identifier }
      """)
    func frame(_ body: [UInt8]) -> [UInt8] { [UInt8(body.count)] + body }
    func packed(_ body: [UInt8], _ isCompressed: Bool) -> [UInt8] {
      frame(isCompressed ? [UInt8(body.count)] + Self.stored(body) : [0] + body)
    }
    var talk = NumberedProtocol.connection(size: size)
    talk.send(frame([0x12, 1] + Self.number(1)), .clientToServer, at: Scene.ms(100))
    talk.send(
      frame([0x10, 3, 1]) + packed([0x13, 1] + Self.number(1), true), .serverToClient, at: Scene.ms(140))
    for i in 2...10 {
      let at = Int64(i) * 100
      talk.send(packed([0x12, 1] + Self.number(i), i % 2 == 0), .clientToServer, at: Scene.ms(at))
      talk.send(packed([0x13, 1] + Self.number(i), i % 3 == 0), .serverToClient, at: Scene.ms(at + 40))
    }
    let run = Run(talk.packets, plans: [plan])
    run.expectAnswered(10)
    #expect(run.frames.count == 21)
  }

  /// A body that is marked as compressed but is not is malformed; the following frames are decoded.
  @Test func aDamagedCompressedBody() throws {
    let plan = try Self.plan(
      """
      header: { length: 1 }
      length: { offset: 0, encoding: varint }
      compression: { kind: zlib, sized: varint }
      fields: { type: { offset: 0, size: 2 }, sequence: { offset: 2, size: 2 } }
      types:
        0x1201: { name: request, role: message, answered: true, length: 4 }
        0x1301: { name: answer, role: acknowledgment, answers: [request], length: 4 }
      sequence: { kind: identifier }
      """)
    func frame(_ size: UInt8, _ body: [UInt8]) -> [UInt8] { [UInt8(1 + body.count), size] + body }
    var talk = Talk(port: 7_000)
    for i in 1...4 {
      talk.say(.clientToServer, frame(0, [0x12, 1] + Self.number(i)))
      talk.say(.serverToClient, frame(0, [0x13, 1] + Self.number(i)))
    }
    talk.say(.clientToServer, frame(4, [0x12, 1] + Self.number(5)))
    talk.say(.clientToServer, frame(0, [0x12, 1] + Self.number(6)))
    talk.say(.serverToClient, frame(0, [0x13, 1] + Self.number(6)))
    let run = Run(talk.packets, plans: [plan])
    #expect(run.frames.count == 11)
    #expect(run.frames.count { $0.flags.contains(.malformed) } == 1)
    #expect(run.heard.finished.map(\.sequence) == [1, 2, 3, 4, 6])
  }

  /// Optional parts shift the number that follows them; where the bytes end before the number, nothing after them is read.
  @Test(arguments: [1, 3, 1_400]) func partsInFrontOfOneAnother(_ size: Int) throws {
    let part = [UInt8](repeating: 9, count: 255)
    var head: [UInt8] = [0xc0, 0xde, 1]
    head += part
    head.append(1)
    head += part
    head += [1, 2]
    let layout = Self.layout(
      "moved",
      """
      header: { length: 6, magic: { offset: 0, bytes: C0DE }, parts: [{ when: { offset: 2 }, at: 3, length: 255 }, { when: { offset: 3 }, at: 4, length: 255 }] }
      length: { offset: 5, size: 1 }
      fields: { type: { offset: 4 }, sequence: { after: length, offset: 0, size: 2 } }
      """, types: ("1", "2"), request: { [head] in head + Self.number($0) },
      answer: { [0xc0, 0xde, 0, 0, 2, 2] + Self.number($0) })
    let run = Run(layout.talk(size: size).packets, plans: [try layout.plan])
    run.expectAnswered(20)
  }

  /// Frames of a type without a length; each side has its own layout, with the length at another offset.
  @Test func absentLengthsBySide() throws {
    let plan = try Self.plan(
      """
      header: { length: 5, magic: { offset: 0, bytes: C0DE } }
      length: { offset: 3, size: 2 }
      fields: { type: { offset: 2 } }
      from-server:
        header: { length: 6, magic: { offset: 0, bytes: BEEF } }
        length: { offset: 4, size: 2 }
        fields: { type: { offset: 3 } }
      types:
        1: { name: data, role: message, body: [skip: 2, end] }
        7: { name: ping, role: heartbeat, answered: true, in-order: true, length: absent, from: client }
        8: { name: pong, role: acknowledgment, answers: [ping], in-order: true, length: absent, from: server }
      """)
    var talk = Talk(port: 7_000)
    for _ in 0..<4 {
      talk.say(.clientToServer, [0xc0, 0xde, 1, 0, 2, 5, 5, 0xc0, 0xde, 7])
      talk.say(.serverToClient, [0xbe, 0xef, 0, 8, 0xbe, 0xef, 0, 1, 0, 2, 5, 5])
    }
    let run = Run(talk.packets, plans: [plan])
    run.expectLedgerAddsUp()
    #expect(run.frames.count == 16)
    #expect(run.issues.isEmpty)
  }

  /// A frame whose body was cut by the snaplen, with a number after a varint: the header is decoded as usual.
  @Test func aCutBody() throws {
    let whole = Self.varint
    var layout = whole
    layout.request = { $0 < 305 ? [4, 0x12, 1] + Self.number($0) : whole.request($0) }
    let run = Run(layout.talk(size: 1_400).packets, plans: [try layout.plan], snapLength: 96)
    run.expectAnswered(20)
  }

  /// One acknowledgment for a range of numbers.
  @Test(
    arguments: [
      ("s1 s2 s3 s4 s5 a2-4", "2 3 4"),
      ("s1 s2 s3 a1-3 s4 a4-4", "1 2 3 4"),
      ("s1 s2 a1-9", "1 2"),
      // Numbers that were never sent are skipped, and a reversed range answers only its first number.
      ("s1 s5 a1-5", "1 5"),
      ("s1 s2 s3 a3-1", "3"),
    ]) func aRange(_ script: String, _ answered: String) throws
  {
    let plan = try Self.plan(
      """
      header: { length: 5, magic: { offset: 0, bytes: C0DE } }
      length: { offset: 2, size: 2 }
      fields: { type: { offset: 4 } }
      types:
        1: { name: transfer, role: message, answered: true, body: [load: { size: 4, into: sequence }, end] }
        2: { name: disposition, role: acknowledgment, answers: [transfer], through: last, body: [load: { size: 4, into: answered }, load: { size: 4, into: last }, end] }
      """)
    var talk = Talk(port: 7_000)
    for word in script.split(separator: " ") {
      let numbers = word.dropFirst().split(separator: "-").compactMap { Int($0) }
      let body = numbers.flatMap { Self.number($0, 4) }
      let type: UInt8 = word.hasPrefix("s") ? 1 : 2
      talk.say(type == 1 ? .clientToServer : .serverToClient, [0xc0, 0xde, 0, UInt8(body.count), type] + body)
    }
    let run = Run(talk.packets, plans: [plan])
    let acked = run.heard.finished.filter { $0.fate == .acked }.map { Int($0.sequence) }
    #expect(acked.sorted().map { "\($0)" }.joined(separator: " ") == answered)
  }
}
