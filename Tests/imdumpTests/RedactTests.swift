import Foundation
import IMTestSupport
import IMWire
import Testing

/// `imdump export --redact`: the same messages and the same fates, and nobody's names, addresses or words.
@Suite struct RedactTests {
  /// Names by which lines and documents say who or what, whatever the profile.
  private static let named: Set<String> = [
    "client_id", "user_name", "password", "topic", "will_topic", "payload", "short_message", "text", "source",
    "destination",
    "system_id", "terminal_phone", "plate", "imei", "terminal_id", "authentication_code", "session_id",
    "subscription_id_data", "msisdn", "tgpp_imsi", "origin_host", "mid", "key", "room_id", "custom", "group", "image",
  ]
  /// Profiles that are not in use by default.
  private static let requested = [
    "cmpp", "smgp", "sgip", "amqp091", "iec104", "modbus", "wukongim", "redis", "xmpp",
  ]
  /// Samples that need a profile of their own.
  private static func options(_ sample: String) -> [String] {
    if let name = Self.requested.first(where: { sample.hasPrefix($0 + "-") }) {
      return ["--profile", name]
    }
    return sample.contains("tjp-v2")
      ? ["--profile", "tjp-v2"] : sample.contains("tjp-article") ? ["--profile", "tjp-article"] : []
  }

  private struct Message {
    var what: [String: NSObject]
    var session: String
    var client: String
  }

