import Foundation
import IMCapture
import IMTestSupport
import IMWire
import Testing

/// Captures that are strange in one way: what the command says of it, and that it says everything else all the same.
@Suite struct StrangeCaptureTests {
  private static func at(_ milliseconds: Int64) -> Timestamp {
    Timestamp(milliseconds: 1_700_000_000_000 + milliseconds)
  }

  private static func talk() -> ConversationBuilder {
    ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0005), port: 50_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8_080))
  }

  /// A conversation of `count` messages, a second apart, each answered 20 ms later.
  private static func chat(_ count: Int) -> [TimedPacket] {
    var talk = talk()
    talk.open(at: at(0))
    for n in 1...count {
      talk.send(
        TJPFrameBuilder(text: "text \(n)", sequence: UInt32(n)).bytes, .clientToServer, at: at(Int64(n) * 1_000))
      talk.send(TJPFrameBuilder.echoACK(of: UInt32(n)).bytes, .serverToClient, at: at(Int64(n) * 1_000 + 20))
    }
    return talk.packets
  }

  /// Runs the command over files with these packets, which stand behind the arguments.
  private static func run(_ arguments: [String], _ captures: [TimedPacket]...) throws -> Command.Result {
    let paths = try captures.map { packets in
      let path = "/tmp/imdump-strange-\(UUID().uuidString).pcap"
      try Data(CaptureBuilder(packets).pcap()).write(to: URL(filePath: path))
      return path
    }
    defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
    return try Command.run(arguments + paths)
  }

  private static func object(_ text: String) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }

  // MARK: Link types

  /// A link type that imdump does not read is an error with its number; other files are read.
  @Test(arguments: [
    ["stats", "--json"], ["streams", "--json"], ["streams", "--ranges", "--json"], ["messages", "--json"],
  ])
  func anUnknownLinkType(_ arguments: [String]) throws {
    var strange = Self.chat(1)
    for i in strange.indices { strange[i].linkType = 147 }
    let result = try Self.run(arguments, strange, Self.chat(2))
    #expect(result.status == 1)
    #expect(result.errors.contains("skipping packets of link type 147, which is not supported"))
    let expected = try Self.run(arguments, Self.chat(2))
    #expect(expected.status == 0)
    switch arguments[0] {
    case "stats":
      let counters = try Self.object(result.output)["counters"] as? [String: Any]
      #expect(counters?["frames"] as? Int == 4)
    default:
      #expect(result.output.split(separator: "\n").count == expected.output.split(separator: "\n").count)
    }
  }

  /// A sample as a Juniper router would have captured it, every packet in another of the link's forms, is the same conversation.
  @Test(arguments: ["tjp-weak-network.pcap", "mqtt-mosquitto.pcap"]) func aRoutersCapture(_ sample: String) throws {
    var packets = try Self.sample(sample)
    for i in packets.indices {
      let ethernet = packets[i].bytes
      packets[i].linkType = 178
      packets[i].bytes =
        switch i % 4 {
        case 0: [UInt8](hex: "4d4743 01") + ethernet
        case 1: [UInt8](hex: "4d4743 80 0009 0301 20 040120 05010e") + ethernet
        case 2: [UInt8](hex: "4d4743 02 02000000") + ethernet[14...]
        default: [UInt8](hex: "4d4743 83 0003 040120 02000000") + ethernet[14...]
        }
    }
    for arguments in [["-r"], ["--format", "json", "-r"]] {
      let result = try Self.run(arguments, packets)
      let expected = try Command.run(arguments + [Samples.path(sample)])
      #expect(expected.status == 0)
      #expect(result.status == 0)
      #expect(result.output == expected.output)
      #expect(result.output.split(separator: "\n").count > 50)
    }
  }

  /// The packets of a sample.
  private static func sample(_ name: String) throws -> [TimedPacket] {
    var packets: [TimedPacket] = []
    let file = try CaptureFile(path: Samples.path(name))
    while try file.nextBatch({ bytes, records in
      for i in records.indices {
        let from = Int(records[i].offset)
        let packet = bytes.extracting(from..<from + Int(records[i].capturedLength)).withUnsafeBytes { [UInt8]($0) }
        packets.append(TimedPacket(timestamp: records[i].timestamp, bytes: packet, linkType: records[i].linkType))
      }
    }) {}
    return packets
  }

  // MARK: Windows

  /// Payload that no window allows is an event in the text, and a count at its end.
  @Test func dataOutsideTheWindow() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send(TJPFrameBuilder(text: "one", sequence: 1).bytes, .clientToServer, at: Self.at(10))
    talk.append(
      .clientToServer, [.psh, .ack], sequence: talk.next[0] &+ 1 << 30 + 77, acknowledgment: talk.next[1],
      payload: [1, 2, 3, 4], at: Self.at(20))
    talk.send(TJPFrameBuilder(text: "two", sequence: 2).bytes, .clientToServer, at: Self.at(30))
    let result = try Self.run(["-r"], talk.packets)
    let events = result.output.split(separator: "\n").filter { $0.contains("outside the window") }
    #expect(events.count == 1)
    #expect(events.first?.hasSuffix("4 bytes outside the window, ignored") == true)
    #expect(result.errors.contains("1 segment outside the window"))
    #expect(result.output.contains("seq 1,") && result.output.contains("seq 2,"))
  }

  // MARK: Clocks

  /// Clocks that are set: how far each packet's time is moved, by its number.
  static let clocks: [@Sendable (Int) -> Int64] = [
    { $0 == 9 ? 86_400 * 365 * 80 : 0 },
    { $0 > 9 ? 86_400 * 365 * 80 : 0 },
    { $0 > 9 ? -3_600 : 0 },
    { $0 > 9 ? -86_400 * 365 * 50 : 0 },
    { Int64($0 % 2) * 86_400 * 365 * 60 },
    { Int64($0 % 3) * -86_400 * 365 * 20 },
  ]

  /// A capture whose clock is set forwards or backwards: no form of output walks through the time between, and none loses a
  /// message. A minute is far more than any takes.
  @Test(
    .timeLimit(.minutes(1)), arguments: clocks.indices,
    [
      ["stats", "--json", "-q"], ["messages", "--json", "-q"], ["streams", "--json", "--sort", "conn", "-q"],
      ["streams", "--ranges", "--json", "-q"],
      ["--format", "ecs", "--metrics-interval", "1", "-q", "-r"],
      ["check", "--rules", "Samples/alerts/im.yml", "--json", "-q"],
    ])
  func aClockThatIsSet(_ clock: Int, _ arguments: [String]) throws {
    let packets = Self.chat(6).enumerated().map { number, packet in
      TimedPacket(packet, at: packet.timestamp.advanced(by: Self.clocks[clock](number) * 1_000_000_000))
    }
    let result = try Self.run(arguments, packets)
    let lines = try result.output.split(separator: "\n").map { try Self.object(String($0)) }
    switch arguments[0] {
    case "stats":
      let counters = lines.first?["counters"] as? [String: Any]
      #expect(counters?["frames"] as? Int == 12)
      // The second one never goes back.
      #expect(result.output.contains("\"clock_backwards\":") == (clock != 1))
    case "messages": #expect(lines.compactMap { $0["seq"] as? Int }.sorted() == [1, 2, 3, 4, 5, 6])
    // Where packets are years apart, the engine takes those of later for another connection, as `stats` counts them.
    case "streams": #expect(lines.count == (clock == 4 && !arguments.contains("--ranges") ? 2 : 1))
    case "check": #expect(result.status == 0 || result.status == 2)
    default: #expect(lines.count < 1_000)
    }
    #expect(result.status == 0 || arguments[0] == "check")
  }

  // MARK: Checksums

  /// `streams --ranges -K` takes segments whose checksum is wrong; without it their receiver ignored them.
  @Test func streamsWithoutChecksums() throws {
    var talk = Self.talk()
    talk.open(at: Self.at(0))
    talk.send([1, 2, 3], .clientToServer, at: Self.at(10))
    let damaged = CaptureBuilder(talk).packets.count
    talk.send([4, 5], .clientToServer, at: Self.at(20))
    var packets = talk.packets
    packets[damaged].bytes[packets[damaged].bytes.count - 1] ^= 1
    func captured(_ arguments: String...) throws -> [[Int]] {
      let result = try Self.run(["streams", "--ranges", "--json", "-q"] + arguments, packets)
      let directions = try Self.object(result.output)["dirs"] as? [[String: Any]]
      return directions?.first?["ranges"] as? [[Int]] ?? []
    }
    #expect(try captured() == [[0, 3]])
    #expect(try captured("-K") == [[0, 5]])
    #expect(try captured("--no-checksum") == [[0, 5]])
  }
}
