/// A pool whose elements belong to flows: it knows whose each is, so that those who have one are found without a look at all flows.
struct OwnedPool<Element: BitwiseCopyable>: ~Copyable {
  private var pool = Pool<Element>()
  /// The index of each element's flow, also of one that was given back.
  private var owners: [UInt32] = []

  /// Elements ever used; indices are below this.
  var count: Int { pool.count }
  /// Elements for which there is memory and which are not in use.
  var room: Int { pool.room }
  /// Bytes that it gets memory for at once.
  static var growthCost: Int { Pool<Element>.growth * (Pool<Element>.costPerElement + MemoryLayout<UInt32>.size) }

  /// The element at `index`, which `allocate` has given out.
  @inline(__always)
  func pointer(_ index: UInt32) -> Ref<Element> { pool.pointer(index) }

  /// The index of the flow that the element at `index` belongs to, or belonged to.
  func owner(_ index: UInt32) -> UInt32 { owners[Int(index)] }

  /// A place holding `element`, of the flow with the index `owner`.
  mutating func allocate(_ element: Element, owner: UInt32) -> UInt32 {
    let index = pool.allocate(element)
    if Int(index) < owners.count { owners[Int(index)] = owner } else { owners.append(owner) }
    return index
  }

  /// Gives the place at `index` back.
  mutating func release(_ index: UInt32) { pool.release(index) }
}
