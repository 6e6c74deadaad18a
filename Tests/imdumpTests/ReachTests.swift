import Foundation
import Testing

/// The samples of protocols whose types are recognized by contents, by several parts or by lines, against what their generator counted while it
/// made them.
@Suite struct ReachTests {
  private struct Truth: Decodable {
    var types: [String: [Int]]
    var fates: [String: [String: Int]]
  }

  private struct Frame: Decodable {
    var dir: String
    var type: String
    var profile: String
  }

  private struct Message: Decodable {
    var type: String
    var fate: String
  }

  /// The samples, and whether their profile is in use without being asked for.
  static let captures = [
    ("cmpp-gateway", "cmpp", false), ("sgip-gateway", "sgip", false), ("smgp-gateway", "smgp", false),
    ("gbt32960-vehicles", "gbt32960", true), ("modbus-registers", "modbus", false),
    ("wukongim-chat", "wukongim", false),
    ("turms-chat", "turms", false), ("teamtalk-chat", "teamtalk", false), ("socketio-chat", "socketio", true),
    ("ocpp-charging", "ocpp", true), ("phoenix-room", "phoenix", true), ("signalr-hub", "signalr", true),
    ("stomp-queue", "stomp", true), ("nats-rooms", "nats", true), ("redis-keys", "redis", false),
    ("iec104-station", "iec104", false), ("amqp091-confirms", "amqp091", false),
    ("xmpp-chat", "xmpp", false),
  ]

  @Test(arguments: captures) func everyFrameAndFate(_ name: String, _ profile: String, _ isUsual: Bool) throws {
    let data = try Data(contentsOf: Command.folder.appending(path: "Samples/\(name).pcap.truth.json"))
    let truth = try JSONDecoder().decode(Truth.self, from: data)
    let options = isUsual ? [] : ["--profile", profile]
    let lines = try Command.run(["-q", "--format", "json", "-r", "Samples/\(name).pcap"] + options).output
    var types: [String: [Int]] = [:]
    for line in lines.split(separator: "\n") {
      let frame = try JSONDecoder().decode(Frame.self, from: Data(line.utf8))
      #expect(frame.profile == profile)
      types[frame.type, default: [0, 0]][frame.dir == "c2s" ? 0 : 1] += 1
    }
    #expect(types == truth.types)
    let messages = try Command.run(["messages", "-q", "--json", "Samples/\(name).pcap"] + options).output
    var fates: [String: [String: Int]] = [:]
    for line in messages.split(separator: "\n") {
      let message = try JSONDecoder().decode(Message.self, from: Data(line.utf8))
      guard message.fate != "unacknowledged" else { continue }
      // What is open when its connection ends has no answer, either.
      fates[message.type, default: [:]][message.fate == "pending" ? "unanswered" : message.fate, default: 0] += 1
    }
    #expect(fates == truth.fates)
  }

  /// The worked examples of docs/profiles.md find the same fates, for the types that they name.
  @Test(
    arguments: [
      ("events", "socketio-chat", 3), ("requests", "turms-chat", 2), ("frames", "stomp-queue", 5),
      ("stanzas", "xmpp-chat", 3), ("confirms", "amqp091-confirms", 2),
    ]) func workedExamples(_ name: String, _ sample: String, _ count: Int) throws
  {
    let text = try String(contentsOf: Command.folder.appending(path: "docs/profiles.md"), encoding: .utf8)
    let block = try #require(text.components(separatedBy: "```yaml\n").first { $0.hasPrefix("profile: \(name)\n") })
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml")
    try Data(block.components(separatedBy: "```")[0].utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let data = try Data(contentsOf: Command.folder.appending(path: "Samples/\(sample).pcap.truth.json"))
    let truth = try JSONDecoder().decode(Truth.self, from: data)
    let lines = try Command.run(["messages", "-q", "--json", "Samples/\(sample).pcap", "--profile", file.path]).output
    var fates: [String: [String: Int]] = [:]
    for line in lines.split(separator: "\n") {
      let message = try JSONDecoder().decode(Message.self, from: Data(line.utf8))
      guard message.fate != "unacknowledged" else { continue }
      fates[message.type, default: [:]][message.fate == "pending" ? "unanswered" : message.fate, default: 0] += 1
    }
    #expect(fates.count == count)
    for (type, found) in fates { #expect(found == truth.fates[type], "\(type)") }
  }
}
