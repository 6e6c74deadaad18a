/// A message that waits for its turn.
struct QueuedMessage: Sendable {
  var id: MessageID
  var kind: FrameKind
  var category: SequenceCategory
  var priority: Priority
  var compression: UInt8 = 0
  var body: [UInt8]
  var acceptedAt: Instant
}

/// How much may wait in a session.
public struct QueueLimits: Hashable, Sendable {
  /// Messages of one priority.
  public var messages: Int
  /// Bytes of all priorities.
  public var bytes: Int

  /// Limits of their parts.
  public init(messages: Int = 4_096, bytes: Int = 4 << 20) {
    self.messages = messages
    self.bytes = bytes
  }
}

/// The messages of one session that wait for their turn, in four queues.
///
/// A higher priority goes first; but a queue that was passed over sixteen times goes next, so none starves. On a weak
/// network what is low waits until nothing else is under way, five seconds at the longest for the first, and then goes
/// one a second.
struct PriorityQueues: Sendable {
  private struct Lane: Sendable {
    var items = FIFOQueue<QueuedMessage>()
    var passedOver = 0
    var count: Int { items.count }
  }

  private var lanes: InlineArray<4, Lane> = .init(repeating: Lane())
  private var lastLowAt = Instant(nanoseconds: .min)
  /// Messages that wait.
  private(set) var count = 0
  /// Bytes of their bodies.
  private(set) var byteCount = 0

  static let patience: Duration = .seconds(5)
  static let lowSpacing: Duration = .seconds(1)
  private static var passes: Int { 16 }

  var isEmpty: Bool { count == 0 }

  /// Messages of one priority.
  func count(_ priority: Priority) -> Int { lanes[Int(priority.rawValue)].count }

  /// Whether another message of `byteCount` bytes has room.
  func hasRoom(_ priority: Priority, byteCount: Int, _ limits: QueueLimits) -> Bool {
    count(priority) < limits.messages && (self.byteCount + byteCount <= limits.bytes || isEmpty)
  }

  mutating func append(_ message: QueuedMessage) {
    count += 1
    byteCount += message.body.count
    lanes[Int(message.priority.rawValue)].items.append(message)
  }

  /// Takes the message whose turn it is; `nil` when there is none, or only what waits for a better network.
  mutating func next(isWeak: Bool, isIdle: Bool, urgentOnly: Bool = false, at now: Instant) -> QueuedMessage? {
    guard count > 0 else { return nil }
    var chosen = -1
    for lane in 0..<(urgentOnly ? 1 : 4) where lanes[lane].count > 0 {
      if lane == 3, isWeak, !lowMayGo(isIdle: isIdle && chosen < 0, at: now) { continue }
      if chosen < 0 || lanes[lane].passedOver >= Self.passes { chosen = lane }
    }
    guard chosen >= 0 else { return nil }
    for lane in 0..<4 where lane != chosen && lanes[lane].count > 0 { lanes[lane].passedOver += 1 }
    lanes[chosen].passedOver = 0
    if chosen == 3 { lastLowAt = now }
    guard let message = lanes[chosen].items.popFirst() else { return nil }
    count -= 1
    byteCount -= message.body.count
    return message
  }

  private func lowMayGo(isIdle: Bool, at now: Instant) -> Bool {
    guard let first = lanes[3].items.first else { return true }
    if isIdle { return true }
    return now >= first.acceptedAt.advanced(by: Self.patience) && now >= lastLowAt.advanced(by: Self.lowSpacing)
  }

  /// When a low message may go on a weak network. `nil` when none waits, or when it may go already: then something else holds it back, and
  /// waiting for a moment in the past would never end.
  func lowDeadline(after now: Instant) -> Instant? {
    guard let first = lanes[3].items.first else { return nil }
    let deadline = max(first.acceptedAt.advanced(by: Self.patience), lastLowAt.advanced(by: Self.lowSpacing))
    return deadline > now ? deadline : nil
  }

  /// Takes a message out that has not had its turn yet.
  mutating func remove(_ id: MessageID) -> QueuedMessage? {
    for lane in 0..<4 {
      for index in 0..<lanes[lane].count where lanes[lane].items[index]?.id == id {
        let message = lanes[lane].items.remove(at: index)
        count -= 1
        byteCount -= message?.body.count ?? 0
        return message
      }
    }
    return nil
  }

  /// When the oldest of the messages that wait was accepted.
  var oldest: Instant? {
    var oldest: Instant?
    for lane in 0..<4 {
      if let first = lanes[lane].items.first { oldest = min(oldest ?? first.acceptedAt, first.acceptedAt) }
    }
    return oldest
  }

  /// Takes out what was accepted longer than `lifetime` ago.
  mutating func removeOlder(than lifetime: Duration, at now: Instant) -> [QueuedMessage] {
    var old: [QueuedMessage] = []
    for lane in 0..<4 {
      while let first = lanes[lane].items.first, now >= first.acceptedAt.advanced(by: lifetime),
        let message = lanes[lane].items.popFirst()
      {
        count -= 1
        byteCount -= message.body.count
        old.append(message)
      }
    }
    return old
  }
}
