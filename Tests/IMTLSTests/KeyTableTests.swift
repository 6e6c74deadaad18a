import IMTLS
import IMTestSupport
import Testing

/// Key logs as tools write them.
@Suite struct KeyTableTests {
  static func digits(_ random: inout SeededRandom, _ count: Int) -> String {
    random.bytes(count).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// What a parser counts of a text that comes in chunks of `size` bytes.
  static func parse(_ text: [UInt8], size: Int, isWhole: Bool = true) -> (KeyLogParser, KeyTable) {
    let table = KeyTable(byteLimit: 1 << 20)
    var parser = KeyLogParser()
    var at = 0
    while at < text.count {
      let end = min(text.count, at + size)
      text[at..<end].withUnsafeBytes { parser.take($0, into: table) }
      at = end
    }
    parser.finish(isWhole: isWhole, into: table)
    return (parser, table)
  }

  @Test func takesMessyLogs() {
    var random = SeededRandom(1)
    let (a, b, c) = (Self.digits(&random, 32), Self.digits(&random, 32), Self.digits(&random, 32))
    let (master, secret) = (Self.digits(&random, 48), Self.digits(&random, 32))
    let lines = [
      "\u{feff}# a comment", "", "   \t ", "CLIENT_RANDOM \(a) \(master)",
      "  client_random\t\(b.uppercased())   \(master) ",
      "CLIENT_RANDOM \(a) \(master)", "EXPORTER_SECRET \(a) \(secret)", "QUIC_SOMETHING \(a) \(secret)",
      "SERVER_TRAFFIC_SECRET_0 \(c) \(secret)", "CLIENT_TRAFFIC_SECRET_N \(c) \(secret)",
      "CLIENT_TRAFFIC_SECRET_7 \(c) \(secret)",
      "CLIENT_RANDOM \(a) \(secret)", "CLIENT_RANDOM \(a.dropLast()) \(master)",
      "CLIENT_RANDOM \(a) \(master) \(master)",
      "CLIENT_RANDOM \(a) \(master.dropLast(2))zz", "CLIENT_RANDOM " + String(repeating: "0", count: 5_000), "no line",
      "CLIENT_EARLY_TRAFFIC_SECRET \(c) \(secret)", "CLIENT_HANDSHAKE_TRAFFIC_SECRET \(c) \(secret)",
    ]
    for end in ["\n", "\r\n"] {
      let text = Array((lines.joined(separator: end) + end).utf8)
      for size in [1, 2, 7, 64, 1_000, text.count] {
        let (parser, table) = Self.parse(text, size: size)
        #expect(
          parser.kept == 6 && parser.duplicates == 1 && parser.foreign == 3 && parser.malformed == 6,
          "\(size) \(parser)")
        #expect(table.count == 6 && table.generation == 6)
      }
    }
  }

  @Test func leavesOutALastLineThatMayBeCut() {
    var random = SeededRandom(2)
    let line = "CLIENT_RANDOM \(Self.digits(&random, 32)) \(Self.digits(&random, 48))"
    #expect(Self.parse(Array(line.utf8), size: 10, isWhole: false).1.count == 0)
    #expect(Self.parse(Array(line.utf8), size: 10, isWhole: true).1.count == 1)
    #expect(Self.parse(Array((line + "\n").utf8), size: 10, isWhole: false).1.count == 1)
  }

  @Test func beginsAnew() {
    var random = SeededRandom(3)
    let table = KeyTable(byteLimit: 1 << 20)
    var parser = KeyLogParser()
    let lines = (0..<2).map { _ in "CLIENT_RANDOM \(Self.digits(&random, 32)) \(Self.digits(&random, 48))" }
    Array(lines[0].utf8.prefix(90)).withUnsafeBytes { parser.take($0, into: table) }
    parser.restart()
    Array("\u{feff}\(lines[1])\n".utf8).withUnsafeBytes { parser.take($0, into: table) }
    #expect(table.count == 1 && parser.malformed == 0)
  }

  @Test func theOldestMakesRoom() {
    var random = SeededRandom(4)
    let table = KeyTable(byteLimit: 0)
    for i in 0..<3_000 {
      let line = Array("CLIENT_RANDOM \(Self.digits(&random, 32)) \(Self.digits(&random, 48))".utf8)
      #expect(line.withUnsafeBytes { table.take(line: $0) } == .secret)
      #expect(line.withUnsafeBytes { table.take(line: $0) } == .duplicate)
      #expect(table.count == min(i + 1, 1_024))
    }
    #expect(table.evicted == 3_000 - 1_024 && table.byteCount < 256 * 1_024)
  }

  /// Tools that read memory write several secrets for one name: the tag decides which is right.
  @Test(arguments: ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-AES128-SHA256"])
  func tellsSeveralSecretsOfOneNameApart(_ suite: String) {
    let peers = RecoveryTests.peers(suite, seed: 5, count: 20)
    var random = SeededRandom(6)
    var log: [String] = []
    for line in peers.keyLog {
      let words = line.split(separator: " ")
      func other() -> String { "\(words[0]) \(words[1]) \(Self.digits(&random, words[2].count / 2))" }
      log += [other(), line, other(), other()]
    }
    let observer = TLSObserver(keyLog: log)
    ConnectionTests.feed(observer, peers.flights, &random)
    ConnectionTests.expectAll(observer, peers)
  }

  /// Many KeyUpdates' secrets in the log do not push out the first.
  @Test func manyUpdatesLeaveTheFirst() {
    var options = TLSPeerOptions()
    options.suites = "TLS_CHACHA20_POLY1305_SHA256"
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    for i in 0..<30 {
      peers.send(i & 1, [UInt8](repeating: 1, count: 50))
      peers.updateKeys(i & 1, isAskedBack: false)
    }
    var random = SeededRandom(7)
    let observer = TLSObserver(keyLog: peers.keyLog)
    ConnectionTests.feed(observer, peers.flights, &random)
    ConnectionTests.expectAll(observer, peers)
  }
}
