import Foundation
import IMTestSupport
import IMWire
import Testing

/// Metrics of captures with missing or reordered packets. Each format counts separately, so that a metric that is final at another time,
/// or belongs to another connection, makes a difference.
@Suite struct CutFigureTests {
  /// What is done to a sample.
  enum Cut: CaseIterable {
    case dropped, swapped, begunLate, both, oneSide

    /// The packets that are left of `packets`. Swapped ones change places, not their times.
    func packets(of packets: [TimedPacket], _ random: inout SeededRandom) -> [TimedPacket] {
      var left = packets
      if self == .begunLate || self == .both { left.removeFirst(Int(random.next() % UInt64(left.count / 2)) + 1) }
      if self == .dropped || self == .both { left.removeAll { _ in random.once(in: 25) } }
      if self == .swapped || self == .both {
        for _ in 0..<left.count / 15 {
          let place = Int(random.next() % UInt64(left.count - 1))
          let (first, second) = (left[place], left[place + 1])
          left[place] = TimedPacket(second, at: first.timestamp)
          left[place + 1] = TimedPacket(first, at: second.timestamp)
        }
      }
      if self == .oneSide {
        let ends = left.map { Array($0.bytes.dropFirst(34).prefix(2)) }
        left = zip(left, ends).filter { $1 == ends[0] || random.once(in: 40) }.map(\.0)
      }
      return left
    }
  }

  /// What the command says of a capture, in the formats that count for themselves.
  struct Told {
    var stats: [String: Any], messages: [[String: Any]], documents: [[String: Any]], streams: [[String: Any]]
    var frames: [[String: Any]], text: String

    init(_ packets: [TimedPacket]) throws {
      let path = "/tmp/imdump-cut-\(UUID().uuidString).pcap"
      try Data(CaptureBuilder(packets).pcap()).write(to: URL(filePath: path))
      defer { try? FileManager.default.removeItem(atPath: path) }
      func rows(_ arguments: String...) throws -> [[String: Any]] {
        try Command.run(arguments + ["-q", "-r", path]).output.split(separator: "\n").map { line in
          try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
      }
      stats = try #require(try rows("stats", "--json").first)
      messages = try rows("messages", "--json")
      documents = try rows("--format", "ecs", "--message-log", "all")
      streams = try rows("streams", "--ranges", "--json")
      frames = try rows("--print", "--format", "json")
      text = try Command.run(["--print", "-q", "-r", path]).output
    }

    /// The objects `name` of documents that have one.
    func documents(_ name: String) -> [[String: Any]] {
      documents.compactMap { ($0["imdump"] as? [String: Any])?[name] as? [String: Any] }
    }

    /// How often `stats --json` counts an issue, whose name may have a dot.
    func issue(_ name: String) -> Int { (stats["issues"] as? [String: Any])?[name] as? Int ?? 0 }

    /// A number of `stats --json`; 0 where it is not there.
    func number(_ place: String) -> Int { CatalogueTests.value(stats, place) as? Int ?? 0 }
  }

