/// Follows single messages on their way: for each one an async sequence of the states it comes to.
///
///     var observers = MessageObservers()
///     let id = try core.send(Message(.text("hello"), to: "maria"), in: session, at: now)
///     let states = observers.states(of: id)
///     Task { for await state in states { print(state) } }   // created, sending, sent, delivered, read
///
/// Whoever drives a core hands each inbox to `publish`. A sequence ends with the last state there can be, or when the
/// observers are dropped; one that no task reads keeps no more than the eight states there are.
public struct MessageObservers: Sendable {
  private var continuations: [MessageID: [AsyncStream<MessageState>.Continuation]] = [:]
  private var transfers: [MessageID: AsyncStream<TransferProgress>.Continuation] = [:]

  /// No message is followed yet.
  public init() {}

  /// How many messages are followed.
  public var count: Int { continuations.count }

  /// The states that a message comes to from now on.
  public mutating func states(of message: MessageID) -> AsyncStream<MessageState> {
    let (stream, continuation) = AsyncStream.makeStream(of: MessageState.self, bufferingPolicy: .bufferingNewest(16))
    continuations[message, default: []].append(continuation)
    return stream
  }

  /// How far a large message is from now on, the newest alone; with `ClientConfiguration.reportsTransfers`.
  public mutating func progress(of message: MessageID) -> AsyncStream<TransferProgress> {
    let (stream, continuation) = AsyncStream.makeStream(of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
    transfers[message]?.finish()
    transfers[message] = continuation
    return stream
  }

  /// Passes on what an inbox says about messages that are followed.
  public mutating func publish(_ inbox: Inbox) {
    guard !continuations.isEmpty || !transfers.isEmpty else { return }
    for event in inbox.events {
      if case .sending(let message, _, let progress) = event { transfers[message]?.yield(progress) }
      if case .progress(let message, _, .accepted) = event { transfers.removeValue(forKey: message)?.finish() }
      guard case .progress(let message, _, let state) = event, let listeners = continuations[message] else { continue }
      let living = listeners.filter { listener in
        if case .terminated = listener.yield(state) { false } else { true }
      }
      continuations[message] = living.isEmpty ? nil : living
      if state.isFinal { finish(message) }
    }
  }

  /// Ends the sequence of a message, for example of one that is delivered and will not be read.
  public mutating func finish(_ message: MessageID) {
    for listener in continuations.removeValue(forKey: message) ?? [] { listener.finish() }
    transfers.removeValue(forKey: message)?.finish()
  }

  /// Ends all sequences.
  public mutating func finishAll() {
    for listeners in continuations.values { for listener in listeners { listener.finish() } }
    continuations = [:]
    for transfer in transfers.values { transfer.finish() }
    transfers = [:]
  }
}
