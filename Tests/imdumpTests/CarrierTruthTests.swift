import Foundation
import Testing

/// MQTT in WebSocket against another decoder of the same captures: `Samples/websocket-truth.py`.
@Suite struct CarrierTruthTests {
  private struct Truth: Decodable {
    struct Message: Decodable {
      var timeUs: Int
      var stream: Int
      var dir: String
      var name: String
      var length: Int
      var id: UInt64?
    }
    var frames: [String: Int]
    var messages: [Message]
  }

  private struct Frame: Decodable {
    var ts: Int
    var conn: Int
    var dir: String
    var type: String
    var len: Int
    var seq: UInt64?
    var carrier: [String]
  }

  private static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return decoder
  }

  @Test(arguments: [("mqtt-websocket.pcap", 117), ("mqtt-websocket-deflate.pcap", 123)])
  func everyMessage(_ name: String, _ count: Int) throws {
    let data = try Data(contentsOf: Command.folder.appending(path: "Samples/\(name).truth.json"))
    let truth = try Self.decoder.decode(Truth.self, from: data)
    let output = try Command.run(["-q", "--format", "json", "-r", "Samples/\(name)"]).output
    let frames = try output.split(separator: "\n").map { try Self.decoder.decode(Frame.self, from: Data($0.utf8)) }
    #expect(truth.messages.count == count)
    #expect(frames.map(\.ts) == truth.messages.map(\.timeUs))
    #expect(frames.map { $0.conn - 1 } == truth.messages.map(\.stream))
    #expect(frames.map(\.dir) == truth.messages.map(\.dir))
    #expect(frames.map(\.type) == truth.messages.map(\.name))
    #expect(frames.map(\.len) == truth.messages.map(\.length))
    #expect(frames.map(\.seq) == truth.messages.map(\.id))
    #expect(frames.allSatisfy { $0.carrier.first == "websocket" })
  }

  /// Frames by opcode, and a ledger that adds up.
  @Test(arguments: ["mqtt-websocket.pcap", "mqtt-websocket-deflate.pcap", "proxy-balancer.pcap"])
  func ledger(_ name: String) throws {
    let output = try Command.run(["stats", "-q", "--json", "Samples/\(name)"]).output
    let whole = try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    let ledger = try #require(whole["ledger"] as? [String: Any])
    func number(_ key: String) throws -> Int { try #require(ledger[key] as? Int) }
    let parts = ["decoded_bytes", "damaged_bytes", "stray_bytes", "unread_bytes", "repeated_bytes", "ignored_bytes"]
    #expect(try number("payload_bytes") == parts.reduce(0) { try $0 + number($1) })
    #expect(try number("carrier_bytes") > 0)
    guard let found = ledger["websocket"] as? [String: Int] else {
      #expect(name.hasPrefix("proxy"))
      return
    }
    let data = try Data(contentsOf: Command.folder.appending(path: "Samples/\(name).truth.json"))
    let truth = try Self.decoder.decode(Truth.self, from: data)
    let opcodes = ["0": "continuation", "1": "text", "2": "binary", "8": "close", "9": "ping", "10": "pong"]
    for (opcode, word) in opcodes { #expect(found[word] == truth.frames[opcode] ?? 0, "\(word)") }
  }

  /// Pings of connections that no profile decodes are frames of the ledger. They are no server's heartbeats, so they are none of the run.
  @Test func pingsOfNoProtocol() throws {
    let output = try Command.run(["stats", "-q", "--json", "--profile", "tjp", "Samples/mqtt-websocket-deflate.pcap"])
      .output
    let whole = try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    #expect(CatalogueTests.value(whole, "ledger.websocket.ping") as? Int == 26)
    #expect(CatalogueTests.value(whole, "total.heartbeats") == nil)
    #expect((whole["servers"] as? [Any])?.isEmpty == true)
  }

  /// Clients as `Samples/generator/carriers.py` names them, and tshark's `proxy.src` of the headers that come in one piece; those
  /// of the last four are not named, or not to be believed.
  @Test func proxiedClients() throws {
    struct Proxied: Decodable {
      var conn: Int
      var client: String
      var via: String?
    }
    let output = try Command.run(["-q", "--format", "json", "-r", "Samples/proxy-balancer.pcap"]).output
    let frames = try output.split(separator: "\n").map { try Self.decoder.decode(Proxied.self, from: Data($0.utf8)) }
    let named = ["192.0.2.77:50110", "192.0.2.78:50111", "[2001:db8::77]:50112", "[2001:db8::78]:50113"]
    #expect(Set(frames.map(\.conn)) == Set(1...8))
    for frame in frames {
      let balancer = "10.0.0.5:\(40_099 + frame.conn)"
      #expect(frame.client == (frame.conn <= 4 ? named[frame.conn - 1] : balancer))
      #expect(frame.via == (frame.conn <= 4 ? balancer : nil))
    }
  }
}
