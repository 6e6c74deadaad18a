/// Values of one type that are needed for a moment, again and again: some stand ready, with the memory that they have grown to.
///
/// The one that was used last is handed out first: it is in the cache still. What stands ready is not counted by the limit on
/// memory, so whoever makes one says how many that may be.
struct Spares<Value: ~Copyable>: ~Copyable {
  private var ready: [Ref<Value>] = []
  private let maximum: Int

  /// None; `maximum` stand ready at most.
  init(maximum: Int) {
    self.maximum = maximum
    ready.reserveCapacity(maximum)
  }

  deinit { for value in ready { value.free() } }

  /// One that stands ready, as it was put back; a new one where none does.
  @inline(__always)
  mutating func take(_ new: () -> Value) -> Ref<Value> {
    if let value = ready.popLast() { return value }
    return .make(new())
  }

  /// Takes one back that holds nothing any more; frees it where enough stand ready.
  @inline(__always)
  mutating func put(back value: Ref<Value>) {
    guard ready.count < maximum else { return value.free() }
    ready.append(value)
  }
}
