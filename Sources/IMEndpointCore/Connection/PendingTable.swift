/// The frames of one session that were sent and not acknowledged yet, found by their number and ordered by when they
/// were last sent.
///
/// An open-addressed index over flat entries with a free list. A list through the entries keeps the order, so that what is
/// overdue stands at its head.
struct PendingTable: Sendable {
  /// A frame that waits for its acknowledgment.
  struct Entry: Sendable {
    var sequence: SequenceNumber
    var id: MessageID
    var kind: FrameKind
    var priority: Priority
    var compression: UInt8
    var state: MessageState
    /// Which connections carry it, one bit for each place.
    var carriers: UInt8
    /// How often it went out.
    var transmissions: UInt32
    var checksum: UInt32
    var body: [UInt8]
    var acceptedAt: Instant
    var firstSentAt: Instant
    var lastSentAt: Instant
    fileprivate var next: Int32
    fileprivate var previous: Int32
  }

  private var entries: [Entry] = []
  private var freeHead: Int32 = -1
  private var index: [Int32] = []
  /// 32 less the bits of the index's size.
  private var indexShift: UInt32 = 32
  /// The entry sent longest ago, or -1.
  private(set) var first: Int32 = -1
  private var last: Int32 = -1
  /// Frames that wait.
  private(set) var count = 0
  /// Bytes of their bodies.
  private(set) var byteCount = 0

  var isEmpty: Bool { count == 0 }

  subscript(place: Int32) -> Entry {
    get { entries[Int(place)] }
    _modify { yield &entries[Int(place)] }
  }

  /// The entry sent next after the one at `place`, or -1.
  func after(_ place: Int32) -> Int32 { entries[Int(place)].next }

  /// The top bits of a product with the golden ratio: numbers that follow one another are spread evenly, so what stands
  /// behind a number in the index is short, also when numbers are taken out in their order.
  @inline(__always)
  private func home(_ sequence: SequenceNumber) -> Int { Int((sequence.rawValue &* 0x9e37_79b1) >> indexShift) }

  /// The place of the frame with this number.
  func find(_ sequence: SequenceNumber) -> Int32? {
    guard count > 0 else { return nil }
    let mask = index.count - 1
    var slot = home(sequence)
    while index[slot] >= 0 {
      if entries[Int(index[slot])].sequence == sequence { return index[slot] }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// The place of the frame of a message, which is looked for among all that wait.
  func find(_ message: MessageID) -> Int32? {
    var place = first
    while place >= 0 {
      if entries[Int(place)].id == message { return place }
      place = entries[Int(place)].next
    }
    return nil
  }

  /// Adds a frame that is sent now; its number must not wait already.
  mutating func insert(
    _ sequence: SequenceNumber, id: MessageID, kind: FrameKind, priority: Priority, compression: UInt8,
    checksum: UInt32,
    body: [UInt8], acceptedAt: Instant, at now: Instant
  ) -> Int32 {
    if (count + 1) * 2 > index.count { growIndex() }
    let entry = Entry(
      sequence: sequence, id: id, kind: kind, priority: priority, compression: compression, state: .sending,
      carriers: 0,
      transmissions: 0, checksum: checksum, body: body, acceptedAt: acceptedAt, firstSentAt: now, lastSentAt: now,
      next: -1, previous: -1)
    let place: Int32
    if freeHead >= 0 {
      place = freeHead
      freeHead = entries[Int(place)].next
      entries[Int(place)] = entry
    } else {
      place = Int32(entries.count)
      entries.append(entry)
    }
    let mask = index.count - 1
    var slot = home(sequence)
    while index[slot] >= 0 { slot = (slot + 1) & mask }
    index[slot] = place
    count += 1
    byteCount += body.count
    link(place)
    return place
  }

  private mutating func growIndex() {
    let old = index
    index = [Int32](repeating: -1, count: max(16, old.count * 2))
    indexShift = 32 - UInt32(index.count.trailingZeroBitCount)
    let mask = index.count - 1
    for place in old where place >= 0 {
      var slot = home(entries[Int(place)].sequence)
      while index[slot] >= 0 { slot = (slot + 1) & mask }
      index[slot] = place
    }
  }

  /// Takes the frame at `place` out.
  mutating func remove(_ place: Int32) {
    let sequence = entries[Int(place)].sequence
    let mask = index.count - 1
    var hole = home(sequence)
    while index[hole] != place { hole = (hole + 1) & mask }
    // Whatever stands behind and would not be found over the hole moves into it.
    var slot = (hole + 1) & mask
    while index[slot] >= 0 {
      let wanted = home(entries[Int(index[slot])].sequence)
      if (slot - wanted) & mask >= (slot - hole) & mask {
        index[hole] = index[slot]
        hole = slot
      }
      slot = (slot + 1) & mask
    }
    index[hole] = -1
    unlink(place)
    byteCount -= entries[Int(place)].body.count
    entries[Int(place)].body = []
    entries[Int(place)].next = freeHead
    freeHead = place
    count -= 1
    if count == 0, entries.count > 64 { release() }
  }

  /// Gives the memory of a burst back when nothing waits any more, keeping what a busy session needs again at once.
  private mutating func release() {
    guard entries.count > 1_024 else { return }
    entries = []
    index = []
    freeHead = -1
    first = -1
    last = -1
  }

  /// Notes that the frame at `place` goes out on the connection of `bit`: it is now the one sent last.
  mutating func sent(_ place: Int32, on bit: UInt8, at now: Instant) {
    let i = Int(place)
    entries[i].carriers |= bit
    entries[i].transmissions &+= 1
    entries[i].lastSentAt = now
    guard last != place else { return }
    unlink(place)
    link(place)
  }

  /// Takes the connections of `bits` from all frames: they are gone.
  mutating func dropCarriers(_ bits: UInt8) {
    var place = first
    while place >= 0 {
      entries[Int(place)].carriers &= ~bits
      place = entries[Int(place)].next
    }
  }

  private mutating func link(_ place: Int32) {
    entries[Int(place)].next = -1
    entries[Int(place)].previous = last
    if last >= 0 { entries[Int(last)].next = place } else { first = place }
    last = place
  }

  private mutating func unlink(_ place: Int32) {
    let (previous, next) = (entries[Int(place)].previous, entries[Int(place)].next)
    if previous >= 0 { entries[Int(previous)].next = next } else { first = next }
    if next >= 0 { entries[Int(next)].previous = previous } else { last = previous }
  }
}
