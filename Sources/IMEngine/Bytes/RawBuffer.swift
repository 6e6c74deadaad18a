/// Raw memory that grows, owned by one place, with `slack` readable bytes behind whatever was reserved.
struct RawBuffer: ~Copyable {
  /// Bytes that may be read behind `capacity`.
  static var slack: Int { 16 }

  private(set) var pointer: UnsafeMutableRawPointer
  private(set) var capacity: Int

  init() {
    capacity = 0
    pointer = .allocate(byteCount: Self.slack, alignment: 16)
    pointer.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slack)
  }

  deinit { pointer.deallocate() }

  /// Makes room for `count` bytes, keeping the first `used`.
  mutating func reserve(_ count: Int, keeping used: Int = 0) {
    guard count > capacity else { return }
    var wanted = max(256, capacity)
    while wanted < count { wanted *= 2 }
    let bigger = UnsafeMutableRawPointer.allocate(byteCount: wanted + Self.slack, alignment: 16)
    bigger.copyMemory(from: pointer, byteCount: used)
    (bigger + used).initializeMemory(as: UInt8.self, repeating: 0, count: wanted + Self.slack - used)
    pointer.deallocate()
    pointer = bigger
    capacity = wanted
  }

  /// Everything that may be read, slack included, as a borrow of this buffer.
  var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let span = RawSpan(_unsafeStart: UnsafeRawPointer(pointer), byteCount: capacity + Self.slack)
      return _overrideLifetime(span, borrowing: self)
    }
  }
}
