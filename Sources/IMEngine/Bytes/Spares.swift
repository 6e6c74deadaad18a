/// Values of one type that are needed for a moment, again and again: some stand ready, with the memory that they have grown to.
///
/// The one that was used last is handed out first: it is in the cache still. What stands ready is not counted by the limit on
/// memory, so whoever makes one says how many that may be.
struct Spares<Value: ~Copyable>: ~Copyable {
  private var ready: [UnsafeMutablePointer<Value>] = []
  private let maximum: Int

  /// None; `maximum` stand ready at most.
  init(maximum: Int) {
    self.maximum = maximum
    ready.reserveCapacity(maximum)
  }

  deinit { for value in ready { Self.free(value) } }

  /// One that stands ready, as it was put back; a new one where none does.
  @inline(__always)
  mutating func take(_ new: () -> Value) -> UnsafeMutablePointer<Value> {
    if let value = ready.popLast() { return value }
    let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    value.initialize(to: new())
    return value
  }

  /// Takes one back that holds nothing any more; frees it where enough stand ready.
  @inline(__always)
  mutating func put(back value: UnsafeMutablePointer<Value>) {
    guard ready.count < maximum else { return Self.free(value) }
    ready.append(value)
  }

  /// Frees one for good, with what it holds.
  static func free(_ value: UnsafeMutablePointer<Value>) {
    value.deinitialize(count: 1)
    value.deallocate()
  }
}
