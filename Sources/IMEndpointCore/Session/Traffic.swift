/// Both directions of one session: what waits for its turn, what waits for its answer, and what has come.
///
/// Client and server have the same; they differ in which connections there are.
struct Traffic: Sendable {
  let wireID: UInt16
  var strategy: SessionStrategy
  /// What both ends can do; before a handshake has ended, what every version can.
  var features: Features = .basic
  /// The version both ends speak; before, the lowest of this end's major.
  var version: ProtocolVersion
  var counters: SequenceCounters
  var pending = PendingTable()
  /// Large messages, both ways.
  var transfers: Transfers
  var queues = PriorityQueues()
  var reads = ReadLog()
  /// Queues whose rejection the application has seen and that have had no room since, one bit for each priority.
  var fullQueues: UInt8 = 0
  private var floors: InlineArray<5, UInt32>
  private var filters = InlineArray<5, DuplicateFilter>(repeating: DuplicateFilter())
  /// Which counters this end has, and those of the other end that the filters are for.
  private let epoch: UInt64
  private(set) var otherEpoch: UInt64?

  init(wireID: UInt16, strategy: SessionStrategy, major: UInt8, start: UInt32, epoch: UInt64) {
    self.wireID = wireID
    self.epoch = epoch
    transfers = Transfers(firstName: epoch)
    self.strategy = strategy
    version = ProtocolVersion(major, 0)
    counters = SequenceCounters(start: start)
    floors = InlineArray(repeating: 0)
    for category in SequenceCategory.allCases {
      floors[Int(category.rawValue)] = counters.upcoming(category).counter
    }
  }

  // MARK: numbers

  /// The first number of each category that is not known to have arrived.
  mutating func unsettled() -> UnsettledNumbers {
    for category in SequenceCategory.allCases { raiseFloor(category) }
    return UnsettledNumbers(floors, epoch: epoch)
  }

  /// The other end has said which of its numbers are settled.
  /// - Returns: bytes of pieces that are not waited for any more, and the connections that carried them.
  mutating func settle(_ numbers: UnsettledNumbers) -> [(count: Int, carriers: UInt8)] {
    var dropped: [(count: Int, carriers: UInt8)] = []
    if numbers.epoch != otherEpoch {
      if otherEpoch != nil {
        filters = InlineArray(repeating: DuplicateFilter())
        dropped = transfers.restart(asks: features.contains(.resumption))
      }
      otherEpoch = numbers.epoch
    }
    for index in 0..<5 { filters[index].settle(before: numbers.counters[index]) }
    return dropped
  }

  /// Whether a frame of the other end comes for the first time. Numbers of no known category are never remembered.
  @inline(__always)
  mutating func isFirst(_ sequence: SequenceNumber) -> Bool {
    guard let category = sequence.category else { return true }
    return filters[Int(category.rawValue)].insert(sequence.counter)
  }

  /// Whether a frame of the other end has come already; it is not noted.
  @inline(__always)
  func hasCome(_ sequence: SequenceNumber) -> Bool {
    guard let category = sequence.category else { return false }
    return filters[Int(category.rawValue)].contains(sequence.counter)
  }

  /// Whether another message may go out now.
  @inline(__always)
  func windowIsOpen(_ strategy: SessionStrategy) -> Bool {
    guard pending.count < strategy.windowMessages, pending.byteCount < strategy.windowBytes else { return false }
    return true
  }

  /// Whether the next number of `category` is near enough to the oldest that is not settled.
  @inline(__always)
  private mutating func isNear(_ category: SequenceCategory) -> Bool {
    let next = counters.upcoming(category)
    let index = Int(category.rawValue)
    if next.distance(from: SequenceNumber(category, floors[index])) < DuplicateFilter.window / 2 { return true }
    raiseFloor(category)
    return next.distance(from: SequenceNumber(category, floors[index])) < DuplicateFilter.window / 2
  }

  /// Moves the floor of `category` to the oldest number that still waits for an answer. Each number is passed once.
  private mutating func raiseFloor(_ category: SequenceCategory) {
    let end = counters.upcoming(category)
    var floor = SequenceNumber(category, floors[Int(category.rawValue)])
    while floor != end, pending.find(floor) == nil, transfers.pieces.find(floor) == nil { floor = floor.next }
    floors[Int(category.rawValue)] = floor.counter
  }

  // MARK: sending

