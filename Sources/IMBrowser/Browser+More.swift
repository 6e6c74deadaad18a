import IMStore
import IMWire

/// What is being typed.
enum InputPurpose: Equatable, Sendable {
  /// A filter of the list.
  case filter
  /// A command.
  case command
}

/// Requests of the ladder and of figures over time.
extension Browser {
  /// Whoever writes the store has written more.
  mutating func commitMore(_ number: Int, isLast: Bool, at now: Duration) {
    if number <= 16 || number % 8 == 0 || isLast {
      stripSignal.change(at: now) { $0.commit = number }
      commitLists(number, at: now)
    }
    if isLast, ladder.isBegun {
      ladder.restart(at: ladder.list.selected.map { .around($0.message.id) } ?? .after(0))
    } else {
      ladder.grow()
    }
  }

  /// What is to be asked for now.
  mutating func takeMoreRequests(at now: Duration) {
    if !isReadingStrip, let request = stripSignal.take(at: now) {
      stripAwaited = request
      outbox.append(.timeline(request))
    }
    if screen == .ladder, let request = ladder.nextRequest() { outbox.append(.ladder(request)) }
    takeListRequests(at: now)
  }

  /// Since when the list on the screen is not the one that is wanted; `nil` while it is.
  var busySince: Duration? {
    if screen == .connections { return connections.busySince }
    return screen == .sessions
      // What the store brings by itself nobody waits for.
      ? sessionSignal.value.order == sessionsShown?.order || sessionsShown == nil
        ? nil : sessionSignal.waitsSince ?? sessionsAskedAt
      : filterSignal.waitsSince ?? askedAt
  }
}
