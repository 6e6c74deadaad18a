@testable import IMWire
import Testing

@Suite struct NumberTableTests {
  /// Any order of changes leaves what a dictionary has.
  @Test(arguments: [1, 15, 16, 1_000, 100_000]) func itIsADictionary(_ range: UInt32) {
    var draw = Seeded(state: UInt64(range))
    var table = NumberTable<Int>()
    var model: [UInt32: Int] = [:]
    var next: UInt32 = 0
    for step in 0..<20_000 {
      // Numbers count up as a rule, and go in about the order in which they came.
      let key = draw.next() % 3 == 0 ? UInt32(truncatingIfNeeded: draw.next()) % range : next
      switch draw.next() % 5 {
      case 0, 1:
        table[key] = step
        model[key] = step
        next = (next + 1) % (2 * range)
      case 2: #expect(table.remove(key) == model.removeValue(forKey: key))
      default: #expect(table[key] == model[key])
      }
      #expect(table.count == model.count)
    }
    for key in 0..<min(2 * range, 5_000) { #expect(table[key] == model[key]) }
    table.removeAll()
    #expect(table.count == 0 && model.keys.allSatisfy { table[$0] == nil })
  }

  /// Numbers that end in the same four bits have the same places, and there are fewer of those than of them.
  @Test func aSixteenthOfTheNumbersIsKept() {
    var table = NumberTable<UInt32>()
    for key in 0..<UInt32(10_000) { table[16 * key] = key }
    #expect((0..<UInt32(10_000)).allSatisfy { table[16 * $0] == $0 } && table.count == 10_000)
    for key in 0..<UInt32(10_000) where key % 3 != 0 { #expect(table.remove(16 * key) == key) }
    #expect((0..<UInt32(10_000)).allSatisfy { table[16 * $0] == ($0 % 3 == 0 ? $0 : nil) })
  }

  @Test func theLastNumberHasNoValue() {
    var table = NumberTable<Int>()
    table[.max] = 1
    #expect(table[.max] == nil && table.count == 0 && table.remove(.max) == nil)
  }
}

/// Numbers from a seed.
private struct Seeded {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
