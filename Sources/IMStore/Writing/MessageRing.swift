package import IMEngine
import IMFields
package import IMOutput
import IMWire

/// The messages of a file from their first copies until what became of them is with the writer, which gets them in the order in which
/// they began.
///
/// A row behind all others goes to the end of its table, which costs a fraction of what one in the midst of the table does: that changes
/// pages that were written before. Fates are decided in another order than messages begin. So the newest messages stand in a ring by
/// their numbers, and the oldest leaves it when its fate is decided, or when the ring moves on: then it waits apart, and its row goes in
/// where it belongs. Of a message that the writer has, only what is told later is kept.
///
///                     next                          newest
///     ────────────────┬──┬──┬──┬──┬──┬──┬──┬──┬──┬──┐
///     with the writer │  │##│##│  │##│  │##│##│  │  │   ## decided
///     ────────────────┴──┴──┴──┴──┴──┴──┴──┴──┴──┴──┘
///        a few wait   └───────── the ring ──────────┘
///
/// The ring grows with the numbers, so the first messages do not wait for many others: half of all numbers are in it, at most `most`.
/// Beyond `mostWaiting` messages that wait apart, one that leaves the ring goes to the writer as it is, `pending`, and what becomes of it
/// changes its row.
package struct MessageRing: ~Copyable {
  /// Numbers in the ring, at least and at most.
  static var least: UInt32 { 64 }
  static var most: UInt32 { 32_768 }
  /// Bytes of texts that are kept of messages that the writer does not have.
  private static var mostTextBytes: Int { 32 << 20 }

  private enum State: UInt8 { case empty, open, decided }

  /// A ring of as many places as a power of two, and what is in each: apart from them, so that an empty place is not touched.
  private var places: UnsafeMutablePointer<OpenMessage>
  private var states: UnsafeMutablePointer<State>
  private var capacity = Int(MessageRing.least)
  /// The number of the message that leaves next, and the one behind the newest.
  private var next: UInt32 = 0, end: UInt32 = 0
  /// Messages that have left the ring and are open.
  private var waiting = WaitingMessages()
  private let mostWaiting: Int
  /// What was told of messages behind what the writer has of them.
  private var later: [UInt32: MessageChange.Later] = [:]
  /// Names of sessions, and sessions that began messages before they had one.
  private var names: [UInt32: String] = [:]
  private var nameless: Set<UInt32> = []
  private var textBytes = 0
  /// Messages for whose texts there was no room.
  package private(set) var leftOut: UInt64 = 0
  /// Messages that have begun.
  package private(set) var count: UInt64 = 0

  /// No messages. At most `mostWaiting` wait apart, 176 bytes each.
  package init(mostWaiting: Int = 131_072) {
    self.mostWaiting = mostWaiting
    places = .allocate(capacity: capacity)
    states = .allocate(capacity: capacity)
    states.initialize(repeating: .empty, count: capacity)
  }

  deinit {
    for place in 0..<capacity where states[place] != .empty { (places + place).deinitialize(count: 1) }
    places.deallocate()
    states.deallocate()
  }

  @inline(__always)
  private func place(_ number: UInt32) -> Int { Int(number) & (capacity &- 1) }

  /// Where in the ring the message with this number is; `nil` where it is not there.
  @inline(__always)
  private func place(ifThere number: UInt32) -> Int? {
    guard number >= next, number < end, states[place(number)] != .empty else { return nil }
    return place(number)
  }

  // MARK: Order

  private static func size(_ number: UInt32) -> UInt32 { min(most, max(least, number / 2)) }

  /// Whether `moveNext` is to be called before the message with this number begins.
  @inline(__always)
  package func isNextDue(before number: UInt32) -> Bool {
    next < end ? number &- next >= Self.size(number) || isNextDue : false
  }

  /// Whether `moveNext` is to be called.
  @inline(__always)
  package var isNextDue: Bool { next < end && states[place(next)] != .open }

  /// Whether no message is in the ring.
  package var isEmpty: Bool { next == end }

  /// Goes on by one number. A message whose fate is decided goes into the batch.
  package mutating func moveNext(to batch: inout StoreBatch) {
    let place = place(next)
    next &+= 1
    guard states[place] != .empty else { return }
    var message = (places + place).move()
    if states[place] == .open, waiting.count < mostWaiting {
      waiting.add(message.begun, message.exchange.id)
    } else {
      hand(&message, to: &batch)
    }
    states[place] = .empty
  }

  private mutating func hand(_ message: inout OpenMessage, to batch: inout StoreBatch) {
    if message.begun.name == nil, !names.isEmpty, !message.begun.first.sessionIsNumber {
      message.begun.name = names[message.exchange.session]
    }
    if let texts = message.begun.extras?.texts { textBytes -= texts.byteCount }
    // Its fate may be told before the frame that decided it: the row tells of the answer then, by the round trip.
    if message.begun.firstAnswer == BegunMessage.none, let latency = message.exchange.latency {
      later[message.exchange.id, default: MessageChange.Later()].awaited =
        message.exchange.firstAt.microseconds + latency.microseconds
    }
    batch.add(StoredFacts(message))
  }

  // MARK: What is told

  /// A message has begun, whose number is the next one; `isNextDue` has said no. `unknownType` is the name of a type that the profile
  /// does not know, and `texts` are those that are stored with it.
  package mutating func begin(
    _ first: FirstCopy, _ exchange: Exchange, flags: UInt32, unknownType: String?, texts: MessageDetails?
  ) {
    let number = exchange.id
    guard number >= end else { return }
    if next == end { next = number }
    while Int(number &- next) >= capacity { grow() }
    end = number &+ 1
    var message = OpenMessage(begun: BegunMessage(first, flags: flags), exchange: exchange)
    if !first.sessionIsNumber { noteName(of: &message) }
    if unknownType != nil || texts != nil { add(unknownType, texts, to: &message) }
    (places + place(number)).initialize(to: message)
    states[place(number)] = .open
    count += 1
  }

  private mutating func noteName(of message: inout OpenMessage) {
    message.begun.name = names[message.exchange.session]
    if message.begun.name == nil { nameless.insert(message.exchange.session) }
  }

  @inline(never)
  private mutating func add(_ unknownType: String?, _ texts: MessageDetails?, to message: inout OpenMessage) {
    let extras = message.begun.madeExtras()
    extras.unknownType = unknownType
    guard let texts else { return }
    guard textBytes + texts.byteCount <= Self.mostTextBytes else { return leftOut += 1 }
    extras.texts = texts
    textBytes += texts.byteCount
  }

  /// A further copy of a message came at `time`, or an answer to it.
  package mutating func add(_ number: UInt32, _ frame: TimedFrame) {
    if let place = place(ifThere: number) {
      places[place].begun.add(frame)
      if states[place] == .decided { later[number, default: MessageChange.Later()].isTouched = true }
    } else if number < end, !waiting.change(number, { $0.add(frame) }) {
      later[number, default: MessageChange.Later()].add(frame)
    }
  }

  /// The fate of a message was decided, or decided anew.
  package mutating func decide(_ exchange: borrowing Exchange, _ status: StatusCode?, to batch: inout StoreBatch) {
    if let place = place(ifThere: exchange.id) {
      places[place].exchange = copy exchange
      places[place].status = status
      states[place] = .decided
      return
    }
    if let found = waiting.remove(exchange.id) {
      var message = OpenMessage(begun: found, exchange: copy exchange, status: status)
      return hand(&message, to: &batch)
    }
    change(exchange, status, later.removeValue(forKey: exchange.id) ?? MessageChange.Later(), to: &batch)
  }

  /// A message is forgotten, and nothing of it will change.
  package mutating func finish(_ exchange: borrowing Exchange, _ status: StatusCode?, to batch: inout StoreBatch) {
    if let place = place(ifThere: exchange.id) {
      // Decided, it is so for good, unless something has come since.
      if states[place] == .decided {
        if later.isEmpty { return }
        if later.removeValue(forKey: exchange.id) == nil { return }
      }
      decide(exchange, status, to: &batch)
    } else if waiting.has(exchange.id) {
      decide(exchange, status, to: &batch)
    } else if !later.isEmpty, let told = later.removeValue(forKey: exchange.id) {
      change(exchange, status, told, to: &batch)
    }
  }

  private func change(
    _ exchange: borrowing Exchange, _ status: StatusCode?, _ told: MessageChange.Later, to batch: inout StoreBatch
  ) {
    batch.add(MessageChange(exchange: copy exchange, status: status, name: names[exchange.session], later: told))
  }

  /// A session has a name.
  package mutating func named(_ session: UInt32, _ name: String, in batch: inout StoreBatch) {
    names[session] = name
    if nameless.remove(session) != nil { batch.name(session, name) }
  }

  /// A session is forgotten.
  package mutating func forgotten(_ session: UInt32) {
    names[session] = nil
    nameless.remove(session)
  }

  /// Takes twice as many places.
  @inline(never)
  private mutating func grow() {
    let more = UnsafeMutablePointer<OpenMessage>.allocate(capacity: 2 * capacity)
    let moreStates = UnsafeMutablePointer<State>.allocate(capacity: 2 * capacity)
    moreStates.initialize(repeating: .empty, count: 2 * capacity)
    for i in 0..<UInt32(capacity) {
      let old = place(next &+ i), new = Int(next &+ i) & (2 * capacity - 1)
      guard states[old] != .empty else { continue }
      (more + new).moveInitialize(from: places + old, count: 1)
      moreStates[new] = states[old]
    }
    places.deallocate()
    states.deallocate()
    (places, states, capacity) = (more, moreStates, 2 * capacity)
  }
}
