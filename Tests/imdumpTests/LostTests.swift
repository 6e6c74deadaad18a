import Foundation
import IMTestSupport
import IMWire
import Testing

/// Lost are messages without an answer, in every output; a heartbeat without one is missed, and is no lost message.
@Suite struct LostTests {
  /// A capture of one MQTT client: publishes with QoS 1, of which the last `lost` have no answer, and pings, of which the last `missed`
  /// have none.
  private static func capture(published: Int, lost: Int, pings: Int, missed: Int) throws -> (Scratch, String) {
    let folder = try Scratch()
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 1_883))
    var now: Int64 = 1_760_000_000_000
    func at(_ later: Int64 = 0) -> Timestamp { Timestamp(milliseconds: now + later) }
    talk.open(at: at())
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(10))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(20))
    for i in 1...published {
      now += 1_000
      talk.send(
        MQTTPacketBuilder.publish("t", [1], qos: 1, packetID: UInt16(i)), .clientToServer, at: at())
      if i <= published - lost { talk.send(MQTTPacketBuilder.puback(UInt16(i)), .serverToClient, at: at(20)) }
    }
    for i in 1...pings {
      now += 20_000
      talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at())
      if i <= pings - missed { talk.send(MQTTPacketBuilder.packet(13, []), .serverToClient, at: at(20)) }
    }
    now += 60_000
    talk.close(.reset(by: .clientToServer), at: at())
    return (folder, try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap()))
  }

  @Test(arguments: [(6, 2, 6, 1), (9, 0, 4, 2), (4, 1, 3, 0), (3, 0, 3, 0)])
  func oneNumberEverywhere(_ published: Int, _ lost: Int, _ pings: Int, _ missed: Int) throws {
    let (folder, path) = try Self.capture(published: published, lost: lost, pings: pings, missed: missed)
    defer { withExtendedLifetime(folder) {} }
    #expect(try Command.run(["messages", "--lost", "-q", path]).output.split(separator: "\n").count == lost)
    let stats = try #require(try Store.objects(["stats", "--json", "-q", path]).first)
    func number(_ keys: String...) -> Int? {
      (keys.reduce(stats as Any?) { ($0 as? [String: Any])?[$1] } as? NSNumber)?.intValue
    }
    #expect(number("total", "messages", "unanswered") == lost && number("total", "messages", "damaged") == 0)
    #expect(number("total", "heartbeats", "missed") == missed)
    let store = try Store([path])
    #expect(try store.number("SELECT count(*) FROM problems WHERE kind IN ('unanswered', 'damaged')") == lost)
    #expect(try store.number("SELECT count(*) FROM problems WHERE kind = 'heartbeat_missed'") == missed)
    #expect(try store.number("SELECT count(*) FROM problems WHERE kind = 'unanswered' AND role = 'message'") == lost)
    let page = try Command.run(["report", path, "-o", folder.path("a.html")])
    let headline = try #require(page.errors.split(separator: "\n").last)
    #expect(headline.contains("\(lost) of \(published) messages") == (lost > 0), "\(headline)")
    #expect(headline.contains("No message was lost") == (lost == 0), "\(headline)")
    #expect(headline.contains(missed == 1 ? "was missed" : "were missed") == (lost == 0 && missed > 0), "\(headline)")
  }

  /// What a silence did is said in words.
  @Test func aSilenceHasAVerdict() throws {
    let folder = try Scratch()
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 1_883))
    let start: Int64 = 1_760_000_000_000
    func at(_ seconds: Int64, _ later: Int64 = 0) -> Timestamp {
      Timestamp(milliseconds: start + seconds * 1_000 + later)
    }
    talk.open(at: at(0))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(0, 10))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(0, 20))
    for second in [60, 120] as [Int64] {
      talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at(second))
      talk.send(MQTTPacketBuilder.packet(13, []), .serverToClient, at: at(second, 20))
    }
    talk.acknowledges = false
    let last = talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at(520))[0]
    for second in [521, 523, 527] as [Int64] { talk.duplicate(last, at: at(second)) }
    talk.close(.reset(by: .clientToServer), at: at(535))
    let path = try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap())
    let verdict = "up to 59.98 s survived, 399.98 s did not: keep the heartbeat below 59 s"
    let text = try Command.run(["stats", "-q", path]).output
    #expect(text.contains("\nsilence: \(verdict)\n"), "\(text)")
    #expect(try Command.run(["report", path, "-o", "-"]).output.contains("silence: \(verdict)"))
  }

  /// Of captures of which nothing can be read there are no metrics, and no object of zeros.
  @Test(arguments: [
    ["stats"], ["stats", "-Y", "heartbeat"], ["stats", "--per", "10s"], ["messages"], ["messages", "--by", "session"],
    ["streams"], ["streams", "--ranges"], ["diff", "none.pcap"],
  ])
  func nothingOfAMissingFile(_ command: [String]) throws {
    let run = try Command.run(command + ["none.pcap", "--json"])
    #expect(run.status == 66 && run.output.isEmpty && run.errors.contains("none.pcap"), "\(run.output)")
    #expect(!run.errors.contains("0 packets"))
  }

  /// Statuses are numbers, which compare as such.
  @Test func statusesAreNumbers() throws {
    let store = try Store("mqtt5-mosquitto.pcap")
    #expect(try store.number("SELECT count(*) FROM messages WHERE typeof(status) = 'text'") == 0)
    #expect(try store.number("SELECT count(*) FROM messages WHERE status >= 128") > 0)
    #expect(try store.number("SELECT count(*) FROM messages WHERE status BETWEEN 1 AND 10 AND status > 10") == 0)
  }

  /// Round trips of each direction stand for themselves: what a server answers and what its clients answer are two things.
  @Test func roundTripsOfEachDirection() throws {
    let folder = try Scratch()
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 1_883))
    var now: Int64 = 1_760_000_000_000
    talk.open(at: Timestamp(milliseconds: now))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: Timestamp(milliseconds: now + 5))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: Timestamp(milliseconds: now + 30))
    for i in 1...UInt16(5) {
      for (direction, after) in [(Direction.clientToServer, Int64(25)), (.serverToClient, 120)] {
        now += 1_000
        talk.send(
          MQTTPacketBuilder.publish("t", [1], qos: 1, packetID: i), direction, at: Timestamp(milliseconds: now))
        talk.send(MQTTPacketBuilder.puback(i), direction.reversed, at: Timestamp(milliseconds: now + after))
      }
    }
    let path = try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap())
    let stats = try #require(try Store.objects(["stats", "--json", "-q", path]).first)
    let trips = (stats["total"] as? [String: Any])?["rtt_us"] as? [String: Any]
    for (way, count, time) in [("client_to_server", 6, 25_000), ("server_to_client", 5, 120_000)] {
      let own = try #require(trips?[way] as? [String: Any])
      #expect(own["count"] as? Int == count && abs((own["p50"] as? Int ?? 0) - time) <= time / 1_000, "\(own)")
    }
    let text = try Command.run(["stats", "-q", path]).output
    let rows = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    for (way, count) in [("c2s", "6"), ("s2c", "5")] {
      #expect(rows.contains { $0.starts(with: ["203.0.113.5:1883", "mqtt", way, count]) }, "\(text)")
    }
  }
}
