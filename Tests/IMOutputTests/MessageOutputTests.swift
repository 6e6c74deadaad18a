import Foundation
import IMEngineTestSupport
import IMFilter
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// Messages as JSON, as lines and as a transcript, and as filters see them, compared with the ground truth of two captures.
@Suite struct MessageOutputTests {
  /// Collects the output for each finished message, and which of the filters matched it.
  final class Sink: EngineSink {
    private let plan = MadePlan.tjp()
    private let store: MessageStore
    private let filters: [Filter]
    private(set) var json: [String] = [], text: [String] = [], transcript: [String] = [], session: [String?] = []
    private(set) var taken: [[Bool]] = []

    init(_ filters: [Filter] = []) {
      store = MessageStore(plans: [plan], keepsBodies: true)
      self.filters = filters
    }

    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) { store.note(frame, note, connection, direction, body, tlvs) }

    func adopted(_ exchange: UInt32, _ times: [Timestamp]) { store.adopted(exchange, times) }

    func finished(_ exchange: borrowing Exchange) {
      let exchange = copy exchange
      guard let record = store.take(exchange), record.role == .message else { return }
      func written(_ body: (inout ByteWriter) -> Void) -> String {
        var out = ByteWriter()
        body(&out)
        return out.text
      }
      json.append(written { MessageJSONWriter().write(record, exchange, to: &$0) })
      text.append(written { MessageTextWriter(style: TextStyle()).write(record, exchange, to: &$0) })
      transcript.append(written { TranscriptWriter(style: TextStyle()).write(record, exchange, to: &$0) })
      session.append(record.session)
      let filtered = MessageFilterRecord(record: record, exchange: exchange, plan: plan)
      taken.append(filters.map { $0.matches(filtered) })
      store.recycle(record)
    }
  }

  private static func run(_ sample: String, _ filters: [String] = []) throws -> Sink {
    let sink = Sink(try filters.map { try Filter($0, schema: .messages) })
    var options = EngineOptions(plans: [MadePlan.tjp()])
    options.needs = [.frames, .finished]
    var engine = Engine(options: options, sink: sink)
    let batch = CaptureBuilder(try Samples.packets(sample)).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    return sink
  }

  /// The messages in the ground truth, by direction, number and the time of the first copy.
  private static func truth(_ sample: String) throws -> [String: Document] {
    let truth = try JSONSerialization.jsonObject(with: Data(try Samples.bytes("\(sample).truth.json")))
    let messages = (truth as? [String: Any])?["messages"] as? [[String: Any]] ?? []
    return try Dictionary(
      uniqueKeysWithValues: messages.filter { $0["fate"] != nil && $0["type"] as? String == "data" }.map {
        (try key(Document($0)), Document($0))
      })
  }

  private static func key(_ message: Document) throws -> String {
    let begin = try #require((message["ts"] as? [Int])?.first)
    return "\(message.text("dir") ?? "") \(message.number("seq") ?? -1) \(begin)"
  }

  private static func object(_ line: String) throws -> Document {
    #expect(line.hasSuffix("}\n") && line.utf8.filter { $0 < 0x20 }.count == 1)
    return Document(try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]))
  }

  @Test(arguments: ["tjp-clean-chat.pcap", "tjp-weak-network.pcap"])
  func jsonIsTheTruth(_ sample: String) throws {
    let truth = try Self.truth(sample)
    let sink = try Self.run(sample)
    #expect(sink.json.count == truth.count)
    for line in sink.json {
      let message = try Self.object(line)
      let expected = try #require(truth[try Self.key(message)])
      #expect(message.text("fate") == expected.text("fate"))
      for list in ["ts", "acks"] { #expect(message[list] as? [Int] == expected[list] as? [Int], "\(list)") }
      #expect(message["crc"] as? [String] == expected["crc"] as? [String])
      for number in ["len", "retries", "dup_after_ack", "rtt_us", "session"] {
        #expect(message.number(number) == expected.number(number), "\(number)")
      }
      #expect(message.text("role") == "message" && message.text("type") == "data")
      // After a retry, it is unknown which copy was answered.
      let retries = message.number("retries") ?? 0
      #expect(message.number("rtt_karn_us") == (retries == 0 ? message.number("rtt_us") : nil))
    }
    #expect(try Self.run(sample).json == sink.json)
  }

  @Test func linesSayTheSame() throws {
    let sink = try Self.run("tjp-weak-network.pcap")
    for ((line, said), text) in zip(zip(sink.json, sink.transcript), sink.text) {
      let message = try Self.object(line)
      let fate = try #require(message.text("fate"))
      let (client, server) = (try #require(message.text("client")), try #require(message.text("server")))
      let isUp = message.text("dir") == "c2s"
      let ends = isUp ? "\(client) > \(server)" : "\(server) > \(client)"
      let number = Int(message.number("seq") ?? -1), count = Int(message.number("len") ?? -1)
      #expect(text.hasPrefix("#\(Int(message.number("conn") ?? 0)) \(ends) data seq \(number) session "))
      #expect(text.contains(" len \(count): \(fate)") && text.hasSuffix("\n"))
      let copies = (message["ts"] as? [Int])?.count ?? 0
      #expect(text.contains(", \(copies) copies") == (copies > 1))
      if let latency = message.number("rtt_us") {
        #expect(text.contains(" after \(String(format: "%.3f", latency / 1_000)) ms"))
      }
      if fate == "unanswered" { #expect(text.contains(", though the server's TCP acknowledged it")) }
      // The transcript names the session, and describes the message's fate in words.
      let words =
        switch fate {
        case "acked", "acked_after_retry": "[answered after "
        case "unanswered": "[lost: the server's TCP received it, no answer was sent"
        default: "[pending: no answer by the end]"
        }
      let session = Int(message.number("session") ?? -1)
      #expect(said.hasPrefix(isUp ? "\(session) > server: " : "server > \(session): ") && said.contains(words))
      #expect(said.contains("(data, \(count) bytes)"))
      let retries = Int(message.number("retries") ?? 0)
      #expect(said.contains(retries == 1 ? ", 1 retry" : ", \(retries) retries") == (retries > 0))
    }
  }

  /// A filter over messages matches exactly those whose JSON fulfils its condition.
  @Test func filtersSeeTheSame() throws {
    var cases: [(filter: String, takes: (Document) -> Bool)] = []
    func test(_ filter: String, _ takes: @escaping (Document) -> Bool) { cases.append((filter, takes)) }
    func crc(_ message: Document) -> [String] { message["crc"] as? [String] ?? [] }
    test("fate == acked") { $0.text("fate") == "acked" }
    test("fate == lost") { $0.text("fate") == "unanswered" || $0.text("fate") == "damaged" }
    test("cause == peer") { $0.text("cause") == "peer" }
    test("retries > 0") { ($0.number("retries") ?? 0) > 0 }
    test("retry") { ($0.number("retries") ?? 0) > 0 }
    test("dup >= 1") { ($0.number("dup_after_ack") ?? 0) >= 1 }
    test("rtt_us > 100000") { ($0.number("rtt_karn_us") ?? 0) > 100_000 }
    test("rtt_ms <= 26.5") { ($0.number("rtt_karn_us") ?? .infinity) <= 26_500 }
    test("dir == s2c") { $0.text("dir") == "s2c" }
    test("len in {15..19}") { (15...19).contains($0.number("len") ?? 0) }
    test("conn == 1") { $0.number("conn") == 1 }
    test("session == 22509") { $0.number("session") == 22_509 }
    test("copy > 1") { (($0["ts"] as? [Int])?.count ?? 0) > 1 }
    test("crc == bad") { crc($0).first == "bad" }
    test("damaged") { crc($0).contains("bad") }
    test("heartbeat or ack") { _ in false }
    test("role == message and type == data and profile == tjp") { _ in true }
    test("tlv_count == 1") { ($0["tlv"] as? [Any])?.count == 1 }
    test("client.ip == 203.0.113.99") { $0.text("client")?.hasPrefix("203.0.113.99:") == true }
    test("server.port == 8080 and ip == 203.0.113.10") { _ in true }
    let sink = try Self.run("tjp-weak-network.pcap", cases.map(\.filter))
    #expect(sink.json.count == sink.taken.count && sink.json.count > 40)
    for (line, taken) in zip(sink.json, sink.taken) {
      let message = try Self.object(line)
      for (place, test) in cases.enumerated() {
        #expect(taken[place] == test.takes(message), "\(test.filter) of \(line)")
      }
    }
  }

  /// Message text is found in the body's elements, at the given path only.
  @Test func filtersLookIntoBodies() throws {
    let filters = ["tlv[0x1001] matches \".\"", "tlv[0x4242] matches \".\""]
    let sink = try Self.run("tjp-clean-chat.pcap", filters)
    #expect(sink.taken.contains { $0[0] } && !sink.taken.contains { $0[1] })
  }

  @Test func fatesAsFiltersAskForThem() throws {
    let exchange = Exchange(
      told: .rejected, role: 0, direction: .clientToServer, id: 0, connection: 1, sentAt: Timestamp(milliseconds: 1),
      decidedAt: Timestamp(milliseconds: 2), copies: 3)
    let record = FateFilterRecord(
      exchange, status: StatusCode(plan: 0, list: 0, number: 403), statusName: "forbidden")
    for (filter, takes) in [
      ("fate == rejected and cause == status", true), ("fate == lost", false), ("fate == failed", true),
      ("status == 403 and status_name == forbidden", true), ("status_name == ok", false),
      ("retries == 2 and retry", true),
      ("dup > 0 or duplicate", false), ("rtt_us >= 0", false), ("len >= 0", false),
    ] {
      #expect(try Filter(filter, schema: .messages).matches(record) == takes, "\(filter)")
    }
  }

  @Test func connectionsAsFiltersAskForThem() throws {
    var report = MadeReport.decoded(serial: 4)
    (report.firstSeen, report.lastSeen) = (Timestamp(milliseconds: 1_000), Timestamp(milliseconds: 3_500))
    (report.packets, report.wireBytes, report.gapCount) = ([7, 5], [700, .max], 2)
    (report.reason, report.resetBy, report.rare.retries) = (.reset, .serverToClient, 3)
    (report.rare.fates[0].units, report.rare.fates[1].damaged) = (9, 1)
    let decoded = ConnectionFilterRecord(ListedConnection(report), profiles: ["tjp"])
    let hello = TLSHello(version: 0x0303, serverName: "chat.example", protocols: [])
    var other = MadeReport.undecoded()
    other.info.plan = FlowProfile.tls.told
    let undecoded = ConnectionFilterRecord(ListedConnection(other, hello: hello), profiles: ["tjp"])
    for (filter, first, second) in [
      ("conn == 4", true, false), ("duration_ms == 2500", true, false), ("packets == 12", true, false),
      ("c2s.packets == 7 and s2c.packets == 5", true, false), ("end == rst and rst_by == s2c", true, false),
      ("messages == 9 and lost == 1 and retries == 3", true, false), ("messages >= 0", true, false),
      ("gaps == 2", true, false), ("profile == tjp", true, false), ("tls and sni == \"chat.example\"", false, true),
      ("ip == 10.0.0.7 and port == 8080", true, true), ("saw_syn and end in {fin, rst}", true, true),
      // The sum of both directions' bytes wraps, and does not trap.
      ("bytes == 699", true, false), ("client.port == 40001 and server.ip == 192.0.2.9", true, true),
      ("handshake_ms >= 0", false, false),
    ] as [(String, Bool, Bool)] {
      let filter = try Filter(filter, schema: .connections)
      #expect(filter.matches(decoded) == first && filter.matches(undecoded) == second, "\(filter)")
    }
  }
}

/// Text in message parts, and frames dissected into parts.
@Suite struct MessagePartTests {
  @Test(
    arguments: [
      ("plain text\n\t", true), ("晚上吃什么", true), ("", true), ("bell \u{7}", false), ("\u{1b}[2J", false),
      ("del\u{7f}", false),
      ("nul\0", false),
    ]) func bytesThatAreText(_ text: String, _ isText: Bool)
  {
    #expect(MessageText.text(Array(text.utf8)) == (isText ? text : nil))
  }

  @Test func bytesThatAreNone() {
    for bytes in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x61, 0xe4, 0xbd]] as [[UInt8]] {
      #expect(MessageText.text(bytes) == nil)
    }
  }

  /// Random parts compared with the definition: a part is kept unless it overlaps another one that begins earlier or is longer, and its
  /// depth is the number of parts that contain it.
  @Test func partsAreATree() {
    var random = SeededRandom(111)
    for _ in 0..<300 {
      let count = Int.random(in: 1...40, using: &random)
      let drawn = (0..<Int.random(in: 0...12, using: &random)).map { number in
        let start = Int.random(in: 0...count + 2, using: &random)
        return FrameDissection.Part(
          name: "\(number)", value: "", range: start..<start + Int.random(in: 0...count, using: &random))
      }
      let dissection = FrameDissection(bytes: [UInt8](repeating: 0, count: count), parts: drawn)
      let parts = dissection.parts
      #expect(dissection.byteCount == count)
      for (i, part) in parts.enumerated() {
        #expect(drawn.contains { $0.name == part.name && $0.range == part.range } && !part.range.isEmpty)
        #expect(part.range.lowerBound < count)
        for other in parts[(i + 1)...] {
          // One after the other, or the later inside the earlier; never overlapping, never the same bytes.
          let isApart = other.range.lowerBound >= part.range.upperBound
          let isInside = other.range.upperBound <= part.range.upperBound && other.range != part.range
          #expect((isApart || isInside) && other.range.lowerBound >= part.range.lowerBound)
        }
        let around = parts.filter { $0.name != part.name && $0.range.contains(part.range) }
        #expect(part.depth == around.count)
      }
      for byte in 0..<count {
        let innermost = parts.filter { $0.range.contains(byte) }.max { $0.depth < $1.depth }
        #expect(dissection.part(at: byte).map { parts[$0].name } == innermost?.name)
      }
      // The order in which parts are given only matters for parts with the same bytes.
      let again = FrameDissection(bytes: [UInt8](repeating: 0, count: count), parts: drawn.reversed())
      #expect(again.parts.map(\.range) == parts.map(\.range) && again.parts.map(\.depth) == parts.map(\.depth))
    }
  }
}
