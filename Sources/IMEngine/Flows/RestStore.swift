/// Where a direction's `StreamRest` comes from and goes to.
///
/// Most are needed for the time between two segments, again and again, so a few stand ready with the memory they have
/// grown to: what was used last is in the cache still.
final class RestStore {
  /// How many stand ready at most; with 64 KiB each that is half a megabyte, which the limit on memory does not count.
  private static var maximumSpare: Int { 8 }

  @exclusivity(unchecked) private var spare: [UnsafeMutablePointer<StreamRest>] = []
  private let budget: MemoryBudget

  init(budget: MemoryBudget) {
    self.budget = budget
    spare.reserveCapacity(Self.maximumSpare)
  }

  deinit { for rest in spare { Self.free(rest) } }

  /// An empty one.
  func make() -> UnsafeMutablePointer<StreamRest> {
    if let rest = spare.popLast() { return rest }
    let rest = UnsafeMutablePointer<StreamRest>.allocate(capacity: 1)
    rest.initialize(to: StreamRest(budget: budget))
    return rest
  }

  /// Takes one back, with what it holds, if there is one.
  func take(back rest: inout UnsafeMutablePointer<StreamRest>?) {
    guard let old = rest else { return }
    rest = nil
    guard spare.count < Self.maximumSpare else { return Self.free(old) }
    old.pointee.retire()
    spare.append(old)
  }

  /// Frees one for good.
  static func free(_ rest: UnsafeMutablePointer<StreamRest>) {
    rest.deinitialize(count: 1)
    rest.deallocate()
  }
}