  private static func messages(_ path: String, _ sample: String) throws -> [Message] {
    try Command.run(["messages", "-q", "--json", path] + options(sample)).output.split(separator: "\n").map { line in
      var all = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: NSObject])
      let session = "\(all["session"] ?? "none" as NSString)"
      let client = "\(all["client"] ?? "" as NSString)"
      for key in ["conn", "client", "server", "session", "via"] { all[key] = nil }
      return Message(what: all, session: session, client: client)
    }
  }

  /// Strings that a capture says, by the fields of its lines.
  private static func words(_ path: String, _ sample: String) throws -> Set<String> {
    var found: Set<String> = []
    func walk(_ key: String, _ value: Any) {
      if let object = value as? [String: Any] { for (key, value) in object { walk(key, value) } }
      if let list = value as? [Any] { for value in list { walk(key, value) } }
      if let text = value as? String, named.contains(key), text.utf8.count >= 5,
        text.contains(where: { $0.isLetter || $0.isNumber })
      {
        found.insert(text)
      }
    }
    for line in try Command.run(["-q", "--print", "-v", "--format", "json", path] + options(sample)).output.split(
      separator: "\n")
    {
      guard let all = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else { continue }
      if let fields = all["fields"] { walk("fields", fields) }
      if let session = all["session"] as? String, session.utf8.count >= 5 { found.insert(session) }
    }
    return found
  }

  /// Samples of protocols whose contents cannot be rewritten in place.
  private static let byContents = ["teamtalk", "turms"]
  private static func isReadByContents(_ sample: String) -> Bool { byContents.contains { sample.hasPrefix($0 + "-") } }

  /// Of what cannot be rewritten in place, all bytes are replaced: no word of it is left.
  @Test(arguments: try Samples.captures().filter(isReadByContents)) func contentsAreReplacedWhole(_ sample: String)
    throws
  {
    let folder = try Scratch()
    let (path, copy) = (Samples.path(sample), folder.path("o.pcapng"))
    let run = try Command.run(["export", path, "--redact", "-w", copy])
    #expect(run.status == 0 && run.errors.contains("all bytes of connections are replaced"), "\(run.errors)")
    let name = try #require(sample.split(separator: "-").first.map(String.init))
    let refused = try Command.run(["export", path, "--redact", "-w", folder.path("x.pcapng"), "--profile", name])
    #expect(refused.status == 64 && refused.errors.contains("cannot rewrite"), "\(refused.errors)")
    // Words of four letters or more, of the original.
    func words(_ path: String) throws -> Set<String> {
      let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        // The opening of a WebSocket is kept.
        .components(separatedBy: "\r\n")
        .filter { line in
          !["Sec-WebSocket", "Upgrade:", "Connection:"].contains { line.hasPrefix($0) } && !line.contains("HTTP/1.1")
        }
        .joined(separator: " ")
      return Set(text.split { !$0.isASCII || !$0.isLetter }.map(String.init).filter { $0.count >= 6 })
    }
    let kept = try words(path).intersection(try words(copy))
    #expect(kept.isEmpty, "\(sample): \(kept)")
  }

  @Test(arguments: try Samples.captures().filter { !isReadByContents($0) }) func fatesStayAndNamesGo(_ sample: String)
    throws
  {
    let folder = try Scratch()
    let (path, copy) = (Samples.path(sample), folder.path("o.pcapng"))
    let run = try Command.run(["export", path, "--redact", "-w", copy] + Self.options(sample))
    #expect(run.status == 0 && run.errors.contains("decoded again: the same"), "\(run.errors)")
    let (old, new) = (try Self.messages(path, sample), try Self.messages(copy, sample))
    #expect(!old.isEmpty && old.map(\.what) == new.map(\.what))
    // One session for each, and each its own; no address is the old one.
    for part in [\Message.session, \Message.client] {
      let pairs = Set(zip(old, new).map { [$0[keyPath: part], $1[keyPath: part]] })
      #expect(Set(pairs.map { $0[0] }).count == pairs.count && Set(pairs.map { $0[1] }).count == pairs.count)
      if part == \Message.client { #expect(pairs.allSatisfy { $0[0] != $0[1] }) }
    }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
    for word in try Self.words(path, sample) {
      for form in [Data(word.utf8), word.data(using: .utf16BigEndian)!] where bytes.range(of: form) != nil {
        Issue.record("\(sample): \(word) is still there")
      }
    }
  }

  /// A TCP segment of a capture: its numbers, and whether its checksums are right.
  private struct Packet: Equatable {
    var count: Int
    var numbers: [UInt8]
    var isRight: Bool
    var addresses: [UInt8]

    static func == (a: Packet, b: Packet) -> Bool {
      a.count == b.count && a.numbers == b.numbers && a.isRight == b.isRight
    }
  }

  /// The segments of a pcap file of Ethernet with VLAN tags or not, by nothing but the standards' layouts.
  private static func packets(_ path: String) throws -> [Packet] {
    let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var packets: [Packet] = []
    var at = 24
    while at + 16 <= file.count {
      let count = file[at + 8..<at + 12].reversed().reduce(0) { $0 << 8 | Int($1) }
      let bytes = Array(file[at + 16..<at + 16 + count])
      at += 16 + count
      var ip = 14
      while bytes.count > ip, bytes[ip - 2] == 0x81 || bytes[ip - 2] == 0x88 { ip += 4 }
      guard bytes.count > ip + 40 else { continue }
      let isV6 = bytes[ip] >> 4 == 6
      let header = isV6 ? 40 : Int(bytes[ip] & 15) * 4
      let end =
        ip + (isV6 ? 40 + Int(bytes[ip + 4]) << 8 + Int(bytes[ip + 5]) : Int(bytes[ip + 2]) << 8 + Int(bytes[ip + 3]))
      let tcp = ip + header
      guard bytes[isV6 ? ip + 6 : ip + 9] == 6, end <= bytes.count else { continue }
      let addresses = Array(bytes[(isV6 ? ip + 8 : ip + 12)..<(isV6 ? ip + 40 : ip + 20)])
      let length = end - tcp
      let pseudo =
        addresses
        + (isV6
          ? [0, 0, UInt8(length >> 8), UInt8(length & 255), 0, 0, 0, 6]
          : [0, 6, UInt8(length >> 8), UInt8(length & 255)])
      let isRight =
        internetChecksum(pseudo + bytes[tcp..<end]) == 0 && (isV6 || internetChecksum(Array(bytes[ip..<tcp])) == 0)
      packets.append(
        Packet(count: bytes.count, numbers: Array(bytes[tcp..<tcp + 16]), isRight: isRight, addresses: addresses))
    }
    return packets
  }

  /// Checksums are right where they were, lengths, ports and numbers of TCP are the same, and no address is.
  @Test(arguments: [
    "diameter-charging.pcap", "tjp-weak-network.pcap", "tjp-ipv6-vlan.pcapng", "mqtt-websocket-deflate.pcap",
  ])
  func checksumsAreRight(_ sample: String) throws {
    let folder = try Scratch()
    let path = Samples.path(sample)
    _ = try Command.run(["export", path, "-Y", "len >= 0", "-w", folder.path("old.pcap")])
    _ = try Command.run(["export", path, "-Y", "len >= 0", "--redact", "-w", folder.path("new.pcap")])
    let (old, new) = (try Self.packets(folder.path("old.pcap")), try Self.packets(folder.path("new.pcap")))
    #expect(old.count > 80 && old == new)
    #expect(old.filter(\.isRight).count > 80)
    #expect(zip(old, new).allSatisfy { $0.addresses != $1.addresses })
  }

  /// One key gives the same pseudonyms in two exports; without one each export has its own.
  @Test func aKeyMakesExportsFitTogether() throws {
    let folder = try Scratch()
    let key = folder.path("key")
    try Data((0..<32).map { $0 }).write(to: URL(fileURLWithPath: key))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    let path = "Samples/mqtt-mosquitto.pcap"
    func export(_ options: [String]) throws -> Data {
      let copy = folder.path("o.pcap")
      let run = try Command.run(["export", path, "--redact", "-w", copy] + options)
      #expect(run.status == 0, "\(run.errors)")
      return try Data(contentsOf: URL(fileURLWithPath: copy))
    }
    #expect(try export(["--hash-key-file", key]) == export(["--hash-key-file", key]))
    #expect(try export([]) != export([]))
  }

  /// Only the chosen connection is written.
  @Test func choicesHold() throws {
    let folder = try Scratch()
    let (path, copy) = ("Samples/tjp-clean-chat.pcap", folder.path("o.pcapng"))
    let run = try Command.run(["export", path, "--conn", "1", "--redact", "-w", copy])
    #expect(run.errors.contains("1 connection, 157 of 306 packets"), "\(run.errors)")
    let streams = try Store.objects(["streams", copy, "--json", "-q"])
    #expect(streams.count == 1)
    #expect(try Store.objects(["-r", copy, "--json", "-q"]).allSatisfy { $0["conn"] as? Int == 1 })
  }

  /// Fragments of datagrams are left out, and with them a message here: the copy is not what was exported, and the status says so.
  @Test func aCopyThatDiffersIsAFailure() throws {
    let folder = try Scratch()
    let (client, server) = (IPAddress(v4: 0x0a00_0001), IPAddress(v4: 0xc000_0201))
    var talk = ConversationBuilder(
      client: Endpoint(address: client, port: 20_000), server: Endpoint(address: server, port: 8_080))
    talk.open(at: Timestamp(milliseconds: 1_700_000_000_000))
    for sequence in 1...3 as ClosedRange<UInt32> {
      let time = Timestamp(milliseconds: 1_700_000_000_000 + 1_000 * Int64(sequence))
      talk.send(TJPFrameBuilder(text: "message", sequence: sequence, session: 7).bytes, .clientToServer, at: time)
      talk.send(
        TJPFrameBuilder.echoACK(of: sequence, session: 7).bytes, .serverToClient, at: time.advanced(by: 20_000_000))
    }
    var packets = talk.packets
    func export(_ name: String) throws -> Command.Result {
      let path = try folder.file(name, CaptureBuilder(packets).pcap())
      return try Command.run(["export", path, "--redact", "-w", folder.path("copy-\(name)")])
    }
    let whole = try export("whole.pcap")
    #expect(whole.status == 0 && whole.errors.contains("decoded again: the same 3 messages"), "\(whole.errors)")
    // The second message: Ethernet and IPv4 without options in front of TCP.
    let place = try #require(packets.indices.filter { packets[$0].bytes.count > 14 + 20 + 20 + 40 }.dropFirst(2).first)
    var builder = PacketBuilder()
    let parts = builder.fragments(
      protocolNumber: 6, Array(packets[place].bytes[34...]), from: client, to: server, size: 40)
    packets.replaceSubrange(
      place...place, with: parts.map { TimedPacket(timestamp: packets[place].timestamp, bytes: $0) })
    let cut = try export("cut.pcap")
    #expect(cut.status == 1 && cut.errors.contains("differ from the whole capture"), "\(cut.errors)")
  }
}
