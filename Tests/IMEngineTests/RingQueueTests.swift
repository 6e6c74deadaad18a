import Testing

@testable import IMEngine

/// Random operations, the same on a queue and on an array; elements are objects, so what is lost or freed twice shows.
@Suite struct RingQueueTests {
  /// Counts the objects that are alive.
  final class Alive {
    var count = 0
  }

  final class Item {
    let number: Int
    let alive: Alive
    init(_ number: Int, _ alive: Alive) {
      (self.number, self.alive) = (number, alive)
      alive.count += 1
    }
    deinit { alive.count -= 1 }
  }

  private static func expectSame(_ queue: borrowing RingQueue<Item>, _ array: [Item], _ seed: UInt64) -> Bool {
    var numbers: [Int] = []
    for i in 0..<queue.count { numbers.append(queue[i].number) }
    let isSame =
      numbers == array.map(\.number) && queue.isEmpty == array.isEmpty && queue.first?.number == array.first?.number
      && queue.last?.number == array.last?.number
    #expect(isSame, "seed \(seed)")
    return isSame
  }

  @Test(arguments: 1...60 as ClosedRange<UInt64>)
  func asAnArray(_ seed: UInt64) {
    var state = seed &* 0x9e37_79b9_7f4a_7c15
    func below(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    let alive = Alive()
    do {
      var queue = RingQueue<Item>()
      var array: [Item] = []
      // Small and large ones: the places where a ring ends come often in small ones.
      let most = [3, 8, 40, 300][Int(seed % 4)]
      for number in 0..<2_000 {
        let item = Item(number, alive)
        switch below(10) {
        case 0..<3 where array.count < most:
          queue.append(item)
          array.append(item)
        case 3..<6 where array.count < most:
          let index = below(array.count + 1)
          queue.insert(item, at: index)
          array.insert(item, at: index)
        case 6..<9:
          #expect(queue.popFirst()?.number == (array.isEmpty ? nil : array.removeFirst().number))
        case 9 where number % 7 == 0:
          let divisor = below(4) + 1
          queue.removeAll { $0.number % divisor == 0 }
          array.removeAll { $0.number % divisor == 0 }
        default: break
        }
        guard Self.expectSame(queue, array, seed) else { return }
      }
      #expect(alive.count >= array.count)
    }
    #expect(alive.count == 0)
  }
}
