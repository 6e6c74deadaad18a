import Foundation
import IMCapture
import IMEngine
import IMMetrics
import IMOutput
import IMProfile
import IMTestSupport
import IMWire
import Testing

/// `--metrics-file` tells what `stats` and `messages` tell, and what `imdump-metrics(5)` says that it does.
@Suite struct MetricsTests {
  static let captures: [String] = ((try? Samples.captures()) ?? []).map(Samples.path)

  /// The metrics of a capture, as the command writes them.
  private static func metrics(_ path: String, _ arguments: String...) throws -> MetricsText {
    let folder = FileManager.default.temporaryDirectory.appending(path: "imdump-metrics-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "imdump.prom")
    let result = try Command.run(["-q", "-r", path, "--metrics-file", file.path] + arguments)
    #expect(result.errors == "")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["imdump.prom"])
    return MetricsText(try String(contentsOf: file, encoding: .utf8))
  }

  private static func json(_ arguments: [String]) throws -> [[String: Any]] {
    try Command.run(arguments + ["--json", "-q"]).output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  // MARK: The manual

  /// The entries of the page: `.It Li NAME Pq TYPE: LABEL, ...`.
  private static func page() throws -> [String: String] {
    let text = try String(contentsOf: Command.folder.appending(path: "man/imdump-metrics.5"), encoding: .utf8)
    var entries: [String: String] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix(".It Li imdump_") {
      let parts = line.dropFirst(7).components(separatedBy: " Pq ")
      #expect(parts.count == 2 && entries[parts[0]] == nil, "\(line)")
      entries[parts[0]] = parts.last
    }
    return entries
  }

  @Test func thePageHasEveryFamilyAndNoOther() throws {
    let page = try Self.page()
    var known: Set<String> = []
    for family in MetricFamily.all {
      let name = family.name + (family.kind == .counter ? "_total" : family.kind == .info ? "_info" : "")
      let labels = family.labels.isEmpty ? "" : ": " + family.labels.joined(separator: ", ")
      #expect(page[name] == family.kind.rawValue + labels, "\(name)")
      known.insert(name)
      // The conventions: a base unit at the end of the name, and no colon, which is for rules.
      #expect(family.unit.isEmpty || family.name.hasSuffix("_" + family.unit), "\(name)")
    }
    #expect(Set(page.keys) == known)
    #expect(known.count == MetricFamily.all.count)
  }

  @Test func everyFamilyIsWritten() throws {
    var seen: Set<String> = []
    let page = try Self.page()
    let tls = Samples.path("tls/tjp-tls13")
    for path in Self.captures + [tls + ".pcap"] {
      let text =
        path.hasPrefix(tls) ? try Self.metrics(path, "--keylog", tls + ".keys") : try Self.metrics(path)
      seen.formUnion(text.order)
      for (series, _) in text.samples {
        let family = try #require(
          text.order.first { name in ["", "_bucket", "_sum", "_count"].contains { series.name == name + $0 } })
        let labels = Set(series.labels.keys).subtracting(["le", "quantile"])
        let declared = page[family]?.components(separatedBy: ": ").last?.components(separatedBy: ", ") ?? []
        #expect(labels.isEmpty || labels == Set(declared), "\(series)")
      }
    }
    let live = MetricFamily.all.filter { $0.help.contains("live only") }.map {
      $0.name + ($0.kind == .counter ? "_total" : "")
    }
    #expect(Set(page.keys).subtracting(seen) == Set(live))
  }

  // MARK: The figures

  /// Against the JSON of `stats`, server by server.
  @Test(arguments: captures) func agreesWithStats(_ path: String) throws {
    let text = try Self.metrics(path)
    let stats = try #require(try Self.json(["stats", path]).first)
    let ledger = try #require(stats["ledger"] as? [String: Any])
    #expect(text.sum("imdump_capture_packets_processed_total") == ledger["packets"] as? Int)
    for part in ["decoded", "damaged", "unread", "repeated", "ignored"] {
      #expect(text.sum("imdump_stream_bytes_total", ["part": part]) == ledger["\(part)_bytes"] as? Int, "\(part)")
    }
    #expect(text.sum("imdump_stream_stray_bytes") == ledger["stray_bytes"] as? Int)
    for server in try #require(stats["servers"] as? [[String: Any]]) {
      let labels = try #require(server["server"] as? String)
      let own = ["endpoint": labels, "profile": try #require(server["profile"] as? String)]
      let figures = try #require(server["figures"] as? [String: Any])
      let fates = try #require(figures["messages"] as? [String: Any])
      let messages = fates.compactMapValues { $0 as? Int }
      func first(_ fate: String) -> Int { text.sum("imdump_messages_total", own.merging(["fate": fate]) { $1 }) }
      func late(_ fate: String) -> Int { text.sum("imdump_messages_late_total", own.merging(["fate": fate]) { $1 }) }
      #expect(text.sum("imdump_messages_total", own) == messages["units"])
      for fate in ["acked", "acked_after_retry", "rejected"] { #expect(first(fate) + late(fate) == messages[fate]) }
      let lost = (messages["unanswered"] ?? 0) + (messages["damaged"] ?? 0)
      #expect(first("unanswered") + first("damaged") - text.sum("imdump_messages_late_total", own) == lost)
      #expect(first("pending") == messages["pending"])
      let causes = try #require(fates["causes"] as? [String: Int])
      for (cause, count) in causes {
        func sum(_ family: String) -> Int { text.sum(family, own.merging(["cause": cause]) { $1 }) }
        #expect(sum("imdump_message_causes_total") - sum("imdump_message_causes_late_total") == count, "\(cause)")
      }
      if let beats = figures["heartbeats"] as? [String: Any] {
        let late = text.sum("imdump_heartbeats_late_total", own)
        func beat(_ fate: String) -> Int { text.sum("imdump_heartbeats_total", own.merging(["fate": fate]) { $1 }) }
        let unacknowledged = beats["unacknowledged"] as? Int ?? 0
        #expect(beat("unacknowledged") == unacknowledged)
        // Where none asks for an answer, how many were answered is not said.
        let isAnswered = beats["sent"] as? Int != unacknowledged
        #expect(beats["answered"] as? Int == (isAnswered ? beat("answered") + late : nil))
        #expect(beat("missed") - late == beats["missed"] as? Int)
      }
      guard let all = figures["rtt_us"] as? [String: Any] else { continue }
      #expect(text.sum("imdump_rtt_seconds_count", own) == all["count"] as? Int)
      for direction in ["client_to_server", "server_to_client"] {
        guard let times = all[direction] as? [String: Int] else { continue }
        let way = own.merging(["direction": direction]) { $1 }
        #expect(text.sum("imdump_rtt_seconds_count", way) == times["count"])
        for (name, quantile) in [("p50", "0.5"), ("p90", "0.9"), ("p95", "0.95"), ("p99", "0.99"), ("p999", "0.999")] {
          let labels = way.merging(["quantile": quantile]) { $1 }
          let value = try #require(text.samples[MetricsText.Series(name: "imdump_run_rtt_seconds", labels: labels)])
          #expect(Int((value * 1e6).rounded()) == times[name], "\(direction) \(name)")
        }
      }
    }
  }

  /// The buckets against every round trip of `messages`, counted one by one.
  @Test(arguments: captures) func bucketsCountEveryRoundTrip(_ path: String) throws {
    let text = try Self.metrics(path)
    var trips: [[String]: [Int]] = [:]
    // Signs of life, as each protocol calls them.
    let beats = ["heartbeat", "ping", "pingreq", "enquire_link", "dwr"]
    for message in try Self.json(["messages", path]) {
      guard let trip = message["rtt_karn_us"] as? Int, let server = message["server"] as? String,
        let type = message["type"] as? String, !beats.contains(type)
      else { continue }
      let isUp = message["dir"] as? String == "c2s"
      trips[[server, isUp ? "client_to_server" : "server_to_client"], default: []].append(trip)
    }
    let buckets = text.samples.filter { $0.key.name == "imdump_rtt_seconds_bucket" }
    for (series, count) in buckets {
      let endpoint = try #require(series.labels["endpoint"]), bound = try #require(series.labels["le"])
      let limit = bound == "+Inf" ? .infinity : try #require(Double(bound)) * 1e6
      let direction = try #require(series.labels["direction"])
      let below = trips[[endpoint, direction], default: []].filter { Double($0) <= limit.rounded() }
      #expect(below.count == Int(count), "\(series)")
    }
    #expect(trips.isEmpty || !buckets.isEmpty)
  }

  /// Whatever the network does to a capture, and whenever it is asked for: no counter goes back.
  @Test(arguments: 0..<12) func countersNeverGoBack(_ seed: Int) throws {
    let path = Self.captures[seed % Self.captures.count]
    var packets = try Self.packets(path)
    var random = Seeded(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1)
    // From the fourth run on, packets are lost, and some come later than they did.
    if seed >= 4 {
      packets.removeAll { _ in random.next() % 20 == 0 }
      for index in packets.indices.dropFirst() where random.next() % 8 == 0 {
        let other = max(0, index - Int(random.next() % 12))
        let times = (packets[index].timestamp, packets[other].timestamp)
        packets.swapAt(index, other)
        (packets[index].timestamp, packets[other].timestamp) = times
      }
    }
    let plans = try ["tjp", "mqtt"].map { try BuiltInProfiles.plan($0) }
    let sink = MetricsSink(plans: plans, maximumEndpoints: 2)
    var options = EngineOptions(plans: plans)
    options.needs = MetricsSink.needs
    var engine = Engine(options: options, sink: sink)
    let writer = MetricsWriter(plans: plans)
    var before: [MetricsText.Series: Double] = [:]
    var number: UInt64 = 1
    for start in stride(from: 0, to: packets.count + 1, by: 7) {
      if start < packets.count {
        let some = Array(packets[start..<min(start + 7, packets.count)])
        let batch = CaptureBuilder(some).batch(firstNumber: number)
        number += UInt64(some.count)
        engine.process(batch.bytes.span.bytes, batch.records.span)
      } else {
        engine.finish()
      }
      engine.tellSettlements()
      let text = MetricsText(writer.text(.prometheus, Self.figures(engine, plans), sink).out.text)
      for (series, value) in text.samples where series.name.hasSuffix("_total") || series.name.hasSuffix("_bucket") {
        #expect(value >= before[series] ?? 0, "\(series)")
      }
      #expect(before.keys.allSatisfy { text.samples[$0] != nil }, "a series is gone")
      before = text.samples
    }
  }

  private static func figures(_ engine: borrowing Engine, _ plans: [ProtocolPlan]) -> MetricsFigures {
    MetricsFigures(
      version: "1",
      summary: Summary(
        plans: plans, ledger: engine.totals, reassembly: engine.reassembly, capture: CaptureCounts(),
        kinds: plans.indices.map { plan in (0..<65).map { engine.totals(plan: plan, kind: $0) } },
        sequences: plans.map { _ in [] }, checksums: engine.totals.checksums),
      endpoints: engine.endpoints(), reconnects: engine.reconnects, memoryBytes: engine.memoryBytes,
      memoryLimit: 1, connections: engine.connectionCount, process: nil)
  }

  private static func packets(_ path: String) throws -> [TimedPacket] {
    var packets: [TimedPacket] = []
    let file = try CaptureFile(path: path)
    while try file.nextBatch({ bytes, records in
      for i in records.indices {
        let record = records[i]
        let start = Int(record.offset)
        let some = bytes.withUnsafeBytes { Array($0[start..<start + Int(record.capturedLength)]) }
        packets.append(TimedPacket(timestamp: record.timestamp, bytes: some, linkType: record.linkType))
      }
    }) {}
    return packets
  }

  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
  }

  // MARK: Limits and errors

  /// Servers beyond the limit share one label, and nothing is lost with that.
  @Test func serversBeyondTheLimitAreOther() throws {
    let start: Int64 = 1_700_000_000_000
    var packets: [TimedPacket] = []
    for number in 0..<40 {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0005), port: UInt16(40_000 + number)),
        server: Endpoint(address: IPAddress(v4: 0xcb00_7100 | UInt32(number)), port: 8_080))
      let at = start + Int64(number) * 1_000
      talk.open(at: Timestamp(milliseconds: at))
      let text = TJPFrameBuilder(text: "text", sequence: 7, session: UInt16(number))
      talk.send(text.bytes, .clientToServer, at: Timestamp(milliseconds: at + 100))
      talk.send(
        TJPFrameBuilder.echoACK(of: 7, session: UInt16(number)).bytes, .serverToClient,
        at: Timestamp(milliseconds: at + 130))
      packets += talk.packets
    }
    let path = "/tmp/imdump-metrics-\(UUID().uuidString).pcap"
    try Data(CaptureBuilder(packets).pcap()).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let text = try Self.metrics(path, "--metrics-endpoints", "10")
    let endpoints = Set(text.samples.keys.compactMap { $0.labels["endpoint"] })
    #expect(endpoints.count == 11)
    #expect(text.sum("imdump_endpoints") == 40)
    #expect(text.sum("imdump_messages_total", ["endpoint": "other", "fate": "acked"]) == 30)
    #expect(text.sum("imdump_messages_total", ["fate": "acked"]) == 40)
    #expect(text.sum("imdump_rtt_seconds_bucket", ["endpoint": "other", "le": "0.03"]) == 30)
  }

  @Test(arguments: [
    ("--metrics-file /no/such/folder/x.prom", 64), ("--metrics-file /tmp/", 64),
    ("--metrics-listen localhost:9464", 64), ("--metrics-listen 127.0.0.1", 64), ("--metrics-listen ::1:9464", 64),
    ("--metrics-file /tmp/x.prom --metrics-interval 0", 64),
    ("--metrics-file /tmp/x.prom --metrics-endpoints 0", 64),
    // A folder of the kernel's, in which nobody makes files.
    ("--metrics-file /proc/self/x.prom", 74),
  ])
  func whatCannotBe(_ arguments: String, _ status: Int32) throws {
    let words = arguments.split(separator: " ").map(String.init)
    let result = try Command.run(["-r", "Samples/tjp-clean-chat.pcap"] + words)
    #expect(result.status == status)
    #expect(result.errors.contains("imdump: "), "\(result.errors)")
  }

  /// Where no interface is up, the kernel lets a socket take any address.
  @Test(.enabled(if: loopbackIsUp, "the loopback interface is down")) func anAddressOfAnotherMachine() throws {
    let result = try Command.run(["-r", "Samples/tjp-clean-chat.pcap", "--metrics-listen", "192.0.2.1:9464"])
    #expect(result.status == 64)
    #expect(result.errors.contains("imdump: "), "\(result.errors)")
  }
}