  /// Puts a message that is a letter of the server's into its queue: as it is stored, whatever the queue holds.
  mutating func enqueue(_ message: consuming QueuedMessage) { queues.append(message) }

  /// Puts a message into its queue, compressed where that helps and the other end can read it.
  mutating func accept(_ message: consuming QueuedMessage, _ speech: Speech) throws(SendError) {
    guard message.body.count <= OutgoingTransfer.most else { throw .tooLong(message.body.count) }
    guard hasRoom(message.body.count, message.priority) else {
      fullQueues |= 1 << message.priority.rawValue
      throw .queueFull(message.priority)
    }
    if message.kind == .data, speech.compresses, message.body.count <= Deflate.largestCount,
      features.contains(.compression),
      let compressed = Deflate.compressed(message.body)
    {
      message.compression = 1
      message.body = compressed
    }
    if message.kind == .data, message.body.count > OutgoingTransfer.least {
      transfers.append(message)
    } else {
      queues.append(message)
    }
  }

  /// Whether another message has room.
  @inline(__always)
  func hasRoom(_ byteCount: Int, _ priority: Priority) -> Bool {
    guard queues.hasRoom(priority, byteCount: byteCount, strategy.queues) else { return false }
    return transfers.outgoing.isEmpty || queues.byteCount + transfers.byteCount + byteCount <= strategy.queues.bytes
  }

  /// Whether nothing waits, for its turn or for its answer.
  @inline(__always)
  var isIdle: Bool { pending.isEmpty && queues.isEmpty && transfers.isEmpty }

  /// The priorities whose queues were full and are half empty now: the application is told of each once.
  mutating func roomAgain() -> [Priority] {
    guard fullQueues != 0 else { return [] }
    let free = Priority.allCases.filter {
      fullQueues & 1 << $0.rawValue != 0 && queues.count($0) <= strategy.queues.messages / 2
        && queues.byteCount <= strategy.queues.bytes / 2
    }
    for priority in free { fullQueues &= ~(1 << priority.rawValue) }
    return free
  }

  /// Lets `event` happen to the message at `place`: the state it leads to, `nil` where it changes nothing.
  @inline(__always)
  mutating func advance(_ place: Int32, _ event: MessageEvent) -> MessageState? {
    guard let next = MessageMachine.next(pending[place].state, event) else { return nil }
    pending[place].state = next
    return next
  }

  /// Takes the next message that may go out, with a number of its own, into the table of what waits for its answer.
  /// - Returns: its place there; `nil` when nothing may go out.
  mutating func dequeue(isWeak: Bool, urgentOnly: Bool = false, at now: Instant) -> Int32? {
    guard !queues.isEmpty, windowIsOpen(strategy), isNear(.normal), isNear(.media), isNear(.broadcast) else {
      return nil
    }
    guard let message = queues.next(isWeak: isWeak, isIdle: pending.isEmpty, urgentOnly: urgentOnly, at: now) else {
      return nil
    }
    return insert(message, at: now)
  }

  /// Takes the next piece of a large message that may go out, with a number of its own, into the table of pieces.
  /// - Returns: its place there, the message, and whether it is its first piece and its last.
  mutating func dequeuePiece(_ most: Int, at now: Instant) -> (
    place: Int32, message: MessageID, isFirst: Bool, isLast: Bool
  )? {
    guard isNear(.media), let piece = transfers.nextPiece(most) else { return nil }
    let sequence = counters.take(.media)
    transfers.sent(sequence, of: piece.name, isLast: piece.isLast)
    let place = transfers.pieces.insert(
      sequence, id: piece.message.id, kind: .data, priority: piece.message.priority, compression: 0,
      checksum: Checksum.of(piece.body.span.bytes), body: piece.body, acceptedAt: piece.message.acceptedAt, at: now)
    return (place, piece.message.id, piece.isFirst, piece.isLast)
  }

  /// Takes a large message out of its line to be sent in one frame, for a peer that knows no pieces.
  mutating func dequeueWhole(at now: Instant) -> Whole? {
    guard !transfers.outgoing.isEmpty, windowIsOpen(strategy), isNear(.media), isNear(.broadcast),
      let first = transfers.takeWhole(limit: FrameHeader.maximumBodyCount)
    else { return nil }
    return first.isThere ? .message(insert(first.message, at: now)) : .tooLarge(first.message.id)
  }

  /// A large message for a peer that knows no pieces.
  enum Whole {
    /// Its place in the table of what waits for its answer.
    case message(Int32)
    /// No frame can carry it.
    case tooLarge(MessageID)
  }

