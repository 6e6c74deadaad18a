import IMTLS
import IMTestSupport
import Testing

/// Bytes that want to cost much.
@Suite struct HostileTests {
  /// Headers that are possible at every fifth byte, behind a gap, in a connection with keys.
  @Test(arguments: ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-AES128-SHA256"])
  func headersEverywhereArePaidFor(_ suite: String) {
    let peers = RecoveryTests.peers(suite, seed: 1, count: 10)
    let observer = TLSObserver(keyLog: peers.keyLog)
    var random = SeededRandom(2)
    ConnectionTests.feed(observer, peers.flights, &random)
    let before = observer.context.counters.tries
    observer.lose(0, 1 << 20)
    let flood = (0..<40_000).flatMap { _ in [23, 3, 3, random.one(of: [0, 1, 8, 64]), 48] as [UInt8] }
    for at in stride(from: 0, to: flood.count, by: 1_000) { observer.take(0, flood[at..<at + 1_000]) }
    observer.finish()
    let tries = observer.context.counters.tries - before
    #expect(tries <= 4_096 + UInt64(flood.count) / 4 + 1_000)
    #expect(observer.mostHeld <= 18_432 + 5 + 1_000)
  }

  /// One gap after the other with a record between: what was in vain brings less.
  @Test func gapsInVainBringLess() {
    let peers = RecoveryTests.peers("TLS_CHACHA20_POLY1305_SHA256", seed: 3, count: 10)
    let observer = TLSObserver(keyLog: peers.keyLog)
    var random = SeededRandom(4)
    ConnectionTests.feed(observer, peers.flights, &random)
    let before = observer.context.counters.tries
    for _ in 0..<1_000 {
      observer.lose(0, 60_000)
      observer.take(0, [23, 3, 3, 0, 60] + random.bytes(60))
    }
    #expect(observer.context.counters.tries - before < 2 * 4_096 + 1_000 * 100)
  }

  /// Random bytes after all kinds of beginnings.
  @Test func randomBytesAreNoRecords() {
    for seed in 0..<200 as Range<UInt64> {
      var random = SeededRandom(seed)
      let observer = TLSObserver(keyLog: [])
      for _ in 0..<20 {
        let direction = random.one(of: [0, 1])
        switch random.next() % 4 {
        case 0: observer.lose(direction, random.one(of: [nil, 1, 100, 70_000]))
        case 1:
          observer.take(
            direction, [random.one(of: [20, 21, 22, 23]), 3, 3, 0, random.one(of: [1, 2, 50])] + random.bytes(60))
        case 2:
          observer.take(
            direction, [22, 3, 3, 0, 60, random.one(of: [1, 2, 8, 20]), 0, 0, 50, 3, 3] + random.bytes(54))
        default: observer.take(direction, random.bytes(200))
        }
      }
      observer.finish()
      #expect(observer.records == [[], []])
    }
  }

  /// A handshake message of 16 MiB is not kept.
  @Test func longHandshakeMessagesAreNotHeld() {
    let observer = TLSObserver(keyLog: [])
    let record = [22, 3, 3, 0x40, 0] as [UInt8]
    observer.take(0, record + [1, 0, 0xff, 0xff, 3, 3] + [UInt8](repeating: 0, count: 16_378))
    for _ in 0..<100 { observer.take(0, record + [UInt8](repeating: 0, count: 16_384)) }
    #expect(observer.connection.byteCount < 65_536 * 2 + 2_048)
  }
}
