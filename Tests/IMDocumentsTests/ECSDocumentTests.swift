import IMDocuments
import IMMetrics
import IMTestSupport
import IMWire
import Testing

/// One phone and one server; times are milliseconds after `start`.
struct ECSTalk {
  /// 2026-11-21T00:11:00Z.
  static let start: Int64 = 1_795_219_860_000
  var talk = ConversationBuilder(
    client: Endpoint(address: IPAddress(v4: 0x0a00_0005), port: 52344),
    server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8080))

  static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: start + milliseconds) }

  mutating func data(_ sequence: UInt32, at time: Int64, _ direction: Direction = .clientToServer, bad: Bool = false) {
    var frame = TJPFrameBuilder(text: "secret \(sequence)", sequence: sequence)
    if bad { frame.checksum = .bad }
    talk.send(frame.bytes, direction, at: Self.at(time))
  }

  mutating func echo(_ sequence: UInt32, at time: Int64) {
    talk.send(TJPFrameBuilder.echoACK(of: sequence).bytes, .serverToClient, at: Self.at(time))
  }

  /// Every fate that `tjp` knows but `pending`, a late answer and a heartbeat, within one minute.
  static func fates() -> [TimedPacket] {
    var t = ECSTalk()
    t.talk.open(at: at(0))
    t.data(1, at: 1_000)
    t.echo(1, at: 1_084)
    t.data(2, at: 2_000)
    t.data(2, at: 5_000)
    t.echo(2, at: 5_100)
    t.data(3, at: 6_000)
    t.data(4, at: 7_000, bad: true)
    t.data(5, at: 8_000)
    t.data(6, at: 9_000, .serverToClient)
    t.talk.send(TJPFrameBuilder.bodyACK(of: 6, sequence: 7).bytes, .clientToServer, at: at(9_050))
    t.talk.send(TJPFrameBuilder.heartbeat(sequence: 0x0100_0001).bytes, .clientToServer, at: at(10_000))
    t.echo(0x0100_0001, at: 10_030)
    t.echo(5, at: 18_000)
    t.talk.close(.fin(by: .clientToServer), at: at(20_000))
    return t.talk.packets
  }
}

@Suite("ECS documents")
struct ECSDocumentTests {
  @Test("every document has the fields that ECS and its data stream ask for")
  func common() throws {
    let documents = try ECSRun.documents(ECSTalk.fates())
    #expect(Set(documents.compactMap(\.dataset)).count == 5)
    for document in documents {
      #expect(document.text("@timestamp")?.hasSuffix("Z") == true)
      #expect(document.text("ecs.version") == "9.4.0")
      #expect(document.text("event.module") == "imdump")
      #expect(document.text("data_stream.dataset") == document.dataset)
      let isMetric = document.dataset == "imdump.summary" || document.dataset == "imdump.capture"
      #expect(document.text("data_stream.type") == (isMetric ? "metrics" : "logs"))
      #expect(document.text("event.kind") == (isMetric ? "metric" : "event"))
      #expect(document["event.category"] as? [String] == ["network"])
      #expect(document.text("observer.name") == "edge-01")
      #expect(document.text("imdump.interface.name") == "eth0")
      #expect(document.text("imdump.run.id") == RunIdentity(hashing: ["test"]).text)
      #expect(document.text("message")?.isEmpty == false)
    }
    let ids = documents.compactMap { $0.text("event.id") }
    #expect(ids.count == documents.count)
    #expect(Set(ids).count == ids.count)
    #expect(documents.first?.text("event.action") == "capture_start")
    #expect(documents.last?.text("event.action") == "capture_end")
  }

