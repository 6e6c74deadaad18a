import IMDocuments
import IMEngine
import IMMetrics
import IMTestSupport
import IMWire
import Testing

/// Documents of what was not answered, and of connections that live.
@Suite("ECS documents of trouble and of life")
struct ECSProblemTests {
  private func weird(_ packets: [TimedPacket]) throws -> [Document] {
    try ECSRun.documents(packets, log: .off).filter {
      $0.dataset == "imdump.weird" && $0.text("error.type") == "tracking"
        && $0.text("event.action") != "timestamp_window"
    }
  }

  @Test("no answer, and one that comes too late, have documents")
  func fates() throws {
    let documents = try weird(ECSTalk.fates())
    let names = documents.map { "\($0.text("event.action") ?? "") \(Int($0.number("event.sequence") ?? -1))" }
    // 3 was never answered, 5 after 10 s. 4 is damaged, which is told of its frame.
    #expect(names == ["unanswered 3", "unanswered 5", "late_ack 5"])
    #expect(documents[0].text("error.message") == "data 3 was not answered")
    #expect(documents[0].text("@timestamp") == "2026-11-21T00:11:06.000000Z")
    #expect(documents[0].text("source.ip") == "10.0.0.5")
    #expect(documents[0]["imdump.weird.stream_offset"] == nil)
    #expect(documents[2].text("@timestamp") == "2026-11-21T00:11:18.000000Z")
    #expect(documents[2].text("source.ip") == "203.0.113.9")
    for document in documents { #expect(document.text("event.outcome") == "failure") }
  }

  @Test("a heartbeat without an answer is told by its own name")
  func heartbeats() throws {
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    talk.talk.send(TJPFrameBuilder.heartbeat(sequence: 0x0100_0001).bytes, .clientToServer, at: ECSTalk.at(1_000))
    talk.data(1, at: 30_000)
    talk.echo(1, at: 30_010)
    let documents = try weird(talk.talk.packets)
    #expect(documents.map { $0.text("event.action") } == ["heartbeat_missed"])
  }

  /// In a long silence a hole is given up with the next packet: what waited behind it finds its answer then.
  @Test("an answer that overtook its message has no document, however long the hole lasted")
  func overtaken() throws {
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    talk.data(1, at: 100)
    talk.echo(1, at: 110)
    lose(2, at: 200, of: &talk)
    talk.data(3, at: 300)
    talk.echo(3, at: 310)
    talk.data(4, at: 30_000)
    talk.echo(4, at: 30_010)
    talk.echo(77, at: 30_020)
    let documents = try weird(talk.talk.packets)
    #expect(documents.map { $0.text("event.action") } == ["orphan_ack"])
    #expect(documents.first?.text("@timestamp") == "2026-11-21T00:11:30.020000Z")
  }

  /// A message that is not in the capture: the next one waits behind it.
  private func lose(_ number: UInt32, at time: Int64, of talk: inout ECSTalk) {
    let frame = TJPFrameBuilder(text: "lost", sequence: number).bytes
    talk.talk.drop(talk.talk.send(frame, .clientToServer, at: ECSTalk.at(time))[0])
  }

  /// The fifty answer messages that are in no capture.
  @Test("an answer that overtook its message has no document where fifty others have none either")
  func overtakenByMany() throws {
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    for number in 1...50 { talk.echo(UInt32(1_000 + number), at: Int64(10 * number)) }
    lose(1, at: 1_000, of: &talk)
    talk.data(2, at: 1_100)
    talk.echo(2, at: 1_110)
    talk.data(3, at: 20_000)
    talk.echo(3, at: 20_010)
    let counts = try weird(talk.talk.packets).map { 1 + ($0.number("imdump.weird.suppressed") ?? 0) }
    #expect(counts.reduce(0, +) == 50)
  }

  @Test("many of them are a few documents, which count all")
  func limit() throws {
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    for number in 1...100 { talk.data(UInt32(number), at: Int64(number) * 10) }
    talk.talk.close(.reset(by: .serverToClient), at: ECSTalk.at(2_000))
    let documents = try weird(talk.talk.packets)
    #expect(documents.count == 6)
    let told = documents.compactMap { $0.number("imdump.weird.suppressed") }.reduce(0, +) + Double(documents.count)
    #expect(told == 100)
    #expect(documents.last?.number("imdump.weird.count") == 100)
  }

  /// A connection of three and a half minutes with a message every 10 s, every third without an answer.
  private static func life() -> [TimedPacket] {
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    for number in 1...21 {
      let time = Int64(number) * 10_000
      talk.data(UInt32(number), at: time)
      if number % 3 != 0 { talk.echo(UInt32(number), at: time + 20) }
    }
    talk.talk.close(.fin(by: .clientToServer), at: ECSTalk.at(212_000))
    return talk.talk.packets
  }

  @Test("a connection has a document for each minute of its life, and a last one with everything")
  func life() throws {
    let documents = try ECSRun.documents(Self.life(), log: .off)
    let reports = documents.filter { $0.dataset == "imdump.connection" }
    #expect(reports.map { $0.flag("imdump.conn.final") } == [false, false, false, true])
    #expect(reports.map { $0.number("imdump.conn.report") } == [1, 2, 3, 4])
    #expect(reports.map { $0.text("event.action") }.dropLast().allSatisfy { $0 == "connection_report" })
    #expect(reports[0]["event.type"] as? [String] == ["connection", "info"])
    #expect(Set(reports.compactMap { $0.text("event.id") }).count == 4)
    let paths = ["messages": "units", "acked": "acked", "unanswered": "unanswered"]
    for (delta, total) in paths {
      let sums = reports.compactMap { $0.number("imdump.conn.delta.\(delta)") }
      let totals = reports.compactMap { $0.number("imdump.conn.messages.client_to_server.\(total)") }
      #expect(sums.count == 4 && totals.count == 4)
      for i in 0..<4 { #expect(sums[...i].reduce(0, +) == totals[i], "\(delta) up to report \(i + 1)") }
      #expect(totals == totals.sorted())
    }
    let last = try #require(reports.last)
    #expect(last.number("imdump.conn.messages.client_to_server.units") == 21)
    #expect(last.number("imdump.conn.messages.client_to_server.unanswered") == 7)
    let bytes = reports.compactMap { $0.number("imdump.conn.delta.bytes") }.reduce(0, +)
    #expect(bytes == last.number("network.bytes"))
    // A report belongs to the minute in which it was made.
    #expect(reports[0].text("@timestamp") == "2026-11-21T00:12:10.000000Z")
  }

  @Test("reports of a life count nothing twice")
  func summaries() throws {
    let summaries = try ECSRun.documents(Self.life(), log: .off).filter { $0.dataset == "imdump.summary" }
    func sum(_ path: String) -> Double { summaries.compactMap { $0.number("imdump.summary.\(path)") }.reduce(0, +) }
    #expect(sum("messages.client_to_server.units") == 21)
    #expect(sum("connections.opened") == 1)
    #expect(sum("connections.attempts") == 1)
    #expect(sum("connections.closed") == 1)
    #expect(sum("tcp.retransmissions") == 0)
  }

  @Test("a message says which way it crosses the server's network, and its connection which version it speaks")
  func fields() throws {
    let documents = try ECSRun.documents(ECSTalk.fates())
    for document in documents where document.dataset == "imdump.message" {
      let isFromClient = document.text("imdump.msg.direction") == "client_to_server"
      #expect(document.text("network.direction") == (isFromClient ? "inbound" : "outbound"))
    }
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    talk.talk.send(
      TJPFrameBuilder(type: TJPType.control, sequence: 0x0200_0001, body: TLVBuilder().field(1, [1, 0]).bytes).bytes,
      .clientToServer, at: ECSTalk.at(10))
    talk.echo(0x0200_0001, at: 30)
    let connection = try #require(
      try ECSRun.documents(talk.talk.packets).first { $0.dataset == "imdump.connection" })
    #expect(connection.text("imdump.conn.handshake.outcome") == "success")
    #expect(connection.text("imdump.conn.handshake.version") == "1")
  }

  @Test("what clients promise is the mean over their heartbeats")
  func expectation() {
    var counts = HeartbeatCounts()
    #expect(counts.expected == nil)
    for seconds in [UInt64(30), 30, 60] { counts.expect(seconds: seconds) }
    #expect(counts.expected == 40_000_000)
    counts.expect(seconds: .max)
    #expect(counts.expected != nil)
  }

  @Test("a lean document is a quarter shorter, and says the same of the message")
  func lean() throws {
    func messages(_ isLean: Bool) throws -> (bytes: Int, documents: [Document]) {
      var options = ECSOptions()
      options.messageLog = .all
      options.isLean = isLean
      options.separatesDatasets = true
      let bytes = ECSRun.bytes(ECSTalk.fates(), options)[.message] ?? []
      return (bytes.count, try ECSRun.documents(bytes))
    }
    let (full, lean) = (try messages(false), try messages(true))
    #expect(lean.bytes * 4 < full.bytes * 3)
    #expect(lean.documents.count == full.documents.count && !lean.documents.isEmpty)
    let kept = [
      "@timestamp", "event.id", "event.dataset", "event.action", "event.outcome", "event.duration", "client.ip",
      "server.ip", "network.direction", "network.community_id", "imdump.run.id", "imdump.app_session.id",
      "imdump.endpoint.key", "imdump.msg.fate", "imdump.msg.copies", "imdump.msg.rtt_ms", "imdump.msg.bytes",
      "imdump.msg.checksum.status", "data_stream.dataset", "ecs.version", "observer.name",
    ]
    for (a, b) in zip(full.documents, lean.documents) {
      for path in kept { #expect("\(a[path] ?? "-")" == "\(b[path] ?? "-")", "\(path)") }
      #expect(b["message"] == nil && b["source"] == nil && b["imdump.msg.tlv"] == nil)
    }
  }
}
