package import IMWire

/// What the tracker says of one frame. 40 bytes, made anew for each frame, so what is seldom said is a bit and a place.
package struct FrameNote: Sendable, BitwiseCopyable {
  private struct Facts: OptionSet, BitwiseCopyable {
    let rawValue: UInt16
    static let isAck = Facts(rawValue: 1), isRetry = Facts(rawValue: 2), isDuplicate = Facts(rawValue: 4)
    static let isDupAck = Facts(rawValue: 8), isOrphan = Facts(rawValue: 16)
    static let names = Facts(rawValue: 32), hasLatency = Facts(rawValue: 64), isOfOneCopy = Facts(rawValue: 128)
    static let isReceipt = Facts(rawValue: 256)

    subscript(fact: Facts) -> Bool {
      @inline(__always) get { contains(fact) }
      @inline(__always) set { self = newValue ? union(fact) : subtracting(fact) }
    }
  }

  /// The exchange that the frame belongs to, by `Exchange.id`: as a copy, or as an answer.
  package var exchange: UInt32 = .max
  /// The session, as the tracker counts them.
  package var session: UInt32 = .max
  /// 1 for the first copy; 0 for frames that are no copy of anything.
  package var copy: UInt16 = 0
  private var facts: Facts = []
  private var deliveries: UInt16 = 0, reads: UInt16 = 0
  private var named: UInt64 = 0
  // A receipt is no answer: of one, `answeredAfter` is when what it says is delivered was sent.
  private var answeredAfter = Nanoseconds.zero, readAfter = Nanoseconds.zero

  /// Nothing is known of it.
  init() {}

  /// For an answer, the number it names.
  package internal(set) var ackOf: UInt64? {
    get { facts[.names] ? named : nil }
    set {
      facts[.names] = newValue != nil
      named = newValue ?? 0
    }
  }
  /// For the first answer, the time from the first copy to it, in whole microseconds.
  package var latency: Nanoseconds? { facts[.hasLatency] ? answeredAfter : nil }
  /// For the first answer of an exchange with one copy, the time from the copy to it, in whole microseconds.
  package var roundTrip: Nanoseconds? { facts[.isOfOneCopy] ? answeredAfter : nil }
  /// For the first receipt of messages, how many it says were delivered, or read; 0 of none.
  package func receipts(_ level: MessageReceipt.Level) -> UInt16 { level == .read ? reads : deliveries }
  /// For the first receipt of messages, the time from the first copy to it of the message that waited for longest, in whole microseconds.
  package func receiptLatency(_ level: MessageReceipt.Level) -> Nanoseconds? {
    receipts(level) == 0 ? nil : level == .read ? readAfter : answeredAfter
  }
  /// Whether it is the first receipt of a message.
  package var isReceipt: Bool { facts[.isReceipt] }

  /// Takes note of the first receipt of a message, `latency` after the message's first copy.
  mutating func add(_ level: MessageReceipt.Level, _ latency: Nanoseconds) {
    guard facts[.isReceipt] || !facts[.hasLatency] else { return }
    facts[.isReceipt] = true
    if level == .read {
      reads &+= reads == .max ? 0 : 1
      readAfter = max(readAfter, latency)
    } else {
      deliveries &+= deliveries == .max ? 0 : 1
      answeredAfter = max(answeredAfter, latency)
    }
  }
  /// Whether the frame is a copy after the first, up to the answer: of a message, a retry.
  package var isFurtherCopy: Bool { copy > 1 && !isDuplicate }
  /// Whether `frame`, which this says something of, is a heartbeat: its first copy, or one that asks for no answer.
  package func isHeartbeat(_ frame: borrowing Frame) -> Bool {
    let kind = frame.kind
    return kind.pointee.role == .heartbeat && !isAck && (copy == 1 || !kind.pointee.flags.contains(.expectsAck))
  }

  /// Whether the frame is an answer.
  package internal(set) var isAck: Bool {
    get { facts[.isAck] }
    set { facts[.isAck] = newValue }
  }
  /// Whether it is a copy that was sent again on purpose.
  package internal(set) var isRetry: Bool {
    get { facts[.isRetry] }
    set { facts[.isRetry] = newValue }
  }
  /// Whether it is a copy behind the answer.
  package internal(set) var isDuplicate: Bool {
    get { facts[.isDuplicate] }
    set { facts[.isDuplicate] = newValue }
  }
  /// Whether it is an answer behind the first.
  package internal(set) var isDupAck: Bool {
    get { facts[.isDupAck] }
    set { facts[.isDupAck] = newValue }
  }
  /// Whether it is an answer that names nothing known.
  package internal(set) var isOrphan: Bool {
    get { facts[.isOrphan] }
    set { facts[.isOrphan] = newValue }
  }

  /// Takes note of the first answer, which came `latency` after the first copy; `isOfOneCopy` says that there is no other
  /// copy.
  @inline(__always)
  mutating func answered(after latency: Nanoseconds, isOfOneCopy: Bool) {
    answeredAfter = latency
    facts.insert(isOfOneCopy ? [.hasLatency, .isOfOneCopy] : .hasLatency)
  }
}

/// Hears of exchanges.
package protocol ExchangeSink: AnyObject {
  /// The fate of `exchange` was decided, or decided anew when an answer came late.
  func resolved(_ exchange: borrowing Exchange)
  /// Many fates at once, for sinks that need no more than `EngineOptions.Needs.resolutions`. They are reported late, but before the end of the
  /// capture.
  func resolved(_ batch: Span<Resolution>)
  /// `exchange` is forgotten; nothing of it will change.
  func finished(_ exchange: borrowing Exchange)
  /// The connection with this serial number is a further one of a session whose last one, `previous`, is over. `time` is
  /// when it began; its first frame is told next.
  func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp)
  /// The first receipt of its level came of a message: it was delivered, or read.
  func receipt(_ receipt: MessageReceipt)
  /// A heartbeat came `interval` after the one before on its connection; `change` is how much the interval differs from the
  /// one before, `nil` for the first. Both are whole microseconds.
  func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32)
  /// Exchanges know this status by the number `place` from now on: see `Exchange.status`.
  func met(_ status: StatusCode, place: UInt16)
}

/// What a sink does not ask for, it need not hear.
extension ExchangeSink {
  /// Nothing.
  package func resolved(_ exchange: borrowing Exchange) {}
  /// Nothing.
  package func resolved(_ batch: Span<Resolution>) {}
  /// Nothing.
  package func finished(_ exchange: borrowing Exchange) {}
  /// Nothing.
  package func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {}
  /// Nothing.
  package func receipt(_ receipt: MessageReceipt) {}
  /// Nothing.
  package func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {}
  /// Nothing.
  package func met(_ status: StatusCode, place: UInt16) {}
}
