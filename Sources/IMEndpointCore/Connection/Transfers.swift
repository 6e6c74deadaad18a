import IMWire

/// The large messages of one session, both ways.
struct Transfers: Sendable {
  /// Those that go out, in their order, and pieces that have no answer.
  private(set) var outgoing: [OutgoingTransfer] = []
  var pieces = PendingTable()
  /// What each piece belongs to, until the message has its answer.
  private var owners: [SequenceNumber: UInt64] = [:]
  /// Messages that have gone out in full or in part and have no answer.
  private var open: [UInt64: OutgoingTransfer] = [:]
  /// Messages whose bytes cannot be read any more.
  private var unreadable: [MessageID] = []
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
    case whole(FrameHeader, IncomingTransfer.Whole)
    /// The message was there before; this is its last piece.
    case known
    /// There is no room for it.
    case refused
  }

  /// Messages that are there or were refused: pieces of them change nothing.
  private var finished: [(name: UInt64, isRefused: Bool)] = []
  private static var mostFinished: Int { 64 }

  /// Those that come and are not whole.
  var incomingCount: Int { incoming.count }
  /// Messages that wait or have no answer.
  var count: Int { outgoing.count { !$0.hasBegun } + open.count }
  var isEmpty: Bool { outgoing.isEmpty && open.isEmpty }
  /// Bytes of messages in memory that have not gone out.
  var byteCount: Int { outgoing.reduce(0) { $0 + ($1.isNamed ? 0 : $1.source.count - $1.offset) } }

  mutating func append(_ message: QueuedMessage) {
    outgoing.append(OutgoingTransfer(message, name: takeName()))
  }

  /// Appends a message whose bytes are read when their turn comes. Another process has the same name for it, and where `asks`
  /// the other end may have some of it from an earlier one. With `available`, it still arrives from its sender, and so many bytes may go
  /// out: it does not end before `complete`.
  mutating func append(
    _ message: QueuedMessage, _ source: BodySource, name: UInt64, asks: Bool, available: Int = .max
  ) {
    var transfer = OutgoingTransfer(message, source, name: name, asks: asks)
    transfer.isNamed = true
    transfer.available = available
    outgoing.append(transfer)
  }

  /// More of a message has arrived from its sender. False when this session has none of that name.
  mutating func extend(_ name: UInt64, to available: Int) -> Bool {
    guard let place = outgoing.firstIndex(where: { $0.name == name }) else { return false }
    outgoing[place].available = available
    open[name]?.available = available
    return true
  }

  /// A message that arrived from its sender is whole, and accepted under this number. False when this session has none of that name.
  mutating func complete(_ name: UInt64, as id: MessageID) -> Bool {
    guard extend(name, to: .max), let place = outgoing.firstIndex(where: { $0.name == name }) else { return false }
    outgoing[place].message.id = id
    open[name]?.message.id = id
    return true
  }

  /// Messages that still arrive from their senders.
  var relayCount: Int { outgoing.count { $0.available != .max } }

  /// The message of that name which still arrives from its sender, and whether something of it has gone out.
  func relayed(_ name: UInt64) -> (message: MessageID, hasBegun: Bool)? {
    outgoing.first { $0.name == name && $0.available != .max }.map { ($0.message.id, $0.hasBegun) }
  }

  /// A name that no other transfer has.
  mutating func takeName() -> UInt64 {
    defer { nextName &+= 1 }
    return nextName
  }

  /// Takes the first message out, to be sent in one frame; `nil` when it has more than `limit` bytes, or cannot be read.
  mutating func takeWhole(limit: Int) -> (message: QueuedMessage, isThere: Bool)? {
    guard let first = outgoing.first else { return nil }
    outgoing.removeFirst()
    var message = first.message
    guard first.source.count <= limit, first.source.read(0..<first.source.count, into: &message.body) else {
      return (message, false)
    }
    return (message, true)
  }

  /// The next piece: the message that it is of, its body, and whether it is the last.
  mutating func nextPiece(_ most: Int) -> (
    message: QueuedMessage, body: [UInt8], name: UInt64, isFirst: Bool, isLast: Bool
  )? {
    var place = 0
    while place < outgoing.count {
      var transfer = outgoing[place]
      // A message that waits for its sender does not hold up the others.
      guard transfer.canGo else {
        place += 1
        continue
      }
      // One question at a time; what is asked is answered before the piece that asks.
      if transfer.isAsking, let asked = transfer.asked {
        if pieces.find(asked) != nil { return nil }
        if transfer.asks >= OutgoingTransfer.mostAsks { transfer.has([]) }
      }
      let isFirst = !transfer.hasBegun
      guard let body = transfer.next(most) else {
        outgoing.remove(at: place)
        open[transfer.name] = transfer
        unreadable.append(transfer.message.id)
        continue
      }
      let isLast = transfer.isDone
      open[transfer.name] = transfer
      if isLast { outgoing.remove(at: place) } else { outgoing[place] = transfer }
      return (transfer.message, body, transfer.name, isFirst, isLast)
    }
    return nil
  }

  /// Messages whose bytes could not be read, since the last call.
  mutating func takeUnreadable() -> [MessageID] {
    guard !unreadable.isEmpty else { return [] }
    defer { unreadable = [] }
    return unreadable
  }

  /// A piece has gone out under this number.
  mutating func sent(_ sequence: SequenceNumber, of name: UInt64, isLast: Bool) {
    owners[sequence] = name
    if isLast { open[name]?.last = sequence }
    if open[name]?.isAsking ?? false {
      open[name]?.asked = sequence
      if let place = outgoing.firstIndex(where: { $0.name == name }) { outgoing[place].asked = sequence }
    }
  }

  /// The other end has said what it has of a transfer that it was asked about.
  mutating func has(_ name: UInt64, _ ranges: [Range<Int>]) {
    guard let place = outgoing.firstIndex(where: { $0.name == name }), outgoing[place].isAsking else { return }
    outgoing[place].has(ranges)
    open[name] = outgoing[place]
  }

  /// The message that a piece is of.
  func owner(of sequence: SequenceNumber) -> (name: UInt64, message: MessageID)? {
    guard let name = owners[sequence], let transfer = open[name] else { return nil }
    return (name, transfer.message.id)
  }

  /// A piece of `count` bytes has its answer: its message, how far that is, and whether it was the last, which is answered when all
  /// are there.
  mutating func acknowledged(_ sequence: SequenceNumber, _ count: Int) -> (
    message: MessageID, progress: TransferProgress, isWhole: Bool
  )? {
    guard let name = owners.removeValue(forKey: sequence), var transfer = open.removeValue(forKey: name) else {
      return nil
    }
    let isWhole = transfer.last == sequence
    transfer.acknowledged =
      isWhole
      ? transfer.source.count
      : min(transfer.source.count, transfer.acknowledged + (transfer.asked == sequence ? 0 : count))
    open[name] = transfer
    if let place = outgoing.firstIndex(where: { $0.name == name }) {
      outgoing[place].acknowledged = transfer.acknowledged
    }
    return (
      transfer.message.id, TransferProgress(byteCount: transfer.acknowledged, total: transfer.source.count), isWhole
    )
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
    outgoing.filter { !$0.hasBegun }.map(\.message.id) + open.values.map(\.message.id)
  }

  /// The other end has forgotten its session: it is asked what it has of what has no answer, or that goes out anew.
  /// - Returns: bytes of pieces that are not waited for any more, and the connections that carried them.
  mutating func restart(asks: Bool) -> [(count: Int, carriers: UInt8)] {
    guard !open.isEmpty else { return [] }
    var dropped: [(count: Int, carriers: UInt8)] = []
    var entry = pieces.first
    while entry >= 0 {
      dropped.append((pieces[entry].body.count, pieces[entry].carriers))
      entry = pieces.after(entry)
    }
    let again = open.values.sorted { $0.message.id < $1.message.id }
    outgoing.removeAll { $0.hasBegun }
    open = [:]
    owners = [:]
    pieces = PendingTable()
    for var transfer in again.reversed() {
      transfer.restart(name: asks ? nil : transfer.isNamed ? transfer.name : takeName())
      outgoing.insert(transfer, at: 0)
    }
    return dropped
  }

  // MARK: coming

  /// Whether pieces of a transfer have come.
  func knows(_ name: UInt64) -> Bool { incoming[name] != nil }

  /// The message of a transfer is there, or it was refused.
  mutating func finish(_ name: UInt64, isRefused: Bool = false) {
    finished.append((name, isRefused))
    if finished.count > Self.mostFinished { finished.removeFirst() }
  }

  /// What has come of a transfer, as the answer to a piece that asks. Its end is left out: it has to come again, to close the
  /// transfer.
  func have(_ piece: IncomingTransfer.Piece) -> [UInt8] {
    var answer: [UInt8] = []
    var value = TLV.bigEndian(piece.name)
    let isThere = finished.contains { $0.name == piece.name && !$0.isRefused }
    let ranges = isThere ? [0..<piece.size] : incoming[piece.name]?.ranges.all ?? []
    for range in ranges {
      let end = min(range.upperBound, piece.size - 1)
      if range.lowerBound < end { value += TLV.bigEndian(UInt64(range.lowerBound)) + TLV.bigEndian(UInt64(end)) }
    }
    TLV.append(.transferHave, value, to: &answer)
    return answer
  }

  /// Reads such an answer; what cannot be is left out.
  static func having(_ body: RawSpan, _ range: Range<Int>) -> (name: UInt64, ranges: [Range<Int>])? {
    guard range.count >= 8 else { return nil }
    var ranges: [Range<Int>] = []
    var offset = range.lowerBound + 8
    while range.upperBound - offset >= 16 {
      let (first, end) = (TLV.number(body, offset..<offset + 8), TLV.number(body, offset + 8..<offset + 16))
      if first < end, end <= 1 << 48 { ranges.append(Int(first)..<Int(end)) }
      offset += 16
    }
    return (TLV.number(body, range.lowerBound..<range.lowerBound + 8), ranges)
  }

  /// Goes on with a transfer that came in another session, or to an earlier process.
  mutating func adopt(_ name: UInt64, _ transfer: IncomingTransfer) {
    guard incoming[name] == nil else { return }
    incoming[name] = transfer
    incomingBytes += transfer.byteCount
  }

  /// Forgets a transfer that there is no room for; what comes of it yet is refused.
  /// - Returns: the name of what a store has of it.
  mutating func drop(_ name: UInt64) -> UInt64? {
    finish(name, isRefused: true)
    guard let transfer = incoming.removeValue(forKey: name) else { return nil }
    incomingBytes -= transfer.byteCount
    return transfer.stored?.body
  }

  /// The body of an incoming message in a store, and how many bytes of it have arrived without a gap.
  func arriving(_ name: UInt64) -> (body: UInt64, contiguous: Int)? {
    guard let transfer = incoming[name], let body = transfer.stored?.body else { return nil }
    return (body, transfer.contiguous)
  }

  /// Takes out the incomplete incoming messages: the other end has forgotten the session, and asks about those that it still sends.
  mutating func takeIncoming() -> [UInt64: IncomingTransfer] {
    defer { (incoming, incomingBytes) = ([:], 0) }
    finished.removeAll { $0.isRefused }
    return incoming
  }

  /// Takes out what a store has of messages that are not whole, for another session.
  mutating func takeStored() -> [UInt64: IncomingTransfer] {
    let stored = incoming.filter { $0.value.stored != nil }
    for (name, transfer) in stored {
      incoming[name] = nil
      incomingBytes -= transfer.byteCount
    }
    return stored
  }

  /// The record of a transfer for the next process.
  func record(_ name: UInt64, owner: [UInt8]) -> (body: UInt64, record: [UInt8])? {
    guard let transfer = incoming[name], let body = transfer.stored?.body,
      let record = transfer.record(name: name, owner: owner)
    else { return nil }
    return (body, record)
  }

  /// How far a transfer is that is not whole, if that is news: a hundredth of it has come since the last call.
  mutating func news(of name: UInt64) -> TransferProgress? {
    guard let transfer = incoming[name], transfer.byteCount - transfer.reported >= max(1, transfer.size / 100) else {
      return nil
    }
    incoming[name]?.reported = transfer.byteCount
    return TransferProgress(byteCount: transfer.byteCount, total: transfer.size)
  }

  /// A piece has come. `isFirst` says whether it comes for the first time, and notes that; it is asked for pieces that are
  /// acknowledged alone.
  mutating func arrived(
    _ header: FrameHeader, _ piece: IncomingTransfer.Piece, _ frame: RawSpan, _ keeping: IncomingTransfer.Keeping,
    _ isFirst: (SequenceNumber) -> Bool
  ) -> Arrival {
    if let known = finished.first(where: { $0.name == piece.name }) {
      _ = isFirst(header.sequence)
      return known.isRefused ? .refused : piece.isLast ? .known : .taken
    }
    var transfer = incoming.removeValue(forKey: piece.name) ?? IncomingTransfer(piece)
    incomingBytes -= transfer.byteCount
    guard transfer.matches(piece), incoming.count < Self.mostIncoming, transfer.take(piece, frame, keeping) else {
      if let body = transfer.stored?.body { keeping.store?.remove(body) }
      finish(piece.name, isRefused: true)
      return .refused
    }
    if piece.isLast {
      // Its number is noted with the message.
      transfer.last = header
    } else {
      _ = isFirst(header.sequence)
    }
    guard let last = transfer.last, transfer.isWhole else {
      incomingBytes += transfer.byteCount
      incoming[piece.name] = transfer
      return piece.isLast ? .waits : .taken
    }
    var whole = last
    whole.compression = transfer.compression
    whole.bodyCount = UInt32(clamping: transfer.size)
    finish(piece.name)
    return .whole(whole, transfer.finished())
  }
}

extension IncomingTransfer.Keeping {
  var store: (any BodyStore)? {
    switch self {
    case .nothing, .memory: nil
    case .store(let store, _): store
    case .content(let store, _, _): store
    }
  }
}
