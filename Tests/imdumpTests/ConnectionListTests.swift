import Foundation
import IMTerminal
import IMTestSupport
import IMWire
import Testing

/// `imdump streams` as a list of connections: its counts are those of `stats` and of documents, its choices choose, and it fits.
@Suite struct ConnectionListTests {
  private static let weak = "Samples/tjp-weak-network.pcap"
  private static let client = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000)
  private static func server(_ port: UInt16 = 8_080) -> Endpoint {
    Endpoint(address: IPAddress(v4: 0xc000_0202), port: port)
  }
  private static func at(_ milliseconds: Int64) -> Timestamp {
    Timestamp(milliseconds: 1_700_000_000_000 + milliseconds)
  }

  private static func rows(_ arguments: String...) throws -> [[String: Any]] {
    let chooses = arguments.contains { ["--ranges", "--sort", "--top", "--conn", "-Y"].contains($0) }
    return try Store.objects(["streams", "-q", "--json"] + (chooses ? [] : ["--sort", "conn"]) + arguments)
  }

  private static func number(_ object: [String: Any], _ place: String) -> Int {
    (CatalogueTests.value(object, place) as? NSNumber)?.intValue ?? 0
  }

  /// The sum of a number over rows; what is not there counts as none.
  private static func sum(_ rows: [[String: Any]], _ places: String...) -> Int {
    places.reduce(0) { sum, place in rows.reduce(sum) { $0 + number($1, place) } }
  }

  // MARK: The counts

  @Test(arguments: CatalogueTests.captures) func theCountsAreThoseOfStats(_ path: String) throws {
    let stats = try #require(try Store.objects(["stats", "-q", "--json", path]).first)
    let rows = try Self.rows(path)
    let messages = try Store.objects(["messages", "-q", "--json", "-Y", "role == message", path])
    func told(_ place: String) -> Int { Self.number(stats, place) }
    func ended(_ end: String) -> Int { rows.count { $0["end"] as? String == end } }
    let gaps = CatalogueTests.value(stats, "ledger.gaps") as? [String: [String: Any]] ?? [:]
    var counts = [
      ("connections", rows.count, told("connections.all")),
      ("connections of TCP", rows.count, told("total.tcp.connections")),
      ("decoded", rows.count { $0["profile"] != nil }, told("connections.decoded")),
      ("refused", ended("refused"), told("connections.refused")),
      ("timed out", ended("timeout"), told("connections.timed_out")),
      ("handshakes", rows.count { $0["handshake_us"] != nil }, told("total.tcp.handshake_rtt_us.count")),
      ("gaps", Self.sum(rows, "gaps"), gaps.values.reduce(0) { $0 + Self.number($1, "count") }),
      ("bytes of gaps", Self.sum(rows, "gap_bytes"), gaps.values.reduce(0) { $0 + Self.number($1, "bytes") }),
      (
        "bytes of streams", Self.sum(rows, "c2s.stream_bytes", "s2c.stream_bytes") - Self.sum(rows, "gap_bytes"),
        ["decoded", "damaged", "stray", "unread"].reduce(0) { $0 + told("ledger.\($1)_bytes") }
      ),
      ("messages", Self.sum(rows, "messages"), told("total.messages.units")),
      ("lost", Self.sum(rows, "lost"), told("total.messages.unanswered") + told("total.messages.damaged")),
      ("retries", Self.sum(rows, "retries"), Self.sum(messages, "retries")),
    ]
    for fate in ["rejected", "pending", "unknown"] {
      counts.append((fate, Self.sum(rows, fate), told("total.messages.\(fate)")))
    }
    for (way, name) in [("c2s", "client_to_server"), ("s2c", "server_to_client")] {
      for count in [
        "retransmissions", "timeout_retransmissions", "spurious_retransmissions", "out_of_order", "lost_segments",
        "duplicate_acks", "keep_alives", "zero_windows", "captured_twice", "ack_rtt_us.count",
      ] {
        counts.append(("\(way) \(count)", Self.sum(rows, "\(way).\(count)"), told("total.tcp.\(name).\(count)")))
      }
    }
    for (name, listed, counted) in counts { #expect(listed == counted, "\(name)") }
    for row in rows {
      for name in ["packets", "bytes", "retransmissions", "messages", "lost"] {
        #expect(Self.number(row, name) == Self.sum([row], "c2s.\(name)", "s2c.\(name)"), "\(name)")
      }
    }
  }

  /// The last document of a connection is made of the same report.
  @Test(arguments: CatalogueTests.captures) func theRowsAreThoseOfDocuments(_ path: String) throws {
    var documents: [Int: [String: Any]] = [:]
    for document in try Store.objects(["streams", "-q", "--format", "ecs", path]) {
      let id = CatalogueTests.value(document, "imdump.conn.id") as? String ?? ""
      if let serial = id.split(separator: "-").last.flatMap({ Int($0) }) { documents[serial] = document }
    }
    var compared = 0
    for row in try Self.rows(path) {
      guard let document = documents[Self.number(row, "conn")] else { continue }
      compared += 1
      for (listed, place) in [
        ("c2s.bytes", "source.bytes"), ("s2c.bytes", "destination.bytes"), ("c2s.packets", "source.packets"),
        ("s2c.packets", "destination.packets"), ("packets", "network.packets"), ("gaps", "imdump.conn.gap.count"),
        ("retransmissions", "imdump.conn.tcp.retransmissions"),
      ] { #expect(Self.number(row, listed) == Self.number(document, place), "\(listed)") }
      #expect(row["end"] as? String == CatalogueTests.value(document, "imdump.conn.close_reason") as? String)
      #expect(row["time"] as? String == CatalogueTests.value(document, "event.start") as? String)
      let duration = (CatalogueTests.value(document, "event.duration") as? NSNumber)?.int64Value ?? 0
      // Documents round both times to microseconds.
      #expect(abs(Self.number(row, "duration_us") - Int(duration / 1_000)) <= 1)
    }
    #expect(compared == documents.count)
  }

  /// Rows of each form are the same rows; and a key that the objects of `--ranges` have, too, says the same there.
  @Test(arguments: CatalogueTests.captures) func theFormsAgree(_ path: String) throws {
    let rows = try Self.rows(path)
    let lines = try Command.run(["streams", "-q", "--format", "csv", path]).output.split(separator: "\n")
    let header = try #require(lines.first).split(separator: ",").map(String.init)
    #expect(lines.count == rows.count + 1)
    for (line, row) in zip(lines.dropFirst(), rows) {
      let cells = line.split(separator: ",", omittingEmptySubsequences: false)
      #expect(cells.count == header.count)
      for (name, cell) in zip(header, cells) {
        guard let value = CatalogueTests.value(row, name), !["saw_syn", "time"].contains(name) else { continue }
        if let number = value as? NSNumber { #expect(Double(cell) == number.doubleValue, "\(name)") }
        if let text = value as? String { #expect(String(cell) == text, "\(name)") }
      }
    }
    let table = try Command.run(["streams", "-q", path]).output.split(separator: "\n")
    #expect(table.count == rows.count + 2)
    let streams = try Self.rows("--ranges", path)
    #expect(streams.count == rows.count)
    for (row, stream) in zip(rows, streams) {
      for name in ["id", "client", "server", "saw_syn", "first_us", "proxied_client"] {
        #expect("\(row[name] ?? "")" == "\(stream[name] ?? "")", "\(name)")
      }
      // The first bytes do not say whether messages are compressed.
      let carriers = (row["carrier"] as? [String] ?? []).filter { $0 != "permessage-deflate" }
      #expect(carriers == stream["carrier"] as? [String] ?? [])
      for name in ["handshake_rtt_server_us", "handshake_rtt_client_us"] {
        if let time = row[name] as? Double { #expect(time == stream[name] as? Double, "\(name)") }
      }
    }
  }

  /// Numbers that no connection has are said, beside those that one has.
  @Test(arguments: [(["99"], []), (["3", "99"], [3]), (["3", "98", "99"], [3])] as [([String], [Int])])
  func numbersThatNobodyHas(_ numbers: [String], _ listed: [Int]) throws {
    let run = try Command.run(["streams", "-q", "--json"] + numbers.flatMap { ["--conn", $0] } + [Self.weak])
    #expect(run.status == 1)
    #expect(try Store.objects(of: run.output).compactMap { $0["conn"] as? Int } == listed)
    for number in numbers {
      #expect(run.errors.contains("#\(number)") == (number != "3"), "\(run.errors)")
    }
  }

  /// A time of day in a filter, as the list shows it.
  @Test func aTimeOfDayChooses() throws {
    for (time, zone) in [("16:54:07.399", "CST-8"), ("08:54:07.399", "UTC"), ("08:54:07.399 UTC", "CST-8")] {
      let filter = "start >= \"\(time)\""
      let run = try Command.run(["streams", "-q", "--json", "-Y", filter, Self.weak], environment: ["TZ": zone])
      #expect(try Store.objects(of: run.output).compactMap { $0["conn"] as? Int } == [6, 7, 8], "\(filter)")
    }
  }

  // MARK: How connections end

  @Test func whoResetIt() throws {
    let folder = try Scratch()
    for (direction, words) in [(Direction.clientToServer, "rst by client"), (.serverToClient, "rst by server")] {
      var talk = ConversationBuilder(client: Self.client, server: Self.server())
      talk.open(at: Self.at(0))
      talk.send([1, 2, 3], .clientToServer, at: Self.at(10))
      talk.close(.reset(by: direction), at: Self.at(500))
      let path = try folder.file("\(direction.rawValue).pcap", CaptureBuilder(talk.packets).pcap())
      let row = try #require(try Self.rows(path).first)
      #expect(row["end"] as? String == "rst")
      #expect(row["rst_by"] as? String == (direction == .clientToServer ? "c2s" : "s2c"))
      #expect(Self.number(row, "duration_us") == 500_000)
      let text = try Command.run(["streams", "-q", path]).output
      #expect(text.contains("  \(words)\n"), "\(text)")
      #expect(text.hasSuffix("\n1 connection: 1 rst (1 by the \(words.split(separator: " ")[2]))\n"), "\(text)")
    }
  }

  /// A ClientHello of TLS 1.3 that asks for `name` (RFC 8446, section 4.1.2; RFC 6066, section 3).
  private static func clientHello(_ name: [UInt8]) -> [UInt8] {
    func sized(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes }
    let extensions = [0, 0] + sized(sized([0] + sized(name))) + [0, 0x2b, 0, 3, 2, 3, 4]
    let message = [3, 3] + [UInt8](repeating: 0xa5, count: 32) + [0] + sized([0x13, 1]) + [1, 0] + sized(extensions)
    return [0x16, 3, 1] + sized([1, 0] + sized(message))
  }

  @Test func namesOfTLS() throws {
    let folder = try Scratch()
    var packets: [TimedPacket] = []
    for (i, name) in ["im.example.com", "a,b\"c\u{1b}[31m"].enumerated() {
      var talk = ConversationBuilder(
        client: Endpoint(address: Self.client.address, port: UInt16(40_000 + i)), server: Self.server(443))
      talk.open(at: Self.at(Int64(i) * 100))
      talk.send(Self.clientHello(Array(name.utf8)), .clientToServer, at: Self.at(Int64(i) * 100 + 50))
      packets += talk.packets
    }
    let path = try folder.file("tls.pcap", CaptureBuilder(packets).pcap())
    let rows = try Self.rows(path)
    #expect(rows.map { $0["sni"] as? String } == ["im.example.com", "a,b\"c?[31m"])
    #expect(rows.allSatisfy { $0["tls"] as? String == "TLS 1.3" && $0["messages"] == nil })
    #expect(try Self.rows(path, "-Y", "sni contains \"example\"").count == 1)
    #expect(try Self.rows(path, "-Y", "tls").count == 2)
    #expect(try Command.run(["streams", "-q", path]).output.contains("  TLS im.example.com  "))
    let csv = try Command.run(["streams", "-q", "--format", "csv", path]).output
    #expect(csv.contains(",TLS 1.3,\"a,b\"\"c?[31m\",true,open,"), "\(csv)")
  }

  // MARK: Choices

  /// Without a choice, JSON has the members that scripts know: byte ranges, and Wireshark's analysis.
  @Test func withoutAChoiceObjectsKeepTheirMembers() throws {
    let plain = try Command.run(["streams", "-q", "--json", Self.weak]).output
    #expect(plain == (try Command.run(["streams", "-q", "--json", "--ranges", Self.weak]).output))
    let first = try #require(try Store.objects(["streams", "-q", "--json", Self.weak]).first)
    #expect(first["analysis"] != nil && first["dirs"] != nil && first["first_frame"] as? Int == 1)
  }

  @Test func choicesChoose() throws {
    func numbers(_ arguments: String...) throws -> [Int] {
      try Store.objects(["streams", "-q", "--json", Self.weak] + arguments).map { Self.number($0, "conn") }
    }
    #expect(try numbers("--sort", "conn") == Array(1...8))
    #expect(try numbers("--conn", "3", "--conn", "7") == [3, 7])
    #expect(try numbers("-Y", "end == rst") == [1, 3])
    #expect(try numbers("-Y", "rst_by == s2c") == [3])
    #expect(try numbers("-Y", "end in {refused, timeout}") == [5, 7])
    #expect(try numbers("-Y", "lost > 0 && client.ip == 192.0.2.0/24") == [1])
    #expect(try numbers("-Y", "not profile") == [5, 7])
    #expect(try numbers("-Y", "profile == tjp && retransmissions >= 5") == [2, 3])
    #expect(try numbers("-Y", "start >= \"2025-10-09 08:54:00\"", "--utc") == [5, 6, 7, 8])
    #expect(try numbers("-Y", "c2s.ack_rtt_ms > 24.5 and handshake_ms < 145.2") == [2, 6])
    #expect(try numbers("--sort", "retransmissions") == [2, 3, 1, 4, 6, 7, 8, 5])
    #expect(try numbers("--sort", "bytes", "--top", "2") == [2, 1])
    #expect(try numbers("--sort", "duration").first == 4)
    #expect(try numbers("--sort", "client") == [6, 1, 5, 7, 8, 2, 3, 4])
    #expect(try numbers("--sort", "end") == [4, 6, 8, 2, 1, 3, 5, 7])
    #expect(try numbers("--top", "3") == [2, 1, 3])
    let text = try Command.run(["streams", Self.weak, "-q", "-Y", "end == rst", "--top", "1"]).output
    #expect(
      text.hasSuffix("\n2 connections of 8 to 203.0.113.10:8080: 2 rst (1 by the client, 1 by the server); 1 shown\n"),
      "\(text)")
  }

  /// A column is sorted from the highest value on, and what is not known comes last.
  @Test(arguments: [
    ("bytes", "bytes"), ("c2s.bytes", "c2s.bytes"), ("packets", "packets"), ("s2c.packets", "s2c.packets"),
    ("handshake", "handshake_us"), ("c2s.ack_rtt", "c2s.ack_rtt_us.mean"), ("s2c.ack_rtt", "s2c.ack_rtt_us.mean"),
    ("retransmissions", "retransmissions"), ("messages", "messages"), ("lost", "lost"), ("retries", "retries"),
    ("duration", "duration_us"),
  ])
  func sortedColumns(_ order: String, _ place: String) throws {
    let rows = try Self.rows(Self.weak, "--sort", order)
    let values = rows.map { (CatalogueTests.value($0, place) as? NSNumber)?.doubleValue ?? -1 }
    #expect(rows.count == 8 && values == values.sorted(by: >), "\(values)")
  }

  @Test func whatCannotBeIsRefused() throws {
    for (arguments, words) in [
      (["--sort", "speed"], "one of conn, start, duration"), (["-Y", "type == data"], "column 1"),
      (["-Y", "end == gone"], "column 8"), (["--top", "0"], "--top"),
      (["--ranges", "--top", "3"], "--ranges covers all streams"),
      (["--write", "/tmp/none/x", "-Y", "lost"], "--write"),
      (["--ranges", "--format", "csv"], "--format text or json"),
      (["--ranges", "--format", "ecs"], "--format text or json"),
      (["--format", "ecs", "--conn", "3"], "--format ecs"),
    ] {
      let run = try Command.run(["streams", Self.weak] + arguments)
      #expect(run.status == 64 && run.output.isEmpty && run.errors.contains(words), "\(arguments): \(run.errors)")
    }
    let live = try Command.run(["streams", "-i", "lo", "--ranges"])
    #expect(live.status == 64 && live.errors.contains("reads files"), "\(live.errors)")
  }

  // MARK: The terminal

  @Test(arguments: CatalogueTests.captures, [60, 80, 100, 140, 200]) func tablesFit(_ path: String, _ columns: Int)
    throws
  {
    let lines = try Terminal.run(["streams", "-q", path], columns: columns).split(separator: "\r\n").map(String.init)
    #expect(lines.allSatisfy { cells($0) <= columns }, "\(lines)")
    #expect(lines.first?.contains("client") == true && lines.first?.contains("end") == true)
    // Wider ones have more columns.
    let wider = try Terminal.run(["streams", "-q", path], columns: columns + 40).split(separator: "\r\n")
    #expect((wider.first ?? "").split(separator: " ").count >= lines[0].split(separator: " ").count)
  }

  // MARK: Limits

  /// More connections than the limit on memory allows to keep: lists in the order of ends have all of them, and a sorted one
  /// says how many it is without.
  @Test func manyConnections() throws {
    let folder = try Scratch()
    let count = 2_500
    var packets: [TimedPacket] = []
    for i in 0..<count {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0000 + UInt32(i)), port: 30_000), server: Self.server())
      talk.append(.clientToServer, .syn, sequence: 1_000, acknowledgment: 0, at: Self.at(Int64(i) * 20))
      talk.append(.serverToClient, [.rst, .ack], sequence: 0, acknowledgment: 1_001, at: Self.at(Int64(i) * 20 + 1))
      packets += talk.packets
    }
    let path = try folder.file("many.pcap", CaptureBuilder(packets).pcap())
    let lines = try Command.run(["streams", path, "--format", "csv", "-q", "--mem", "1M"]).output.split(separator: "\n")
    let listed = lines.compactMap { $0.split(separator: ",").first.flatMap { Int($0) } }
    #expect(Set(listed) == Set(1...count) && listed.count == count)
    let whole = try Command.run(["streams", path, "--mem", "1M"])
    let numbers = whole.output.split(separator: "\n").compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
    #expect(Set(numbers) == Set(1...count) && numbers.count == count)
    #expect(whole.output.hasSuffix("\n2,500 connections to 192.0.2.2:8080: 2,500 refused\n"))
    #expect(!whole.errors.contains("left out"), "\(whole.errors)")
    for arguments in [["--sort", "server"], ["--top", "2400"]] {
      let sorted = try Command.run(["streams", path, "--mem", "1M"] + arguments)
      let shown = sorted.output.split(separator: "\n").count - 2
      #expect(shown < 2_400 && shown >= 64)
      #expect(
        sorted.output.hasSuffix("\n2,500 connections to 192.0.2.2:8080: 2,500 refused; \(grouped(shown)) shown\n"))
      let missing = (arguments[0] == "--top" ? 2_400 : count) - shown
      #expect(
        sorted.errors.contains("the last \(grouped(missing)) connections left out of the list"), "\(sorted.errors)")
    }
    let best = try Self.rows(path, "--mem", "1M", "--sort", "start", "--top", "3")
    #expect(best.map { Self.number($0, "conn") } == [1, 2, 3])
  }

  private func grouped(_ number: Int) -> String {
    number < 1_000 ? "\(number)" : "\(number / 1_000),\(String(format: "%03d", number % 1_000))"
  }
}
