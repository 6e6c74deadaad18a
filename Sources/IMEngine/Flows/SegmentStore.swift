/// Where the queues of directions with a hole come from and go to, and the memory of the segments in them.
///
/// Where packets are missing, each hole needs one of each for a moment; both are used again and again instead of being given
/// back. Nobody holds on to what another writes, so accesses are not checked.
final class SegmentStore {
  /// Bytes by which the sizes of blocks differ, and how many sizes there are; larger segments have memory of their own.
  private static var step: Int { 64 }
  private static var sizes: Int { 32 }
  /// What stands ready at most: queues, and bytes of blocks. The limit on memory does not count them.
  static var maximumSpareQueues: Int { 512 }
  static var maximumSpareBytes: Int { 256 << 10 }

  /// Blocks that stand ready, by their size; each holds the address of the next.
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  @exclusivity(unchecked) private(set) var spareBytes = 0
  @exclusivity(unchecked) private var queues = Spares<SegmentQueue>(maximum: maximumSpareQueues)
  private let budget: MemoryBudget

  init(budget: MemoryBudget) {
    self.budget = budget
    free = .allocate(capacity: Self.sizes)
    free.initialize(repeating: nil, count: Self.sizes)
  }

  deinit {
    for place in 0..<Self.sizes {
      while let block = free[place] {
        free[place] = block.load(as: UnsafeMutableRawPointer?.self)
        block.deallocate()
      }
    }
    free.deallocate()
  }

  // MARK: Queues

  /// An empty queue.
  func makeQueue() -> Ref<SegmentQueue> { queues.take { SegmentQueue(budget: budget) } }

  /// Takes a queue back, with what it holds, if there is one.
  func take(back queue: inout Ref<SegmentQueue>?) {
    guard let old = queue else { return }
    queue = nil
    old.pointee.retire(self)
    queues.put(back: old)
  }

  // MARK: Blocks

  /// Memory for `count` bytes; whoever gives it back says the same number.
  @inline(__always)
  func takeBlock(_ count: Int) -> UnsafeMutableRawPointer {
    let place = (count &- 1) / Self.step
    guard count > 0, place < Self.sizes else { return .allocate(byteCount: max(1, count), alignment: 16) }
    guard let block = free[place] else {
      return .allocate(byteCount: (place &+ 1) &* Self.step, alignment: 16)
    }
    free[place] = block.load(as: UnsafeMutableRawPointer?.self)
    spareBytes &-= (place &+ 1) &* Self.step
    return block
  }

  /// Takes memory for `count` bytes back.
  @inline(__always)
  func give(back block: UnsafeMutableRawPointer, _ count: Int) {
    let place = (count &- 1) / Self.step
    guard count > 0, place < Self.sizes, spareBytes < Self.maximumSpareBytes else { return block.deallocate() }
    block.storeBytes(of: free[place], as: UnsafeMutableRawPointer?.self)
    free[place] = block
    spareBytes &+= (place &+ 1) &* Self.step
  }

  /// Takes the bytes of a segment back that was taken out of its queue.
  @inline(__always)
  func take(back entry: SegmentQueue.Entry) {
    give(back: entry.bytes, Int(entry.count) &+ RawBuffer.slack)
  }
}
