import Foundation
import IMTestSupport
import Testing

/// Why something was refused: the status of the answer, by number and name, is the same in every output and for filters.
@Suite struct StatusTests {
  /// A refusal of a sample.
  struct Case: Sendable, CustomTestStringConvertible {
    var sample: String, profile: String, type: String, number: Int, name: String?, count: Int

    var testDescription: String { "\(profile) \(type) \(number)" }
    /// Number and name, as text has them.
    var words: String { name.map { "\(number) \($0)" } ?? "\(number)" }
    var path: String { "Samples/\(sample).pcap" }
  }

  /// Names and numbers by the protocols' own documents: SMPP 3.4 5.1.3, MQTT 5 2.4, RFC 6733 7.1, RFC 4006 9 (5063 is of 3GPP TS
  /// 29.214, which the profile does not name), JT/T 808 8.1 and 8.2.
  static let cases: [Case] = [
    Case(sample: "smpp-gateway", profile: "smpp", type: "submit_sm", number: 11, name: "ESME_RINVDSTADR", count: 1),
    Case(sample: "smpp-gateway", profile: "smpp", type: "bind_receiver", number: 14, name: "ESME_RINVPASWD", count: 1),
    Case(sample: "mqtt5-mosquitto", profile: "mqtt", type: "publish", number: 135, name: "not_authorized", count: 2),
    Case(
      sample: "diameter-charging", profile: "diameter", type: "ccr", number: 5_012, name: "UNABLE_TO_COMPLY", count: 1),
    Case(sample: "diameter-charging", profile: "diameter", type: "aar", number: 5_063, name: nil, count: 1),
    Case(sample: "jt808-terminals", profile: "jt808", type: "authenticate", number: 1, name: "failure", count: 1),
    Case(
      sample: "jt808-terminals", profile: "jt808", type: "terminal_control", number: 3, name: "not_supported", count: 3),
  ]

  private static func lines(_ arguments: [String]) throws -> [String] {
    let result = try Command.run(arguments)
    #expect(result.status == 0 && result.errors == "")
    return result.output.split(separator: "\n").map(String.init)
  }

  private static func objects(_ arguments: [String]) throws -> [[String: Any]] {
    try lines(arguments).map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
  }

  @Test(arguments: cases) func messagesTellIt(_ this: Case) throws {
    let chosen = "fate == rejected and type == \(this.type) and status == \(this.number)"
    let text = try Self.lines(["messages", "-q", this.path, "-Y", chosen])
    #expect(text.count == this.count)
    #expect(text.allSatisfy { $0.contains(": rejected after ") && $0.contains(" ms, status \(this.words)") }, "\(text)")
    let objects = try Self.objects(["messages", "-q", "--json", this.path, "-Y", chosen])
    #expect(objects.count == this.count)
    for object in objects {
      #expect(object["status"] as? Int == this.number)
      #expect(object["status_name"] as? String == this.name)
      #expect(object["cause"] as? String == "status")
    }
    guard let name = this.name else { return }
    let named = "fate == rejected and type == \(this.type) and status_name == \(name)"
    #expect(try Self.lines(["messages", "-q", this.path, "-Y", named]) == text)
  }

  @Test(arguments: cases) func answersTellIt(_ this: Case) throws {
    let byNumber = try Self.lines(["-q", "--print", "-r", this.path, "-Y", "ack and status == \(this.number)"])
    #expect(byNumber.count >= this.count)
    #expect(byNumber.allSatisfy { $0.contains(", status \(this.words), ") }, "\(byNumber)")
    let objects = try Self.objects([
      "-q", "-r", this.path, "--format", "json", "-Y", "ack and status == \(this.number)",
    ])
    #expect(objects.count == byNumber.count)
    #expect(objects.allSatisfy { $0["status"] as? Int == this.number && $0["status_name"] as? String == this.name })
    // Whether a frame tells a status does not depend on a filter.
    let all = try Self.objects(["-q", "-r", this.path, "--format", "json"])
    #expect(all.count { $0["status"] as? Int == this.number } == objects.count)
    guard let name = this.name else { return }
    #expect(try Self.lines(["-q", "--print", "-r", this.path, "-Y", "ack and status_name == \(name)"]) == byNumber)
  }

  @Test(arguments: cases) func countsTellIt(_ this: Case) throws {
    let text = try Self.lines(["stats", "-q", this.path])
    let refused = try #require(text.first { $0.hasPrefix("rejected: ") })
    let status = this.name.map { "\($0) (\(this.number))" } ?? "\(this.number)"
    #expect(refused.contains("\(this.type) with \(status): \(this.count)"), "\(refused)")
    let total = try Self.objects(["stats", "-q", "--json", this.path])[0]["total"] as? [String: Any]
    let rejections = try #require(total?["refusals"] as? [[String: Any]])
    let mine = rejections.filter { $0["type"] as? String == this.type && $0["status"] as? Int == this.number }
    #expect(mine.count == 1)
    #expect(mine.first?["count"] as? Int == this.count)
    #expect(mine.first?["status_name"] as? String == this.name)
    #expect(mine.first?["profile"] as? String == this.profile)
  }

  @Test(arguments: cases) func documentsTellIt(_ this: Case) throws {
    let documents = try Self.objects(["-q", "-r", this.path, "--format", "ecs", "--message-log", "errors"])
    let refused = documents.filter { document in
      let message = (document["imdump"] as? [String: Any])?["msg"] as? [String: Any]
      return message?["fate"] as? String == "rejected" && message?["type"] as? String == this.type
        && message?["status"] as? Int == this.number && message?["status_name"] as? String == this.name
        && message?["cause"] as? String == "status"
    }
    #expect(refused.count == this.count)
    for document in refused {
      let event = document["event"] as? [String: Any]
      #expect(event?["reason"] as? String == this.words)
      #expect(event?["outcome"] as? String == "failure")
    }
  }

  @Test(arguments: cases) func metricsTellIt(_ this: Case) throws {
    let folder = try Scratch()
    _ = try Self.lines(["-q", "-r", this.path, "--metrics-file", folder.path("m.prom")])
    let text = try String(contentsOfFile: folder.path("m.prom"), encoding: .utf8)
    let labels = "type=\"\(this.type)\",status=\"\(this.number)\",status_name=\"\(this.name ?? "")\"} \(this.count)\n"
    #expect(text.contains(labels))
  }

  /// Failed logins are a count of their own, by server: SMPP's binds and JT/T 808's authentication, and no other refusals.
  @Test(arguments: [("smpp-gateway", 1), ("jt808-terminals", 1), ("mqtt5-mosquitto", 0), ("diameter-charging", 0)])
  func failedLoginsAreCounted(_ sample: String, _ count: Int) throws {
    let folder = try Scratch()
    _ = try Self.lines(["-q", "-r", "Samples/\(sample).pcap", "--metrics-file", folder.path("m.prom")])
    let text = try String(contentsOfFile: folder.path("m.prom"), encoding: .utf8)
    let counts = text.split(separator: "\n").filter { $0.hasPrefix("imdump_handshakes_refused_total{") }
      .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    #expect(!counts.isEmpty && counts.reduce(0, +) == count)
  }
}
