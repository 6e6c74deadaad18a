import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Where held bytes come from and go to: nothing of one direction is left for the next, and nothing is forgotten.
@Suite struct HeldTests {
  @Test func restsComeAsNew() throws {
    let budget = MemoryBudget(limit: 64 << 20)
    let store = PartialFrameStore(budget: budget)
    var rest: Ref<PartialFrame>? = store.make()
    let first = try #require(rest)
    let bytes = [UInt8](repeating: 7, count: 300)
    first.pointee.append(
      Bytes(bytes.span.bytes), StreamChunk(offset: 0, count: 200, timestamp: .distantPast, number: 1),
      streamOffset: 5_000)
    first.pointee.needed = 1_000
    first.pointee.search = PartialFrame.Search(
      reached: 5_100, candidates: [5_050], wasted: 9, credit: 77, othersCredit: 88, othersHeld: 99)
    #expect(budget.held > 0)
    store.take(back: &rest)
    #expect(rest == nil && budget.held == 0)

    let second = store.make()
    #expect(second == first)
    #expect(second.pointee.search == PartialFrame.Search())
    #expect(second.pointee.count == 0 && second.pointee.needed == 0 && second.pointee.deliveryCount == 0)
    second.pointee.append(
      Bytes(bytes.span.bytes), StreamChunk(offset: 0, count: 100, timestamp: .distantPast, number: 2), streamOffset: 40)
    #expect(second.pointee.count == 100 && second.pointee.streamOffset == 40)
    rest = second
    store.take(back: &rest)
  }

  /// A record of gaps whose turn comes while it is taken out has its turn again when it is back.
  @Test func turnsAreKept() throws {
    var table = GapRegionTable(budget: MemoryBudget(limit: 64 << 20))
    func directionGaps(_ flow: UInt32, _ table: inout GapRegionTable) -> GapRegionTable.DirectionGapsPointer {
      let directionGaps = table.newDirectionGaps(flow: flow, side: 0)
      directionGaps.pointee.gapRegions = [GapRegion(start: 0, end: 10, isKnown: true)]
      return directionGaps
    }
    let one = directionGaps(1, &table)
    let first = table.put(one)
    let two = directionGaps(2, &table)
    _ = table.put(two)
    #expect(
      table.directionGaps(at: first, flow: 2, side: 0) == nil && table.directionGaps(at: first, flow: 1, side: 1) == nil
    )
    let taken = table.take(first, flow: 1, side: 0)
    #expect(taken == one && table.take(first, flow: 1, side: 0) == nil)
    let second = table.takeAny()
    let none = table.takeAny()
    #expect(second?.pointee.flow == 2 && none == nil)
    let again = table.put(try #require(taken))
    let last = table.takeAny()
    #expect(again == first && last?.pointee.flow == 1)
    for directionGaps in [second, last] {
      directionGaps?.pointee.gapRegions = []
      if let directionGaps { _ = table.put(directionGaps) }
    }
  }
}
