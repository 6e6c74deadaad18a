/// What is kept beyond the life of a client's process.
extension ClientCore {
  /// Takes what is to be kept, for a store; with `ClientConfiguration.isKept`. To be written before the core's commands are
  /// carried out: so nothing is sent, and no sender told, that the next process would not know of.
  public mutating func takeOperations() -> [ClientOperation] {
    guard !operations.isEmpty else { return [] }
    let all = operations
    operations.removeAll(keepingCapacity: all.count <= 4_096)
    return all
  }

  /// What `takeOperations` gave could not be kept, so nothing of it may be sent: every connection is aborted, with what waits to be written
  /// on it, and every session is disconnected.
  public mutating func storeFailed(at now: Instant) {
    for place in 0..<8 where (openMask | openingMask) & Self.bit(place) != 0 { abort(place) }
    for session in sessions { forceDisconnect(session.id, at: now) }
  }

  /// The application has looked at the inbox that it took last. Only a client with a store needs to say so: what follows from
  /// it is then in `takeOperations`.
  public mutating func confirmTaken(at now: Instant) {
    clock = now
    if !handed.isEmpty { confirm() }
  }

  /// Begins with what a store has kept: messages that wait go out in `session`, under the numbers they had. To be called
  /// before anything else.
  /// `open` opens the file of a message again, if it is as it was; else the message fails, because it is `unreadable`.
  /// - Returns: the messages, and their names from now on.
  public mutating func restore(
    _ state: ClientState, in session: SessionID, at now: Instant,
    _ open: (StoredFile) -> (any BodyReader)? = { _ in nil }
  ) -> [(message: StoredMessage, id: MessageID)] {
    numbers = OutgoingNumbers(last: state.last)
    for (key, window) in state.received { arrivals[key] = ArrivalOrder(seen: window) }
    guard let place = place(of: session) else { return [] }
    // What was accepted once has room: besides a full queue, messages were under way.
    let limits = sessions[place].traffic.strategy.queues
    sessions[place].traffic.strategy.queues = QueueLimits(messages: .max, bytes: .max)
    defer { sessions[place].traffic.strategy.queues = limits }
    var restored: [(message: StoredMessage, id: MessageID)] = []
    for message in state.waiting {
      let id: MessageID?
      if let file = message.file {
        id = resend(message, file, open(file), place, at: now)
        if id == nil {
          // It keeps a name by which it is reported to the application.
          let failed = MessageID(rawValue: nextMessage)
          nextMessage += 1
          kept[failed] = KeptMessage(
            conversation: message.conversation, isGroup: message.isGroup, number: message.number)
          restored.append((message, failed))
          self.failed(failed, place, because: .unreadable)
        }
      } else {
        id = try? send(
          body: message.body, category: message.category, priority: message.priority, in: session, at: now)
      }
      guard let id else { continue }
      kept[id] = KeptMessage(
        conversation: message.conversation, isGroup: message.isGroup, number: message.number)
      sentNames.note(
        MessageName(conversation: message.conversation, isGroup: message.isGroup, number: message.number), id, session)
      restored.append((message, id))
    }
    return restored
  }

  /// The name of a message that a store keeps.
  struct KeptMessage: Sendable {
    var conversation: String
    var isGroup: Bool
    var number: UInt64
  }

  /// A message of the application's has come to a state in which it waits no more.
  mutating func settle(_ id: MessageID) {
    guard let message = kept.removeValue(forKey: id) else { return }
    operations.append(
      .settled(conversation: message.conversation, isGroup: message.isGroup, number: message.number))
  }
}
