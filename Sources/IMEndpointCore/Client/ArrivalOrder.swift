/// Which of its messages a device counts together, as a recipient sees it.
struct IncomingConversation: Hashable, Sendable {
  var device: ClientIdentity
  /// `nil`: to this user.
  var group: String?
  var lane: UInt8
}

/// Restores the order of one conversation: a message that has overtaken others waits for them, not for ever.
struct ArrivalOrder: Sendable {
  /// A message that waits for those before it.
  struct Held: Sendable {
    var header: FrameHeader
    var body: [UInt8]
    var origin: MessageOrigin
    /// The session and the connection that it came in.
    var place: Int
    var connection: ConnectionID
    var at: Instant
    var stored: StoredContent?
  }

  /// What is to be done with a message.
  enum Verdict: Equatable, Sendable {
    /// It is told now, and after it what `releaseNext` gives.
    case told
    /// It is told now, out of its order.
    case late
    case held
    case duplicate
  }

  /// Messages that wait in one conversation, and their bytes: beyond, the gap is told at once.
  static var mostHeld: Int { 1_024 }
  static var mostBytes: Int { 1 << 20 }

  private(set) var seen: NumberWindow
  /// The number of the next message to be told in its order.
  private(set) var next: UInt64
  private var held: [UInt64: Held] = [:]
  private var heldBytes = 0
  /// Since when the oldest of the messages that wait does.
  private(set) var waitingSince: Instant?

  /// Nothing before `first` is waited for.
  init(first: UInt64) {
    seen = NumberWindow(floor: first)
    next = first
  }

  /// A conversation of which `seen` has come before.
  init(seen: NumberWindow) {
    self.seen = seen
    next = seen.floor
  }

  var isWaiting: Bool { !held.isEmpty }
  var isOverfull: Bool { held.count > Self.mostHeld || heldBytes > Self.mostBytes }

  /// A message with this number has come. When the verdict is `held`, `hold` is to follow.
  mutating func take(_ number: UInt64) -> Verdict {
    guard seen.insert(number) else { return .duplicate }
    skipPassedOver()
    if number < next { return .late }
    guard number == next else { return .held }
    next += 1
    return .told
  }

  /// Keeps a message until those before it have come.
  mutating func hold(_ message: Held, _ number: UInt64) {
    held[number] = message
    heldBytes += message.body.count
    waitingSince = min(waitingSince ?? message.at, message.at)
  }

  /// Numbers that no message will have, at and after `next`.
  private var passedOver: Set<UInt64> = []
  private static var mostPassedOver: Int { 1_024 }

  /// No message will have this number.
  mutating func passOver(_ number: UInt64) {
    guard number >= next, number < .max, passedOver.count < Self.mostPassedOver, seen.insert(number) else { return }
    passedOver.insert(number)
  }

  /// Goes on after numbers that no message will have.
  mutating func skipPassedOver() {
    while !passedOver.isEmpty, passedOver.remove(next) != nil { next += 1 }
  }

  /// Takes the next message out, if it waits.
  mutating func releaseNext() -> Held? {
    skipPassedOver()
    guard let message = held.removeValue(forKey: next) else { return nil }
    heldBytes -= message.body.count
    next += 1
    if message.at == waitingSince { waitingSince = held.values.map(\.at).min() }
    return message
  }

  /// Waits no longer for what is missing before the first message that waits: the numbers that are missing.
  mutating func skip() -> ClosedRange<UInt64>? {
    guard let first = held.keys.min(), first > next else { return nil }
    let missing = next...first - 1
    next = first
    passedOver = passedOver.filter { $0 >= first }
    return missing
  }
}
