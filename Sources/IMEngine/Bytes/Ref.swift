import CMachine

/// A place in a pool or a table, with the element that stands there as long as its owner keeps it.
///
/// What stages hand one another. Only owners make one out of an address; whoever has one reads and changes that element, and
/// comes to no other.
struct Ref<Element: ~Copyable>: BitwiseCopyable {
  fileprivate let address: UnsafeMutablePointer<Element>

  /// The place at `address`, which stays as it is while somebody has the reference.
  @inline(__always)
  init(_ address: UnsafeMutablePointer<Element>) { self.address = address }

  /// The element.
  var pointee: Element {
    @inline(__always) unsafeAddress { UnsafePointer(address) }
    @inline(__always) nonmutating unsafeMutableAddress { address }
  }
}

extension Ref where Element: ~Copyable {
  /// Where the element begins: for what stands at a fixed place in it.
  var bytes: UnsafeMutableRawPointer {
    @inline(__always) get { UnsafeMutableRawPointer(address) }
  }

  /// Asks for the element's memory.
  @inline(__always)
  func prefetch() {
    for line in stride(from: 0, to: MemoryLayout<Element>.size, by: 64) { imdump_prefetch(bytes + line) }
  }

  /// Asks for the 64 bytes at `offset` of the element's memory.
  @inline(__always)
  func prefetch(at offset: Int) { imdump_prefetch(bytes + offset) }

  /// The element's place in a table that begins at `start`.
  @inline(__always)
  func index(from start: UnsafeMutablePointer<Element>) -> Int { address - start }

  /// A place of its own for `element`, until `free`.
  static func make(_ element: consuming Element) -> Ref {
    let address = UnsafeMutablePointer<Element>.allocate(capacity: 1)
    address.initialize(to: element)
    return Ref(address)
  }

  /// Gives back a place that `make` made.
  func free() {
    address.deinitialize(count: 1)
    address.deallocate()
  }

  /// The address, 0 where there is none: several are tested at once, without a branch.
  @inline(__always)
  static func bits(_ place: Ref?) -> UInt { UInt(bitPattern: place?.address) }
}

extension Ref: Hashable where Element: ~Copyable {
  @inline(__always)
  static func == (a: Ref, b: Ref) -> Bool { a.address == b.address }

  func hash(into hasher: inout Hasher) { hasher.combine(address) }
}
