import IMWire
import Testing

@testable import IMEngine

/// Implicit sequence numbers.
@Suite struct ImplicitCounterTests {
  private func key(_ serial: UInt32, channel: UInt16 = 0) -> ImplicitCounters.Key {
    ImplicitCounters.Key(serial: serial, channel: channel, direction: .clientToServer)
  }

  private func known(_ number: ImplicitCounters.Number) -> UInt32? {
    if case .known(let number) = number { number } else { nil }
  }

  /// However many connections come and go, one that stays goes on counting.
  @Test func otherConnectionsEnd() {
    var counters = ImplicitCounters()
    counters.start(key(1), first: 1)
    #expect(known(counters.count(key(1), isWhole: true)) == 1)
    for serial in 2...70_000 as ClosedRange<UInt32> {
      counters.start(key(serial), first: 1)
      counters.lose(serial: serial, .serverToClient)
      counters.forget(serial: serial)
    }
    #expect(known(counters.count(key(1), isWhole: true)) == 2)
  }

  /// After a hole a number is believed when two acknowledgments gave it, and the greatest base counts.
  @Test func afterAHole() {
    var counters = ImplicitCounters()
    counters.start(key(1), first: 1)
    _ = counters.count(key(1), isWhole: true)
    counters.lose(serial: 1, .clientToServer)
    // Frames 4 and 5 of the connection, of which 2 and 3 were not captured.
    #expect(known(counters.count(key(1), isWhole: true)) == nil)
    counters.acknowledged(key(1), 3)
    counters.acknowledged(key(1), 4)
    #expect(known(counters.count(key(1), isWhole: true)) == nil)
    counters.acknowledged(key(1), 5)
    #expect(known(counters.count(key(1), isWhole: true)) == 6)
    #expect(known(counters.count(key(1, channel: 65), isWhole: true)) == nil)
  }
}
