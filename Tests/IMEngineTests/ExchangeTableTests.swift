import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// The table of exchanges against a dictionary.
@Suite struct ExchangeTableTests {
  struct Key: Hashable {
    var session: UInt32
    var direction: Direction
    var sequence: UInt64
  }

  /// The same in ordinary collections: a queue of (key, id, whether it moved), and for each key its exchanges.
  struct Model {
    var queue: [(key: Key, id: UInt32, isMoved: Bool)] = []
    var head = 0
    var count: Int { queue.count - head }

    /// Those of a number that are there, newest first.
    func chain(_ key: Key) -> [UInt32] {
      queue[head...].reversed().filter { $0.key == key && !$0.isMoved }.map(\.id)
    }
  }

  /// Numbers that somebody has chosen because they fall on few slots fall on many in a run with another seed.
  @Test func numbersThatCollide() {
    let known = ExchangeTable(maximumCount: 4_096, seed: 1, budget: MemoryBudget(limit: 1 << 30))
    let chosen = (UInt64(0)..<1_000_000).filter { known.home(7, .clientToServer, $0, of: 16_384) < 32 }
    #expect(chosen.count > 1_000)
    let other = ExchangeTable(maximumCount: 4_096, seed: 2, budget: MemoryBudget(limit: 1 << 30))
    let homes = Set(chosen.map { other.home(7, .clientToServer, $0, of: 16_384) })
    #expect(homes.count > chosen.count * 3 / 4)
  }

  /// The table and the windows of the sessions in it that have one.
  struct Room: ~Copyable {
    var table: ExchangeTable
    var windows: [UInt32: ExchangeWindow] = [:]

    mutating func append(_ exchange: Exchange) {
      guard windows[exchange.session] != nil, exchange.sequence >> 32 == 0 else {
        _ = table.appendIndexed(exchange)
        return
      }
      let place = ExchangeWindow.place(exchange.direction, exchange.sequence)
      var newest = windows[exchange.session]?.newest[place] ?? 0
      _ = table.append(exchange, at: &newest)
      windows[exchange.session]?.newest[place] = newest
    }

    mutating func moveToIndex(_ session: UInt32) {
      guard var window = windows.removeValue(forKey: session) else { return }
      table.index(&window)
    }

    /// What there is of a number, newest first.
    func found(_ key: Key) -> [UInt32] {
      var result: [UInt32] = []
      var next: UnsafeMutablePointer<Exchange>?
      if let window = windows[key.session], key.sequence >> 32 == 0 {
        var newest = window.newest[ExchangeWindow.place(key.direction, key.sequence)]
        next = table.find(key.session, key.direction, key.sequence, at: &newest).found
      } else {
        next = table.find(key.session, key.direction, key.sequence)
      }
      while let exchange = next {
        if !exchange.pointee.flags.contains(.moved) { result.append(exchange.pointee.id) }
        next = table.next(after: exchange).found
      }
      return result
    }
  }

  /// 34,000 operations over few numbers, so that they are used again, and over many, so that the table grows and forgets.
  /// `windowed` of the three sessions have a window in the beginning; they move to the index one after the other.
  @Test(arguments: [
    (40, 4_096, 0), (3_000, 8_192, 1), (60_000, 16_384, 2), (40, 4_096, 3), (3_000, 8_192, 3), (60_000, 16_384, 3),
  ])
  func randomOperations(_ numbers: UInt64, _ capacity: Int, windowed: UInt32) {
    var random = SeededRandom(numbers &+ UInt64(windowed))
    var room = Room(table: ExchangeTable(maximumCount: capacity, seed: numbers, budget: MemoryBudget(limit: 1 << 30)))
    for session in 0..<windowed { room.windows[session] = ExchangeWindow() }
    var model = Model()
    var nextID: UInt32 = 0
    var wrong = 0
    for step in 0..<34_000 {
      let sequence = random.next() % numbers
      let key = Key(
        session: UInt32(sequence % 3), direction: sequence % 2 == 0 ? .clientToServer : .serverToClient,
        sequence: sequence << (sequence % 5 == 0 ? 24 : 0))
      if step % 9_000 == 8_999 { room.moveToIndex(UInt32(step / 9_000)) }
      switch random.next() % 10 {
      case 0...6:
        while room.table.isFull {
          if room.table.canGrow {
            room.table.grow()
          } else {
            room.table.dropOldest()
            model.head += 1
          }
        }
        room.append(exchange(key, nextID))
        model.queue.append((key, nextID, false))
        nextID += 1
      case 7 where model.count > 0:
        room.table.dropOldest()
        model.head += 1
      case 8 where model.count > 0 && !room.table.isFull:
        // The oldest moves to the front, as one that is still open does.
        let oldest = room.table.pointer(room.table.head)
        guard !oldest.pointee.flags.contains(.moved) else { break }
        let copy = oldest.pointee
        oldest.pointee.flags.insert(.moved)
        room.append(copy)
        model.queue[model.head].isMoved = true
        model.queue.append((model.queue[model.head].key, copy.id, false))
      default: break
      }
      // Chains are compared now and then: the model walks everything.
      if step % 64 == 0, room.found(key) != model.chain(key) { wrong += 1 }
      #expect(Int(room.table.tail - room.table.head) == model.count)
    }
    #expect(wrong == 0)
    // At the end every number is looked for.
    var chains: [Key: [UInt32]] = [:]
    for entry in model.queue[model.head...].reversed() where !entry.isMoved {
      chains[entry.key, default: []].append(entry.id)
    }
    for entry in model.queue {
      if room.found(entry.key) != chains[entry.key] ?? [] { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  private func exchange(_ key: Key, _ id: UInt32) -> Exchange {
    Exchange(
      sequence: key.sequence, session: key.session, direction: key.direction, id: id,
      firstAt: Timestamp(nanoseconds: 0), flow: 0, connection: 1, bodyCount: 0, end: 0, fingerprint: 0, clock: 0,
      flags: [],
      plan: 0, kind: 0)
  }
}
