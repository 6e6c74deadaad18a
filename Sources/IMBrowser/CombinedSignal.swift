/// The latest values of several inputs, combined: one output for many changes.
///
/// A change is handed on when nothing else has changed for `quiet`, and never later than `patience` after the first change that
/// waits; without that second time an input that never rests would starve the output. A pure state machine: times are those
/// of whoever calls it, from any beginning.
package struct CombinedSignal<Value: Equatable & Sendable>: Sendable {
  private let quiet: Duration
  private let patience: Duration
  /// The inputs as they are now.
  package private(set) var value: Value
  private var firstChange: Duration?
  private var lastChange = Duration.zero

  /// A signal of these inputs, which are handed on at once.
  package init(_ value: Value, quiet: Duration, patience: Duration) {
    self.value = value
    self.quiet = quiet
    self.patience = patience
    firstChange = .zero
    lastChange = .zero - patience
  }

  /// Changes inputs. A change that leaves all as they were is none.
  package mutating func change(at now: Duration, _ body: (inout Value) -> Void) {
    var changed = value
    body(&changed)
    guard changed != value else { return }
    value = changed
    firstChange = firstChange ?? now
    lastChange = now
  }

  /// Since when changes wait; `nil` while none do.
  package var waitsSince: Duration? { firstChange }

  /// When the inputs are to be handed on; `nil` while nothing waits.
  package var deadline: Duration? {
    firstChange.map { min(lastChange + quiet, $0 + patience) }
  }

  /// The inputs, when it is time to hand them on.
  package mutating func take(at now: Duration) -> Value? {
    guard let deadline, now >= deadline else { return nil }
    firstChange = nil
    return value
  }

  /// The inputs without waiting, where a change waits: the user has ended the input.
  package mutating func takeNow() -> Value? {
    guard firstChange != nil else { return nil }
    firstChange = nil
    return value
  }
}
