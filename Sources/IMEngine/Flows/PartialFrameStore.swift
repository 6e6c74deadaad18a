/// Where a direction's `PartialFrame` comes from and goes to. Most are needed for the time between two segments.
final class PartialFrameStore {
  /// How many stand ready at most; with 64 KiB each that is half a megabyte, which the limit on memory does not count.
  private static var maximumSpare: Int { 8 }

  @exclusivity(unchecked) private var spares = Spares<PartialFrame>(maximum: maximumSpare)
  private let budget: MemoryBudget

  init(budget: MemoryBudget) { self.budget = budget }

  /// An empty one.
  func make() -> Ref<PartialFrame> { spares.take { PartialFrame(budget: budget) } }

  /// Takes one back, with what it holds, if there is one.
  func take(back partial: inout Ref<PartialFrame>?) {
    guard let old = partial else { return }
    partial = nil
    old.pointee.retire()
    spares.put(back: old)
  }
}
