import Foundation
import IMTestSupport
import IMWire
import Testing

/// `imdump transcript`: one line for each message, in the order in which they were sent.
@Suite struct TranscriptTests {
  @Test(arguments: try Samples.captures()) func everyMessageHasALine(_ sample: String) throws {
    let path = Samples.path(sample)
    let lines = try Command.run(["transcript", "-q", "-tt", path]).output.split(separator: "\n")
    let rows = try Store.objects(["stats", "-q", "--json", "--by", "direction", path])
    func sum(_ key: String) -> Int { rows.reduce(0) { $0 + ($1[key] as? Int ?? 0) } }
    #expect(lines.count == sum("messages") + sum("unacknowledged"))
    #expect(lines.count { $0.contains("  [lost: ") } == sum("lost"))
    #expect(lines.count { $0.contains("  [rejected") } == sum("rejected"))
    let times = lines.compactMap { Double($0.prefix { $0 != " " }) }
    #expect(times.count == lines.count && times == times.sorted())
  }

  @Test func textIsText() throws {
    let path = Samples.path("mqtt-mosquitto.pcap")
    let all = try Command.run(["transcript", "-q", "-t", path]).output
    #expect(all.contains("writer > chat/zhang: 在地铁上 🚇  [answered after 0.057 ms]\n"), "\(all)")
    #expect(all.contains("server > reader (chat/zhang): 你好\n"))
    let some = try Command.run(["transcript", "-q", "-t", "--topic", "chat/+", "--session", "writer", path]).output
    #expect(!some.isEmpty && some.split(separator: "\n").allSatisfy { $0.hasPrefix("writer > chat/") })
    let text = try Command.run(["messages", "-q", "-A", "-Y", "type == publish", path]).output
    #expect(text.contains("\n\t你好\n") && !text.contains("\\x00"))
  }

  /// Messages behind a hole, and those whose answers come late, are where they were sent; so are those of `messages`.
  @Test(arguments: try Samples.captures()) func listsAreInTheOrderOfTime(_ sample: String) throws {
    for options in [["messages", "--json"], ["messages", "--retried", "--json"], ["messages", "--failed", "--json"]] {
      let times = try Store.objects(options + ["-q", Samples.path(sample)]).compactMap { ($0["ts"] as? [Int])?.first }
      #expect(times == times.sorted(), "\(options)")
    }
  }

  /// The times between lines are those between printed lines, which are in the order of time.
  @Test(arguments: try Samples.captures()) func timesBetweenLinesAreNotNegative(_ sample: String) throws {
    let path = Samples.path(sample)
    for command in ["messages", "transcript"] {
      let lines = try Command.run([command, "-q", "-ttt", path]).output.split(separator: "\n")
      let times = try Store.objects([command == "messages" ? command : "messages", "-q", "--json", path])
        .compactMap { ($0["ts"] as? [Int])?.first }
      let deltas = lines.map { line -> Double in
        let words = line.split(separator: " ")
        let value = Double(words.first ?? "") ?? -1
        return ["µs", "us"].contains(words[1]) ? value / 1e6 : words[1] == "ms" ? value / 1e3 : value
      }
      #expect(deltas.allSatisfy { $0 >= 0 }, "\(command)")
      guard command == "messages" else { continue }
      let all = zip(times.dropFirst(), times).map { Double($0 - $1) / 1e6 }
      #expect(deltas.count == times.count && zip(deltas.dropFirst(), all).allSatisfy { abs($0 - $1) < 0.006 })
    }
  }

  /// A time of day beside a field that only some protocols have.
  @Test func aTimeOfDayBesideANamedField() throws {
    let filter = ##"topic == "room:1" && ts > "08:53:22""##
    let path = Samples.path("phoenix-room.pcap")
    func rows(_ words: [String]) throws -> [Int] {
      try Store.objects(["messages", "-q", "--json", "--utc", path] + words).compactMap { ($0["ts"] as? [Int])?.first }
    }
    let all = try rows(["-Y", "topic == \"room:1\""])
    // 08:53:22 of that day.
    let found = try rows(["-Y", filter])
    #expect(found == all.filter { $0 > 1_760_000_002_000_000 } && (1..<all.count).contains(found.count))
  }

  /// Topics are what a protocol calls so: the subjects of NATS, the destinations of STOMP.
  @Test(arguments: [("nats-rooms.pcap", "room.0"), ("stomp-queue.pcap", "/queue/")])
  func topicsOfOtherNames(_ sample: String, _ prefix: String) throws {
    let path = Samples.path(sample)
    let groups = try Store.objects(["stats", "-q", "--json", "--by", "topic", path])
    let named = groups.filter { ($0["topic"] as? String)?.hasPrefix(prefix) ?? false }
    #expect(!named.isEmpty)
    let topic = try #require(named.first?["topic"] as? String)
    let lines = try Command.run(["transcript", "-q", "--topic", topic, path]).output.split(separator: "\n")
    let count = (named[0]["messages"] as? Int ?? 0) + (named[0]["unacknowledged"] as? Int ?? 0)
    #expect(lines.count == count && count > 0 && lines.allSatisfy { $0.contains(topic) })
    // A phone number is no topic.
    #expect(try Command.run(["stats", "-q", "--by", "topic", Samples.path("smpp-gateway.pcap")]).output.isEmpty)
  }

  @Test func noSuchSession() throws {
    let run = try Command.run(["transcript", "--session", "nobody", Samples.path("mqtt-mosquitto.pcap")])
    #expect(run.status == 0 && run.output.isEmpty)
    #expect(run.errors.contains("no message of session nobody; 'imdump messages --by session' lists sessions\n"))
  }

