import IMEngine
import IMFields
import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMRedaction

/// Frames that are recognized by their contents, or behind lengths of variable size: names and words go, what they are read by stays.
@Suite struct ContentRedactionTests {
  /// One frame of a direction.
  private struct Sent: Equatable {
    var direction: Direction
    var bytes: [UInt8]
  }

  /// What a decoder says of a frame.
  private struct Said: Equatable {
    var type: UInt8
    var sequence: UInt64
    var session: UInt64
    var isMalformed: Bool
  }

  /// Rewrites every frame that an engine decodes, and notes what it says of it.
  private final class Rewriter: EngineSink {
    let plan: ProtocolPlan
    let redactor = FrameRedactor(Pseudonyms(IdentityHash(key: [UInt8](1...32))))
    private(set) var new: [Sent] = []
    private(set) var said: [Said] = []
    private(set) var fates: [Fate] = []

    init(_ plan: ProtocolPlan) { self.plan = plan }

    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      said.append(
        Said(
          type: frame.kind.pointee.index, sequence: frame.sequence, session: frame.session,
          isMalformed: frame.flags.contains(.malformed)))
      let made = redactor.rewrite(
        frame, plan, connection, direction, bytes: bytes, body: body, tlvs: tlvs, wire: nil)
      if let made { new.append(Sent(direction: direction, bytes: made)) }
    }

