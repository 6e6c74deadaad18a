import CSSL
import IMTLS
import IMTestSupport
import Testing

/// What is wholly there is read again after bytes that are missing.
@Suite struct RecoveryTests {
  static func peers(_ suite: String, options: UInt64 = 0, seed: UInt64, count: Int = 120, isLong: Bool = false)
    -> TLSPeers
  {
    var random = SeededRandom(seed)
    var made = TLSPeerOptions()
    made.suites = suite
    made.options = options
    if !suite.hasPrefix("TLS_") { made.version = TLS1_2_VERSION }
    let peers = TLSPeers(made)
    #expect(peers.shakeHands())
    for _ in 0..<count {
      peers.send(random.one(of: [0, 1]), random.bytes(random.one(of: [1, 20, 60, 200, 900, isLong ? 9_000 : 300])))
    }
    return peers
  }

  /// A segment of a stream.
  struct Segment {
    var direction: Int
    var range: Range<Int>
    var isLost = false
  }

  static func segments(_ peers: TLSPeers, _ random: inout SeededRandom) -> [Segment] {
    var ends = [0, 0]
    var result: [Segment] = []
    for flight in peers.flights {
      var left = flight.bytes.count
      while left > 0 {
        let count = min(left, random.one(of: [7, 100, 300, 536, 1_448]))
        result.append(
          Segment(direction: flight.direction, range: ends[flight.direction]..<ends[flight.direction] + count))
        ends[flight.direction] += count
        left -= count
      }
    }
    return result
  }

  static func feed(_ observer: TLSObserver, _ peers: TLSPeers, _ segments: [Segment]) {
    let streams = [peers.stream(0), peers.stream(1)]
    for segment in segments {
      if segment.isLost {
        observer.lose(segment.direction, segment.range.count)
      } else {
        observer.take(segment.direction, streams[segment.direction][segment.range])
      }
    }
    observer.finish()
  }

  /// Reads without losses: what has to come for each record that is wholly there.
  static func expectPresent(
    _ observer: TLSObserver, _ peers: TLSPeers, _ segments: [Segment], _ comment: Comment
  ) {
    let whole = TLSObserver(keyLog: peers.keyLog)
    feed(whole, peers, segments.map { Segment(direction: $0.direction, range: $0.range) })
    for direction in 0..<2 {
      let lost = segments.filter { $0.direction == direction && $0.isLost }.map(\.range)
      let ranges = recordRanges(peers.stream(direction)).map(\.range).filter { range in
        !lost.contains { $0.overlaps(range) }
      }
      let expected = whole.records[direction].filter { record in ranges.contains { $0.contains(record.offset) } }
      let isEqual = observer.records[direction] == expected
      let counts = (observer.records[direction].count, expected.count)
      #expect(isEqual, "\(comment.rawValue) direction \(direction): \(counts) \(observer.unread[direction])")
    }
  }

  static let suites: [(String, UInt64)] =
    ConnectionTests.suites13.map { ($0, UInt64(0)) }
    + ConnectionTests.suites12.flatMap { [($0, UInt64(0)), ($0, UInt64(1) << 19)] }

  @Test(arguments: suites) func readsWhatIsThere(_ suite: String, _ options: UInt64) {
    for seed in 1...6 as ClosedRange<UInt64> {
      let peers = Self.peers(suite, options: options, seed: seed)
      var random = SeededRandom(seed + 100)
      var segments = Self.segments(peers, &random)
      // The handshakes stay, of TLS 1.2 because its keys need them.
      let first = segments.indices.dropFirst(30)
      for index in first where random.once(in: seed == 1 ? 3 : 12) { segments[index].isLost = true }
      let observer = TLSObserver(keyLog: peers.keyLog)
      Self.feed(observer, peers, segments)
      Self.expectPresent(observer, peers, segments, "\(suite) seed \(seed)")
    }
  }

