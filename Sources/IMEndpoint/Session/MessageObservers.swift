/// Follows single messages on their way: for each one an async sequence of the states it comes to.
///
///     var observers = MessageObservers()
///     let id = try core.send(Message(.text("hello"), to: "maria"), in: session, at: now)
///     let states = observers.states(of: id)
///     Task { for await state in states { print(state) } }   // created, sending, sent, delivered, read
///
/// Whoever drives a core hands each inbox to `publish`. A sequence ends with the last state there can be, or when the
/// observers are dropped; one that nobody reads keeps no more than the eight states there are.
public struct MessageObservers: Sendable {
  private var continuations: [MessageID: [AsyncStream<MessageState>.Continuation]] = [:]

  /// Nobody follows anything yet.
  public init() {}

  /// How many messages are followed.
  public var count: Int { continuations.count }

  /// The states that a message comes to from now on.
  public mutating func states(of message: MessageID) -> AsyncStream<MessageState> {
    let (stream, continuation) = AsyncStream.makeStream(of: MessageState.self, bufferingPolicy: .bufferingNewest(16))
    continuations[message, default: []].append(continuation)
    return stream
  }

  /// Passes on what an inbox says about messages that are followed.
  public mutating func publish(_ inbox: Inbox) {
    guard !continuations.isEmpty else { return }
    for event in inbox.events {
      guard case .progress(let message, _, let state) = event, let listeners = continuations[message] else { continue }
      let living = listeners.filter { listener in
        if case .terminated = listener.yield(state) { false } else { true }
      }
      continuations[message] = living.isEmpty ? nil : living
      if state.isFinal { finish(message) }
    }
  }

  /// Ends the sequence of a message, for example of one that is delivered and that nobody will read.
  public mutating func finish(_ message: MessageID) {
    for listener in continuations.removeValue(forKey: message) ?? [] { listener.finish() }
  }

  /// Ends all sequences.
  public mutating func finishAll() {
    for listeners in continuations.values { for listener in listeners { listener.finish() } }
    continuations = [:]
  }
}
