/// A large message on its way out: it goes in pieces, between which others pass.
///
/// A piece is an ordinary frame with a number of its own, so it is acknowledged, and known when it comes twice, like any
/// other; after a lost connection those go out again that have no answer. The last one closes the transfer: it is
/// acknowledged when all are there and the message is accepted, and receipts name the message by its number.
struct OutgoingTransfer: Sendable {
  var message: QueuedMessage
  /// Its name: no other transfer of the device has it, also none of another session or process.
  var name: UInt64
  /// Bytes that have gone out.
  var offset = 0
  /// The number of its last piece, once that has gone out.
  var last: SequenceNumber?

  /// Longer bodies go in pieces.
  static var least: Int { 32 << 10 }
  /// The longest body: a value in it has a length of four bytes. What a server takes is `ServerConfiguration.largestBody`.
  static var most: Int { Int(UInt32.max) }

  var isDone: Bool { offset >= message.body.count }

  /// The body of the next piece.
  mutating func next(_ most: Int) -> [UInt8] {
    let count = min(most, message.body.count - offset)
    var body: [UInt8] = []
    body.reserveCapacity(count + 64)
    TLV.append(
      .transfer,
      TLV.bigEndian(UInt64(message.body.count)) + [message.compression, message.category.rawValue], to: &body)
    TLV.append(.piece, TLV.bigEndian(name) + TLV.bigEndian(UInt64(offset)), to: &body)
    TLV.append(.pieceBytes, message.body[offset..<offset + count], to: &body)
    offset += count
    return body
  }
}

/// A large message on its way in.
struct IncomingTransfer: Sendable {
  /// Where a piece belongs.
  struct Piece: Equatable, Sendable {
    var size: Int
    var compression: UInt8
    var category: SequenceCategory
    var name: UInt64
    var offset: Int
    /// Where its bytes are in the frame's body.
    var bytes: Range<Int>

    var isLast: Bool { offset + bytes.count == size }

    /// Reads the body of a piece; `nil` when it is none, or says what cannot be.
    init?(_ body: RawSpan) {
      guard let head = TLV.value(of: .transfer, in: body), head.count == 10,
        let place = TLV.value(of: .piece, in: body), place.count == 16,
        let bytes = TLV.value(of: .pieceBytes, in: body), !bytes.isEmpty
      else { return nil }
      let size = TLV.number(body, head.lowerBound..<head.lowerBound + 8)
      let offset = TLV.number(body, place.lowerBound + 8..<place.upperBound)
      // What is larger is no size, and no sum of such sizes overflows.
      guard size <= 1 << 48, offset < size, size - offset >= UInt64(bytes.count) else { return nil }
      self.size = Int(size)
      self.offset = Int(offset)
      self.bytes = bytes
      compression = UInt8(truncatingIfNeeded: TLV.number(body, head.lowerBound + 8..<head.lowerBound + 9))
      let category = UInt8(truncatingIfNeeded: TLV.number(body, head.lowerBound + 9..<head.upperBound))
      self.category = SequenceCategory(rawValue: category) ?? .media
      name = TLV.number(body, place.lowerBound..<place.lowerBound + 8)
    }
  }

  var size: Int
  var compression: UInt8
  var category: SequenceCategory
  /// What has come without a gap, and what has come after one, by its offset; nothing where no consumer wants it. So it takes
  /// the memory of what has come, whatever it says of itself.
  private var body: [UInt8] = []
  private var early: [Int: [UInt8]] = [:]
  private var count = 0
  /// The last piece, which is not acknowledged before the others are there.
  var last: FrameHeader?

  init(_ piece: Piece) {
    size = piece.size
    compression = piece.compression
    category = piece.category
  }

  /// Bytes that have come.
  var byteCount: Int { count }
  var isWhole: Bool { count >= size }

  /// Takes a piece in that comes for the first time.
  mutating func take(_ piece: Piece, _ frame: RawSpan, keepsBytes: Bool) {
    count += piece.bytes.count
    guard keepsBytes else { return }
    let bytes = frame.extracting(piece.bytes).withUnsafeBytes { [UInt8]($0) }
    guard body.count == piece.offset else {
      early[piece.offset] = bytes
      return
    }
    body += bytes
    while let next = early.removeValue(forKey: body.count) { body += next }
  }

  /// The message, once it is whole.
  consuming func finished() -> [UInt8] { body }
}

/// The large messages of one session, both ways.
struct Transfers: Sendable {
  /// Those that go out, in their order, and pieces that have no answer.
  var outgoing: [OutgoingTransfer] = []
  var pieces = PendingTable()
  /// What each piece belongs to, until the message has its answer.
  private var owners: [SequenceNumber: UInt64] = [:]
  /// Messages that have gone out in full or in part and have no answer.
  private var open: [UInt64: OutgoingTransfer] = [:]
  private var incoming: [UInt64: IncomingTransfer] = [:]
  private var nextName: UInt64
  /// Bytes of those that come and are not whole.
  private(set) var incomingBytes = 0

