import Foundation
import IMTestSupport
import IMWire
import Testing

/// Where bytes are missing is said in every form of output, at its place.
@Suite struct GapTests {
  static let start: Int64 = 1_700_000_000_000

  private static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: start + milliseconds) }

  private static func frame(_ number: UInt32) -> TJPFrameBuilder {
    TJPFrameBuilder(text: "text \(number)", sequence: number)
  }

  private static func talk(_ client: UInt8 = 5) -> ConversationBuilder {
    ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0000 | UInt32(client)), port: 50_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8_080))
  }

  /// Three messages, of which the capture lacks the second; each is a segment of 40 bytes.
  private static func lossy(_ client: UInt8 = 5) -> ConversationBuilder {
    var talk = talk(client)
    talk.open(at: at(0))
    talk.send(frame(1).bytes, .clientToServer, at: at(100))
    let lost = talk.send(frame(2).bytes, .clientToServer, at: at(200))
    talk.send(frame(3).bytes, .clientToServer, at: at(300))
    for index in lost { talk.drop(index) }
    talk.close(.fin(by: .clientToServer), at: at(1_000))
    return talk
  }

  /// What the command prints for packets.
  private static func lines(_ capture: CaptureBuilder, _ arguments: String...) throws -> [String] {
    let path = "/tmp/imdump-gap-\(UUID().uuidString).pcap"
    try Data(capture.pcap()).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let result = try Command.run(arguments + (arguments.first == "messages" ? [] : ["--print"]) + ["-q", "-r", path])
    #expect(result.status == 0)
    return result.output.split(separator: "\n").map(String.init)
  }

  private static func object(_ line: String) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
  }

  @Test func aGapStandsBetweenTheFramesAroundIt() throws {
    let lines = try Self.lines(CaptureBuilder(Self.lossy()), "-t")
    let ends = "#1 10.0.0.5:50000 > 203.0.113.9:8080: tjp "
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix(ends + "data, seq 1,") && !lines[0].contains("["))
    #expect(lines[1] == ends + "-- gap 40 bytes, lost by the capture (acknowledged, never seen)")
    #expect(lines[2].hasPrefix(ends + "data, seq 3,") && lines[2].hasSuffix("[after_gap]"))
  }

  @Test func theFrameBehindAGapSaysSoInJSON() throws {
    let frames = try Self.lines(CaptureBuilder(Self.lossy()), "--format", "json").map(Self.object)
    #expect(frames.map { $0["seq"] as? Int } == [1, 3])
    #expect(frames[0]["gap_bytes"] == nil && frames[0]["flags"] == nil)
    #expect(frames[1]["gap_bytes"] as? Int == 40)
    #expect(frames[1]["flags"] as? [String] == ["after_gap"])
  }

  @Test func messagesHaveTheFlagToo() throws {
    let messages = try Self.lines(CaptureBuilder(Self.lossy()), "messages", "--json", "-Y", "gap").map(Self.object)
    #expect(messages.map { $0["seq"] as? Int } == [3])
    #expect(messages.first?["flags"] as? [String] == ["after_gap"])
    let others = try Self.lines(CaptureBuilder(Self.lossy()), "messages", "--json", "-Y", "not gap").map(Self.object)
    #expect(others.map { $0["seq"] as? Int } == [1])
  }

  @Test(
    arguments: [
      ("gap", [2, 2]), ("flags == after_gap", [0, 2]), ("type == data", [0, 4]), ("not ack", [2, 4]),
      ("conn == 1", [1, 2]), ("conn == 1 and gap", [1, 1]), ("ip == 10.0.0.6 and gap", [1, 1]), ("seq == 1", [0, 2]),
      ("profile == mqtt", [0, 0]), ("port == 50000 and not seq", [2, 0]), ("dir == s2c", [0, 0]),
    ])
  func aFilterChoosesAmongGapsAsAmongFrames(_ filter: String, _ counts: [Int]) throws {
    let lines = try Self.lines(CaptureBuilder(Self.lossy(5), Self.lossy(6)), "-Y", filter)
    let gaps = lines.filter { $0.contains(": tjp -- gap 40 bytes") }
    #expect([gaps.count, lines.count - gaps.count] == counts)
  }

  @Test func whyBytesAreMissingIsSaid() throws {
    // The snaplen: Ethernet, IP and TCP take 54 bytes, so 30 of 76 are there.
    var cut = Self.talk()
    cut.open(at: Self.at(0))
    cut.send(Self.frame(1).bytes, .clientToServer, at: Self.at(100))
    cut.send(
      TJPFrameBuilder(text: String(repeating: "x", count: 42), sequence: 2).bytes, .clientToServer, at: Self.at(200))
    cut.send(Self.frame(3).bytes, .clientToServer, at: Self.at(300))
    var capture = CaptureBuilder(cut)
    capture.snapLength = 54 + 40
    let short = try Self.lines(capture, "-t").filter { $0.contains("--") }
    #expect(short.count == 1)
    #expect(short.first?.hasSuffix("tjp -- gap 36 bytes, cut by the snaplen") == true)

    // One direction only: nobody acknowledges.
    var alone = Self.talk()
    alone.acknowledges = false
    alone.send(Self.frame(1).bytes, .clientToServer, at: Self.at(100))
    let lost = alone.send(Self.frame(2).bytes, .clientToServer, at: Self.at(200))
    alone.send(Self.frame(3).bytes, .clientToServer, at: Self.at(300))
    alone.send(Self.frame(4).bytes, .clientToServer, at: Self.at(9_000))
    alone.drop(lost[0])
    let unseen = try Self.lines(CaptureBuilder(alone), "-t")
    #expect(unseen.filter { $0.contains("--") }.count == 1)
    #expect(unseen.contains { $0.hasSuffix("tjp -- gap 40 bytes, never seen and not acknowledged") })
  }

  /// A message waits behind a hole, and its answer does not: the answer's line calls it an orphan, the message's tells.
  @Test func aMessageSaysThatItsAnswerStandsAboveIt() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send(Self.frame(1).bytes, .clientToServer, at: Self.at(100))
    talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Self.at(110))
    let lost = talk.send(Self.frame(2).bytes, .clientToServer, at: Self.at(200))
    talk.send(Self.frame(3).bytes, .clientToServer, at: Self.at(201))
    talk.send(TJPFrameBuilder.echoACK(of: 3).bytes, .serverToClient, at: Self.at(220))
    talk.close(.fin(by: .clientToServer), at: Self.at(1_000))
    talk.drop(lost[0])
    let capture = CaptureBuilder(talk)
    let lines = try Self.lines(capture)
    let orphan = try #require(lines.firstIndex { $0.contains("ack, seq 3,") && $0.hasSuffix("[orphan_ack]") })
    let message = try #require(lines.firstIndex { $0.contains("data, seq 3,") })
    #expect(orphan < message)
    #expect(lines[message + 1] == "\tanswered at 06:13:20.220000, before it came out")
    #expect(lines.count { $0.contains("answered at") } == 1)
    let frames = try Self.lines(capture, "--format", "json").map(Self.object)
    #expect(frames.compactMap { $0["answered"] as? [Int] } == [[1_700_000_000_220_000]])
    #expect(frames.first { $0["answered"] != nil }?["seq"] as? Int == 3)
    #expect(try Self.lines(capture, "--format", "json", "-Y", "ack").allSatisfy { !$0.contains("answered") })
    let messages = try Self.lines(capture, "messages", "--json", "-Y", "seq == 3").map(Self.object)
    #expect(messages.map { $0["fate"] as? String } == ["acked"])
  }

  /// The first 10 bytes of a stream tell no protocol; what is missing behind them is said when it is known.
  @Test func aGapInFrontOfTheFirstFrameIsSaidWithIt() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.segmentSize = 10
    let pieces = talk.send(Self.frame(1).bytes, .clientToServer, at: Self.at(100))
    for piece in pieces.dropFirst() { talk.drop(piece) }
    talk.segmentSize = 1_448
    talk.send(Self.frame(2).bytes, .clientToServer, at: Self.at(500))
    talk.send(Self.frame(3).bytes, .clientToServer, at: Self.at(600))
    talk.close(.fin(by: .clientToServer), at: Self.at(1_000))
    let lines = try Self.lines(CaptureBuilder(talk), "-t")
    #expect(lines.count { $0.contains("-- gap 30 bytes, lost by the capture") } == 1)
    #expect(lines.last?.contains("data, seq 3,") == true)
  }

  @Test func bytesThatAreNoFrameAndOtherBytesThanBeforeHaveALine() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send(Self.frame(1).bytes, .clientToServer, at: Self.at(100))
    talk.send([UInt8](repeating: 0x55, count: 33), .clientToServer, at: Self.at(200))
    let second = talk.next[0]
    talk.send(Self.frame(2).bytes, .clientToServer, at: Self.at(300))
    talk.append(
      .clientToServer, [.psh, .ack], sequence: second, acknowledgment: talk.next[1], payload: Self.frame(9).bytes,
      at: Self.at(400))
    talk.send([UInt8](repeating: 0x66, count: 64), .clientToServer, at: Self.at(500))
    talk.close(.fin(by: .clientToServer), at: Self.at(600))
    let remarks = try Self.lines(CaptureBuilder(talk), "-t").compactMap { line in
      line.firstRange(of: "tjp -- ").map { String(line[$0.upperBound...]) }
    }
    #expect(
      remarks == [
        "33 bytes skipped: not a frame", "retransmission of 40 bytes with different bytes than before",
        "64 bytes skipped: not a frame",
      ])
  }

  @Test func encryptedMessagesAreKnown() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send(Self.frame(1).bytes, .clientToServer, at: Self.at(100))
    var secret = Self.frame(2)
    secret.encryption = 2
    talk.send(secret.bytes, .clientToServer, at: Self.at(200))
    for command in [["messages", "--json"], ["--format", "json"]] {
      var sequences: [Int?] = []
      for filter in ["encrypted", "flags == encrypted"] {
        let path = "/tmp/imdump-secret-\(UUID().uuidString).pcap"
        try Data(CaptureBuilder(talk).pcap()).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let output = try Command.run(command + ["-q", "-Y", filter, "-r", path]).output
        sequences += try output.split(separator: "\n").map { try Self.object(String($0))["seq"] as? Int }
      }
      #expect(sequences == [2, 2])
    }
  }

  @Test(arguments: ["-t", "-tt", "-ttt", "-tttt"])
  func messagesShowTimesAsFramesDo(_ option: String) throws {
    let capture = CaptureBuilder(Self.lossy())
    let frames = try Self.lines(capture, option, "-Y", "copy == 1 and seq == 1")
    let messages = try Self.lines(capture, "messages", option, "-Y", "seq == 1")
    let count = try #require(frames.first?.firstRange(of: "#1 ")).lowerBound
    #expect(frames.first?[..<count] == messages.first?.prefix { $0 != "#" })
  }
}
