import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// The table of sessions' names against a dictionary.
@Suite struct SessionNamesTests {
  @Test(arguments: [40, 3_000, 1_000_000] as [UInt64])
  func randomOperations(_ numbers: UInt64) {
    var random = SeededRandom(numbers)
    var names = SessionNames(seed: numbers)
    var roots = Pool<SessionRoot>()
    var model: [UInt64: UInt32] = [:]
    var wrong = 0
    for step in 0..<20_000 {
      let name = SessionRoot.name(random.next() % numbers, UInt8(step % 3))
      switch random.next() % 8 {
      case 0...4:
        let newest = roots.allocate(SessionRoot(name: name, place: 0, askedAt: Timestamp(nanoseconds: 0)))
        names.set(name, newest, roots)
        model[name] = newest
      case 5:
        names.remove(name, roots)
        model[name] = nil
      default: break
      }
      if names.find(name, roots) != model[name] { wrong += 1 }
    }
    for (name, place) in model where names.find(name, roots) != place { wrong += 1 }
    #expect(wrong == 0)
  }
}
