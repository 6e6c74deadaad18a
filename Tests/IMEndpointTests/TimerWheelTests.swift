import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct TimerWheelTests {
  static let tick = TimerWheel.tick

  @Test(arguments: [
    1, 2, 255, 256, 257, 511, 65_535, 65_536, 65_537, 16_777_215, 16_777_216, 16_777_300, 5_000_000_000,
  ])
  func `a timer fires at its tick and not one tick before`(ahead: Int64) {
    for start: Int64 in [0, 1, 255, 256, 65_279, 16_777_215, 4_294_967_290] {
      var wheel = TimerWheel(now: start * Self.tick)
      var fired: [UInt64] = []
      _ = wheel.schedule(at: (start + ahead) * Self.tick, payload: 7)
      wheel.advance(to: (start + ahead) * Self.tick - 1, into: &fired)
      #expect(fired == [] && wheel.count == 1)
      wheel.advance(to: (start + ahead) * Self.tick, into: &fired)
      #expect(fired == [7] && wheel.count == 0)
    }
  }

  @Test func `a deadline between two ticks waits for the second`() {
    var wheel = TimerWheel(now: 0)
    var fired: [UInt64] = []
    _ = wheel.schedule(at: 3 * Self.tick + 1, payload: 1)
    wheel.advance(to: 3 * Self.tick + 999_999, into: &fired)
    #expect(fired == [])
    wheel.advance(to: 4 * Self.tick, into: &fired)
    #expect(fired == [1])
  }

  @Test func `a deadline that has passed fires at the next turn`() {
    var wheel = TimerWheel(now: 90 * Self.tick)
    var fired: [UInt64] = []
    for past: Int64 in [-5, 0, 1, 90 * Self.tick] { _ = wheel.schedule(at: past, payload: 3) }
    #expect(wheel.nextTurn == 91 * Self.tick)
    wheel.advance(to: 91 * Self.tick, into: &fired)
    #expect(fired == [3, 3, 3, 3])
  }

  @Test func `a token is worth nothing once its timer has fired`() {
    var wheel = TimerWheel(now: 0)
    var fired: [UInt64] = []
    let first = wheel.schedule(at: Self.tick, payload: 1)
    wheel.advance(to: Self.tick, into: &fired)
    let second = wheel.schedule(at: 5 * Self.tick, payload: 2)
    let late = [wheel.cancel(first), wheel.move(first, to: 0)]
    let twice = [wheel.cancel(second), wheel.cancel(second)]
    #expect(late == [false, false] && twice == [true, false])
    wheel.advance(to: 90 * Self.tick, into: &fired)
    #expect(fired == [1])
  }

  /// A list that is searched from one end to the other is the oracle.
  @Test(arguments: 0..<20)
  func `whatever is scheduled, moved and taken back fires as a plain list says`(seed: UInt64) {
    var random = Draw(seed)
    var now = Int64(random.next(5_000_000)) * Self.tick / 3
    var wheel = TimerWheel(now: now)
    var list: [(token: TimerWheel.Token, due: Int64, payload: UInt64)] = []
    var nextPayload: UInt64 = 0
    for _ in 0..<2_000 {
      switch random.next(10) {
      case 0..<4:
        let due = now + Int64(random.next(1 << random.next(34)))
        list.append((wheel.schedule(at: due, payload: nextPayload), due, nextPayload))
        nextPayload += 1
      case 4 where !list.isEmpty:
        let entry = list.remove(at: random.next(list.count))
        let wasThere = wheel.cancel(entry.token)
        #expect(wasThere)
      case 5 where !list.isEmpty:
        let place = random.next(list.count)
        list[place].due = now + Int64(random.next(1 << random.next(36)))
        let wasThere = wheel.move(list[place].token, to: list[place].due)
        #expect(wasThere)
      default:
        let before = now
        now += Int64(random.next(1 << random.next(33)))
        var fired: [UInt64] = []
        wheel.advance(to: now, into: &fired)
        // What is due at the very tick in which it was scheduled fires one tick later.
        let isDue = { (due: Int64) in
          let tick = max((due + Self.tick - 1) / Self.tick, before / Self.tick + 1)
          return tick <= now / Self.tick
        }
        #expect(Set(fired) == Set(list.filter { isDue($0.due) }.map(\.payload)))
        #expect(Set(fired).count == fired.count)
        list.removeAll { isDue($0.due) }
      }
      #expect(wheel.count == list.count)
      if let turn = wheel.nextTurn, let earliest = list.map(\.due).min() {
        #expect(turn > now - Self.tick && turn <= max(earliest, now) + 2 * Self.tick)
      }
      #expect((wheel.nextTurn == nil) == list.isEmpty)
    }
  }

  @Test func `a loop that sleeps from turn to turn wakes seldom for a timer that is far away`() {
    var wheel = TimerWheel(now: 0)
    var fired: [UInt64] = []
    _ = wheel.schedule(at: 60_000 * Self.tick, payload: 1)
    var turns = 0
    while fired.isEmpty, let turn = wheel.nextTurn {
      wheel.advance(to: turn, into: &fired)
      turns += 1
    }
    #expect(turns <= 3)
  }
}

/// Numbers that look drawn and are the same for the same seed (SplitMix64).
struct Draw {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(max(1, bound)))
  }
}
