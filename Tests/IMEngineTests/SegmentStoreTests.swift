import IMWire
import Testing

@testable import IMEngine

/// Memory of segments beyond holes: used again by size, bounded, and never of two owners at a time.
@Suite struct SegmentStoreTests {
  @Test func aBlockIsUsedAgainForItsSizeOnly() {
    let store = SegmentStore(budget: MemoryBudget(limit: 64 << 20))
    // Blocks are multiples of 64 bytes: 1 to 64 share one size, 65 has the next.
    let small = store.takeBlock(1)
    store.give(back: small, 1)
    #expect(store.spareBytes == 64)
    let larger = store.takeBlock(65)
    #expect(larger != small && store.spareBytes == 64)
    let again = store.takeBlock(64)
    #expect(again == small && store.spareBytes == 0)
    store.give(back: again, 64)
    store.give(back: larger, 65)
    #expect(store.spareBytes == 64 + 128)
  }

  @Test func theLastBlockIsHandedOutFirst() {
    let store = SegmentStore(budget: MemoryBudget(limit: 64 << 20))
    let blocks = (0..<3).map { _ in store.takeBlock(200) }
    for block in blocks { store.give(back: block, 200) }
    #expect((0..<3).map { _ in store.takeBlock(200) } == blocks.reversed())
    for block in blocks { store.give(back: block, 200) }
  }

  /// Every byte of what was asked for is there, and of no other block: each is filled, and none has changed in the end.
  @Test func blocksDoNotOverlap() {
    let store = SegmentStore(budget: MemoryBudget(limit: 64 << 20))
    let sizes = [0, 1, 63, 64, 65, 128, 1_460, 2_047, 2_048, 2_049, 65_536]
    for round in 0..<3 as Range<UInt8> {
      var blocks: [(UnsafeMutableRawPointer, Int, UInt8)] = []
      for (i, size) in (sizes + sizes).enumerated() {
        let block = store.takeBlock(size)
        let fill = UInt8(i) &+ round &* 64
        block.initializeMemory(as: UInt8.self, repeating: fill, count: size)
        blocks.append((block, size, fill))
      }
      for (block, size, fill) in blocks {
        #expect(UnsafeRawBufferPointer(start: block, count: size).allSatisfy { $0 == fill }, "\(size)")
        store.give(back: block, size)
      }
    }
  }

  @Test func whatStandsReadyIsBounded() {
    let store = SegmentStore(budget: MemoryBudget(limit: 64 << 20))
    let blocks = (0..<400).map { _ in store.takeBlock(2_048) }
    for block in blocks { store.give(back: block, 2_048) }
    // One block beyond the limit may be kept: it is looked at before.
    #expect(store.spareBytes >= SegmentStore.maximumSpareBytes)
    #expect(store.spareBytes < SegmentStore.maximumSpareBytes + 2_048)
    // Larger ones have memory of their own.
    let large = store.takeBlock(2_049)
    let before = store.spareBytes
    store.give(back: large, 2_049)
    #expect(store.spareBytes == before)
  }

  @Test func queuesComeEmpty() throws {
    let budget = MemoryBudget(limit: 64 << 20)
    let store = SegmentStore(budget: budget)
    var queue: Ref<SegmentQueue>? = store.makeQueue()
    let first = try #require(queue)
    let bytes = [UInt8](repeating: 7, count: 1_000)
    for start in [100, 2_000, 5_000] as [UInt32] {
      let inserted = first.pointee.insert(
        Bytes(bytes.span.bytes), 0, bytes.count, start: start, cut: 0, base: 50, timestamp: .distantPast, number: 1,
        acknowledged: 0,
        policy: .first, store)
      #expect(inserted.added == 1_000)
    }
    #expect(first.pointee.count == 3 && budget.held > 3_000)
    store.take(back: &queue)
    #expect(queue == nil && budget.held == 0)
    // The bytes of its segments stand ready, too.
    #expect(store.spareBytes >= 3_000)
    let second = store.makeQueue()
    #expect(second == first)
    #expect(second.pointee.isEmpty && second.pointee.byteCount == 0 && second.pointee.lastEnd == nil)
    queue = second
    store.take(back: &queue)
    store.take(back: &queue)
    #expect(queue == nil)
  }

  @Test func notMoreQueuesThanWantedStandReady() {
    let store = SegmentStore(budget: MemoryBudget(limit: 64 << 20))
    let count = SegmentStore.maximumSpareQueues + 3
    let queues = (0..<count).map { _ in store.makeQueue() }
    #expect(Set(queues).count == count)
    for queue in queues {
      var queue: Ref<SegmentQueue>? = queue
      store.take(back: &queue)
    }
    // The last three were freed: the first that comes again is the last that was kept.
    let again = store.makeQueue()
    #expect(again == queues[SegmentStore.maximumSpareQueues - 1])
    var back: Ref<SegmentQueue>? = again
    store.take(back: &back)
  }
}
