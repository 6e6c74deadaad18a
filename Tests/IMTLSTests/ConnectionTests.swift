import CSSL
import IMTLS
import IMTestSupport
import Testing

/// Connections of OpenSSL are read as they were sent.
@Suite struct ConnectionTests {
  static let suites13 = [
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
  ]
  static let suites12 = [
    "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-CCM", "ECDHE-ECDSA-AES256-CCM", "ECDHE-ECDSA-AES128-CCM8", "ECDHE-ECDSA-AES256-CCM8",
    "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384",
  ]

  /// A conversation both ways with records of many lengths.
  static func talk(_ peers: TLSPeers, _ random: inout SeededRandom, count: Int = 60) {
    for _ in 0..<count {
      let length = random.one(of: [1, 2, 15, 16, 17, 60, 200, 1_300, 5_000, 16_384])
      peers.send(random.one(of: [0, 1]), random.bytes(length))
    }
  }

  /// Feeds all flights in segments of random length.
  static func feed(_ observer: TLSObserver, _ flights: [TLSPeers.Flight], _ random: inout SeededRandom) {
    for flight in flights {
      var at = 0
      while at < flight.bytes.count {
        let end = min(flight.bytes.count, at + random.one(of: [1, 3, 5, 100, 536, 1_448, 1_448, 20_000]))
        observer.take(flight.direction, flight.bytes[at..<end])
        at = end
      }
    }
  }

  static func expectAll(_ observer: TLSObserver, _ peers: TLSPeers, _ comment: Comment? = nil) {
    for direction in 0..<2 {
      // Lengths in the message, since texts are long.
      let isEqual = observer.records[direction].map(\.bytes) == peers.sent[direction]
      let lengths = (observer.records[direction].map(\.bytes.count), peers.sent[direction].map(\.count))
      #expect(isEqual, "\(comment?.rawValue ?? ""): \(lengths)")
      #expect(observer.unread[direction] == [:], comment)
      // Each plaintext begins within its record, after header and nonce or vector.
      let ranges = recordRanges(peers.stream(direction)).map(\.range)
      for record in observer.records[direction] {
        let range = ranges.first { $0.contains(record.offset) }
        let ahead = range.map { record.offset - $0.lowerBound } ?? 0
        #expect([5, 13, 21].contains(ahead), comment)
        #expect(record.offset + record.bytes.count <= range?.upperBound ?? 0, comment)
      }
    }
  }

  private func read(_ options: TLSPeerOptions, seed: UInt64) -> (TLSPeers, TLSObserver) {
    var random = SeededRandom(seed)
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    Self.talk(peers, &random)
    peers.close()
    let observer = TLSObserver(keyLog: peers.keyLog)
    Self.feed(observer, peers.flights, &random)
    observer.finish()
    Self.expectAll(observer, peers, "\(options.suites)")
    #expect(observer.connection.isEstablished)
    #expect(observer.connection.isClosed(direction: 0) && observer.connection.isClosed(direction: 1))
    return (peers, observer)
  }

  @Test(arguments: suites13) func readsTLS13(_ suite: String) {
    var options = TLSPeerOptions()
    options.suites = suite
    options.serverName = "im.example"
    let (_, observer) = read(options, seed: 1)
    let facts = observer.connection.facts
    #expect(facts.version == 0x0304 && facts.suiteName == suite && facts.serverName == "im.example")
    #expect(facts.isResumed == false && !facts.isFoundByTrial && facts.finishedTime != nil)
    #expect(facts.ja3Text?.count == 32 && facts.ja4Text?.hasPrefix("t13d") == true)
  }

  @Test(arguments: suites12) func readsTLS12(_ suite: String) {
    for options in [0, 1 << 19] as [UInt64] {
      var peers = TLSPeerOptions()
      peers.version = TLS1_2_VERSION
      peers.suites = suite
      // SSL_OP_NO_ENCRYPT_THEN_MAC.
      peers.options = options
      let (_, observer) = read(peers, seed: 2)
      #expect(observer.connection.facts.versionName == "TLS 1.2")
      #expect(observer.connection.facts.suiteName?.hasPrefix("TLS_ECDHE_ECDSA_WITH_") == true)
    }
  }

  @Test func readsWithoutExtendedMasterSecret() {
    var options = TLSPeerOptions()
    options.version = TLS1_2_VERSION
    options.suites = "ECDHE-ECDSA-AES128-GCM-SHA256"
    // SSL_OP_NO_EXTENDED_MASTER_SECRET.
    options.options = 1
    _ = read(options, seed: 3)
  }

  @Test func readsPaddingRetriesAndClientCertificates() {
    var options = TLSPeerOptions()
    options.padding = 512
    options.serverGroups = "P-384"
    options.asksForCertificate = true
    let (_, observer) = read(options, seed: 4)
    #expect(observer.connection.facts.isRetried)
    #expect(observer.controls[1].contains(.helloRetryRequest))
  }

  @Test(arguments: suites13) func readsKeyUpdates(_ suite: String) {
    var random = SeededRandom(5)
    var options = TLSPeerOptions()
    options.suites = suite
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    for i in 0..<8 {
      Self.talk(peers, &random, count: 6)
      peers.updateKeys(i & 1, isAskedBack: i % 3 == 0)
    }
    Self.talk(peers, &random, count: 6)
    let observer = TLSObserver(keyLog: peers.keyLog)
    Self.feed(observer, peers.flights, &random)
    observer.finish()
    Self.expectAll(observer, peers)
    #expect(observer.connection.keyUpdateCount(direction: 0) >= 4)
    #expect(observer.connection.keyUpdateCount(direction: 1) >= 4)
    // Those of the log are those that the first one gives.
    let first = TLSObserver(keyLog: peers.keyLog.filter { !$0.contains("_SECRET_N ") })
    Self.feed(first, peers.flights, &random)
    Self.expectAll(first, peers)
  }

