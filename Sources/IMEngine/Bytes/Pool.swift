/// Plain structs in chunks that never move, addressed by index, with a list of free places.
///
/// A pointer to an element stays valid while the pool lives and the element is not freed; growth copies nothing. Places
/// begin at cache lines, so that a struct's first 64 bytes cost one miss; small ones share a line.
struct Pool<Element: BitwiseCopyable>: ~Copyable {
  private static var shift: Int { 9 }
  private static var chunkCount: Int { 1 << shift }

  private static var stride: Int {
    MemoryLayout<Element>.size <= 32 ? 32 : (MemoryLayout<Element>.size + 63) & ~63
  }

  private var chunks: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private var capacity = 0
  private var chunkCapacity = 16
  private var free: [UInt32] = []
  /// Places ever used; indices are below this.
  private(set) var count = 0

  init() { chunks = .allocate(capacity: chunkCapacity) }

  deinit {
    for i in 0..<(capacity >> Self.shift) { chunks[i].deallocate() }
    chunks.deallocate()
  }

  /// Elements in use.
  var used: Int { count - free.count }
  /// Elements for which there is memory and which are not in use.
  var room: Int { capacity - count + free.count }
  /// Elements that it gets memory for at once.
  static var growth: Int { chunkCount }
  /// Bytes of one element, its part of the list of free places included.
  static var costPerElement: Int { stride + MemoryLayout<UInt32>.size }

  /// Where the elements are; it holds until one is allocated.
  struct Places {
    fileprivate let chunks: UnsafeMutablePointer<UnsafeMutableRawPointer>

    /// The element at `index`, which `allocate` has given out.
    @inline(__always)
    func pointer(_ index: UInt32) -> Ref<Element> { Ref(address(index)) }

    @inline(__always)
    fileprivate func address(_ index: UInt32) -> UnsafeMutablePointer<Element> {
      (chunks[Int(index) &>> shift] + (Int(index) & (chunkCount &- 1)) &* stride)
        .assumingMemoryBound(to: Element.self)
    }
  }

  /// A copy of what it takes to find elements: one pointer, where the pool itself would be copied whole.
  @inline(__always)
  var places: Places { Places(chunks: chunks) }

  /// The element at `index`, which `allocate` has given out.
  @inline(__always)
  func pointer(_ index: UInt32) -> Ref<Element> { places.pointer(index) }

  /// A place holding `element`.
  mutating func allocate(_ element: Element) -> UInt32 {
    if let index = free.popLast() {
      places.address(index).initialize(to: element)
      return index
    }
    if count == capacity { grow() }
    let index = UInt32(truncatingIfNeeded: count)
    count += 1
    places.address(index).initialize(to: element)
    return index
  }

  /// Gives the place at `index` back.
  mutating func release(_ index: UInt32) { free.append(index) }

  @inline(never)
  private mutating func grow() {
    let used = capacity >> Self.shift
    if used == chunkCapacity {
      let more = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: chunkCapacity * 2)
      more.initialize(from: chunks, count: used)
      chunks.deallocate()
      chunks = more
      chunkCapacity *= 2
    }
    (chunks + used).initialize(to: .allocate(byteCount: Self.chunkCount * Self.stride, alignment: 64))
    capacity += Self.chunkCount
  }
}