  @Test("what happens to the interface has documents of its own, behind that of the start")
  func incidents() throws {
    let incidents: [(CaptureIncident, Timestamp)] = [
      (.interfaceDown, ECSTalk.at(0)), (.interfaceUp, ECSTalk.at(1)), (.interfaceGone, ECSTalk.at(2)),
      (.interfaceBack, ECSTalk.at(3)), (.interfaceDown, ECSTalk.at(4)),
    ]
    let documents = try ECSRun.documents(ECSRun.bytes([], ECSOptions(), incidents: incidents)[.message] ?? [])
    #expect(
      documents.map { $0.text("event.action") } == [
        "capture_start", "interface_down", "interface_up", "interface_gone", "interface_back", "interface_down",
        "capture_end",
      ])
    #expect(documents.allSatisfy { $0.dataset == "imdump.capture" })
    #expect(Set(documents.compactMap { $0.text("event.id") }).count == documents.count)
    #expect(documents[3].text("message") == "eth0: the interface disappeared")
    #expect(documents[3].text("@timestamp") == "2026-11-21T00:11:00.002000Z")
  }

  @Test("a message is written when its fate is known, with what its frame was")
  func messages() throws {
    let documents = try ECSRun.documents(ECSTalk.fates()).filter { $0.dataset == "imdump.message" }
    let fates = documents.map { "\(Int($0.number("event.sequence") ?? -1)) \($0.text("imdump.msg.fate") ?? "-")" }
    #expect(
      fates == [
        "1 acked", "2 acked_after_retry", "6 acked", "16777217 acked", "3 unanswered", "4 damaged", "5 unanswered",
        "5 acked",
      ])
    let first = documents[0]
    #expect(first.text("@timestamp") == "2026-11-21T00:11:01.000000Z")
    #expect(first.text("event.end") == "2026-11-21T00:11:01.084000Z")
    #expect(first.number("event.duration") == 84_000_000)
    #expect(first.text("event.outcome") == "success")
    #expect(first.text("source.ip") == "10.0.0.5")
    #expect(first.number("source.bytes") == 42)
    #expect(first.text("network.community_id")?.hasPrefix("1:") == true)
    #expect(first.text("imdump.app_session.id") == "6699")
    #expect(first.text("imdump.endpoint.key") == "203.0.113.9:8080")
    #expect(first.number("imdump.msg.rtt_ms") == 84)
    #expect(first.number("imdump.msg.header_bytes") == 28)
    #expect(first.number("imdump.msg.body_bytes") == 14)
    #expect(first.text("imdump.msg.checksum.status") == "be")
    #expect(first.text("imdump.msg.version") == "1")
    #expect(first["imdump.msg.tlv"] as? [String: String] == ["0x1001": "8 B"])
    let retried = documents[1]
    #expect(retried.number("imdump.msg.copies") == 2)
    #expect(retried.number("imdump.msg.retries") == 1)
    #expect(retried["imdump.msg.rtt_ms"] == nil)
    #expect(retried.number("event.duration") == 3_100_000_000)
    #expect(documents[2].text("source.ip") == "203.0.113.9")
    #expect(documents[4]["event.duration"] == nil)
    #expect(documents[7].flag("imdump.msg.late") == true)
    #expect(documents[7].text("imdump.msg.id") == documents[6].text("imdump.msg.id"))
    #expect(documents[7].text("event.id") != documents[6].text("event.id"))
  }

  @Test("what users said is in no document")
  func secrecy() throws {
    var options = ECSOptions()
    options.messageLog = .all
    let text = String(decoding: ECSRun.bytes(ECSTalk.fates(), options)[.message] ?? [], as: UTF8.self)
    #expect(!text.isEmpty)
    #expect(!text.contains("secret"))
  }

  @Test("the connection's and the minute's fates are those of the messages")
  func fates() throws {
    let documents = try ECSRun.documents(ECSTalk.fates(), log: .off)
    #expect(!documents.contains { $0.dataset == "imdump.message" })
    let connection = try #require(documents.first { $0.dataset == "imdump.connection" })
    let summary = try #require(documents.first { $0.dataset == "imdump.summary" })
    for (document, path) in [(connection, "imdump.conn"), (summary, "imdump.summary")] {
      let expected = [
        "units": 5, "acked": 2, "acked_after_retry": 1, "rejected": 0, "unanswered": 1, "damaged": 1, "pending": 0,
        "late": 1,
      ]
      for (name, count) in expected {
        #expect(document.number("\(path).messages.client_to_server.\(name)") == Double(count), "\(path) \(name)")
      }
      #expect(document.number("\(path).messages.server_to_client.units") == 1)
      #expect(document.number("\(path).messages.server_to_client.acked") == 1)
      // Of six closed messages four were answered, one of them after a retry.
      #expect(document.number("\(path).ratio.success") == 0.666667)
      #expect(document.number("\(path).ratio.loss") == 0.333333)
      #expect(document.number("\(path).ratio.retry") == 0.166667)
      // 84 ms, 50 ms and 10 s; the retried one is ambiguous and the heartbeat is none of them.
      #expect(document.number("\(path).rtt.count") == 3)
      #expect(document.number("\(path).rtt.min_ms") == 50)
      #expect(document.number("\(path).rtt.max_ms") == 10_000)
      #expect(document.number("\(path).checksum.bad") == 1)
      #expect(document.number("\(path).heartbeat.answered") == 1)
    }
    #expect(connection.text("imdump.conn.state") == "closed")
    #expect(connection.text("event.outcome") == "success")
    #expect(connection.number("imdump.conn.delta.messages") == 6)
    #expect(summary.number("imdump.summary.connections.attempts") == 1)
    #expect(summary.number("imdump.summary.connections.succeeded") == 1)
    #expect(summary.number("imdump.summary.connections.active") == 0)
    #expect(summary["imdump.summary.rtt.histogram.counts"] as? [Int] == [1, 1, 1])
    #expect(summary.flag("imdump.summary.partial") == true)
    #expect(summary["imdump.summary.capture_loss_ratio"] == nil)
  }

  @Test("an answer to a message of the minute before counts as late, and changes nothing else")
  func late() throws {
    var t = ECSTalk()
    t.talk.open(at: ECSTalk.at(0))
    t.data(1, at: 1_000)
    t.echo(1, at: 1_050)
    t.data(2, at: 50_000)
    t.data(3, at: 58_000)
    t.echo(3, at: 58_100)
    t.echo(2, at: 61_000)
    let documents = try ECSRun.documents(t.talk.packets, log: .off)
    let summaries = documents.filter { $0.dataset == "imdump.summary" }
    try #require(summaries.count == 2)
    #expect(summaries[0].number("imdump.summary.messages.client_to_server.units") == 3)
    #expect(summaries[0].number("imdump.summary.messages.client_to_server.unanswered") == 1)
    #expect(summaries[0].text("@timestamp") == "2026-11-21T00:12:00.000000Z")
    #expect(summaries[1].number("imdump.summary.messages.client_to_server.units") == 0)
    #expect(summaries[1].number("imdump.summary.messages.client_to_server.late") == 1)
    #expect(summaries[1].number("imdump.summary.rtt.count") == 1)
    #expect(summaries[1]["imdump.summary.ratio"] == nil)
    // The connection lives as long as both minutes, and corrects itself.
    let connection = try #require(documents.last { $0.dataset == "imdump.connection" })
    #expect(connection.number("imdump.conn.messages.client_to_server.acked") == 3)
    #expect(connection.number("imdump.conn.messages.client_to_server.unanswered") == 0)
    #expect(connection.flag("imdump.conn.final") == true)
    #expect(connection["event.type"] as? [String] == ["connection", "info"])
  }

  @Test("issues of one name are limited, and the rest is counted")
  func weird() throws {
    var t = ECSTalk()
    t.talk.open(at: ECSTalk.at(0))
    for i in 0..<8 { t.data(UInt32(i + 1), at: Int64(1_000 + i * 100), bad: true) }
    t.talk.close(.fin(by: .clientToServer), at: ECSTalk.at(5_000))
    let documents = try ECSRun.documents(t.talk.packets, log: .off).filter {
      $0.dataset == "imdump.weird" && $0.text("imdump.weird.name") == "checksum_mismatch"
    }
    #expect(documents.map { $0.number("imdump.weird.suppressed") } == [0, 0, 0, 0, 0, 2])
    #expect(documents.map { $0.number("imdump.weird.count") } == [1, 2, 3, 4, 5, 8])
    #expect(documents.allSatisfy { $0.text("error.code") == "checksum_mismatch" })
    #expect(documents.allSatisfy { $0.text("event.outcome") == "failure" })
  }

  @Test("a refused attempt is told of when the server is known, and other ports are not")
  func refused() throws {
    var t = ECSTalk()
    t.talk.append(.clientToServer, .syn, sequence: 1, acknowledgment: 0, at: ECSTalk.at(0))
    t.talk.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 2, at: ECSTalk.at(10))
    var other = ConversationBuilder(
      client: t.talk.client, server: Endpoint(address: t.talk.server.address, port: 22))
    other.append(.clientToServer, .syn, sequence: 1, acknowledgment: 0, at: ECSTalk.at(0))
    other.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 2, at: ECSTalk.at(10))
    let documents = try ECSRun.documents(t.talk.packets + other.packets, log: .off)
    let connections = documents.filter { $0.dataset == "imdump.connection" }
    #expect(connections.count == 1)
    #expect(connections.first?.text("imdump.conn.close_reason") == "refused")
    #expect(connections.first?.text("network.protocol") == "tjp")
    #expect(connections.first?["imdump.conn.ratio"] == nil)
    let summary = try #require(documents.first { $0.dataset == "imdump.summary" })
    #expect(summary.number("imdump.summary.connections.refused") == 1)
    #expect(summary.number("imdump.summary.ratio.connection_success") == 0)
    #expect(summary["imdump.summary.rtt"] == nil)
  }

  @Test("figures of the capture are given as they are known, never as 0")
  func capture() throws {
    var figures = CaptureMetrics()
    figures.received = 1_000
    figures.dropped = 10
    figures.filter = "tcp port 8080"
    let documents = try ECSRun.documents(ECSTalk.fates(), log: .off, figures: figures)
    let last = try #require(documents.last)
    #expect(last.number("imdump.capture.packets.received") == 1_000)
    #expect(last.number("imdump.capture.packets.dropped") == 10)
    #expect(last["imdump.capture.packets.if_dropped"] == nil)
    #expect(last["imdump.capture.reassembly"] == nil)
    #expect(last["imdump.capture.process"] == nil)
    #expect(last.text("imdump.capture.filter") == "tcp port 8080")
    #expect(last.number("imdump.capture.output.written") == Double(documents.count - 1))
  }
}
