/// Where a message stands on its way.
public enum MessageState: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// It waits in its queue.
  case created
  /// It is being handed to a connection.
  case sending
  /// All of it was handed to a connection.
  case sent
  /// The server has acknowledged it and is responsible for it.
  case accepted
  /// The application of a recipient has taken it.
  case delivered
  /// A user has read it.
  case read
  /// It was given up.
  case failed
  /// It goes out once more, under the same number.
  case retrying
  /// The application took it back. One that had gone out may have arrived all the same.
  case cancelled

  /// Whether nothing follows.
  public var isFinal: Bool { self == .read || self == .failed || self == .cancelled }
}

/// What happens to a message.
public enum MessageEvent: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// Its turn has come.
  case dequeue
  /// It was handed to a connection.
  case write
  /// The server has acknowledged it.
  case acknowledge
  /// A receipt says that a recipient's application has taken it.
  case deliver
  /// A receipt says that it was read.
  case receipt
  /// Its answer is overdue, or its connection is gone.
  case retry
  /// It is given up.
  case fail
  /// The application takes it back.
  case cancel
}

/// The life of a message.
public enum MessageMachine {
  /// All legal transitions. A receipt implies what is below it, and may overtake the acknowledgment, which took another
  /// connection. What was accepted can still fail: it may expire, or its recipient may be gone.
  public static let table = TransitionTable<MessageState, MessageEvent>([
    (.created, .dequeue, .sending),
    (.created, .cancel, .cancelled),
    (.created, .fail, .failed),
    (.sending, .write, .sent),
    (.sending, .retry, .retrying),
    (.sending, .fail, .failed),
    (.sending, .cancel, .cancelled),
    (.sent, .acknowledge, .accepted),
    (.sent, .deliver, .delivered),
    (.sent, .receipt, .read),
    (.sent, .retry, .retrying),
    (.sent, .fail, .failed),
    (.sent, .cancel, .cancelled),
    (.retrying, .write, .sent),
    (.retrying, .acknowledge, .accepted),
    (.retrying, .deliver, .delivered),
    (.retrying, .receipt, .read),
    (.retrying, .fail, .failed),
    (.retrying, .cancel, .cancelled),
    (.accepted, .deliver, .delivered),
    (.accepted, .receipt, .read),
    (.accepted, .fail, .failed),
    (.delivered, .receipt, .read),
  ])

  /// Where `event` leads from `state`; `nil` when it leads nowhere. The same as the table, as a `switch`: it runs for each message.
  @inline(__always)
  static func next(_ state: MessageState, _ event: MessageEvent) -> MessageState? {
    switch (state, event) {
    case (.created, .dequeue): .sending
    case (.sending, .write), (.retrying, .write): .sent
    case (.sent, .acknowledge), (.retrying, .acknowledge): .accepted
    case (.sent, .deliver), (.retrying, .deliver), (.accepted, .deliver): .delivered
    case (.sent, .receipt), (.retrying, .receipt), (.accepted, .receipt), (.delivered, .receipt): .read
    case (.sending, .retry), (.sent, .retry): .retrying
    case (.created, .fail), (.sending, .fail), (.sent, .fail), (.retrying, .fail), (.accepted, .fail): .failed
    case (.created, .cancel), (.sending, .cancel), (.sent, .cancel), (.retrying, .cancel): .cancelled
    default: nil
    }
  }
}
