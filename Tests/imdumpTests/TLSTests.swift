import Foundation
import IMTestSupport
import Testing

/// TLS with a key log, over a capture of `impeer load` with three connections through a pair of relays that speak TLS between them (OpenSSL,
/// with a server's name and ALPN, two of them resumed): 80 messages were sent and 80 acknowledged, as its own ledger says.
@Suite struct TLSTests {
  private static let capture = Samples.path("tls/tjp-tls13.pcap")
  private static let keys = Samples.path("tls/tjp-tls13.keys")
  private static let sent = 80

  private struct Frame: Hashable {
    let client: String
    let direction: String
    let type: String
    let sequence: Int
  }

  /// The frames that are read of a capture, each with the packet that brought it.
  private static func frames(_ words: [String]) throws -> [(frame: Frame, packet: Int)] {
    let done = try Command.run(["-q", "--format", "json"] + words)
    return try done.output.split(separator: "\n").compactMap { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      guard let object, let client = object["client"] as? String, let direction = object["dir"] as? String,
        let type = object["type"] as? String, let number = object["number"] as? Int
      else { return nil }
      #expect(object["carrier"] as? [String] == ["tls"])
      return (Frame(client: client, direction: direction, type: type, sequence: object["seq"] as? Int ?? -1), number)
    }
  }

  private static func acknowledged(_ words: [String]) throws -> Int? {
    let stats = try Store.objects(["stats", "--json", "-q"] + words).first
    let messages = (stats?["total"] as? [String: Any])?["messages"] as? [String: Any]
    return (messages?["acked"] as? NSNumber)?.intValue
  }

  @Test func everyMessageIsRead() throws {
    #expect(try Self.acknowledged([Self.capture, "--keylog", Self.keys]) == Self.sent)
    #expect(try Self.acknowledged([Self.capture]) ?? 0 == 0)
  }

  @Test func theEnvironmentNamesAKeyLog() throws {
    let done = try Command.run(["stats", "--json", Self.capture], environment: ["SSLKEYLOGFILE": Self.keys])
    #expect(done.errors.contains("(SSLKEYLOGFILE)"))
    #expect(done.output.contains("\"acked\":\(Self.sent)"))
  }

