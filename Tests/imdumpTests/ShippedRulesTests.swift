import Foundation
import IMTestSupport
import IMWire
import Testing

/// The rules that `Samples/alerts/im.yml` brings, held against what they are for: somebody hears of failed logins, and nobody of
/// a loss that is the capture's.
@Suite struct ShippedRulesTests {
  private static let rules = "Samples/alerts/im.yml"
  private static let start: Int64 = 1_700_000_000_000

  private static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: start + milliseconds) }

  private static func talk(_ number: UInt16, port: UInt16) -> ConversationBuilder {
    ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0000 | UInt32(number)), port: 50_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: port))
  }

  /// What `imdump check` tells of a capture by some rules: name, state and severity, and the status.
  private static func told(_ capture: CaptureBuilder, rules: String = rules) throws -> (alerts: [String], status: Int32)
  {
    let path = "/tmp/imdump-rules-\(UUID().uuidString).pcap"
    try Data(capture.pcap()).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let result = try Command.run(["check", path, "--rules", rules, "--json", "-q"])
    let alerts = try result.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    return (
      alerts.map { alert in
        ["alert", "state", "severity"].map { "\(alert[$0] ?? "")" }.joined(separator: " ")
      }, result.status
    )
  }

  /// Clients of a broker that answers each CONNECT with `code`.
  private static func logins(_ code: UInt8) -> CaptureBuilder {
    var capture = CaptureBuilder()
    for number in 0..<4 as Range<UInt16> {
      let begin = Int64(number) * 2_000
      var talk = talk(number, port: 1_883)
      talk.open(at: at(begin))
      talk.send(MQTTPacketBuilder.connect(clientID: "phone-\(number)"), .clientToServer, at: at(begin + 50))
      talk.send(MQTTPacketBuilder.connack(code: code), .serverToClient, at: at(begin + 90))
      talk.close(.fin(by: .serverToClient), at: at(begin + 100))
      capture.packets += talk.packets
    }
    capture.packets.sort { $0.timestamp < $1.timestamp }
    return capture
  }

  /// `where` asks for the type and the status: among four logins those that are refused with 5, and not those that are accepted.
  @Test func whereChoosesByTypeAndStatus() throws {
    func told(_ text: String, _ code: UInt8) throws -> Int {
      let path = "/tmp/imdump-where-\(UUID().uuidString).yml"
      let rule = "  - { name: r, metric: handshakes_refused, window: 60s, op: '>=', threshold: 4, \(text) }\n"
      try Data("version: 1\nrules:\n\(rule)".utf8).write(to: URL(filePath: path))
      defer { try? FileManager.default.removeItem(atPath: path) }
      return try Self.told(Self.logins(code), rules: path).alerts.count
    }
    for (text, code, count) in [
      ("where: 'type == connect and status != 0'", 5, 1), ("where: 'type == connect and status != 0'", 0, 0),
      ("where: 'type == publish and status != 0'", 5, 0), ("where: 'status == 5'", 5, 1),
      ("where: 'status == 4'", 5, 0),
      ("where: 'not type == connect or status in {4, 5}'", 5, 1),
      ("where: 'fate == rejected and client_ip == 10.0.0.1'", 5, 0),
      ("where: 'status_name contains \"authori\"'", 5, 1),
    ] as [(String, UInt8, Int)] {
      #expect(try told(text, code) == count, "\(text) \(code)")
    }
    // Each client by itself has one, and so has each session; together they have four.
    for by in ["client", "session"] { #expect(try told("by: \(by), where: 'status == 5'", 5) == 0) }
    #expect(try told("by: network/8, where: 'status == 5'", 5) == 1)
  }

  /// Late answers are asked for what they are, and not for what was thought of the message before; the loss that they disprove is the one that
  /// was chosen.
  @Test func whereAsksLateAnswersWhenTheyCome() throws {
    var talk = Self.talk(1, port: 8_080)
    talk.open(at: Self.at(0))
    talk.send(TJPFrameBuilder(text: "first", sequence: 1).bytes, .clientToServer, at: Self.at(100))
    for (number, time) in [(2, 4_000), (3, 8_000), (4, 15_000)] as [(UInt32, Int64)] {
      talk.send(TJPFrameBuilder(text: "next", sequence: number).bytes, .clientToServer, at: Self.at(time))
      talk.send(TJPFrameBuilder.echoACK(of: number).bytes, .serverToClient, at: Self.at(time + 50))
    }
    // Six seconds are what an answer has, and at seven more the loss is told.
    talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Self.at(20_000))
    talk.send(TJPFrameBuilder(text: "last", sequence: 5).bytes, .clientToServer, at: Self.at(60_000))
    talk.send(TJPFrameBuilder.echoACK(of: 5).bytes, .serverToClient, at: Self.at(60_050))
    let capture = CaptureBuilder(talk)
    func told(_ text: String) throws -> [String] {
      let path = "/tmp/imdump-late-\(UUID().uuidString).yml"
      let rule = "  - { name: r, scope: profile, window: 6s, op: '>=', threshold: 0.5, \(text) }\n"
      try Data("version: 1\nrules:\n\(rule)".utf8).write(to: URL(filePath: path))
      defer { try? FileManager.default.removeItem(atPath: path) }
      return try Self.told(capture, rules: path).alerts
    }
    for text in [
      "", ", where: 'fate in {acked, acked_after_retry}'", ", where: 'not fate == unanswered and type == data'",
    ] {
      #expect(try told("metric: late_answers\(text)") == ["r firing warning", "r resolved warning"], "\(text)")
    }
    for text in ["fate == unanswered", "fate == acked and type == ack"] {
      #expect(try told("metric: late_answers, where: '\(text)'") == [], "\(text)")
    }
    // One that was lost was chosen as that, and is so no more when its answer comes.
    #expect(try told("metric: loss, where: 'fate == unanswered'").first == "r firing warning")
    #expect(try told("metric: loss, where: 'fate == acked'") == [])
  }

  @Test func failedLoginsPageSomebody() throws {
    let refused = try Self.told(Self.logins(5))
    #expect(refused.alerts == ["logins-refused firing page"])
    #expect(refused.status == 2)
    let accepted = try Self.told(Self.logins(0))
    #expect(accepted.alerts == [] && accepted.status == 0)
  }

  /// Only the statuses that the rule names count.
  @Test(arguments: [("5", 2), ("[4, 5]", 2), ("4", 0)] as [(String, Int32)])
  func aRuleChoosesStatuses(_ statuses: String, _ status: Int32) throws {
    let path = "/tmp/imdump-rules-\(UUID().uuidString).yml"
    let rule = "name: r, metric: handshakes_refused, window: 1m, op: '>=', threshold: 4, status: \(statuses)"
    try Data("version: 1\nrules:\n  - { \(rule) }\n".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try Self.told(Self.logins(5), rules: path).status == status)
  }

  /// What becomes of every tenth of a hundred messages.
  enum Fate { case answered, unanswered, notCaptured }

  private static func messages(_ fate: Fate) -> CaptureBuilder {
    var talk = talk(5, port: 8_080)
    talk.open(at: at(0))
    for number in 1...100 as ClosedRange<UInt32> {
      let time = at(Int64(number) * 300)
      talk.send(TJPFrameBuilder(text: "message", sequence: number).bytes, .clientToServer, at: time)
      let isTenth = number % 10 == 0
      if isTenth, fate == .unanswered { continue }
      let answer = talk.send(
        TJPFrameBuilder.echoACK(of: number).bytes, .serverToClient, at: time.advanced(by: 20_000_000))
      if isTenth, fate == .notCaptured { for index in answer { talk.drop(index) } }
    }
    // The connection stays long enough for every fate.
    talk.send(TJPFrameBuilder(type: TJPType.heartbeat, sequence: 1 << 24).bytes, .clientToServer, at: at(45_000))
    talk.send(TJPFrameBuilder.echoACK(of: 1 << 24).bytes, .serverToClient, at: at(45_020))
    return CaptureBuilder(talk)
  }

  @Test func lossThatIsTheCapturesPagesNobody() throws {
    let answered = try Self.told(Self.messages(.answered)).alerts
    let unanswered = try Self.told(Self.messages(.unanswered)).alerts
    let notCaptured = try Self.told(Self.messages(.notCaptured)).alerts
    #expect(answered == [])
    #expect(unanswered.contains("messages-lost firing page") && !unanswered.contains { $0.hasPrefix("capture-holes") })
    #expect(!notCaptured.contains("messages-lost firing page"))
    #expect(notCaptured.contains("capture-holes firing warning"))
    #expect(notCaptured.contains("messages-lost held page"), "\(notCaptured)")
  }
}
