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
  private static func decode(_ frames: [Sent], _ plan: ProtocolPlan) -> Rewriter {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: 40_001),
      server: Endpoint(address: IPAddress(v4: 0xcb00_710a), port: 7_000))
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
    for name in ["tjp", "mqtt", "gbt32960", "sgip", "amqp091", "wukongim", "ocpp", "phoenix", "signalr", "socketio"] {
      #expect(try isRewritable(name), "\(name)")
    }
    for name in ["nats", "stomp", "redis", "xmpp", "turms", "teamtalk"] { #expect(try !isRewritable(name), "\(name)") }
  }
}
