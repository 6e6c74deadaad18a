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

  /// What is kept of each exchange, each session and each connection is what most of the memory is.
  @Test func sizes() {
    #expect(MemoryLayout<KeptExchange>.stride == 48)
    #expect(MemoryLayout<ExchangeRest>.stride == 20)
    #expect(MemoryLayout<Session>.stride == 128)
    #expect(MemoryLayout<SessionRoot>.stride == 32)
    #expect(MemoryLayout<Flow>.stride <= 320)
    #expect(MemoryLayout<ConnectionMetrics>.stride <= 128)
  }

  /// Numbers that somebody has chosen because they fall on few slots fall on many in a run with another seed.
  @Test func numbersThatCollide() {
    let known = ExchangeTable(maximumCount: 4_096, seed: 1, budget: MemoryBudget(limit: 1 << 30), keepsIDs: true)
    let chosen = (UInt64(0)..<1_000_000).filter { known.home(7, .clientToServer, $0, of: 16_384) < 32 }
    #expect(chosen.count > 1_000)
    let other = ExchangeTable(maximumCount: 4_096, seed: 2, budget: MemoryBudget(limit: 1 << 30), keepsIDs: true)
    let homes = Set(chosen.map { other.home(7, .clientToServer, $0, of: 16_384) })
    #expect(homes.count > chosen.count * 3 / 4)
  }

  /// The table and the windows of the sessions in it that have one.
  struct Room: ~Copyable {
    var table: ExchangeTable
    var windows: [UInt32: ExchangeWindow] = [:]

    mutating func append(_ exchange: KeptExchange, _ sequence: UInt64, _ id: UInt32) {
      guard windows[exchange.session] != nil, sequence >> 32 == 0 else {
        _ = table.appendIndexed(exchange, numberHigh: UInt32(sequence >> 32), id: id)
        return
      }
      let place = ExchangeWindow.place(exchange.direction, sequence)
      var newest = windows[exchange.session]?.newest[place] ?? 0
      _ = table.append(exchange, id: id, at: &newest)
      windows[exchange.session]?.newest[place] = newest
    }

    /// Puts the oldest at the front.
    mutating func moveOldest() {
      let oldest = table.pointer(table.head)
      let sequence = table.sequence(of: oldest)
      let session = oldest.pointee.session
      guard windows[session] != nil, sequence >> 32 == 0 else {
        _ = table.move(oldest, to: nil)
        return
      }
      let place = ExchangeWindow.place(oldest.pointee.direction, sequence)
      var newest = windows[session]?.newest[place] ?? 0
      _ = table.move(oldest, to: &newest)
      windows[session]?.newest[place] = newest
    }

    /// Forgets the oldest, and gives back what it has.
    mutating func dropOldest() {
      let oldest = table.pointer(table.head)
      table.dropOldest()
      if !oldest.pointee.flags.contains(.moved) { table.release(oldest) }
    }

    mutating func moveToIndex(_ session: UInt32) {
      guard var window = windows.removeValue(forKey: session) else { return }
      table.index(&window)
    }

    /// What there is of a number, newest first.
    func found(_ key: Key) -> [UInt32] {
      var result: [UInt32] = []
      var next: Ref<KeptExchange>?
      if let window = windows[key.session], key.sequence >> 32 == 0 {
        var newest = window.newest[ExchangeWindow.place(key.direction, key.sequence)]
        next = table.find(key.session, key.direction, key.sequence, at: &newest).found
      } else {
        next = table.find(key.session, key.direction, key.sequence)
      }
      while let exchange = next {
        if !exchange.pointee.flags.contains(.moved) { result.append(table.id(of: exchange)) }
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
    var room = Room(
      table: ExchangeTable(
        maximumCount: capacity, seed: numbers, budget: MemoryBudget(limit: 1 << 30), keepsIDs: true))
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
            room.dropOldest()
            model.head += 1
          }
        }
        room.append(exchange(key), key.sequence, nextID)
        model.queue.append((key, nextID, false))
        nextID += 1
      case 7 where model.count > 0:
        room.dropOldest()
        model.head += 1
      case 8 where model.count > 0 && !room.table.isFull:
        // The oldest moves to the front, as one that is still open does.
        let oldest = room.table.pointer(room.table.head)
        guard !oldest.pointee.flags.contains(.moved) else { break }
        let id = room.table.id(of: oldest)
        room.moveOldest()
        model.queue[model.head].isMoved = true
        model.queue.append((model.queue[model.head].key, id, false))
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

  private func exchange(_ key: Key) -> KeptExchange {
    KeptExchange(
      number: UInt32(truncatingIfNeeded: key.sequence), session: key.session, direction: key.direction,
      firstAt: Timestamp(nanoseconds: 0), flow: 0, connection: 1, bodyCount: 0, end: 0, fingerprint: 0, clock: 0,
      flags: [], plan: 0, kind: 0)
  }
}
