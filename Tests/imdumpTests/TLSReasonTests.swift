import Foundation
import IMTestSupport
import Testing

/// Each reason why TLS is not read, provoked in one connection of Samples/tls/starttls.pcap, and said by every output. Connections there
/// begin in the clear (XMPP); 40001 is of TLS 1.2, 40010 of TLS 1.3.
@Suite struct TLSReasonTests {
  private static let keys = Samples.path("tls/starttls.keys")
  private static let (tls12, tls13) = (40_001, 40_010)

  private static func connection(_ port: Int) throws -> PcapFile {
    var file = try PcapFile(Samples.path("tls/starttls.pcap"))
    file.keep(client: port)
    return file
  }

  private static func lines() throws -> [String] {
    try String(contentsOfFile: keys, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// The client random in a ClientHello, as a key log has it.
  private static func random(_ file: PcapFile) throws -> String {
    let packet = file.packets[try #require(file.hello(1))]
    let start = packet.payload + 11
    return packet.bytes[start..<(start + 32)].map { String(format: "%02x", $0) }.joined()
  }

  private static func unread(_ stats: [String: Any]?) throws -> [String: Int] {
    let tls = (stats?["ledger"] as? [String: Any])?["tls"] as? [String: Any]
    let unread = tls?["unread_bytes"] as? [String: Any] ?? [:]
    return unread.compactMapValues { ($0 as? NSNumber)?.intValue }.filter { $0.value > 0 && $0.key != "before_tls" }
  }

  /// What every output says of one connection that is not read: of `reason` more bytes than of any other; and the digits of the random
  /// where the log has no secrets for it.
  private static func check(
    _ reason: String, _ capture: String, _ keys: String, random: String? = nil, isPart: Bool = false
  ) throws {
    let common = [capture, "--keylog", keys]
    let stats = try #require(try Store.objects(["stats", "--json", "-q"] + common).first)
    let bytes = try unread(stats)
    let count = try #require(bytes[reason], "\(bytes)")
    #expect(bytes.values.allSatisfy { $0 <= count }, "\(bytes)")
    let rows = try Store.objects(["streams", "--json", "-q", "--sort", "conn"] + common)
    let row = try #require(rows.first?["tls_unread"] as? [String: Any])
    #expect(row["reason"] as? String == reason)
    #expect((row["bytes"] as? NSNumber)?.intValue == bytes.values.reduce(0, +))
    let text = try Command.run(["streams"] + common)
    #expect(text.output.contains("not decrypted (\(reason)"))
    let documents = try Store.objects(["--format", "ecs", "-q", "-r"] + common)
    let own = documents.compactMap { ($0["imdump"] as? [String: Any])?["conn"] as? [String: Any] }
    // Connections of no protocol have no document.
    if isPart {
      let last = try #require(own.last { $0["final"] as? Bool == true }?["tls"] as? [String: Any])
      #expect(((last["unread_bytes"] as? [String: Any])?[reason] as? NSNumber)?.intValue == count)
    }
    let summary = try Command.run(["stats"] + common).errors
    // Without its line breaks.
    let why = try Command.run(["why"] + common).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let folder = try Scratch()
    let page = folder.path("a.html")
    _ = try Command.run(["report", "-q", "-o", page] + common)
    let report = try String(contentsOfFile: page, encoding: .utf8)
    if let random {
      #expect(row["client_random"] as? String == random)
      for output in [text.output, summary, why, report] { #expect(output.contains(random)) }
    }
    for output in [summary, why, report] {
      #expect(output.contains(isPart ? " \(reason)" : "(\(reason))"), "\(output)")
      #expect(isPart || !output.contains("to read them: --keylog"))
    }
    #expect(isPart || why.contains("the key log does not open it"))
  }

  /// A log without the lines of the connection.
  @Test(arguments: [tls12, tls13]) func noKey(_ port: Int) throws {
    let folder = try Scratch()
    let file = try Self.connection(port)
    let random = try Self.random(file)
    let others = try Self.lines().filter { !$0.contains(random) }
    #expect(try others.count < Self.lines().count)
    let keys = try folder.file("a.keys", (others.joined(separator: "\n") + "\n").utf8)
    try Self.check("no_key", try folder.file("a.pcap", file.pcap), keys, random: String(random.prefix(8)))
  }

  /// The secrets come with the last packets, more than 10 seconds later than the first.
  @Test func keyLate() throws {
    let folder = try Scratch()
    var file = try Self.connection(Self.tls13)
    let first = file.packets[0].time
    for i in file.packets.indices { file.packets[i].time = first + i * 1_000_000_000 }
    let secrets = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.keys)))
    let path = try folder.file("a.pcapng", file.pcapng(secrets: secrets, after: file.packets.count - 6))
    let none = try folder.file("none.keys", [])
    try Self.check("key_late", path, none, isPart: true)
  }

  /// The connection's end alone, and secrets of others; a log with more secrets than a search may try.
  @Test func noHelloAndLimit() throws {
    let folder = try Scratch()
    var file = try Self.connection(Self.tls13)
    let random = try Self.random(file)
    file.packets.removeFirst(file.packets.count - 14)
    let path = try folder.file("a.pcap", file.pcap)
    let others = try Self.lines().filter { !$0.contains(random) }
    try Self.check("no_hello", path, try folder.file("a.keys", (others.joined(separator: "\n") + "\n").utf8))
    let secret = String(repeating: "5a", count: 48)
    let many = (0..<70_000).map { number in
      "SERVER_TRAFFIC_SECRET_0 " + String(format: "%064x ", number) + secret + "\n"
    }.joined()
    let stats = try Store.objects(["stats", "--json", "-q", path, "--keylog", try folder.file("b.keys", many.utf8)])
    #expect(try Self.unread(stats.first)["limit"] ?? 0 > 0)
    // What the log has for it is found all the same.
    let whole = try Store.objects(["stats", "--json", "-q", path, "--keylog", Self.keys])
    #expect(try Self.unread(whole.first).keys.filter { $0 != "no_record" && $0 != "cut" }.isEmpty)
  }

  /// TLS 1.2 without its ServerHello.
  @Test func noServerHello() throws {
    let folder = try Scratch()
    var file = try Self.connection(Self.tls12)
    file.packets.remove(at: try #require(file.hello(2)))
    try Self.check("no_server_hello", try folder.file("a.pcap", file.pcap), Self.keys)
  }

  /// The server chooses RC4.
  @Test func suite() throws {
    let folder = try Scratch()
    var file = try Self.connection(Self.tls12)
    let i = try #require(file.hello(2))
    let session = file.packets[i].payload + 43
    let at = session + 1 + Int(file.packets[i].bytes[session])
    (file.packets[i].bytes[at], file.packets[i].bytes[at + 1]) = (0, 5)
    file.packets[i].sum()
    try Self.check("suite", try folder.file("a.pcap", file.pcap), Self.keys)
  }

  /// A log with other secrets for the same random.
  @Test(arguments: [tls12, tls13]) func otherSecrets(_ port: Int) throws {
    let folder = try Scratch()
    let lines = try Self.lines().map { line in
      let parts = line.split(separator: " ")
      return parts.count == 3 ? "\(parts[0]) \(parts[1]) \(String(parts[2].reversed()))" : line
    }
    let keys = try folder.file("a.keys", (lines.joined(separator: "\n") + "\n").utf8)
    try Self.check("tag", try folder.file("a.pcap", Self.connection(port).pcap), keys)
  }

  /// One byte of a record is another one: that record's bytes are not read, and all others are.
  @Test(arguments: [tls12, tls13]) func aChangedByte(_ port: Int) throws {
    let folder = try Scratch()
    var file = try Self.connection(port)
    // A publication: the client's last record but two, each in a packet of its own.
    let data = file.packets.indices.filter {
      file.packets[$0].ports.0 == port && file.packets[$0].bytes.count > file.packets[$0].payload
    }
    let i = data[data.count - 3]
    let count = file.packets[i].bytes.count - file.packets[i].payload
    file.packets[i].bytes[file.packets[i].payload + 9] ^= 1
    file.packets[i].sum()
    let path = try folder.file("a.pcap", file.pcap)
    let stats = try #require(try Store.objects(["stats", "--json", "-q", path, "--keylog", Self.keys]).first)
    #expect(try Self.unread(stats) == ["tag": count])
    try Self.check("tag", path, Self.keys, isPart: true)
    let published = try Store.objects(["-q", "--format", "json", "-r", path, "--keylog", Self.keys]).filter {
      $0["type"] as? String == "publish" && $0["dir"] as? String == "c2s"
    }
    #expect(published.count == 5)
  }
}
