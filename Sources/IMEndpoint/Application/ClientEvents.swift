/// What happens to a client, in its order, for one task to go through.
///
/// Asking for the event after a message says that the application has it: only then its sender is told that it is delivered,
/// and only so many messages are under way that are not (`ClientConfiguration.acknowledges`).
public struct ClientEvents: AsyncSequence, Sendable {
  let stream: AsyncStream<ClientEvent>
  let took: @Sendable (SessionKind, SequenceNumber) -> Void

  /// Goes through the events.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<ClientEvent>.Iterator
    fileprivate let took: @Sendable (SessionKind, SequenceNumber) -> Void
    private var last: (kind: SessionKind, sequence: SequenceNumber)?

    fileprivate init(
      _ base: AsyncStream<ClientEvent>.Iterator, _ took: @escaping @Sendable (SessionKind, SequenceNumber) -> Void
    ) {
      self.base = base
      self.took = took
    }

    /// The next event; `nil` when the client is gone.
    public mutating func next() async -> ClientEvent? {
      if let last { took(last.kind, last.sequence) }
      last = nil
      let event = await base.next()
      if case .message(let message)? = event { last = (message.kind, message.sequence) }
      return event
    }
  }

  /// Begins with the events that no consumer has taken.
  public func makeAsyncIterator() -> Iterator { Iterator(stream.makeAsyncIterator(), took) }
}