  @Test func whatCannotBeReadIsSaidWithTheReason() throws {
    let folder = try Scratch()
    let none = try Command.run(["stats", Self.capture])
    #expect(
      none.errors.contains("3 of 3 TCP connections are TLS (TLS 1.3 to im.example, tjp), not decrypted"))
    let line = "CLIENT_RANDOM \(String(repeating: "ab", count: 32)) \(String(repeating: "cd", count: 48))\n"
    #expect(none.errors.contains("not decrypted: --keylog FILE"))
    let foreign = try folder.file("a.keys", line.utf8)
    let other = try Command.run(["stats", Self.capture, "--keylog", foreign])
    let random = try #require(
      String(contentsOfFile: Self.keys, encoding: .utf8).split(separator: " ").dropFirst().first)
    #expect(other.errors.contains("the key log has no secrets for client random"))
    #expect(other.errors.contains(random.prefix(8)) && other.errors.contains("(no_key)"))
    let why = try Command.run(["why", Self.capture])
    #expect(why.output.contains("3 of 3 TCP connections are encrypted") && why.output.contains("--keylog FILE"))
    #expect(why.output.contains("--keylog KEYLOG") && !why.output.contains("profile new"))
    #expect(try Command.run(["stats", Self.capture, "--keylog", folder.path("none")]).status == 64)
  }

  /// Each message of the capture lies in a record, and each record in a packet: without some packets exactly their frames are missing.
  @Test(arguments: [7, 11]) func packetsThatAreMissingCostTheirOwnFramesOnly(_ step: Int) throws {
    let folder = try Scratch()
    let all = try Self.frames(["-r", Self.capture, "--keylog", Self.keys])
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.capture)))
    let brought = Set(all.map(\.packet))
    // Behind the handshakes.
    let dropped = Set(brought.sorted().dropFirst(24).enumerated().filter { $0.offset % step == 0 }.map(\.element))
    #expect(dropped.count > 5)
    let rest = try folder.file("a.pcap", Self.without(dropped, bytes))
    let wanted = Set(all.filter { !dropped.contains($0.packet) }.map(\.frame))
    let found = Set(try Self.frames(["-r", rest, "--keylog", Self.keys]).map(\.frame))
    #expect(found == wanted)
  }

  /// The same where a third of the packets, the handshakes among them, is missing at the beginning.
  @Test func aLateStartIsRead() throws {
    let folder = try Scratch()
    let all = try Self.frames(["-r", Self.capture, "--keylog", Self.keys])
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.capture)))
    let rest = try folder.file("a.pcap", Self.without(Set(1...100), bytes))
    let wanted = Set(all.filter { $0.packet > 100 }.map(\.frame))
    #expect(Set(try Self.frames(["-r", rest, "--keylog", Self.keys]).map(\.frame)) == wanted)
  }

  /// Secrets that a pcapng file brings, in front of the packets or in the middle of them.
  @Test(arguments: [0, 40]) func secretsOfACaptureFileAreRead(_ place: Int) throws {
    let folder = try Scratch()
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.capture)))
    let keys = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.keys)))
    let path = try folder.file("a.pcapng", Self.pcapng(bytes, secrets: keys, after: place))
    #expect(try Self.acknowledged([path]) == Self.sent)
    // What is written anew holds no secrets.
    let copy = folder.path("b.pcapng")
    #expect(try Command.run(["-q", "-r", path, "-w", copy]).status == 0)
    #expect(try Self.acknowledged([copy]) ?? 0 == 0)
    let secret = try #require(
      String(decoding: keys, as: UTF8.self).split(separator: "\n").first?.split(separator: " ").last)
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy)).range(of: Data(secret.utf8)) == nil)
  }

  /// ECS has names for what the handshake told.
  /// Asked for, a pcapng file has the secrets: of a key log, and of the capture that was read.
  @Test func secretsAreWrittenOnRequest() throws {
    let folder = try Scratch()
    let (copy, again, chosen) = (folder.path("a.pcapng"), folder.path("b.pcapng"), folder.path("c.pcapng"))
    let done = try Command.run(
      ["-q", "-r", Self.capture, "-w", copy, "--keylog", Self.keys, "--write-secrets"])
    #expect(done.status == 0 && done.errors.isEmpty, "\(done.errors)")
    #expect(try Self.acknowledged([copy]) == Self.sent)
    #expect(try Command.run(["-q", "-r", copy, "-w", again, "--write-secrets"]).status == 0)
    #expect(try Self.acknowledged([again]) == Self.sent)
    #expect(try Command.run(["export", "-q", copy, "--conn", "2", "-w", chosen, "--write-secrets"]).status == 0)
    let one = try Command.run(["messages", "--json", "-q", copy, "-Y", "conn == 2"]).output
    #expect(
      one.split(separator: "\n").count
        == (try Command.run(["messages", "--json", "-q", chosen]).output).split(separator: "\n").count)
    // Without that it says that they are left out.
    let bare = try Command.run(["export", copy, "--conn", "2", "-w", folder.path("d.pcapng")])
    #expect(bare.errors.contains("written without the TLS secrets of the capture; --write-secrets writes them"))
    for (words, reason) in [
      (["-r", Self.capture, "-w", folder.path("x.pcap"), "--keylog", Self.keys], "only pcapng can have secrets"),
      (["-r", Self.capture, "-w", folder.path("x.pcapng")], "there are none"),
      (["-r", copy, "-w", folder.path("x%s.pcapng"), "-G", "60"], "not together with -C and -G"),
      (["-r", copy], "needs -w"),
      (["export", copy, "--redact", "-w", folder.path("x.pcapng")], "what --redact replaces"),
      (["export", copy, "--lost", "-w", folder.path("x.pcap")], "only pcapng can have secrets"),
    ] {
      let refused = try Command.run(words + ["--write-secrets", "-q"])
      #expect(refused.status == 64 && refused.errors.contains(reason), "\(words): \(refused.errors)")
    }
  }

  @Test func documentsHaveTLS() throws {
    let documents = try Store.objects(["--format", "ecs", "-q", "-r", Self.capture, "--keylog", Self.keys])
    let ends = documents.compactMap { document -> [String: Any]? in
      let own = (document["imdump"] as? [String: Any])?["conn"] as? [String: Any]
      return own?["final"] as? Bool == true ? document : nil
    }
    #expect(ends.count == 3)
    let randoms = try Set(
      String(contentsOfFile: Self.keys, encoding: .utf8).split(separator: "\n").compactMap {
        $0.split(separator: " ").dropFirst().first.map { String($0.prefix(8)) }
      })
    var resumed = 0
    for document in ends {
      let tls = try #require(document["tls"] as? [String: Any])
      #expect(tls["version"] as? String == "1.3" && tls["version_protocol"] as? String == "tls")
      #expect((tls["cipher"] as? String)?.hasPrefix("TLS_") == true && tls["established"] as? Bool == true)
      #expect(tls["next_protocol"] as? String == "tjp")
      #expect((tls["client"] as? [String: Any])?["server_name"] as? String == "im.example")
      if tls["resumed"] as? Bool == true { resumed += 1 }
      let own = ((document["imdump"] as? [String: Any])?["conn"] as? [String: Any])?["tls"] as? [String: Any]
      #expect(randoms.contains(own?["client_random"] as? String ?? ""))
      #expect(own?["key_by"] as? String == "random" && (own?["handshake_ms"] as? NSNumber)?.doubleValue ?? 0 > 0)
    }
    #expect(resumed == 2)
  }

  @Test func noOutputHasSecrets() throws {
    let text = try String(contentsOfFile: Self.keys, encoding: .utf8)
    let secrets = text.split(separator: "\n").compactMap { $0.split(separator: " ").last }
    for words in [
      ["messages", "--json"], ["streams", "--json"], ["stats", "--json"], ["why"], ["stats", "--format", "ecs"],
    ] {
      let done = try Command.run(words + [Self.capture, "--keylog", Self.keys])
      for secret in secrets { #expect(!done.output.contains(secret) && !done.errors.contains(secret), "\(words)") }
    }
  }

  /// A capture file without the packets of these numbers, from 1 on.
  private static func without(_ numbers: Set<Int>, _ bytes: [UInt8]) -> [UInt8] {
    var result = Array(bytes[..<24])
    for (number, packet) in packets(bytes) where !numbers.contains(number) { result += bytes[packet] }
    return result
  }

  /// The records of a little-endian pcap file, headers included.
  private static func packets(_ bytes: [UInt8]) -> [(Int, Range<Int>)] {
    var at = 24, result: [(Int, Range<Int>)] = []
    while at + 16 <= bytes.count {
      let count = 16 + little(bytes, at + 8)
      result.append((result.count + 1, at..<at + count))
      at += count
    }
    return result
  }

  private static func little(_ bytes: [UInt8], _ at: Int) -> Int {
    (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
  }

  /// The packets of a pcap file as pcapng, with a decryption secrets block behind the first `place`.
  private static func pcapng(_ bytes: [UInt8], secrets: [UInt8], after place: Int) -> [UInt8] {
    func word(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    func block(_ type: Int, _ body: [UInt8]) -> [UInt8] {
      let padded = body + [UInt8](repeating: 0, count: -body.count & 3)
      return word(type) + word(padded.count + 12) + padded + word(padded.count + 12)
    }
    var result = block(0x0a0d_0d0a, word(0x1a2b_3c4d) + [1, 0, 0, 0] + [UInt8](repeating: 0xff, count: 8))
    // Time in nanoseconds (option 9) where the capture has it.
    let isNano = little(bytes, 0) == 0xa1b2_3c4d
    result += block(1, word(little(bytes, 20)) + word(262_144) + [9, 0, 1, 0, isNano ? 9 : 6, 0, 0, 0, 0, 0, 0, 0])
    for (number, packet) in packets(bytes) {
      if number == place + 1 { result += block(10, word(0x544c_534b) + word(secrets.count) + secrets) }
      let header = packet.lowerBound
      let time = little(bytes, header) * (isNano ? 1_000_000_000 : 1_000_000) + little(bytes, header + 4)
      let body = word(0) + word(time >> 32) + word(time) + Array(bytes[(header + 8)..<(header + 16)])
      result += block(6, body + Array(bytes[(header + 16)..<packet.upperBound]))
    }
    return result
  }
}