  /// Whose messages and of which time: the same with options, with a filter, and by hand.
  @Test(arguments: ["messages", "transcript"]) func theScopeIsThatOfTheFilter(_ command: String) throws {
    let path = Samples.path("tjp-weak-network.pcap")
    func lines(_ words: [String]) throws -> [Substring] {
      let run = try Command.run([command, "-q", path] + words)
      try #require(run.status == 0, "\(run.errors)")
      return run.output.split(separator: "\n")
    }
    let all = try lines([])
    for (options, filter) in [
      (["--session", "49147"], "session == 49147"), (["--conn", "3", "--conn", "1"], "conn in {1, 3}"),
      (["--session", "49147", "--session", "22509", "--conn", "3"], "session in {49147, 22509} and conn == 3"),
      (["--from", "16:53:30", "--to", "16:54:20"], "ts >= \"16:53:30\" and ts < \"16:54:21\""),
      (["--conn", "1", "--from", "+8.900"], "conn == 1 and ts >= 1760000009.200006"),
      (["--to", "16:53:29.210"], "ts < \"16:53:29.211\""),
    ] {
      let found = try lines(options)
      #expect(found == (try lines(["-Y", filter])), "\(options)")
      #expect(!found.isEmpty && found.count < all.count, "\(options)")
    }
    for (options, words) in [
      (["--session", "nobody", "--session", "49147"], "no message of session nobody;"),
      (["--conn", "5", "--conn", "99", "--conn", "1"], "no message on connection #5, #99;"),
    ] {
      let run = try Command.run([command, path] + options)
      #expect(run.status == 0 && !run.output.isEmpty && run.errors.contains(words), "\(run.errors)")
    }
    #expect(try Command.run([command, path, "--from", "+8.9"]).status == 64)
  }

  /// Two large messages in pieces, with a text between them, as the talk was drawn: all of the first is answered, delivered and read; of the
  /// second a piece is lost, and one is sent twice.
  @Test func aLargeMessageIsOneLine() throws {
    let folder = try Scratch()
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 8_080))
    func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_760_000_000_000 + milliseconds) }
    func big(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    let head = TLVBuilder().field(0xf020, Array(repeating: 0, count: 16)).field(0xf003, Array("bob".utf8)).bytes
    let content = head + TLVBuilder().field(0x1005, Array(repeating: 7, count: 10_000 - head.count - 6)).bytes
    // Four segments of 0.1 ms each; a piece is there with its last one.
    func piece(_ number: UInt32, _ transfer: UInt64, _ offset: Int) {
      let body = TLVBuilder().field(0xf025, big(10_000) + [0, 3]).field(0xf026, big(transfer) + big(UInt64(offset)))
        .field(0xf028, Array(content[offset..<min(10_000, offset + 4_000)]))
      talk.send(
        TJPFrameBuilder(type: TJPType.data, sequence: number, body: body.bytes).bytes, .clientToServer,
        at: at(Int64(number & 0xff) * 10))
    }
    func answer(_ number: UInt32, at milliseconds: Int64) {
      talk.send(TJPFrameBuilder.echoACK(of: number).bytes, .serverToClient, at: at(milliseconds))
    }
    talk.open(at: at(0))
    for (place, number) in [0x300_0001, 0x300_0002, 0x300_0004].enumerated() as EnumeratedSequence<[UInt32]> {
      piece(number, 5, place * 4_000)
      if place == 1 {
        talk.send(TJPFrameBuilder(text: "meanwhile", sequence: 3).bytes, .clientToServer, at: at(30))
      }
    }
    for (number, time) in [(0x300_0002, 45), (0x300_0001, 50), (3, 55), (0x300_0004, 60)] as [(UInt32, Int64)] {
      answer(number, at: time)
    }
    // By the number of the last piece.
    let receipts = TLVBuilder().field(0xf021, [3, 0, 0, 4]).field(0x10, [3, 0, 0, 4]).bytes
    talk.send(
      TJPFrameBuilder(type: TJPType.receipt, sequence: 9, body: receipts).bytes, .serverToClient, at: at(75))
    piece(0x300_0008, 6, 0)
    piece(0x300_0009, 6, 4_000)
    piece(0x300_000a, 6, 8_000)
    answer(0x300_000a, at: 110)
    answer(0x300_0008, at: 120)
    talk.acknowledge(.serverToClient, at: at(20_000))
    let path = try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap())
    let lines = try Command.run(["transcript", "-q", "-t", path]).output.split(separator: "\n").map(String.init)
    let session = lines.first.map { String($0.prefix { $0 != " " }) } ?? ""
    #expect(
      lines == [
        "\(session) > bob: (data, 10,000 bytes in 3 pieces)  [answered after 49.6 ms, delivered after 64.6 ms, read after 64.6 ms]",
        "\(session) > server: meanwhile  [answered after 25.0 ms]",
        "\(session) > bob: (data, 10,000 bytes in 3 pieces)  [1 piece lost, 60 % answered]",
      ])
  }

  /// A time as text or JSON has it is a time for options.
  @Test func printedTimesAreTaken() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let wanted = try Command.run(["ladder", "-q", "--conn", "1", "--from", "1760000009.2", path]).output
    for time in [
      "1760000009200000", "1760000009200", "2025-10-09T08:53:29.2Z", "2025-10-09 16:53:29.2 +08:00",
      "2025-10-09 08:53:29.2 UTC", "2025-10-09 16:53:29.2 UTC+08:00", "16:53:29.200",
    ] {
      let run = try Command.run(["ladder", "-q", "--conn", "1", "--from", time, path], environment: ["TZ": "CST-8"])
      #expect(run.status == 0 && run.output == wanted && wanted.contains("14209862"), "\(time): \(run.errors)")
    }
  }
}