  /// KeyUpdates that are lost, with the secrets after them in the log or derived.
  @Test(arguments: ConnectionTests.suites13) func readsAfterLostKeyUpdates(_ suite: String) {
    for seed in 1...8 as ClosedRange<UInt64> {
      var random = SeededRandom(seed)
      var options = TLSPeerOptions()
      options.suites = suite
      let peers = TLSPeers(options)
      #expect(peers.shakeHands())
      for i in 0..<120 {
        if i % 15 == 14 { peers.updateKeys(random.one(of: [0, 1]), isAskedBack: random.once(in: 3)) }
        peers.send(random.one(of: [0, 1]), random.bytes(random.one(of: [1, 20, 60, 200, 900])))
      }
      var segments = Self.segments(peers, &random)
      for index in segments.indices.dropFirst(20) where random.once(in: 8) { segments[index].isLost = true }
      let observer = TLSObserver(keyLog: peers.keyLog.filter { seed & 1 == 0 || !$0.contains("_N ") })
      Self.feed(observer, peers, segments)
      Self.expectPresent(observer, peers, segments, "\(suite) seed \(seed)")
    }
  }

  /// Losses around a renegotiation whose hellos are there: its ChangeCipherSpec may be missing.
  @Test func readsAfterLostChangeCipherSpecs() {
    for suite in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"] {
      var options = TLSPeerOptions()
      options.version = TLS1_2_VERSION
      options.suites = suite
      options.options = 1 << 8
      let peers = TLSPeers(options)
      #expect(peers.shakeHands())
      var random = SeededRandom(11)
      ConnectionTests.talk(peers, &random, count: 6)
      let before = peers.flights.count
      #expect(peers.renegotiate())
      for _ in 0..<12 { peers.send(random.one(of: [0, 1]), random.bytes(100)) }
      for direction in 0..<2 {
        // The record after the hellos of that direction that ends with its ChangeCipherSpec.
        var segments: [Segment] = []
        var ends = [0, 0]
        var isLost = false
        for (index, flight) in peers.flights.enumerated() {
          let start = ends[flight.direction]
          ends[flight.direction] += flight.bytes.count
          for record in recordRanges(flight.bytes) {
            let range = start + record.range.lowerBound..<start + record.range.upperBound
            let isChange = index >= before && record.type == 20 && flight.direction == direction
            isLost = isLost || isChange
            segments.append(Segment(direction: flight.direction, range: range, isLost: isChange))
          }
        }
        #expect(isLost)
        let observer = TLSObserver(keyLog: peers.keyLog)
        Self.feed(observer, peers, segments)
        Self.expectPresent(observer, peers, segments, "\(suite) \(direction)")
      }
    }
  }

  static let suitesOfRenegotiation = [
    "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305",
  ]

  /// TLS 1.2 connections with two renegotiations, and ten records after each handshake.
  static func renegotiating(_ suite: String, _ random: inout SeededRandom) -> TLSPeers {
    var options = TLSPeerOptions()
    options.version = TLS1_2_VERSION
    options.suites = suite
    // SSL_OP_ALLOW_CLIENT_RENEGOTIATION.
    options.options = 1 << 8
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    for round in 0..<3 {
      if round > 0 { #expect(peers.renegotiate()) }
      for _ in 0..<10 { peers.send(random.one(of: [0, 1]), random.bytes(100)) }
    }
    return peers
  }

  /// A gap delays one direction: the records of the other one need hellos that have not been read yet.
  @Test(arguments: suitesOfRenegotiation) func readsRenegotiationsOfADirectionAhead(_ suite: String) {
    var random = SeededRandom(12)
    let peers = Self.renegotiating(suite, &random)
    for first in 0..<2 {
      let observer = TLSObserver(keyLog: peers.keyLog)
      observer.take(first, peers.stream(first))
      observer.take(1 - first, peers.stream(1 - first))
      observer.finish()
      ConnectionTests.expectAll(observer, peers, "\(suite) \(first)")
    }
  }

  /// The secrets of renegotiations with uncaptured ClientHellos are found like those of the first handshake.
  @Test(arguments: suitesOfRenegotiation) func readsRenegotiationsOfTheServerAlone(_ suite: String) {
    var random = SeededRandom(13)
    let peers = Self.renegotiating(suite, &random)
    let observer = TLSObserver(keyLog: (0..<20).map { _ in Self.foreignMaster(&random) } + peers.keyLog)
    // No byte of the client was captured.
    observer.lose(0, nil)
    observer.take(1, peers.stream(1))
    observer.finish()
    let isEqual = observer.records[1].map(\.bytes) == peers.sent[1]
    #expect(isEqual, "\(suite) \(observer.unread)")
    // Without these secrets, the missing hello is the reason.
    let without = TLSObserver(keyLog: [peers.keyLog[0]])
    without.lose(0, nil)
    without.take(1, peers.stream(1))
    without.finish()
    #expect(Set(without.unread[1].keys) == [.noHello], "\(without.unread)")
  }

  static func foreignMaster(_ random: inout SeededRandom) -> String {
    func digits(_ count: Int) -> String {
      random.bytes(count).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    return "CLIENT_RANDOM \(digits(32)) \(digits(48))"
  }

  /// A capture that begins after many KeyUpdates, with or without their secrets in the key log.
  @Test(arguments: ConnectionTests.suites13) func readsFromAfterKeyUpdates(_ suite: String) {
    for isLogged in [true, false] {
      var random = SeededRandom(14)
      var options = TLSPeerOptions()
      options.suites = suite
      let peers = TLSPeers(options)
      #expect(peers.shakeHands())
      func talk(updates: Int) {
        for _ in 0..<updates {
          for direction in 0..<2 {
            peers.updateKeys(direction, isAskedBack: false)
            peers.send(direction, random.bytes(100))
          }
        }
      }
      talk(updates: 9)
      let before = peers.flights.count
      let sent = peers.sent.map(\.count)
      // The logged ones follow more than four others of the same name, and the connection continues with further ones.
      talk(updates: 9)
      let observer = TLSObserver(keyLog: peers.keyLog.filter { isLogged || !$0.contains("_SECRET_N ") })
      for direction in 0..<2 { observer.lose(direction, nil) }
      for flight in peers.flights[before...] { observer.take(flight.direction, flight.bytes) }
      observer.finish()
      for direction in 0..<2 {
        let isEqual = observer.records[direction].map(\.bytes) == Array(peers.sent[direction][sent[direction]...])
        #expect(isEqual, "\(suite) \(isLogged) \(observer.unread)")
      }
    }
  }

  @Test(arguments: ConnectionTests.suites13) func readsWithoutAnyHandshake(_ suite: String) {
    for seed in 1...4 as ClosedRange<UInt64> {
      let peers = Self.peers(suite, seed: seed)
      var random = SeededRandom(seed + 200)
      var segments = Self.segments(peers, &random)
      let count = segments.count / 3
      for index in 0..<count { segments[index].isLost = true }
      // Secrets of others, and the connection's own somewhere among them.
      var log = (0..<200).flatMap { _ in Self.foreign(&random, isLong: suite.contains("384")) }
      log.insert(contentsOf: peers.keyLog, at: 500)
      let observer = TLSObserver(keyLog: log, sidesAreCertain: seed & 1 == 0)
      for direction in 0..<2 { observer.lose(direction, nil) }
      let streams = [peers.stream(0), peers.stream(1)]
      // Of a client that is not certain the directions may be the other way round.
      let turn = seed == 3 ? 1 : 0
      var starts = [0, 0]
      for direction in 0..<2 {
        starts[direction] = segments.dropFirst(count).first { $0.direction == direction }?.range.lowerBound ?? 0
      }
      for segment in segments.dropFirst(count) {
        observer.take(segment.direction ^ turn, streams[segment.direction][segment.range])
      }
      observer.finish()
      for direction in 0..<2 {
        let expected = recordRanges(streams[direction]).filter {
          $0.range.lowerBound >= starts[direction] && $0.type == 23
        }
        let got = observer.records[direction ^ turn].map { $0.bytes.count }
        // Tickets and the end of the handshake may be among the records.
        #expect(got.count >= expected.count - 3 && !got.isEmpty, "\(suite) seed \(seed) \(observer.unread)")
        let isSent = Set(observer.records[direction ^ turn].map(\.bytes)).isSubset(of: Set(peers.sent[direction]))
        #expect(isSent)
      }
      #expect(observer.connection.facts.isFoundByTrial && observer.connection.isSwapped == (turn == 1))
    }
  }

  static func foreign(_ random: inout SeededRandom, isLong: Bool) -> [String] {
    func digits(_ count: Int) -> String {
      random.bytes(count).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    let name = digits(32)
    let count = isLong ? 48 : 32
    return [
      "CLIENT_HANDSHAKE_TRAFFIC_SECRET \(name) \(digits(count))",
      "SERVER_HANDSHAKE_TRAFFIC_SECRET \(name) \(digits(count))",
      "CLIENT_TRAFFIC_SECRET_0 \(name) \(digits(count))", "SERVER_TRAFFIC_SECRET_0 \(name) \(digits(count))",
    ]
  }

  @Test(arguments: suites) func readsWithoutClientHello(_ suite: String, _ options: UInt64) {
    let peers = Self.peers(suite, options: options, seed: 31, count: 40)
    var random = SeededRandom(32)
    var segments = Self.segments(peers, &random)
    let flight = peers.flights[0].bytes.count
    for index in segments.indices where segments[index].direction == 0 && segments[index].range.upperBound <= flight {
      segments[index].isLost = true
    }
    var log = (0..<20).flatMap { _ in Self.foreign(&random, isLong: false) }
    log += peers.keyLog
    let observer = TLSObserver(keyLog: log)
    Self.feed(observer, peers, segments)
    Self.expectPresent(observer, peers, segments, "\(suite)")
    #expect(observer.connection.facts.isFoundByTrial)
  }

  @Test(arguments: ConnectionTests.suites13) func readsOneDirection(_ suite: String) {
    let peers = Self.peers(suite, seed: 41, count: 60)
    for direction in 0..<2 {
      let observer = TLSObserver(keyLog: peers.keyLog)
      observer.take(direction, peers.stream(direction))
      observer.finish()
      let isEqual = observer.records[direction].map(\.bytes) == peers.sent[direction]
      #expect(isEqual, "\(suite) \(direction) \(observer.unread)")
    }
  }

  @Test func findsTheSecretOfAnEncryptedHello() {
    for suite in ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] {
      var options = TLSPeerOptions()
      options.suites = suite
      options.offersEncryptedHello = true
      let peers = TLSPeers(options)
      #expect(peers.shakeHands())
      var random = SeededRandom(51)
      ConnectionTests.talk(peers, &random, count: 20)
      // The log names the random of the inner hello.
      let inner = String(repeating: "ab", count: 32)
      let log = peers.keyLog.map { line in
        let words = line.split(separator: " ")
        return "\(words[0]) \(inner) \(words[2])"
      }
      let observer = TLSObserver(keyLog: log)
      ConnectionTests.feed(observer, peers.flights, &random)
      observer.finish()
      ConnectionTests.expectAll(observer, peers)
      #expect(observer.connection.facts.isFoundByTrial && observer.connection.facts.randomText == "abababab")
    }
  }

  @Test func keysThatComeLateReadWhatWaits() {
    for suite in ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-AES128-SHA256"] {
      let peers = Self.peers(suite, seed: 61, count: 20)
      let observer = TLSObserver(keyLog: [])
      var random = SeededRandom(62)
      ConnectionTests.feed(observer, peers.flights, &random)
      #expect(observer.records[0].isEmpty && observer.records[1].isEmpty && observer.unread == [[:], [:]])
      // A line at a time.
      for line in peers.keyLog {
        observer.add([line])
        observer.retry()
      }
      ConnectionTests.expectAll(observer, peers)
    }
  }

  @Test func keysThatComeTooLateReadTheRest() {
    for suite in ConnectionTests.suites13 + ConnectionTests.suites12 {
      let peers = Self.peers(suite, seed: 71, count: 60)
      let observer = TLSObserver(keyLog: [])
      var random = SeededRandom(72)
      let flights = peers.flights
      let half = flights.count / 2
      ConnectionTests.feed(observer, Array(flights[..<half]), &random)
      observer.giveUp(0)
      observer.giveUp(1)
      #expect(observer.unread[0][.noKey, default: 0] > 0 && observer.unread[1][.noKey, default: 0] > 0)
      observer.add(peers.keyLog)
      ConnectionTests.feed(observer, Array(flights[half...]), &random)
      observer.finish()
      for direction in 0..<2 {
        let whole = TLSObserver(keyLog: peers.keyLog)
        ConnectionTests.feed(whole, flights, &random)
        let start = flights[..<half].filter { $0.direction == direction }.reduce(0) { $0 + $1.bytes.count }
        let isEqual = observer.records[direction] == whole.records[direction].filter { $0.offset >= start }
        #expect(isEqual, "\(suite) \(observer.unread)")
        #expect(
          observer.connection.takeLateByteCount(direction: direction)
            == UInt64(observer.unread[direction][.noKey, default: 0]))
      }
    }
  }

  @Test func saysWhatIsMissing() {
    // TLS 1.2 from its middle: no key can be made.
    let peers = Self.peers("ECDHE-ECDSA-AES128-GCM-SHA256", seed: 81)
    let observer = TLSObserver(keyLog: peers.keyLog)
    for direction in 0..<2 {
      observer.lose(direction, nil)
      observer.take(direction, peers.stream(direction).dropFirst(2_000))
    }
    observer.finish()
    #expect(observer.records == [[], []])
    for direction in 0..<2 { #expect(observer.unread[direction][.noHello, default: 0] > 1_000) }
    // Without a ServerHello.
    let alone = TLSObserver(keyLog: peers.keyLog)
    alone.take(0, peers.stream(0))
    alone.finish()
    #expect(alone.records[0].isEmpty && alone.unread[0][.noServerHello, default: 0] > 1_000)
    // Without a key.
    let none = TLSObserver(keyLog: [])
    var random = SeededRandom(82)
    ConnectionTests.feed(none, peers.flights, &random)
    none.finish()
    #expect(Set(none.unread[0].keys) == [.noKey] && none.connection.isEstablished)
  }

  @Test(arguments: [TLS1_VERSION, TLS1_1_VERSION]) func namesOlderVersions(_ version: Int32) {
    var options = TLSPeerOptions()
    options.version = version
    options.suites = "ECDHE-ECDSA-AES128-SHA"
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    var random = SeededRandom(85)
    ConnectionTests.talk(peers, &random, count: 20)
    let observer = TLSObserver(keyLog: peers.keyLog)
    ConnectionTests.feed(observer, peers.flights, &random)
    observer.finish()
    for direction in 0..<2 {
      #expect(observer.records[direction].isEmpty && Set(observer.unread[direction].keys) == [.suite])
    }
    #expect(observer.connection.facts.versionName == (version == TLS1_VERSION ? "TLS 1.0" : "TLS 1.1"))
    #expect(observer.connection.facts.suiteName == "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA")
  }

  /// A suite that is named and not read.
  @Test func namesSuitesThatAreNotRead() {
    var options = TLSPeerOptions()
    options.version = TLS1_2_VERSION
    options.suites = "ECDHE-ECDSA-CAMELLIA128-SHA256"
    let peers = TLSPeers(options)
    #expect(peers.shakeHands())
    peers.send(0, [1, 2, 3])
    let observer = TLSObserver(keyLog: peers.keyLog)
    var random = SeededRandom(86)
    ConnectionTests.feed(observer, peers.flights, &random)
    observer.finish()
    #expect(observer.records == [[], []] && Set(observer.unread[0].keys) == [.suite])
    #expect(observer.connection.facts.suiteName == "TLS_ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256")
  }

  @Test func namesRecordsInMidstream() {
    let peers = Self.peers("TLS_AES_128_GCM_SHA256", seed: 91)
    let stream = peers.stream(0)
    let record = recordRanges(stream)[5].range
    stream[record.lowerBound...].withUnsafeBytes { #expect(TLSConnection.looksLikeRecords($0, isSegment: false)) }
    stream[record].withUnsafeBytes { bytes in
      #expect(TLSConnection.looksLikeRecords(bytes, isSegment: true) == (bytes.count >= 22))
      #expect(!TLSConnection.looksLikeRecords(bytes, isSegment: false))
    }
    stream.withUnsafeBytes { #expect(TLSConnection.looksLikeClientHello($0)) }
    var random = SeededRandom(92)
    var matches = 0
    for _ in 0..<20_000 {
      random.bytes(64).withUnsafeBytes { if TLSConnection.looksLikeRecords($0, isSegment: true) { matches += 1 } }
    }
    #expect(matches == 0)
  }
}