  /// Takes a message whose body is read when its turn comes: in pieces, whatever its length.
  mutating func accept(_ message: QueuedMessage, _ source: BodySource, name: UInt64, asks: Bool) throws(SendError) {
    guard source.count <= OutgoingTransfer.most else { throw .tooLong(source.count) }
    guard transfers.count < Self.mostSources else {
      fullQueues |= 1 << message.priority.rawValue
      throw .queueFull(message.priority)
    }
    transfers.append(message, source, name: name, asks: asks)
  }

  /// Large messages that may wait whose bytes take no memory.
  private static var mostSources: Int { 256 }

  /// Writes the piece at `place` to a connection, which has `bit` in this session. - Returns: its bytes.
  mutating func transmitPiece(
    _ place: Int32, to output: inout OutgoingBytes, bit: UInt8, time: UInt32, _ speech: Speech, at now: Instant
  ) -> Int {
    let body = transfers.pieces[place].body
    let header = FrameHeader(
      version: version, kind: .data, sequence: transfers.pieces[place].sequence, time: time,
      encryption: speech.encryptionLabel, compression: 0, session: wireID,
      bodyCount: UInt32(truncatingIfNeeded: body.count), checksum: transfers.pieces[place].checksum)
    output.append(header, body)
    transfers.pieces.sent(place, on: bit, at: now)
    return body.count
  }

  /// A frame that may be a piece of a large message, between ends that can do so much; `nil` when it is none.
  ///
  /// Static, because each frame is asked: as a method of a session's traffic it would copy all of that.
  static func piece(_ header: FrameHeader, _ body: RawSpan, _ features: Features) -> IncomingTransfer.Piece? {
    guard features.contains(.transfers), header.kind == .data, header.sequence.category == .media,
      header.compression == 0
    else { return nil }
    return IncomingTransfer.Piece(body)
  }

  /// Takes a piece of a large message in.
  mutating func arrived(
    _ header: FrameHeader, _ piece: IncomingTransfer.Piece, _ body: RawSpan, _ keeping: IncomingTransfer.Keeping
  ) -> Transfers.Arrival {
    if hasCome(header.sequence) { return .taken }
    var filters = filters
    defer { self.filters = filters }
    return transfers.arrived(header, piece, body, keeping) { sequence in
      guard let category = sequence.category else { return true }
      return filters[Int(category.rawValue)].insert(sequence.counter)
    }
  }

  /// Gives a frame its number and notes it.
  mutating func insert(_ message: consuming QueuedMessage, at now: Instant) -> Int32 {
    let sequence = counters.take(message.category)
    let checksum = Checksum.of(message.body.span.bytes)
    return pending.insert(
      sequence, id: message.id, kind: message.kind, priority: message.priority, compression: message.compression,
      checksum: checksum, body: message.body, acceptedAt: message.acceptedAt, at: now)
  }

  /// Writes the frame at `place` to a connection, which has `bit` in this session.
  mutating func transmit(
    _ place: Int32, to output: inout OutgoingBytes, bit: UInt8, time: UInt32, _ speech: Speech, at now: Instant
  ) {
    let body = pending[place].body
    let header = FrameHeader(
      version: version, kind: pending[place].kind, sequence: pending[place].sequence, time: time,
      encryption: speech.encryptionLabel, compression: pending[place].compression, session: wireID,
      bodyCount: UInt32(truncatingIfNeeded: body.count), checksum: pending[place].checksum)
    output.append(header, body)
    pending.sent(place, on: bit, at: now)
  }

  /// The header of an acknowledgment of `sequence`, without a body.
  @inline(__always)
  func acknowledgment(of sequence: SequenceNumber, time: UInt32) -> FrameHeader {
    FrameHeader(version: version, kind: .acknowledgment, sequence: sequence, time: time, session: wireID)
  }

  /// Appends an acknowledgment in the style of `speech`.
  mutating func acknowledge(_ sequence: SequenceNumber, to output: inout OutgoingBytes, time: UInt32, _ speech: Speech)
  {
    var header = acknowledgment(of: sequence, time: time)
    guard speech.numbersAcknowledgments else {
      output.append(header, [])
      return
    }
    let body = TLV.bigEndian(sequence.rawValue)
    header.sequence = counters.take(sequence.category ?? .normal)
    header.bodyCount = 4
    header.checksum = Checksum.of(body.span.bytes)
    output.append(header, body)
  }
}