  /// Names count up from `firstName`, which is drawn for each session: so a transfer is never taken for one that another
  /// process began.
  init(firstName: UInt64 = 1) { nextName = firstName }

  /// Transfers that may come at once.
  static var mostIncoming: Int { 16 }

  /// What came of a piece.
  enum Arrival {
    /// It is acknowledged.
    case taken
    /// It is the last, and others are missing.
    case waits
    /// The message is there: it has the number of its last piece, which is acknowledged with the message.
    case whole(FrameHeader, [UInt8])
    /// There is no room for it.
    case refused
  }

  /// Those that come and are not whole.
  var incomingCount: Int { incoming.count }
  /// Messages that wait or have no answer.
  var count: Int { outgoing.count { $0.offset == 0 } + open.count }
  var isEmpty: Bool { outgoing.isEmpty && open.isEmpty }
  var byteCount: Int { outgoing.reduce(0) { $0 + $1.message.body.count - $1.offset } }

  mutating func append(_ message: QueuedMessage) {
    outgoing.append(OutgoingTransfer(message: message, name: nextName))
    nextName &+= 1
  }

  /// The next piece: the message that it is of, its body, and whether it is the last.
  mutating func nextPiece(_ most: Int) -> (
    message: QueuedMessage, body: [UInt8], name: UInt64, isFirst: Bool, isLast: Bool
  )? {
    guard var transfer = outgoing.first else { return nil }
    let isFirst = transfer.offset == 0
    let body = transfer.next(most)
    open[transfer.name] = transfer
    if transfer.isDone { outgoing.removeFirst() } else { outgoing[0] = transfer }
    return (transfer.message, body, transfer.name, isFirst, transfer.isDone)
  }

  /// A piece has gone out under this number.
  mutating func sent(_ sequence: SequenceNumber, of name: UInt64, isLast: Bool) {
    owners[sequence] = name
    if isLast { open[name]?.last = sequence }
  }

  /// The message that a piece is of.
  func owner(of sequence: SequenceNumber) -> (name: UInt64, message: MessageID)? {
    guard let name = owners[sequence], let transfer = open[name] else { return nil }
    return (name, transfer.message.id)
  }

  /// A piece has its answer: the message, if it was the last, which is answered when all are there.
  mutating func acknowledged(_ sequence: SequenceNumber) -> MessageID? {
    guard let name = owners.removeValue(forKey: sequence), let transfer = open[name], transfer.last == sequence else {
      return nil
    }
    return transfer.message.id
  }

  /// Takes a message out, wherever it is: the places of its pieces that have no answer.
  mutating func remove(_ id: MessageID) -> [Int32]? {
    let name = outgoing.first { $0.message.id == id }?.name ?? open.first { $0.value.message.id == id }?.key
    guard let name else { return nil }
    outgoing.removeAll { $0.name == name }
    open[name] = nil
    let numbers = owners.filter { $0.value == name }.map(\.key)
    for number in numbers { owners[number] = nil }
    return numbers.compactMap { pieces.find($0) }
  }

  /// All messages that wait or have no answer.
  var messages: [MessageID] {
    outgoing.filter { $0.offset == 0 }.map(\.message.id) + open.values.map(\.message.id)
  }

  /// The other end has forgotten what it had: all that has no answer goes out anew.
  mutating func restart() {
    guard !open.isEmpty else { return }
    let again = open.values.sorted { $0.name < $1.name }
    outgoing.removeAll { $0.offset > 0 }
    open = [:]
    owners = [:]
    pieces = PendingTable()
    for transfer in again.reversed() {
      outgoing.insert(OutgoingTransfer(message: transfer.message, name: nextName), at: 0)
      nextName &+= 1
    }
  }

  // MARK: coming

  /// A piece has come. `isFirst` says whether it comes for the first time, and notes that; it is asked for pieces that are
  /// acknowledged alone.
  mutating func arrived(
    _ header: FrameHeader, _ piece: IncomingTransfer.Piece, _ frame: RawSpan, limit: Int, keepsBytes: Bool,
    _ isFirst: (SequenceNumber) -> Bool
  ) -> Arrival {
    var transfer = incoming.removeValue(forKey: piece.name) ?? IncomingTransfer(piece)
    incomingBytes -= transfer.byteCount
    guard transfer.size == piece.size, !keepsBytes || piece.size <= limit, incoming.count < Self.mostIncoming else {
      return .refused
    }
    if piece.isLast {
      // Its number is noted with the message.
      if transfer.last == nil { transfer.take(piece, frame, keepsBytes: keepsBytes) }
      transfer.last = header
    } else if isFirst(header.sequence) {
      transfer.take(piece, frame, keepsBytes: keepsBytes)
    }
    guard let last = transfer.last, transfer.isWhole else {
      incomingBytes += transfer.byteCount
      incoming[piece.name] = transfer
      return piece.isLast ? .waits : .taken
    }
    var whole = last
    whole.compression = transfer.compression
    whole.bodyCount = UInt32(clamping: transfer.size)
    return .whole(whole, transfer.finished())
  }
}
