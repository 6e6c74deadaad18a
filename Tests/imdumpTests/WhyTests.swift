import Foundation
import IMTerminal
import IMTestSupport
import IMWire
import Testing

/// The verdict: `imdump why`, and the last lines of `imdump FILE` on a terminal.
@Suite struct WhyTests {
  private static func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  private static func findings(_ verdict: [String: Any]) -> [String: [String: Any]] {
    let all = verdict["findings"] as? [[String: Any]] ?? []
    return Dictionary(all.map { ($0["topic"] as? String ?? "", $0) }, uniquingKeysWith: { first, _ in first })
  }

  @Test(arguments: try Samples.captures()) func aVerdictFitsATerminal(_ sample: String) throws {
    let path = Samples.path(sample)
    let run = try Command.run(["why", path])
    let lines = run.output.split(separator: "\n").map(String.init)
    #expect((4...22).contains(lines.count), "\(run.output)")
    #expect(lines.allSatisfy { cells($0) <= 80 }, "\(run.output)")
    #expect(!run.output.contains("\u{2026}") && !run.output.contains { $0 == "~" }, "\(run.output)")
    #expect(try Command.run(["why", path]).output == run.output)
    // Commands are to be pasted, and not cut: those of text are those of JSON.
    let next = lines.drop { !$0.hasPrefix("next: ") }.joined(separator: "\n")
    let commands = Self.unfolded(next).split(separator: "\n").map { String($0.dropFirst(6)) }
    let verdict = try Self.object(try Command.run(["why", "--json", path]).output)
    #expect(commands == verdict["next"] as? [String], "\(next)")
  }

  /// Text in which commands that go on behind a backslash stand on one line.
  private static func unfolded(_ text: String) -> String { text.replacing(" \\\n        ", with: " ") }

  /// The commands that it names run as they are.
  @Test(arguments: ["tjp-weak-network.pcap", "smpp-gateway.pcap", "goim-room.pcap", "tjp-v2-chat.pcap"])
  func theNextCommandsRun(_ sample: String) throws {
    let folder = try Scratch()
    let verdict = try Self.object(try Command.run(["why", "--json", Samples.path(sample)]).output)
    let commands = try #require(verdict["next"] as? [String])
    #expect((1...3).contains(commands.count))
    for command in commands {
      let line = command.replacing("report.html", with: folder.path("report.html"))
      // Quotes stand around whole words.
      var words = line.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap { i, part in
        i % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
      }
      #expect(words.removeFirst() == "imdump")
      let run = try Command.run(words)
      #expect(run.status == 0 && (!run.output.isEmpty || command.contains("report")), "\(command): \(run.errors)")
    }
  }

  /// Its counts are those of `stats` and of `messages`.
  @Test(arguments: try Samples.captures()) func itsCountsAreThoseOfStats(_ sample: String) throws {
    let path = Samples.path(sample)
    let verdict = try Self.object(try Command.run(["why", "--json", path]).output)
    let findings = Self.findings(verdict)
    func found(_ topic: String) -> Int { (findings[topic]?["count"] as? NSNumber)?.intValue ?? 0 }
    let stats = try Self.object(try Command.run(["stats", "--json", path]).output)
    let total = try #require(stats["total"] as? [String: Any])
    let messages = try #require(total["messages"] as? [String: Any])
    func counted(_ name: String) -> Int { (messages[name] as? NSNumber)?.intValue ?? 0 }
    #expect(found("lost") == counted("unanswered") + counted("damaged"))
    #expect(found("rejected") == counted("rejected"))
    #expect(found("retried") == counted("acked_after_retry"))
    #expect(found("unknown") == counted("unknown"))
    #expect(found("pending") == counted("pending"))
    let heartbeats = total["heartbeats"] as? [String: Any]
    #expect(found("heartbeats") == (heartbeats?["missed"] as? NSNumber)?.intValue ?? 0)
    let lines = try Command.run(["messages", "--lost", "-q", path]).output.split(separator: "\n")
    #expect(found("lost") == lines.count)
    // The page says the same.
    let page = try Command.run(["report", path, "-q", "-o", "-"]).output
    let headline = try #require(verdict["headline"] as? String)
    let escaped = headline.replacing("'", with: "&#39;")
    #expect(page.contains("<h2 id=\"verdict-h\">\(escaped).</h2>"), "\(headline)")
  }

