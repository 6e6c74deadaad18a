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

  /// Makes room for `count` bytes, keeping the first `used`; what is behind them is zero.
  mutating func reserve(_ count: Int, keeping used: Int = 0) {
    guard count > capacity else { return }
    grow(to: count, keeping: used)
    (pointer + used).initializeMemory(as: UInt8.self, repeating: 0, count: capacity + Self.slack - used)
  }

  /// Puts `count` bytes of `bytes` behind the first `used`, and zeros into the slack behind them: a large buffer of which
  /// little is used costs no more than that.
  mutating func append(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int, at used: Int) {
    if used + count > capacity { grow(to: used + count, keeping: used) }
    bytes.span.withUnsafeBytes { raw in
      if let base = raw.baseAddress { (pointer + used).copyMemory(from: base + offset, byteCount: count) }
    }
    (pointer + used + count).initializeMemory(as: UInt8.self, repeating: 0, count: Self.slack)
  }

  /// Takes memory for `count` bytes and their slack, of which only the first `used` have a value.
  private mutating func grow(to count: Int, keeping used: Int) {
    var wanted = max(256, capacity)
    while wanted < count { wanted *= 2 }
    let bigger = UnsafeMutableRawPointer.allocate(byteCount: wanted + Self.slack, alignment: 16)
    bigger.copyMemory(from: pointer, byteCount: used)
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