  @Test(
    arguments: [(TLS1_2_VERSION, UInt64(0)), (TLS1_2_VERSION, UInt64(1) << 14), (TLS1_3_VERSION, UInt64(0))]
      as [(Int32, UInt64)])
  func readsResumedSessions(_ version: Int32, _ options: UInt64) {
    var random = SeededRandom(6)
    var made = TLSPeerOptions()
    made.version = version
    made.suites = version == TLS1_3_VERSION ? "TLS_AES_256_GCM_SHA384" : "ECDHE-ECDSA-AES256-GCM-SHA384"
    // SSL_OP_NO_TICKET.
    made.options = options
    let peers = TLSPeers(made)
    #expect(peers.shakeHands())
    Self.talk(peers, &random, count: 4)
    #expect(peers.reconnect())
    Self.talk(peers, &random)
    let observer = TLSObserver(keyLog: peers.keyLog)
    Self.feed(observer, peers.flights, &random)
    Self.expectAll(observer, peers)
    #expect(observer.connection.facts.isResumed == true && observer.connection.isEstablished)
  }

  @Test(arguments: [UInt64(1), UInt64(1) << 19]) func readsRenegotiations(_ options: UInt64) {
    for suite in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"] {
      var random = SeededRandom(7)
      var made = TLSPeerOptions()
      made.version = TLS1_2_VERSION
      made.suites = suite
      // With SSL_OP_ALLOW_CLIENT_RENEGOTIATION.
      made.options = options | 1 << 8
      let peers = TLSPeers(made)
      #expect(peers.shakeHands())
      Self.talk(peers, &random, count: 6)
      #expect(peers.renegotiate())
      Self.talk(peers, &random, count: 10)
      let observer = TLSObserver(keyLog: peers.keyLog)
      Self.feed(observer, peers.flights, &random)
      observer.finish()
      Self.expectAll(observer, peers)
      #expect(observer.controls[0].filter { $0 == .clientHello }.count == 2)
    }
  }

  @Test func passesOverRejectedEarlyData() {
    var random = SeededRandom(9)
    var options = TLSPeerOptions()
    options.earlyDataLimit = 16_384
    options.options = 1 << 24
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    Self.talk(peers, &random, count: 4)
    let early = random.bytes(900)
    _ = peers.reconnect(early: early, isAccepted: false)
    #expect(!peers.isEarlyDataAccepted)
    Self.talk(peers, &random, count: 12)
    let observer = TLSObserver(keyLog: peers.keyLog)
    Self.feed(observer, peers.flights, &random)
    observer.finish()
    for direction in 0..<2 {
      let isEqual = observer.records[direction].map(\.bytes) == peers.sent[direction]
      #expect(isEqual)
    }
    // Header, type and tag.
    #expect(observer.unread[0] == [.earlyRejected: 900 + 5 + 1 + 16] && observer.unread[1] == [:])
    #expect(observer.connection.facts.isEarlyDataAccepted == false && observer.early.isEmpty)
    // The client alone: its handshake continues without EndOfEarlyData.
    for isLost in [false, true] {
      let alone = TLSObserver(keyLog: peers.keyLog)
      if isLost { alone.lose(1, nil) }
      Self.feed(alone, peers.flights.filter { $0.direction == 0 }, &random)
      alone.finish()
      let isEqual = alone.records[0].map(\.bytes) == peers.sent[0]
      #expect(isEqual && alone.early.isEmpty && alone.unread[0] == [.earlyRejected: 900 + 5 + 1 + 16], "\(isLost)")
    }
  }

  @Test func readsEarlyData() {
    var random = SeededRandom(8)
    var options = TLSPeerOptions()
    options.earlyDataLimit = 16_384
    // SSL_OP_NO_ANTI_REPLAY: the memory of one server context suffices.
    options.options = 1 << 24
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    Self.talk(peers, &random, count: 4)
    let early = random.bytes(900)
    #expect(peers.reconnect(early: early))
    #expect(peers.isEarlyDataAccepted)
    Self.talk(peers, &random, count: 12)
    let observer = TLSObserver(keyLog: peers.keyLog)
    Self.feed(observer, peers.flights, &random)
    observer.finish()
    Self.expectAll(observer, peers)
    #expect(observer.early == early && observer.connection.facts.isEarlyDataAccepted == true)
    // The client alone: the caller waits no longer, and it is read.
    let alone = TLSObserver(keyLog: peers.keyLog)
    Self.feed(alone, peers.flights.filter { $0.direction == 0 }, &random)
    alone.finish()
    let isEqual = alone.records[0].map(\.bytes) == peers.sent[0]
    #expect(isEqual)
    // The same, if it is known that no byte of the server was captured.
    let without = TLSObserver(keyLog: peers.keyLog)
    without.lose(1, nil)
    Self.feed(without, peers.flights.filter { $0.direction == 0 }, &random)
    without.finish()
    let isEqualWithout = without.records[0].map(\.bytes) == peers.sent[0]
    #expect(isEqualWithout && without.connection.facts.isEarlyDataAccepted == true)
  }
}