  /// A command that is wider than the terminal goes on behind a backslash, between its words.
  @Test func aWideCommandGoesOn() throws {
    let folder = try Scratch()
    let name = "a capture with a rather long name, taken on the gateway at night.pcap"
    let path = try folder.file(name, try Samples.bytes("goim-room.pcap"))
    let text = try Command.run(["why", path]).output
    let verdict = try Self.object(try Command.run(["why", "--json", path]).output)
    let commands = try #require(verdict["next"] as? [String])
    #expect(commands.allSatisfy { $0.contains("'\(path)'") && !$0.contains("\n") })
    let next = Self.unfolded(text).split(separator: "\n").suffix(commands.count).map { String($0.dropFirst(6)) }
    #expect(next == commands, "\(text)")
    #expect(text.contains(" \\\n        -Y 'heartbeat && fate == lost'\n"), "\(text)")
    #expect(text.split(separator: "\n").count <= 22)
  }

  /// The list that a command prints has as many lines as the verdict counts.
  @Test(arguments: ["smpp-gateway.pcap", "diameter-charging.pcap", "tjp-weak-network.pcap", "goim-room.pcap"])
  func listsHaveTheirCounts(_ sample: String) throws {
    let path = Samples.path(sample)
    let findings = Self.findings(try Self.object(try Command.run(["why", "--json", path]).output))
    func lines(_ words: String...) throws -> Int {
      try Command.run(["messages", "-q", path] + words).output.split(separator: "\n").count
    }
    func found(_ topic: String) -> Int { (findings[topic]?["count"] as? NSNumber)?.intValue ?? 0 }
    #expect(try lines("--lost") == found("lost"))
    #expect(try lines("--rejected") == found("rejected"))
    #expect(try lines("--failed") == found("lost") + found("rejected"))
    #expect(try lines("-Y", "heartbeat && fate == lost") == found("heartbeats"))
  }

