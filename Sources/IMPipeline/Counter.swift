import Synchronization

/// A number that a signal's handler raises and the run takes down.
final class Counter: Sendable {
  private let value = Atomic<Int>(0)

  func increment() { value.add(1, ordering: .relaxed) }

  func take() -> Int { value.exchange(0, ordering: .relaxed) }
}
