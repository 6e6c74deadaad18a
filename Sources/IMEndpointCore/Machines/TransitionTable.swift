/// A state machine as a value: which event leads from which state to which.
///
/// The table is all there is. What is not in it is illegal, and says so with both names.
public struct TransitionTable<State: Hashable & Sendable, Event: Hashable & Sendable>: Sendable {
  private struct Pair: Hashable { var state: State, event: Event }
  private let table: [Pair: State]

  /// A table of its rows. Of two rows for one pair the later counts; the tables of this library have none.
  public init(_ rows: [(state: State, event: Event, next: State)]) {
    table = Dictionary(rows.map { (Pair(state: $0.state, event: $0.event), $0.next) }, uniquingKeysWith: { $1 })
  }

  /// How many pairs are legal.
  public var count: Int { table.count }

  /// Where `event` leads from `state`.
  public func next(_ state: State, _ event: Event) throws(IllegalTransition<State, Event>) -> State {
    guard let next = table[Pair(state: state, event: event)] else {
      throw IllegalTransition(state: state, event: event)
    }
    return next
  }
}

/// An event that its state knows no answer to.
public struct IllegalTransition<State: Hashable & Sendable, Event: Hashable & Sendable>: Error, Hashable,
  CustomStringConvertible
{
  /// The state the machine is in, and stays in.
  public var state: State
  /// The event that came.
  public var event: Event

  /// The value in words.
  public var description: String { "\(event) is not possible while \(state)" }
}