  /// Names for several fates, in messages and in frames.
  @Test func namesOfFates() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    for (name, fates) in [("lost", "unanswered, damaged"), ("failed", "unanswered, damaged, rejected")] {
      for words in [["messages", "-q", path], ["-q", "--print", "-r", path]] {
        let listed = try Command.run(words + ["-Y", "fate in {\(fates)}"]).output
        for filter in ["fate == \(name)", "fate in {\(name)}", "not fate != \(name) and fate"] {
          #expect(try Command.run(words + ["-Y", filter]).output == listed && !listed.isEmpty, "\(filter)")
        }
      }
    }
    // As many messages have retries as the option lists, and their retries are those of `stats`.
    for sample in ["tjp-weak-network.pcap", "tjp-damage.pcap", "tjp-racing.pcap"] {
      let listed = try Store.objects(["messages", "-q", "--json", "--retried", Samples.path(sample)])
      let rows = try Store.objects(["stats", "-q", "--json", "--by", "direction", Samples.path(sample)])
      let sum = { (rows: [[String: Any]]) in rows.reduce(0) { $0 + ($1["retries"] as? Int ?? 0) } }
      #expect(sum(listed) == sum(rows) && listed.allSatisfy { $0["retries"] as? Int ?? 0 > 0 })
    }
  }

  // MARK: Levels

  private static func talk() -> (ConversationBuilder, (Int64) -> Timestamp) {
    let talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 1_883))
    return (talk, { Timestamp(milliseconds: 1_760_000_000_000 + $0 * 1_000) })
  }

  private static func verdict(_ talk: ConversationBuilder) throws -> (level: String, headline: String) {
    let folder = try Scratch()
    let path = try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap())
    let object = try object(try Command.run(["why", "--json", path]).output)
    return (object["verdict"] as? String ?? "", object["headline"] as? String ?? "")
  }

  /// Refused logins and other rejected control frames are told apart by nothing but their counts: no status is said of the others.
  @Test(arguments: [true, false]) func statusesAreThoseOfTheControlFrames(_ hasRefusedLogin: Bool) throws {
    var (talk, at) = Self.talk()
    talk.open(at: at(0))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(1))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(2))
    talk.send(MQTTPacketBuilder.subscribe(3, [("t", 1)]), .clientToServer, at: at(3))
    talk.send(MQTTPacketBuilder.suback(3, [0x80]), .serverToClient, at: at(4))
    talk.close(.fin(by: .clientToServer), at: at(5))
    var packets = talk.packets
    if hasRefusedLogin {
      var other = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0xc000_020b), port: 40_001),
        server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 1_883))
      other.open(at: at(6))
      other.send(MQTTPacketBuilder.connect(clientID: "b"), .clientToServer, at: at(7))
      other.send(MQTTPacketBuilder.connack(code: 5), .serverToClient, at: at(8))
      other.close(.fin(by: .serverToClient), at: at(9))
      packets += other.packets
    }
    let folder = try Scratch()
    let path = try folder.file("a.pcap", CaptureBuilder(packets).pcap())
    let text = try Command.run(["why", path]).output
    #expect(
      text.contains("1 control frame rejected: subscribe with unspecified_error (128)") == !hasRefusedLogin, "\(text)")
    #expect(text.contains("1 control frame rejected"), "\(text)")
  }

  /// A receipt without an answer is called that, and is no control frame.
  @Test func receiptsHaveTheirName() throws {
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 8_080))
    let at = Self.talk().1
    talk.open(at: at(0))
    talk.send(TJPFrameBuilder(text: "m", sequence: 10).bytes, .clientToServer, at: at(1))
    talk.send(TJPFrameBuilder.echoACK(of: 10).bytes, .serverToClient, at: at(2))
    let body = TLVBuilder().field(0x10, [0, 0, 0, 10]).bytes
    talk.send(
      TJPFrameBuilder(type: TJPType.receipt, sequence: 7, body: body).bytes, .serverToClient, at: at(3))
    talk.acknowledge(.clientToServer, at: at(200))
    let folder = try Scratch()
    let path = try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap())
    let verdict = try Self.object(try Command.run(["why", "--json", path]).output)
    #expect(verdict["headline"] as? String == "No message was lost, but 1 receipt went unanswered")
    let findings = Self.findings(verdict)
    #expect(findings["receipts"]?["text"] as? [String] == ["1 receipt without an answer"] && findings["control"] == nil)
    let command = try #require((verdict["next"] as? [String])?.first)
    #expect(command == "imdump messages \(path) -Y 'role == receipt && fate == failed'")
    let lines = try Command.run(["messages", "-q", path, "-Y", "role == receipt && fate == failed"]).output
    #expect(lines.split(separator: "\n").count == 1, "\(lines)")
  }

  /// The worst message is one of the connection with the most losses, not the first that was lost.
  @Test func theWorstIsWhereMostWasLost() throws {
    var packets: [TimedPacket] = []
    let at = Self.talk().1
    for (host, losses) in [(1, 1), (2, 3), (3, 2)] as [(UInt32, UInt32)] {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0xc000_0200 + host), port: 40_000),
        server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 8_080))
      talk.open(at: at(Int64(host)))
      for number in 0..<losses {
        talk.send(
          TJPFrameBuilder(text: "m", sequence: 10 + number, session: UInt16(host)).bytes, .clientToServer,
          at: at(Int64(host * 10 + number)))
      }
      talk.acknowledge(.serverToClient, at: at(200 + Int64(host)))
      packets += talk.packets
    }
    packets.sort { $0.timestamp < $1.timestamp }
    let folder = try Scratch()
    let path = try folder.file("a.pcap", CaptureBuilder(packets).pcap())
    let text = try Command.run(["why", path]).output
    #expect(
      text.contains("of 6 messages were lost") && text.contains("worst message: ") && text.contains("192.0.2.2:"),
      "\(text)")
    #expect(Self.unfolded(text).contains("ladder \(path) --conn 2"), "\(text)")
  }

  /// A heartbeat is the worst only where nothing is wrong with messages, and is called that.
  @Test func aHeartbeatIsNoMessage() throws {
    let beat = try Command.run(["why", Samples.path("goim-room.pcap")], environment: ["LC_ALL": "C.UTF-8"]).output
    #expect(beat.contains("\n  worst heartbeat: #2 ") && !beat.contains("worst message"), "\(beat)")
    // One message was retried, and one heartbeat missed.
    let message = try Command.run(["why", Samples.path("jt808-terminals.pcap")]).output
    #expect(message.contains("\n  worst message: #") && !message.contains("worst heartbeat"), "\(message)")
    #expect(message.contains(" location 18 "), "\(message)")
  }

  /// Heartbeats alone are read, and good: that is green, and not grey.
  @Test func heartbeatsAloneAreGood() throws {
    var (talk, at) = Self.talk()
    talk.open(at: at(0))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(1))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(2))
    for second in [30, 60] as [Int64] {
      talk.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: at(second))
      talk.send(MQTTPacketBuilder.packet(13, []), .serverToClient, at: at(second + 1))
    }
    talk.close(.fin(by: .clientToServer), at: at(70))
    let (level, headline) = try Self.verdict(talk)
    #expect(level == "good" && headline == "No message asked for an answer: all 2 heartbeats were answered")
  }

  /// A frame in much that nothing decodes may be chance: that is grey, and the profile of the port is tried next.
  @Test func aStrayFrameIsNotDecoded() throws {
    var (talk, at) = Self.talk()
    talk.open(at: at(0))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(1))
    talk.acknowledge(.serverToClient, at: at(2))
    talk.close(.fin(by: .clientToServer), at: at(3))
    let folder = try Scratch()
    let paths = [Samples.path("cmpp-gateway.pcap"), try folder.file("a.pcap", CaptureBuilder(talk.packets).pcap())]
    let verdict = try Self.object(try Command.run(["why", "--json"] + paths).output)
    #expect(verdict["verdict"] as? String == "unknown" && verdict["color"] as? String == "grey")
    let headline = try #require(verdict["headline"] as? String)
    #expect(headline.hasPrefix("Almost nothing was decoded: ") && headline.hasSuffix(" bytes, and no message"))
    let next = try #require(verdict["next"] as? [String])
    #expect(next.first?.hasSuffix(" --profile cmpp") == true, "\(next)")
    // With an answer, it is a client that came and went.
    talk = Self.talk().0
    talk.open(at: at(0))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(1))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(2))
    talk.close(.fin(by: .clientToServer), at: at(3))
    let other = [paths[0], try folder.file("b.pcap", CaptureBuilder(talk.packets).pcap())]
    let second = try Self.object(try Command.run(["why", "--json"] + other).output)
    #expect(second["verdict"] as? String == "warning", "\(second)")
  }

  /// What is still open when the capture ends is pending, and not unknown.
  @Test func theCaptureMayEndFirst() throws {
    var (talk, at) = Self.talk()
    talk.open(at: at(0))
    talk.send(MQTTPacketBuilder.connect(clientID: "a"), .clientToServer, at: at(1))
    talk.send(MQTTPacketBuilder.connack(), .serverToClient, at: at(2))
    talk.send(MQTTPacketBuilder.publish("t", [1], qos: 1, packetID: 7), .clientToServer, at: at(3))
    let (level, headline) = try Self.verdict(talk)
    #expect(level == "warning" && headline == "The capture ended before the only message was answered", "\(headline)")
  }

  /// What a file lacks is said on a terminal, too: a capture that is cut is not green.
  @Test func aCutFileIsNotGreen() throws {
    let folder = try Scratch()
    let cut = try folder.file("cut.pcap", try Samples.bytes("tjp-clean-chat.pcap").dropLast(7))
    for words in [["why", cut], [cut, "--verdict"]] {
      let run = try Command.run(words)
      let text = words[0] == "why" ? run.output : run.errors
      #expect(text.contains("! In what was read, no message was lost, but not everything could be read"), "\(text)")
      #expect(run.status == 1)
    }
    let empty = try folder.file("empty.pcap", CaptureBuilder([]).pcap())
    #expect(try Command.run([empty, "--verdict"]).errors.contains("? The capture contains no packets"))
  }

  @Test(arguments: [
    ("tjp-weak-network.pcap", "bad", "red"), ("tjp-clean-chat.pcap", "good", "green"),
    ("goim-room.pcap", "warning", "amber"),
    ("tjp-v2-chat.pcap", "unknown", "grey"),
  ]) func aLevelHasAColor(_ sample: String, _ level: String, _ color: String) throws {
    let verdict = try Self.object(try Command.run(["why", "--json", Samples.path(sample)]).output)
    #expect(verdict["verdict"] as? String == level && verdict["color"] as? String == color)
    let code = ["red": 31, "green": 32, "amber": 33, "grey": 90][color] ?? 0
    let text = try Command.run(["why", "--color", "always", Samples.path(sample)]).output
    #expect(text.hasPrefix("\u{1b}[1;\(code)m"), "\(text.prefix(20).debugDescription)")
  }

  @Test func whatIsLostIsExplained() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let text = try Command.run(["why", "--utc", path]).output
    #expect(text.contains("2 of 50 messages were lost (4.00 %)"), "\(text)")
    #expect(text.contains("2025-10-09 08:53:20 to 08:55:08 UTC, 599 packets, 6 of 8 connections decoded"))
    #expect(text.contains("first sent at 08:53:29, last at 08:53:48"))
    #expect(text.contains("2 of 3 sessions affected: 49147 (1) and 22509 (1)"))
    #expect(text.contains("client to server: p50 26.4 ms, p95 275.5 ms, p99 2.91 s"))
    #expect(text.contains("08:53:29.210"), "the ladder of the worst message has the clock's time")
    let east = try Command.run(["why", path], environment: ["TZ": "CST-8"]).output
    #expect(east.contains("2025-10-09 16:53:20 to 16:55:08 +08:00") && east.contains("16:53:29.210"), "\(east)")
  }

  @Test func thresholdsSetWhatIsAmber() throws {
    let path = Samples.path("goim-room.pcap")
    let run = try Command.run(["why", "--thresholds", "heartbeats=50%", path], environment: ["LC_ALL": "C.UTF-8"])
    #expect(run.output.hasPrefix("\u{2713} No message was lost: all 10 messages were answered\n"), "\(run.output)")
    let bad = try Command.run(["why", "--thresholds", "heartbeats=lots", path])
    #expect(bad.status == 64 && bad.errors.contains("retries=2%"), "\(bad.errors)")
  }

  @Test func aConditionSetsTheStatus() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let run = try Command.run(["why", "--fail-on", "loss>1%", path])
    #expect(run.status == 2 && run.errors.contains("--fail-on loss>1% holds"))
    #expect(try Command.run(["why", "--fail-on", "loss>10%", path]).status == 0)
    #expect(try Command.run(["why", "--fail-on", "loss>+1pp", path]).status == 64)
    #expect(try Command.run(["why", "missing.pcap"]).status == 66)
  }

  /// Standard input is read once: there is no ladder.
  @Test func standardInputIsReadOnce() throws {
    let run = try Command.run(["why", "-"], input: "Samples/tjp-weak-network.pcap")
    #expect(
      run.status == 0 && run.output.contains("2 of 50 messages were lost") && !run.output.contains("worst message"))
    #expect(run.output.contains("next: imdump messages FILE --lost"), "\(run.output)")
  }

  /// What README shows is what is printed today.
  @Test func theReadmeShowsIt() throws {
    let readme = try String(contentsOf: Command.folder.appending(path: "README.md"), encoding: .utf8)
    let block = try #require(readme.components(separatedBy: "    $ imdump why Samples/tjp-weak-network.pcap\n").last)
    let shown = block.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }.map {
      $0.dropFirst(4)
    }
    let run = try Command.run(
      ["why", "Samples/tjp-weak-network.pcap"], environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC"])
    #expect(shown.joined(separator: "\n") + "\n" == run.output)
  }

  // MARK: The end of `imdump FILE`

  @Test func aTerminalEndsWithTheVerdict() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let text = try Terminal.run([path], columns: 80).replacing(/\u{1b}\[[0-9;]*m/, with: "")
    #expect(text.contains("2 of 50 messages were lost (4.00 %)\r\n") && text.contains("next: imdump messages "))
    #expect(!text.contains("packets captured"))
    let counts = try Terminal.run([path, "--summary"], columns: 80)
    #expect(counts.contains("599 packets captured") && !counts.contains("next: "))
    #expect(!(try Terminal.run([path, "-q", "--print"], columns: 80)).contains("next: "))
    let file = try Command.run([path])
    #expect(file.errors.contains("599 packets captured") && !file.errors.contains("next: "))
    let asked = try Command.run([path, "--verdict"])
    #expect(asked.errors.contains("next: imdump messages ") && !asked.errors.contains("packets captured"))
    #expect(asked.output == file.output)
    #expect(try Command.run([path, "--verdict", "--summary"]).status == 64)
  }
}