    func finished(_ exchange: borrowing Exchange) { fates.append(exchange.fate) }
  }

  /// Decodes frames that one side sends after the other.
  private static func decode(_ frames: [Sent], _ plan: ProtocolPlan, port: UInt16 = 7_000) -> Rewriter {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: 40_001),
      server: Endpoint(address: IPAddress(v4: 0xcb00_710a), port: port))
    talk.open(at: Timestamp(milliseconds: 1_000))
    for (i, frame) in frames.enumerated() {
      talk.send(frame.bytes, frame.direction, at: Timestamp(milliseconds: 1_100 + Int64(i) * 20))
    }
    let sink = Rewriter(plan)
    var options = EngineOptions(plans: [plan])
    options.needs = [.frames, .finished]
    var engine = Engine(options: options, sink: sink)
    let batch = CaptureBuilder(talk.packets).batch(firstNumber: 1)
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish(at: nil)
    return sink
  }

  private static func counted(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    return [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes.dropFirst(2), as: UTF8.self) }

  @Test func json() throws {
    let plan = try ProfileCompiler.compile(
      """
      profile: spoken
      version: 1
      ports: [7000]
      header: { length: 2 }
      length: { offset: 0, size: 2 }
      content: json
      fields: { type: { at: kind }, sequence: { at: id }, session: { at: user }, status: { at: code } }
      types:
        say_it: { name: say, role: message, answered: true, from: client }
        heard_it: { name: ok, role: acknowledgment, answers: [say], from: server }
      named:
        fields: { password: { sensitive: credential }, phone: { sensitive: identity }, size: { unit: B } }
        messages:
          say: [paths: { password: auth.password, room: to, phone: { at: phone, type: integer }, size: { at: size, type: integer } }]
      """, source: "spoken.yaml")
    #expect(plan.isRewritable)
    var frames: [Sent] = []
    for i in 1...6 {
      let said = """
        {"kind":"say_it","id":"a-\(i)","user":4711,"to":"room/alice","auth":{"password":"s3cr3t\\n9"},\
        "phone":4915112345,"size":12,"note":{"bob":"häß 12","n":[1.5e3,-0.25,true,null]}}
        """
      frames.append(Sent(direction: .clientToServer, bytes: Self.counted(said)))
      // The last answer is cut short: its content cannot be read.
      let answer = #"{"kind":"heard_it","id":"a-\#(i)","code":200,"by":"carol""# + (i == 6 ? "" : "}")
      frames.append(Sent(direction: .serverToClient, bytes: Self.counted(answer)))
    }
    let first = Self.decode(frames, plan)
    #expect(first.said.count == 12 && first.fates.count == 6)
    #expect(first.new.count == 12)
    for (old, new) in zip(frames, first.new) { #expect(old.bytes.count == new.bytes.count) }
    for new in first.new {
      for word in ["alice", "s3cr3t", "bob", "carol", "4915112345", "4711", "note", "häß", "1.5", "room"] {
        #expect(!Self.text(new.bytes).contains(word), "\(word) in \(Self.text(new.bytes))")
      }
    }
    let said = Self.text(first.new[0].bytes)
    #expect(said.hasPrefix(#"{"kind":"say_it","id":"a-1","user":"#))
    #expect(said.contains(#""auth":{"password":"x1xx1xxx1"},"phone":"#), "\(said)")
    #expect(said.hasSuffix(#""size":12,"xxxx":{"xxx":"xéé 11","x":[1.1e1,-1.11,true,null]}}"#), "\(said)")
    #expect(Self.text(first.new[1].bytes) == #"{"kind":"heard_it","id":"a-1","code":200,"xx":"xxxxx"}"#)
    #expect(Self.text(first.new[11].bytes).allSatisfy { $0 == "x" })
    // The copy is read as the original is, with another session.
    let second = Self.decode(first.new, plan)
    #expect(second.fates == first.fates)
    #expect(second.said.map(\.type) == first.said.map(\.type))
    #expect(second.said.map(\.sequence) == first.said.map(\.sequence))
    #expect(second.said.map(\.isMalformed) == first.said.map(\.isMalformed))
    let sessions = Set(second.said.map(\.session).filter { $0 != 0 })
    #expect(sessions.count == 1 && !sessions.contains(4711))
  }

  /// The session follows a length of one byte or two, and so does a text.
  @Test func sessionsAfterVarints() throws {
    let plan = try ProfileCompiler.compile(
      """
      profile: spoken
      version: 1
      ports: [7000]
      header: { length: 8 }
      length: { offset: 0, encoding: varint }
      fields: { type: [{ offset: 0, size: 1 }], session: { offset: 1, size: 4 }, sequence: { offset: 5, size: 2 } }
      types:
        0x51: { name: say, role: message, answered: true, from: client, body: [text: { size: 1 }, end] }
        0x52: { name: ok, role: acknowledgment, answers: [say], from: server, body: [end] }
      sequence: { kind: identifier }
      """, source: "spoken.yaml")
    #expect(plan.isRewritable)
    func frame(_ type: UInt8, _ session: [UInt8], _ number: UInt8, _ body: [UInt8]) -> [UInt8] {
      let length = body.count < 128 ? [UInt8(body.count)] : [UInt8(body.count & 127) | 128, UInt8(body.count >> 7)]
      return length + [type] + session + [0, number] + body
    }
    let sessions: [[UInt8]] = [[0, 0x12, 0xd6, 0x87], [0, 0x12, 0xd6, 0x88]]
    var frames: [Sent] = []
    for number in UInt8(1)...8 {
      let words = [UInt8](repeating: 0x61 + number, count: number % 2 == 0 ? 20 : 150)
      let session = sessions[Int(number / 5)]
      frames.append(
        Sent(direction: .clientToServer, bytes: frame(0x51, session, number, [UInt8(words.count)] + words)))
      frames.append(Sent(direction: .serverToClient, bytes: frame(0x52, session, number, [])))
    }
    let first = Self.decode(frames, plan)
    #expect(first.said.count == 16 && first.new.count == 16)
    var pairs: Set<[UInt8]> = []
    for (old, new) in zip(frames, first.new) {
      let start = old.bytes[0] < 128 ? 2 : 3
      #expect(old.bytes.count == new.bytes.count && old.bytes[..<start] == new.bytes[..<start])
      #expect(old.bytes[start + 4..<start + 6] == new.bytes[start + 4..<start + 6])
      pairs.insert(Array(old.bytes[start..<start + 4] + new.bytes[start..<start + 4]))
      #expect(old.bytes[start..<start + 4] != new.bytes[start..<start + 4])
      if old.direction == .clientToServer {
        #expect(old.bytes[(start + 6)...].first == new.bytes[(start + 6)...].first)
        #expect(old.bytes.dropFirst(start + 7) != new.bytes.dropFirst(start + 7))
      }
    }
    // Each session has one pseudonym of its own.
    #expect(pairs.count == 2 && Set(pairs.map { Array($0[4...]) }).count == 2)
    let second = Self.decode(first.new, plan)
    #expect(second.fates == first.fates && second.fates.count == 8)
    #expect(second.said.map(\.type) == first.said.map(\.type))
    #expect(second.said.map(\.sequence) == first.said.map(\.sequence))
  }

  /// Protocols whose frames cannot be rewritten yet.
  @Test func whatIsRewritten() throws {
    func isRewritable(_ name: String) throws -> Bool { try BuiltInProfiles.plan(name).isRewritable }
    for name in [
      "tjp", "mqtt", "gbt32960", "sgip", "amqp091", "wukongim", "ocpp", "phoenix", "signalr", "socketio", "nats",
      "stomp", "redis", "xmpp",
    ] {
      #expect(try isRewritable(name), "\(name)")
    }
    for name in ["turms", "teamtalk"] { #expect(try !isRewritable(name), "\(name)") }
  }

  /// What a text becomes by one of the treatments.
  private static func made(_ old: String, _ treat: (inout FrameText, Range<Int>) -> Void) -> String {
    var text = FrameText()
    text.begin(headerCount: 0, trailerCount: 0) { $0 = Array(old.utf8) }
    treat(&text, 0..<text.old.count)
    text.replace(FrameRedactor(Pseudonyms(IdentityHash(key: [UInt8](1...32)))), isPlain: false)
    return String(decoding: text.new, as: UTF8.self)
  }

  private static let known = Set(["receipt", "verbose", "id"].map { Array($0.utf8) })

  @Test(
    arguments: [
      (
        "CONNECT\nlogin:bob\npasscode:s3cr3t\\c\ncontent-length:12\nReceipt:r-1\n\n",
        "XXXXXXX\nxxxxx:xxx\nxxxxxxxx:x1xx1x\\x\nxxxxxxx-xxxxxx:11\nReceipt:x-1\n\n"
      ),
      ("MSG orders.eu.bob 1 _INBOX.x 12\r\n", "XXX xxxxxx.xx.xxx 1 _XXXXX.x 12\r\n"),
      (#"CONNECT {"verbose":true,"user":"bob"}"#, #"XXXXXXX {"verbose":true,"xxxx":"xxx"}"#),
      ("\r\n:x\r\nno colon", "\r\n:x\r\nxx xxxxx"),
    ]) func headerLines(_ old: String, _ new: String)
  {
    #expect(Self.made(old) { ContentRedaction.treat(&$0, headers: $1, known: Self.known) } == new)
  }

  @Test(
    arguments: [
      ("*2\r\n$3\r\nSET\r\n$6\r\nab\r\n$9\r\n", "*2\r\n$3\r\nXXX\r\n$6\r\nxx\r\n$1\r\n"),
      ("*2\r\n:-120\r\n$-1\r\n", "*2\r\n:-111\r\n$-1\r\n"), ("+OK fine\r\n", "+XX xxxx\r\n"),
      ("#t\r\n,1.5e3\r\n", "#t\r\n,1.1e1\r\n"), ("PING now\r\n", "XXXX xxx\r\n"),
      ("$99999999999999999999\r\n", "$99999999999999999999\r\n"), ("$50\r\nabc", "$50\r\nxxx"),
      ("*2\r\n#t\r\n_\r\n", "*2\r\n#t\r\n_\r\n"), ("#alice\r\n", "#xxxxx\r\n"),
    ]) func resp(_ old: String, _ new: String)
  {
    #expect(Self.made(old) { ContentRedaction.treat(&$0, resp: $1) } == new)
  }

  @Test(
    arguments: [
      (
        "<m xmlns='jabber:client' to=\"bob@x.org\" id='m1'\n type = 'chat'><body>Hi &amp; bye, 12 &lt;b></body><x/></m>",
        "<m xmlns='jabber:client' to=\"xxx@x.xxx\" id='x1'\n type = 'xxxx'><body>Xx &amp; xxx, 11 &lt;x></body><x/></m>"
      ),
      (
        "<?xml version='1.0'?><s:s from='a' xmlns:s='http://x'>",
        "<?xml version='1.0'?><s:s from='x' xmlns:s='http://x'>"
      ),
      ("<a><![CDATA[a<b]]></a>", "<a><![CDATA[x<x]]></a>"), ("<a b='", "<a b='"), ("<![CDATA[ab", "<![CDATA[xx"),
      // What is longer than any reference is a text.
      ("<a>&secretsecretsecret; &#x1f600;&</a>", "<a>&xxxxxxxxxxxxxxxxxx; &#x1f600;&</a>"),
    ]) func xml(_ old: String, _ new: String)
  {
    #expect(Self.made(old) { ContentRedaction.treat(&$0, xml: $1) } == new)
  }

  /// STOMP: header lines are a frame's header, and a body follows them.
  @Test func stomp() throws {
    let plan = try BuiltInProfiles.plan("stomp")
    let frames = [
      (true, "CONNECT\nlogin:alice\npasscode:s3cr3t\naccept-version:1.2\n\n\0"),
      (false, "CONNECTED\nversion:1.2\nserver:vendor\n\n\0"),
      (true, "SEND\ndestination:/queue/carol\nreceipt:r-1\ncontent-length:11\n\nhello carol\0"),
      (false, "RECEIPT\nreceipt-id:r-1\n\n\0"),
      (true, "SEND\ndestination:/queue/carol\nreceipt:r-2\n\nbye carol\0"),
      (false, "ERROR\nreceipt-id:r-2\nmessage:denied to alice\n\n\0"),
    ].map { Sent(direction: $0.0 ? .clientToServer : .serverToClient, bytes: Array($0.1.utf8)) }
    let first = Self.decode(frames, plan, port: 61_613)
    #expect(first.new.count == 6 && first.fates.count == 3)
    for new in first.new {
      let text = String(decoding: new.bytes, as: UTF8.self)
      for word in ["alice", "carol", "s3cr3t", "vendor", "hello", "denied"] { #expect(!text.contains(word), "\(text)") }
    }
    let send = String(decoding: first.new[2].bytes, as: UTF8.self)
    #expect(send.hasPrefix("SEND\ndestination:/"), "\(send)")
    #expect(send.contains("\nreceipt:r-1\ncontent-length:11\n\nxxxxx xxxxx\0"), "\(send)")
    let second = Self.decode(first.new, plan, port: 61_613)
    #expect(second.fates == first.fates && second.said.map(\.type) == first.said.map(\.type))
    #expect(second.said.map(\.sequence) == first.said.map(\.sequence))
  }
}