  /// A connection on which a frame began and none came whole is not decoded: its gap and its end are no protocol's, and the cut
  /// frame is told wherever issues are.
  @Test func noWholeFrame() throws {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xc000_0202), port: 8_080))
    talk.open(at: Timestamp(milliseconds: 1_700_000_000_000))
    talk.segmentSize = 100
    let frame = TJPFrameBuilder(text: String(repeating: "x", count: 140), sequence: 1).bytes
    for part in talk.send(frame, .clientToServer, at: Timestamp(milliseconds: 1_700_000_000_010)).dropFirst() {
      talk.drop(part)
    }
    talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: 1_700_000_000_100))
    let told = try Told(talk.packets)
    #expect(told.number("connections.decoded") == 0 && told.frames.isEmpty)
    #expect(told.documents("weird").map { $0["name"] as? String } == ["frame_cut"])
    #expect(told.number("issues.frame_cut") == 1 && told.number("issues.gap") == 1)
    let lines = told.text.split(separator: "\n")
    #expect(lines.count { $0.contains(" -- gap ") } == 0 && lines.count == 1, "\(told.text)")
  }

  private static let client = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000)
  private static let server = Endpoint(address: IPAddress(v4: 0xc000_0202), port: 8_080)
  private static func at(_ milliseconds: Int64) -> Timestamp {
    Timestamp(milliseconds: 1_700_000_000_000 + milliseconds)
  }

  /// A PROXY header that cannot be believed is told wherever issues are, also where no frame follows it.
  @Test func onlyABadProxyHeader() throws {
    var talk = ConversationBuilder(client: Self.client, server: Self.server)
    talk.open(at: Self.at(0))
    talk.send(Array("PROXY TCP4 192.0.2.300 192.0.2.2 40000 8080\r\n".utf8), .clientToServer, at: Self.at(10))
    let told = try Told(talk.packets)
    #expect(told.issue("carrier.proxy_header") == 1)
    #expect(told.documents("weird").map { $0["name"] as? String } == ["carrier.proxy_header"])
    #expect(told.text.contains("implausible PROXY header"), "\(told.text)")
  }

  /// A SYN whose answer takes longer than anybody waits has none: no format times its handshake.
  @Test(arguments: [(29_000, 1), (31_000, 0)]) func aLateAnswerToASYN(_ milliseconds: Int64, _ count: Int) throws {
    var talk = ConversationBuilder(client: Self.client, server: Self.server)
    talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Self.at(0))
    talk.append(.serverToClient, [.syn, .ack], sequence: 5_000, acknowledgment: 1_001, at: Self.at(milliseconds))
    talk.append(.clientToServer, .ack, sequence: 1_001, acknowledgment: 5_001, at: Self.at(milliseconds + 20))
    let told = try Told(talk.packets)
    #expect(told.number("total.tcp.handshake_rtt_us.count") == count)
    #expect(
      told.streams.count { $0["handshake_rtt_server_us"] != nil && $0["handshake_rtt_client_us"] != nil } == count)
  }

  @Test(
    arguments: ["tjp-racing.pcap", "tjp-weak-network.pcap", "mqtt-websocket.pcap", "mqtt-mosquitto.pcap"], Cut.allCases)
  func theFormatsAgree(_ sample: String, _ cut: Cut) throws {
    var random = SeededRandom(sample.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) })
    let told = try Told(cut.packets(of: Samples.packets(sample), &random))

    // A round trip is final with its fate: in the document that was written then, and in the list at the end.
    var last: [String: [String: Any]] = [:]
    for message in told.documents("msg") { last["\(message["id"] ?? "")"] = message }
    #expect(
      told.messages.count { $0["rtt_karn_us"] != nil } == last.values.count { $0["rtt_ms"] != nil }, "round trips")

    // Answers without a message, of which some find it later.
    let orphans = told.documents("weird").filter { $0["name"] as? String == "orphan_ack" }
    let toldOrphans = orphans.reduce(0) { $0 + 1 + ($1["suppressed"] as? Int ?? 0) }
    #expect(toldOrphans == told.number("issues.orphan_ack"), "orphaned answers")

    // Gaps, also those from before anybody knew what the connection speaks.
    let decoded = Set(told.frames.compactMap { $0["conn"] as? Int })
    let connections = told.documents("conn").filter {
      $0["final"] as? Bool == true && decoded.contains(Int(("\($0["id"] ?? "")").split(separator: "-").last ?? "") ?? 0)
    }
    let gaps = connections.reduce(0) { $0 + (CatalogueTests.value($1, "gap.count") as? Int ?? 0) }
    #expect(told.text.split(separator: "\n").count { $0.contains(" -- gap ") } == gaps, "gaps")

    let handshakes = told.streams.count {
      $0["handshake_rtt_server_us"] != nil && $0["handshake_rtt_client_us"] != nil
    }
    #expect(told.number("total.tcp.handshake_rtt_us.count") == handshakes, "handshakes of TCP")

    let inWebSocket = connections.count { $0["websocket"] != nil }
    #expect(inWebSocket <= told.number("ledger.websocket.connections"), "connections in WebSocket")
  }
}
